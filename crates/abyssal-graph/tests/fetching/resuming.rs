//! Downloads that are interrupted and go on.

use std::path::Path;
use std::time::Duration;

use abyssal_graph::catalogue::RemoteFile;
use abyssal_graph::fetch::{FetchOptions, fetch};
use proptest::prelude::*;

use crate::bench::{Bench, Diary, body, file, quick, unknown};
use crate::server::{Answer, Server, serve};

#[test]
fn a_truncated_answer_is_resumed() {
    let (bench, body) = (Bench::new(), body(300_000));
    let server = serve(&body, |number, request, body| match number {
        0 => Answer::whole(body).without_last(100_000),
        _ => Answer::part(request, body),
    });
    let mut diary = Diary::default();
    let files = [file(&body, vec![server.address("/")])];
    let options = FetchOptions { first_pause: Duration::from_millis(1), ..quick() };
    let check = |_: &RemoteFile, _: &Path| panic!("the sum is known");
    fetch(bench.directory(), &files, &options, &check, &mut diary).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from(), [None, Some(200_000)]);
    let expected = [
        "start example/data.bin 0/300000",
        "advance 200000",
        "retry after 1ms: the server closed the connection too early",
        "start example/data.bin 200000/300000",
        "advance 100000",
        "finish",
    ];
    assert_eq!(diary.0, expected);
}

#[test]
fn a_truncated_answer_of_a_server_without_parts_starts_over() {
    let (bench, body) = (Bench::new(), body(300_000));
    let server = serve(&body, |number, _, body| match number {
        0 => Answer::whole(body).without_last(100_000),
        _ => Answer::whole(body),
    });
    bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from(), [None, Some(200_000)]);
}

/// The server itself has only half of the file and does not know it.
#[test]
fn an_answer_shorter_than_the_known_size_is_truncated_too() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = serve(&body, |number, request, body| match number {
        0 => Answer::whole(&body[..500]),
        _ => Answer::part(request, body),
    });
    bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from(), [None, Some(500)]);
}

#[test]
fn an_answer_that_ends_with_its_connection_is_truncated_if_too_short() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = serve(&body, |number, request, body| match number {
        0 => Answer::raw("200 OK", &[], &body[..500]),
        _ => Answer::part(request, body),
    });
    bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from(), [None, Some(500)]);
}

/// Each answer is cut, but each brings the file a mebibyte further: more of them are allowed than failures in a row.
#[test]
fn a_download_that_advances_is_not_given_up() {
    const STEP: usize = 1 << 20;
    let (bench, body) = (Bench::new(), body(4 * STEP));
    let server = serve(&body, |_, request, body| {
        let rest = body.len() - request.from.unwrap_or(0);
        Answer::part(request, body).without_last(rest.saturating_sub(STEP))
    });
    let options = FetchOptions { attempts: 2, ..quick() };
    bench.fetch(&file(&body, vec![server.address("/")]), &options).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from(), [None, Some(STEP), Some(2 * STEP), Some(3 * STEP)]);
}

#[test]
fn a_partial_file_is_kept_for_the_next_process() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = serve(&body, |number, request, body| match number {
        0 => Answer::whole(body).without_last(400),
        1 => Answer::status("404 Not Found"),
        _ => Answer::part(request, body),
    });
    let file = file(&body, vec![server.address("/")]);
    bench.fetch(&file, &quick()).unwrap_err();
    assert!(!bench.target().exists());
    assert!(std::fs::read(bench.partial()).unwrap() == body[..600]);
    bench.fetch(&file, &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from(), [None, Some(600), Some(600)]);
}

#[test]
fn a_stalled_answer_is_resumed() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = serve(&body, |_, request, body| match request.from {
        None => Answer::whole(body).without_last(400).then_silence(),
        Some(_) => Answer::part(request, body),
    });
    // On a machine that is busy for so long, further attempts may stall as well.
    let options = FetchOptions { stall: Duration::from_millis(200), attempts: 50, ..quick() };
    bench.fetch(&file(&body, vec![server.address("/")]), &options).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from().last(), Some(&Some(600)));
}

#[test]
fn the_partial_file_of_an_earlier_process_is_resumed() {
    let body = body(1000);
    let bench = Bench::with_partial(&body[..600]);
    let server = serve(&body, |_, request, body| Answer::part(request, body));
    bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from(), [Some(600)]);
}

#[test]
fn a_range_survives_a_redirect() {
    let body = body(1000);
    let bench = Bench::with_partial(&body[..600]);
    let server = serve(&body, |_, request, body| match request.path.as_str() {
        "/old" => Answer::redirect("/new"),
        _ => Answer::part(request, body),
    });
    bench.fetch(&file(&body, vec![server.address("/old")]), &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from(), [Some(600), Some(600)]);
}

/// The process ended between the last byte and the name.
#[test]
fn a_complete_partial_file_needs_no_request() {
    let body = body(1000);
    let bench = Bench::with_partial(&body);
    let server = Server::start(|_, _| Answer::status("500 Internal Server Error"));
    let report = bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    assert_eq!(report.bytes, 1000);
    bench.assert_complete(&body);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_partial_file_with_other_bytes_is_fetched_from_the_start() {
    let body = body(1000);
    let bench = Bench::with_partial(&[0; 600]);
    let server = serve(&body, |_, request, body| Answer::part(request, body));
    bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from(), [Some(600), None]);
}

#[test]
fn a_partial_file_longer_than_the_file_is_fetched_from_the_start() {
    let body = body(1000);
    let bench = Bench::with_partial(&[0; 2000]);
    let server = serve(&body, |_, request, body| Answer::part(request, body));
    bench.fetch_unknown(&unknown(vec![server.address("/")]), &body).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from(), [Some(2000), None], "416, then from the start");

    let bench = Bench::with_partial(&[0; 2000]);
    bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from()[2..], [None], "a known size spares the request");
}

#[test]
fn another_part_than_asked_for_is_not_appended() {
    let body = body(1000);
    for range in ["bytes 500-999/1000", "bytes 0-399/1000", "bytes 600-", "bytes */1000", "nonsense"] {
        let bench = Bench::with_partial(&body[..600]);
        let server = serve(&body, move |_, request, body| match request.from {
            Some(from) => Answer::claimed_part(range, &body[from..]),
            None => Answer::whole(body),
        });
        bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
        bench.assert_complete(&body);
        assert_eq!(server.asked_from(), [Some(600), None], "{range}");
    }
}

#[test]
fn a_part_without_a_range_is_not_appended() {
    let body = body(1000);
    let bench = Bench::with_partial(&body[..600]);
    let server = serve(&body, |_, request, body| match request.from {
        Some(from) => Answer::raw("206 Partial Content", &["Content-Length: 400".to_string()], &body[from..]),
        None => Answer::whole(body),
    });
    bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.asked_from(), [Some(600), None]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever is cut where, and whether the server knows parts or not.
    #[test]
    fn any_interruptions_end_with_the_right_file(
        left in 0..3000usize,
        cuts in prop::collection::vec((0..4000usize, any::<bool>()), 0..6),
    ) {
        let body = body(3000);
        let bench = Bench::with_partial(&body[..left]);
        let interruptions = cuts.clone();
        let server = serve(&body, move |number, request, body| {
            let (cut, knows_parts) = interruptions.get(number).copied().unwrap_or((0, true));
            let answer = if knows_parts { Answer::part(request, body) } else { Answer::whole(body) };
            answer.without_last(cut)
        });
        let options = FetchOptions { attempts: cuts.len() as u32 + 1, ..quick() };
        bench.fetch(&file(&body, vec![server.address("/")]), &options).unwrap();
        bench.assert_complete(&body);
    }
}
