//! `abyssal datasets fetch`, and training on what is not here yet, against a server on this machine.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::real_data::data;
use common::{abyssal, fail, succeed};

/// Serves the files below a directory for as long as the test runs; gives the address.
fn serve(directory: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let directory = directory.clone();
            std::thread::spawn(move || answer(stream, &directory));
        }
    });
    address
}

/// One request, one answer, and the connection is closed.
fn answer(mut stream: TcpStream, directory: &Path) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let request = lines.next()?.ok()?;
    while !lines.next()?.ok()?.is_empty() {}
    let path = request.split_whitespace().nth(1)?.trim_start_matches('/');
    let (status, body) = match std::fs::read(directory.join(path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n").ok()?;
    stream.write_all(&body).ok()
}

fn program(directory: &Path, mirror: &str, arguments: &[&str]) -> Command {
    let mut command = abyssal(arguments);
    command.current_dir(directory);
    command.env("ABYSSAL_DATA", directory.join("data")).env("ABYSSAL_CACHE", directory.join("cache"));
    command.env("ABYSSAL_MIRROR", mirror);
    command
}

#[test]
fn what_is_missing_is_fetched_verified_and_trained_on() {
    let Some(real) = data() else { return };
    let directory = tempfile::tempdir().unwrap();
    let mirror = serve(real);
    let said =
        succeed(&mut program(directory.path(), &mirror, &["datasets", "fetch", "texas", "amazon-photo"]));
    assert!(said.contains("texas: 12 files fetched"), "{said}");
    assert!(said.contains("amazon-photo: 1 files fetched"), "{said}");
    let said = succeed(&mut program(directory.path(), &mirror, &["datasets", "fetch", "texas"]));
    assert!(said.contains("texas: 0 files fetched (0 kB), 12 here already"), "{said}");
    let train = "train --dataset wisconsin --model gcn --layers 2 --set train.epochs=2 --quiet --json";
    let train: Vec<&str> = train.split_whitespace().collect();
    let report = succeed(&mut program(directory.path(), &mirror, &train));
    assert!(report.contains("\"dataset\": \"wisconsin\""), "{report}");
    succeed(&mut program(directory.path(), &mirror, &["datasets", "verify", "texas", "wisconsin"]));
}

#[test]
fn a_mirror_without_the_files_is_told_with_manual_steps() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = serve(directory.path().join("nothing"));
    let error = fail(&mut program(directory.path(), &mirror, &["train", "--dataset", "cora", "--quiet"]), 1);
    assert!(error.contains("status 404"), "{error}");
    assert!(error.contains("with a browser and put it at") && error.contains("ABYSSAL_MIRROR"), "{error}");
    assert!(!directory.path().join("runs").exists());
}
