//! One request, and what to make of its answer.

use std::io::{ErrorKind, Read};
use std::time::Duration;

use ureq::http::{Response, StatusCode, Uri, header};
use ureq::{Agent, Body, Error, ResponseExt, Timeout};

use super::partial::Partial;
use super::{CONNECT, FetchProgress};
use crate::GraphError;
use crate::catalogue::RemoteFile;
use crate::formats::is_web_page;

/// More than this is never written, whatever a server sends.
const MAXIMUM_BYTES: u64 = 4 << 30;

/// A web page shows itself within this many bytes.
const HEAD: usize = 512;

const WEB_PAGE: &str =
    "the server sent an HTML page instead of the file; a login page or proxy may be in the way";

/// Why an attempt failed, and with it what to do next.
pub(super) enum Failure {
    /// A later attempt may succeed. It goes on from what is in the partial file.
    Again(String),
    /// This address will not give the file.
    GiveUp(String),
    /// The own disk fails, so no other address helps.
    Local(GraphError),
}

impl From<GraphError> for Failure {
    fn from(error: GraphError) -> Self {
        Self::Local(error)
    }
}

/// Asks an address for the bytes that are not in the partial file, and appends them.
///
/// Bytes that turn out to be useless, from this attempt or an earlier one, are cleared away.
pub(super) fn attempt(
    agent: &Agent,
    stall: Duration,
    address: &str,
    file: &RemoteFile,
    partial: &mut Partial,
    progress: &mut dyn FetchProgress,
) -> Result<(), Failure> {
    if file.bytes == Some(partial.length()) {
        progress.start(&file.path, partial.length(), file.bytes);
        return Ok(());
    }
    if file.bytes.is_some_and(|bytes| bytes < partial.length()) {
        partial.clear()?;
    }
    let mut request = agent.get(address);
    if partial.length() > 0 {
        request = request.header(header::RANGE, format!("bytes={}-", partial.length()));
    }
    let response = request.call().map_err(|error| failure(error, stall))?;
    if response.get_redirect_history().is_some_and(loses_encryption) {
        return Err(Failure::GiveUp("the server redirects from https to http".to_string()));
    }
    let announced = announced_length(&response, partial)?;
    receive(response.into_body(), announced, stall, file, partial, progress)
}

/// Whether a chain of redirects leaves https.
fn loses_encryption(history: &[Uri]) -> bool {
    let encrypted = |address: &Uri| address.scheme_str() == Some("https");
    history.windows(2).any(|pair| encrypted(&pair[0]) && !encrypted(&pair[1]))
}

/// Judges the header of an answer. Afterwards the partial file ends where the body of the answer begins.
///
/// Returns the length of the whole file if the server tells it.
fn announced_length(response: &Response<Body>, partial: &mut Partial) -> Result<Option<u64>, Failure> {
    let status = response.status();
    let is_page = response.body().mime_type().is_some_and(|kind| kind.eq_ignore_ascii_case("text/html"));
    if status.is_success() && is_page {
        return Err(Failure::GiveUp(WEB_PAGE.to_string()));
    }
    match status {
        StatusCode::OK => {
            partial.clear()?;
            Ok(response.body().content_length())
        }
        StatusCode::PARTIAL_CONTENT => {
            let range = response.headers().get(header::CONTENT_RANGE).and_then(|value| value.to_str().ok());
            match range.and_then(content_range) {
                Some((start, total)) if start == partial.length() => Ok(total),
                _ => {
                    let asked = partial.length();
                    partial.clear()?;
                    let range = range.unwrap_or("none");
                    let reason = format!("the server sent another part of the file than asked for: {range}");
                    Err(Failure::Again(format!("{reason} instead of all from byte {asked}")))
                }
            }
        }
        StatusCode::RANGE_NOT_SATISFIABLE if partial.length() > 0 => {
            partial.clear()?;
            Err(Failure::Again("the server has nothing beyond what was there already".to_string()))
        }
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(Failure::Again(described(status))),
        _ if status.is_server_error() => Err(Failure::Again(described(status))),
        _ => Err(Failure::GiveUp(described(status))),
    }
}

/// A status with its meaning, such as `status 404 (Not Found)`.
fn described(status: StatusCode) -> String {
    let meaning = status.canonical_reason().map(|meaning| format!(" ({meaning})"));
    format!("status {}{}", status.as_u16(), meaning.unwrap_or_default())
}

/// First byte and length of the whole, from `bytes <first>-<last>/<length or *>`.
fn content_range(value: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = value.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    (first <= last && total.is_none_or(|total| last < total)).then_some((first, total))
}

/// Appends the body of an answer.
fn receive(
    body: Body,
    announced: Option<u64>,
    stall: Duration,
    file: &RemoteFile,
    partial: &mut Partial,
    progress: &mut dyn FetchProgress,
) -> Result<(), Failure> {
    if let Some(announced) = announced.filter(|&announced| announced > MAXIMUM_BYTES) {
        return Err(Failure::GiveUp(format!(
            "the server offers {announced} bytes; {MAXIMUM_BYTES} are the limit"
        )));
    }
    let expected = file.bytes.or(announced);
    let limit = expected.unwrap_or(MAXIMUM_BYTES);
    progress.start(&file.path, partial.length(), expected);
    let mut reader = body.into_reader();
    let mut buffer = vec![0; 1 << 16];
    // Only the beginning of the file can look like the beginning of a page.
    let mut head = (partial.length() == 0).then(Vec::new);
    loop {
        let received = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => &buffer[..count],
            Err(error) => return Err(Failure::Again(reason(Error::from(error), stall))),
        };
        if let Some(head) = head.as_mut().filter(|head| head.len() < HEAD) {
            head.extend(received.iter().take(HEAD - head.len()));
            if is_web_page(head) {
                partial.clear()?;
                return Err(Failure::GiveUp(WEB_PAGE.to_string()));
            }
        }
        if received.len() as u64 > limit.saturating_sub(partial.length()) {
            partial.clear()?;
            return Err(Failure::GiveUp(format!("the server sent more than the {limit} bytes of the file")));
        }
        partial.append(received)?;
        progress.advance(received.len() as u64);
    }
    match expected {
        Some(expected) if partial.length() < expected => {
            Err(Failure::Again(format!("the server sent {} of {expected} bytes", partial.length())))
        }
        _ => Ok(()),
    }
}

/// What an error before the body means for the next attempt.
fn failure(error: Error, stall: Duration) -> Failure {
    let again = match &error {
        // So rustls tells of a certificate it does not trust, which no other attempt changes.
        Error::Io(error) => error.kind() != ErrorKind::InvalidData,
        Error::Timeout(_) | Error::HostNotFound | Error::ConnectionFailed => true,
        Error::ConnectProxyFailed(_) | Error::Protocol(_) => true,
        _ => false,
    };
    let reason = reason(error, stall);
    if again { Failure::Again(reason) } else { Failure::GiveUp(reason) }
}

/// An error of the connection in words.
fn reason(error: Error, stall: Duration) -> String {
    match error {
        Error::Timeout(Timeout::Resolve | Timeout::Connect) => format!("no connection within {CONNECT:?}"),
        Error::Timeout(_) => format!("nothing arrived for {stall:?}"),
        Error::Io(error) if error.kind() == ErrorKind::UnexpectedEof => {
            "the server closed the connection too early".to_string()
        }
        Error::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges() {
        assert_eq!(content_range("bytes 10-19/20"), Some((10, Some(20))));
        assert_eq!(content_range("bytes 10-19/*"), Some((10, None)));
        for wrong in [
            "",
            "bytes",
            "bytes */20",
            "bytes 10-20/20",
            "bytes 10-9/20",
            "bytes 10-/20",
            "bytes -10/20",
            "items 10-19/20",
            "bytes 99999999999999999999-99999999999999999999/*",
        ] {
            assert_eq!(content_range(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn redirects_may_gain_encryption_but_not_lose_it() {
        let loses = |addresses: &[&'static str]| {
            let history: Vec<Uri> = addresses.iter().map(|&address| Uri::from_static(address)).collect();
            loses_encryption(&history)
        };
        assert!(!loses(&["https://a.example/x"]));
        assert!(!loses(&["http://a.example/x", "http://b.example/x", "https://b.example/x"]));
        assert!(!loses(&["https://a.example/x", "https://b.example/x"]));
        assert!(loses(&["https://a.example/x", "http://b.example/x"]));
        assert!(loses(&[
            "http://a.example/x",
            "https://a.example/x",
            "http://a.example/x",
            "https://a.example/x"
        ]));
    }
}
