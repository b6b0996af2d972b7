//! `abyssal datasets`, and `--dataset` with benchmarks.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::real_data::data;
use common::{abyssal, fail, succeed};
use serde_json::Value;

/// The program with an empty library of its own and a mirror nobody answers at.
fn alone(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = abyssal(arguments);
    command.current_dir(directory);
    command.env("ABYSSAL_DATA", directory.join("data")).env("ABYSSAL_CACHE", directory.join("cache"));
    command.env("ABYSSAL_MIRROR", "http://127.0.0.1:1/");
    command
}

/// The program on real data, with a cache of its own.
fn real(directory: &Path, arguments: &[&str]) -> Option<Command> {
    let data = data()?;
    let mut command = alone(directory, arguments);
    command.env("ABYSSAL_DATA", data);
    Some(command)
}

#[test]
fn the_list_names_every_dataset() {
    let directory = tempfile::tempdir().unwrap();
    let list: Value =
        serde_json::from_str(&succeed(&mut alone(directory.path(), &["datasets", "list", "--json"])))
            .unwrap();
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    let expected = "csbm clusters cora citeseer pubmed coauthor-cs coauthor-physics amazon-computers amazon-photo \
                    texas wisconsin cornell cornell-2020 actor ogbn-arxiv";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    for entry in list.as_array().unwrap() {
        assert_eq!(entry["here"], entry["kind"] == "generated", "{entry}");
    }
}

#[test]
fn a_generated_graph_can_be_described_too() {
    let directory = tempfile::tempdir().unwrap();
    let text = succeed(&mut alone(directory.path(), &["datasets", "info", "csbm", "--json"]));
    let info: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&info["nodes"], &info["classes"]), (&3000.into(), &5.into()));
    assert_eq!(info["splits"][0]["train"], 100);
    let text = succeed(&mut alone(directory.path(), &["datasets", "info", "csbm"]));
    assert!(text.lines().any(|line| line.starts_with("edge homophily")), "{text}");
}

#[test]
fn names_that_nobody_knows_get_the_nearest_one() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [
        &["train", "--dataset", "croa"][..],
        &["datasets", "info", "croa"],
        &["datasets", "fetch", "croa"],
        &["datasets", "verify", "croa"],
    ] {
        let error = fail(&mut alone(directory.path(), arguments), 1);
        assert!(error.contains("there is no dataset `croa`; did you mean `cora`?"), "{error}");
    }
    assert!(!directory.path().join("runs").exists(), "nothing is written before the data is found");
}

#[test]
fn what_is_not_here_is_told_with_the_command_that_gets_it() {
    let directory = tempfile::tempdir().unwrap();
    let error = fail(&mut alone(directory.path(), &["train", "--dataset", "cora", "--offline"]), 1);
    assert!(error.contains("abyssal datasets fetch cora") && error.contains("--data-dir"), "{error}");
    let error = fail(&mut alone(directory.path(), &["datasets", "info", "texas", "--offline"]), 1);
    assert!(error.contains("texas/out1_node_feature_label.txt is missing"), "{error}");
}

#[test]
fn info_json_has_the_keys_it_promises() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut command) = real(directory.path(), &["datasets", "info", "cora", "--json"]) else { return };
    let info: Value = serde_json::from_str(&succeed(&mut command)).unwrap();
    for (key, expected) in [("nodes", 2708), ("edges", 5278), ("features", 1433), ("classes", 7)] {
        assert_eq!(info[key], expected, "{key}");
    }
    for key in ["homophily", "components", "degree", "splits", "fingerprint", "class_sizes"] {
        assert!(!info[key].is_null(), "{key}");
    }
}

#[test]
fn verify_tells_right_from_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut command) = real(directory.path(), &["datasets", "verify", "cora", "texas", "amazon-photo"])
    else {
        return;
    };
    let text = succeed(&mut command);
    assert!(text.contains("cora: 18 of 18 files are right"), "{text}");
    assert!(text.contains("amazon-photo: 1 of 1 files are right"), "{text}");
    // One byte of a copy is changed.
    let real_data = PathBuf::from(std::env::var_os("ABYSSAL_DATA").unwrap());
    let copy = directory.path().join("data/texas");
    std::fs::create_dir_all(&copy).unwrap();
    for name in ["out1_node_feature_label.txt", "out1_graph_edges.txt"] {
        let mut bytes = std::fs::read(real_data.join("texas").join(name)).unwrap();
        if name.contains("edges") {
            *bytes.last_mut().unwrap() ^= 1;
        }
        std::fs::write(copy.join(name), bytes).unwrap();
    }
    let output = alone(directory.path(), &["datasets", "verify"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("texas/out1_graph_edges.txt: wrong, its SHA-256 is"), "{text}");
    assert!(!text.contains("cora"), "it is about what is here: {text}");
    let output = alone(directory.path(), &["datasets", "verify", "cora"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"cora: not here\n"[..]));
}

#[test]
fn two_processes_may_load_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["datasets", "info", "coauthor-cs", "--json"];
    let mut running = Vec::new();
    for _ in 0..3 {
        let Some(mut command) = real(directory.path(), &arguments) else { return };
        running.push(command.stdout(std::process::Stdio::piped()).spawn().unwrap());
    }
    let outputs: Vec<Vec<u8>> =
        running.into_iter().map(|process| process.wait_with_output().unwrap().stdout).collect();
    assert!(!outputs[0].is_empty());
    assert!(outputs.iter().all(|output| *output == outputs[0]));
}

#[test]
fn all_ten_splits_of_geom_gcn_are_ten_runs() {
    let directory = tempfile::tempdir().unwrap();
    let arguments =
        "train --dataset texas --split geom-gcn --model gcn --layers 2 --set train.epochs=3 --json --quiet";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let Some(mut command) = real(directory.path(), &arguments) else { return };
    let report: Value = serde_json::from_str(&succeed(&mut command)).unwrap();
    let splits: Vec<String> = (0..10).map(|number| format!("geom-gcn:{number}")).collect();
    assert_eq!(report["splits"], serde_json::json!(splits));
    assert_eq!(report["runs"].as_array().unwrap().len(), 10);
}
