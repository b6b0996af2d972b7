//! An HTTP server that does what a test tells it to, however wrong that is.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What a client asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its path, with the leading slash.
    pub path: String,
    /// The first byte it wants, if it asks for a part.
    pub from: Option<usize>,
    /// The whole header, in lower case.
    pub header: String,
}

/// Bytes to answer with.
pub struct Answer {
    bytes: Vec<u8>,
    hold: bool,
}

impl Answer {
    /// A status line, header lines and a body, exactly as given.
    pub fn raw(status: &str, header: &[String], body: &[u8]) -> Self {
        let lines: String = header.iter().map(|line| format!("{line}\r\n")).collect();
        let mut bytes = format!("HTTP/1.1 {status}\r\n{lines}Connection: close\r\n\r\n").into_bytes();
        bytes.extend(body);
        Self { bytes, hold: false }
    }

    /// A status and an empty body.
    pub fn status(status: &str) -> Self {
        Self::raw(status, &["Content-Length: 0".to_string()], b"")
    }

    /// A whole body.
    pub fn whole(body: &[u8]) -> Self {
        Self::of_kind("application/octet-stream", body)
    }

    /// A whole body of a media type.
    pub fn of_kind(kind: &str, body: &[u8]) -> Self {
        let header = [format!("Content-Type: {kind}"), format!("Content-Length: {}", body.len())];
        Self::raw("200 OK", &header, body)
    }

    /// The part of a body that was asked for, as a server does that knows parts.
    pub fn part(request: &Request, body: &[u8]) -> Self {
        let length = body.len();
        match request.from {
            None => Self::whole(body),
            Some(from) if from >= length => {
                let header = [format!("Content-Range: bytes */{length}"), "Content-Length: 0".to_string()];
                Self::raw("416 Range Not Satisfiable", &header, b"")
            }
            Some(from) => Self::claimed_part(&format!("bytes {from}-{}/{length}", length - 1), &body[from..]),
        }
    }

    /// A part with a `Content-Range` that may be a lie.
    pub fn claimed_part(range: &str, body: &[u8]) -> Self {
        let header = [format!("Content-Range: {range}"), format!("Content-Length: {}", body.len())];
        Self::raw("206 Partial Content", &header, body)
    }

    /// Where else to ask.
    pub fn redirect(location: &str) -> Self {
        Self::raw("302 Found", &[format!("Location: {location}"), "Content-Length: 0".to_string()], b"")
    }

    /// A connection that is closed without an answer.
    pub fn nothing() -> Self {
        Self { bytes: Vec::new(), hold: false }
    }

    /// The same answer without its last bytes.
    pub fn without_last(mut self, bytes: usize) -> Self {
        self.bytes.truncate(self.bytes.len().saturating_sub(bytes));
        self
    }

    /// The same answer on a connection that stays open and silent afterwards.
    pub fn then_silence(mut self) -> Self {
        self.hold = true;
        self
    }
}

/// A server on a port of its own, until it is dropped.
pub struct Server {
    address: String,
    requests: Arc<Mutex<Vec<Request>>>,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Answers each request, numbered from 0, one after the other.
    pub fn start(answer: impl Fn(usize, &Request) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address").to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let closing = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (requests, closing) = (Arc::clone(&requests), Arc::clone(&closing));
            move || {
                let mut held = Vec::new();
                for stream in listener.incoming() {
                    let mut stream = stream.expect("a connection");
                    if closing.load(Ordering::SeqCst) {
                        return;
                    }
                    // A client that did not want to wait is gone before it has asked.
                    let Some(request) = read_request(&mut stream) else { continue };
                    let number = {
                        let mut requests = requests.lock().expect("no test panics with the lock");
                        requests.push(request.clone());
                        requests.len() - 1
                    };
                    let answer = answer(number, &request);
                    // A client may hang up when it has seen enough.
                    let _ = stream.write_all(&answer.bytes);
                    held.extend(answer.hold.then_some(stream));
                }
            }
        });
        Self { address, requests, closing, thread: Some(thread) }
    }

    /// The complete address of a path that begins with a slash.
    pub fn address(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no test panics with the lock").clone()
    }

    /// The first byte each request asked for.
    pub fn asked_from(&self) -> Vec<Option<usize>> {
        self.requests().iter().map(|request| request.from).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // The listener sees the flag with the next connection.
        let woken = TcpStream::connect(&self.address);
        if let Some(thread) = self.thread.take().filter(|_| woken.is_ok()) {
            let _ = thread.join();
        }
    }
}

/// A server whose answers depend on their number, with the right body at hand.
pub fn serve(body: &[u8], answer: impl Fn(usize, &Request, &[u8]) -> Answer + Send + 'static) -> Server {
    let body = body.to_vec();
    Server::start(move |number, request| answer(number, request, &body))
}

/// The header of a request; `None` if it is not complete.
fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut header = Vec::new();
    let mut byte = [0];
    while !header.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        header.push(byte[0]);
    }
    let header = String::from_utf8(header).expect("a header in ASCII");
    let path = header.split(' ').nth(1).expect("a request line").to_string();
    let header = header.to_lowercase();
    let from = header.lines().find_map(|line| line.strip_prefix("range: bytes="));
    let from = from.map(|range| {
        let from = range.strip_suffix('-').expect("a range without an end");
        from.parse().expect("a number")
    });
    Some(Request { path, from, header })
}
