//! Fetching from servers that are good, slow, broken and hostile. All of them are on this machine.

mod bench;
mod broken;
mod catalogue;
#[path = "../common/mod.rs"]
mod common;
mod resuming;
mod server;

use std::path::Path;
use std::sync::Barrier;
use std::time::Duration;

use abyssal_graph::GraphError;
use abyssal_graph::catalogue::RemoteFile;
use abyssal_graph::fetch::{FetchError, FetchOptions, FetchProgress, FetchReport, fetch};
use bench::{Bench, Diary, PATH, body, file, quick, unknown};
use common::skip;
use server::{Answer, Server};

#[test]
fn a_file_is_fetched_and_verified() {
    let (bench, body) = (Bench::new(), body(300_000));
    let server = Server::start({
        let body = body.clone();
        move |_, _| Answer::whole(&body)
    });
    let mut diary = Diary::default();
    let files = [file(&body, vec![server.address("/data.bin")])];
    let check = |_: &RemoteFile, _: &Path| panic!("the sum is known");
    let report = fetch(bench.directory(), &files, &quick(), &check, &mut diary).unwrap();
    let expected = FetchReport { fetched: vec![PATH.to_string()], kept: Vec::new(), bytes: 300_000 };
    assert_eq!(report, expected);
    assert_eq!(diary.0, ["start example/data.bin 0/300000", "advance 300000", "finish"]);
    bench.assert_complete(&body);
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].path.as_str(), requests[0].from), ("/data.bin", None));
    assert!(requests[0].header.contains("accept-encoding: identity\r\n"), "{}", requests[0].header);
}

#[test]
fn a_good_file_is_left_alone() {
    let body = body(1000);
    let bench = Bench::with_target(&body);
    let server = Server::start(|_, _| Answer::status("500 Internal Server Error"));
    let report = bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap();
    assert_eq!(report, FetchReport { fetched: Vec::new(), kept: vec![PATH.to_string()], bytes: 0 });
    assert_eq!(server.requests().len(), 0);
    assert!(!bench.directory().join("example/.fetch.lock").exists(), "a lock in a directory not written to");
}

#[test]
fn a_wrong_file_is_an_error_that_says_what_to_do() {
    let body = body(1000);
    let mut wrong = body.clone();
    wrong[500] ^= 1;
    let bench = Bench::with_target(&wrong);
    let server = Server::start(|_, _| Answer::status("500 Internal Server Error"));
    let error = bench.fetch(&file(&body, vec![server.address("/")]), &quick()).unwrap_err();
    assert!(matches!(&error, GraphError::Fetch(FetchError::Wrong { path, .. }) if *path == bench.target()));
    let message = error.to_string();
    for part in [bench::sum(&body), bench::sum(&wrong), "remove it", "--force", "data.bin"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(server.requests().len(), 0);
    assert!(std::fs::read(bench.target()).unwrap() == wrong, "the file was touched");
}

#[test]
fn a_wrong_file_is_replaced_on_request() {
    let body = body(1000);
    let bench = Bench::with_target(b"something else");
    let server = Server::start({
        let body = body.clone();
        move |_, _| Answer::whole(&body)
    });
    let options = FetchOptions { replace: true, ..quick() };
    bench.fetch(&file(&body, vec![server.address("/")]), &options).unwrap();
    bench.assert_complete(&body);
}

#[test]
fn a_wrong_file_survives_when_its_replacement_cannot_be_fetched() {
    let bench = Bench::with_target(b"something else");
    let server = Server::start(|_, _| Answer::status("404 Not Found"));
    let options = FetchOptions { replace: true, ..quick() };
    bench.fetch(&file(&body(1000), vec![server.address("/")]), &options).unwrap_err();
    assert_eq!(std::fs::read(bench.target()).unwrap(), b"something else");
}

#[test]
fn without_a_sum_the_contents_decide() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = Server::start({
        let body = body.clone();
        move |number, _| Answer::whole(if number == 0 { b"other contents" } else { &body })
    });
    let file = unknown(vec![server.address("/")]);
    bench.fetch_unknown(&file, &body).unwrap();
    bench.assert_complete(&body);
    let report = bench.fetch_unknown(&file, &body).unwrap();
    assert_eq!(report.kept, [PATH]);
    assert_eq!(server.requests().len(), 2);
    let error = bench.fetch_unknown(&file, b"what should be there").unwrap_err();
    assert!(error.to_string().contains("its contents are others"), "{error}");
}

#[test]
fn redirects_are_followed() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = Server::start({
        let body = body.clone();
        move |_, request| match request.path.as_str() {
            "/old" => Answer::redirect("/moved"),
            "/moved" => Answer::redirect("new/place"),
            _ => Answer::whole(&body),
        }
    });
    bench.fetch(&file(&body, vec![server.address("/old")]), &quick()).unwrap();
    bench.assert_complete(&body);
    let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/old", "/moved", "/new/place"]);
}

#[test]
fn the_second_address_is_asked_when_the_first_has_nothing() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = Server::start({
        let body = body.clone();
        move |_, request| match request.path.as_str() {
            "/first" => Answer::status("404 Not Found"),
            _ => Answer::whole(&body),
        }
    });
    let addresses = vec![server.address("/first"), server.address("/second")];
    bench.fetch(&file(&body, addresses), &quick()).unwrap();
    bench.assert_complete(&body);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_mirror_is_the_only_address() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = Server::start({
        let body = body.clone();
        move |number, _| if number == 0 { Answer::whole(&body) } else { Answer::status("404 Not Found") }
    });
    let file = file(&body, vec![server.address("/home")]);
    for mirror in ["/mirror", "/mirror/"] {
        let options = FetchOptions { mirror: Some(server.address(mirror)), ..quick() };
        let result = bench.fetch(&file, &options);
        if mirror == "/mirror" {
            result.unwrap();
            bench.assert_complete(&body);
            std::fs::remove_file(bench.target()).unwrap();
        } else {
            let message = result.unwrap_err().to_string();
            let manual = format!("download {} with a browser", server.address("/home"));
            assert!(message.contains(&manual), "{message}");
        }
    }
    let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/mirror/example/data.bin", "/mirror/example/data.bin"]);
}

#[test]
fn a_mirror_that_is_no_address_is_named() {
    let bench = Bench::new();
    let options = FetchOptions { mirror: Some("data.local/mirror".to_string()), ..quick() };
    let error = bench.fetch(&file(&body(10), Vec::new()), &options).unwrap_err().to_string();
    assert!(error.contains("data.local/mirror/example/data.bin"), "{error}");
    bench.assert_nothing();
}

#[test]
fn two_at_once_fetch_a_file_once() {
    let (bench, body) = (Bench::new(), body(200_000));
    let server = Server::start({
        let body = body.clone();
        // The first answer stops in the middle, so that the file stays incomplete for a while.
        move |number, request| {
            let answer = Answer::part(request, &body);
            if number == 0 { answer.without_last(100_000) } else { answer }
        }
    });
    let file = file(&body, vec![server.address("/")]);
    let barrier = Barrier::new(2);
    let reports = std::thread::scope(|scope| {
        let start = || {
            barrier.wait();
            bench.fetch(&file, &quick()).unwrap()
        };
        let (first, second) = (scope.spawn(start), scope.spawn(start));
        [first.join().unwrap(), second.join().unwrap()]
    });
    bench.assert_complete(&body);
    assert_eq!(reports.iter().map(|report| report.fetched.len()).sum::<usize>(), 1);
    assert_eq!(reports.iter().map(|report| report.kept.len()).sum::<usize>(), 1);
    assert_eq!(server.asked_from(), [None, Some(100_000)]);
}

#[test]
fn one_who_waits_for_another_says_so_and_finds_the_file() {
    let (bench, body) = (Bench::new(), body(1000));
    let server = Server::start(|_, _| Answer::status("500 Internal Server Error"));
    std::fs::create_dir(bench.directory().join("example")).unwrap();
    let lock = std::fs::File::create(bench.directory().join("example/.fetch.lock")).unwrap();
    lock.lock().unwrap();

    /// Completes the file in the name of the other process once someone waits for it.
    struct Other<'a> {
        lock: Option<std::fs::File>,
        bench: &'a Bench,
        body: &'a [u8],
        diary: Diary,
    }
    impl FetchProgress for Other<'_> {
        fn start(&mut self, path: &str, done: u64, total: Option<u64>) {
            self.diary.start(path, done, total);
        }
        fn advance(&mut self, bytes: u64) {
            self.diary.advance(bytes);
        }
        fn retry(&mut self, path: &str, reason: &str, pause: Duration) {
            self.diary.retry(path, reason, pause);
            std::fs::write(self.bench.target(), self.body).expect("a writable directory");
            self.lock = None;
        }
        fn finish(&mut self) {
            self.diary.finish();
        }
    }
    let mut other = Other { lock: Some(lock), bench: &bench, body: &body, diary: Diary::default() };
    let files = [file(&body, vec![server.address("/")])];
    let report = fetch(bench.directory(), &files, &quick(), &|_, _| Ok(()), &mut other).unwrap();
    assert_eq!(report.kept, [PATH]);
    assert_eq!(server.requests().len(), 0);
    let expected = [
        "start example/data.bin 0/1000",
        "retry after 0ns: another process fetches into the same directory",
        "finish",
    ];
    assert_eq!(other.diary.0, expected);
}

/// A file in place of the directory, because nothing is unwritable for a privileged user.
#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let directory = tempfile::NamedTempFile::new().unwrap();
    let server = Server::start(|_, _| Answer::status("500 Internal Server Error"));
    let files = [file(b"abc", vec![server.address("/")])];
    let error = fetch(directory.path(), &files, &quick(), &|_, _| Ok(()), &mut ()).unwrap_err();
    assert!(matches!(&error, GraphError::Io { .. }), "{error:?}");
    assert!(error.to_string().contains(&*directory.path().to_string_lossy()), "{error}");
    assert_eq!(server.requests().len(), 0);
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_is_named_without_asking_a_server() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let example = bench.directory().join("example");
    std::fs::create_dir(&example).unwrap();
    std::fs::set_permissions(&example, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(example.join("probe"), b"").is_ok() {
        skip("a privileged user can write everywhere");
        return;
    }
    let server = Server::start(|_, _| Answer::status("500 Internal Server Error"));
    let error = bench.fetch(&file(b"abc", vec![server.address("/")]), &quick()).unwrap_err();
    assert!(matches!(&error, GraphError::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("example"), "{error}");
    assert_eq!(server.requests().len(), 0);
}
