//! Servers that do not do what they should.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use abyssal_graph::catalogue::RemoteFile;
use abyssal_graph::fetch::{FetchOptions, fetch};

use crate::bench::{Bench, Diary, body, file, quick, sum, unknown};
use crate::server::{Answer, Server, serve};

#[test]
fn a_corrupted_answer_fails_with_both_sums_and_leaves_nothing() {
    let (bench, body) = (Bench::new(), body(1000));
    let mut corrupted = body.clone();
    corrupted[999] ^= 0x80;
    let server = serve(&corrupted, |_, _, body| Answer::whole(body));
    let reason = bench.last_reason(bench.fetch(&file(&body, vec![server.address("/")]), &quick()));
    assert!(reason.contains(sum(&body)), "{reason}");
    assert!(reason.contains(sum(&corrupted)), "{reason}");
    bench.assert_nothing();
    assert_eq!(server.asked_from(), [None, None], "once from the start, and no more");
}

#[test]
fn an_answer_corrupted_once_is_fetched_again() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = serve(&body, |number, _, body| {
        let mut body = body.to_vec();
        body[0] ^= u8::from(number == 0);
        Answer::whole(&body)
    });
    bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    bench.assert_complete(&body);
}

#[test]
fn a_page_in_place_of_the_file_is_recognised_by_its_type() {
    let bench = Bench::new();
    let server = Server::start(|_, _| Answer::of_kind("text/html; charset=utf-8", b"please log in"));
    let file = file(&body(1000), vec![server.address("/")]);
    let reason = bench.last_reason(bench.fetch(&file, &quick()));
    assert!(reason.contains("an HTML page instead of the file"), "{reason}");
    bench.assert_nothing();
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_page_that_claims_to_be_data_is_recognised_by_its_beginning() {
    let bench = Bench::new();
    let page = format!("\r\n  <!DocType HTML><title>Log in</title>{}", " ".repeat(5000));
    let server = Server::start(move |_, _| Answer::whole(page.as_bytes()));
    for file in [file(&body(1000), vec![server.address("/")]), unknown(vec![server.address("/")])] {
        let reason = bench.last_reason(bench.fetch(&file, &quick()));
        assert!(reason.contains("a login page or proxy may be in the way"), "{reason}");
        bench.assert_nothing();
    }
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_page_in_place_of_the_rest_does_not_get_into_the_file() {
    let body = body(1000);
    let bench = Bench::with_partial(&body[..600]);
    let server = Server::start(|_, _| Answer::of_kind("text/html", b"<html>"));
    let reason = bench.last_reason(bench.fetch(&file(&body, vec![server.address("/")]), &quick()));
    assert!(reason.contains("HTML"), "{reason}");
    assert!(!bench.target().exists());
    assert!(
        std::fs::read(bench.partial()).unwrap() == body[..600],
        "a login page is no reason to start over"
    );
}

#[test]
fn a_redirect_in_circles_ends() {
    let bench = Bench::new();
    let server = Server::start(|_, _| Answer::redirect("/again"));
    let reason = bench.last_reason(bench.fetch(&file(b"abc", vec![server.address("/")]), &quick()));
    assert_eq!(reason, "too many redirects");
    bench.assert_nothing();
    assert_eq!(server.requests().len(), 11, "the first one and ten redirects");
}

#[test]
fn not_found_is_final_and_says_what_to_do_by_hand() {
    for status in ["404 Not Found", "403 Forbidden", "410 Gone"] {
        let bench = Bench::new();
        let server = Server::start(move |_, _| Answer::status(status));
        let address = server.address("/data.bin");
        let message = bench.fetch(&file(b"abc", vec![address.clone()]), &quick()).unwrap_err().to_string();
        let target = bench.target().display().to_string();
        for part in [&address, &target, &status[..3], "with a browser", "ABYSSAL_MIRROR", "--data-dir"] {
            assert!(message.contains(part), "{part} is not in: {message}");
        }
        assert_eq!(server.requests().len(), 1);
        bench.assert_nothing();
    }
}

#[test]
fn a_busy_server_is_asked_again() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = serve(&body, |number, _, body| match number {
        0 => Answer::status("503 Service Unavailable"),
        1 => Answer::status("429 Too Many Requests"),
        2 => Answer::status("408 Request Timeout"),
        _ => Answer::whole(body),
    });
    bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn a_server_that_stays_busy_is_given_up() {
    let bench = Bench::new();
    let server = Server::start(|_, _| Answer::status("503 Service Unavailable"));
    let mut diary = Diary::default();
    let files = [file(b"abc", vec![server.address("/")])];
    let options = FetchOptions { first_pause: Duration::from_millis(1), ..quick() };
    let check = |_: &RemoteFile, _: &Path| panic!("the sum is known");
    let reason = bench.last_reason(fetch(bench.directory(), &files, &options, &check, &mut diary));
    assert_eq!(reason, "status 503 (Service Unavailable) (attempt 5 of 5)");
    assert_eq!(server.requests().len(), 5);
    let pauses = ["1ms", "2ms", "4ms", "8ms"];
    let expected = pauses.map(|pause| format!("retry after {pause}: status 503 (Service Unavailable)"));
    assert_eq!(diary.0, expected);
    bench.assert_nothing();
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let bench = Bench::new();
    let server = Server::start(|_, _| Answer::nothing().then_silence());
    let options = FetchOptions { stall: Duration::from_millis(50), attempts: 2, ..quick() };
    let reason = bench.last_reason(bench.fetch(&file(b"abc", vec![server.address("/")]), &options));
    assert_eq!(reason, "nothing arrived for 50ms (attempt 2 of 2)");
    bench.assert_nothing();
}

#[test]
fn a_connection_closed_without_an_answer_is_tried_again() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = serve(&body, |number, _, body| match number {
        0 => Answer::nothing(),
        1 => Answer::whole(body).without_last(1000 + 10),
        _ => Answer::whole(body),
    });
    bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_refused_connection_is_tried_again_and_given_up() {
    let bench = Bench::new();
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
    let files = [file(b"abc", vec![format!("http://{closed}/")])];
    let mut diary = Diary::default();
    let result = fetch(bench.directory(), &files, &quick(), &|_, _| Ok(()), &mut diary);
    let reason = bench.last_reason(result);
    assert!(reason.contains("attempt 5 of 5"), "{reason}");
    assert_eq!(diary.0.len(), 4, "{:?}", diary.0);
    bench.assert_nothing();
}

#[test]
fn bytes_after_the_declared_ones_are_not_read() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = serve(&body, |_, _, body| {
        let surplus = [body, b"surplus"].concat();
        Answer::raw("200 OK", &[format!("Content-Length: {}", body.len())], &surplus)
    });
    bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    bench.assert_complete(&body);
}

#[test]
fn more_bytes_than_the_file_has_are_an_error() {
    let body = body(1000);
    let surplus = [&body[..], b"surplus"].concat();
    let declared: fn(&[u8]) -> Answer = Answer::whole;
    let undeclared: fn(&[u8]) -> Answer = |surplus| Answer::raw("200 OK", &[], surplus);
    for answer in [declared, undeclared] {
        let bench = Bench::new();
        let server = serve(&surplus, move |_, _, surplus| answer(surplus));
        let reason = bench.last_reason(bench.fetch(&file(&body, vec![server.address("/")]), &quick()));
        assert_eq!(reason, "the server sent more than the 1000 bytes of the file");
        bench.assert_nothing();
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn a_file_of_absurd_size_is_not_even_begun() {
    let bench = Bench::new();
    let length = (4_u64 << 30) + 1;
    let server =
        Server::start(move |_, _| Answer::raw("200 OK", &[format!("Content-Length: {length}")], b"data"));
    let result = bench.fetch_unknown(&unknown(vec![server.address("/")]), b"");
    let reason = bench.last_reason(result);
    assert!(reason.contains("4294967297 bytes"), "{reason}");
    bench.assert_nothing();
}

#[test]
fn nonsense_instead_of_http_is_given_up() {
    let bench = Bench::new();
    let server = Server::start(|_, _| Answer::raw("what?\r\n\r\nnonsense", &[], b"\0\xff"));
    let reason = bench.last_reason(bench.fetch(&file(b"abc", vec![server.address("/")]), &quick()));
    assert!(!reason.is_empty());
    bench.assert_nothing();
}
