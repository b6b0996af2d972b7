//! `abyssal predict`: a trained model and nodes it has not seen.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{abyssal, fail, succeed, train_small};

/// Files of people in two circles that know their own: those of the second are taller, and of another profession.
fn write_people(directory: &Path, prefix: &str, people: usize) {
    let [mut edges, mut features, mut labels] =
        ["from,to\n".to_string(), "id,height,weight\n".to_string(), "id,profession\n".to_string()];
    for person in 0..people {
        let circle = person % 2;
        for step in [2, 4] {
            edges.push_str(&format!("{prefix}{person},{prefix}{}\n", (person + step) % people));
        }
        features.push_str(&format!("{prefix}{person},{}.5,{}\n", circle * 3 + person % 3, person % 5));
        labels.push_str(&format!("{prefix}{person},{}\n", ["diver", "baker"][circle]));
    }
    for (name, text) in [("edges", edges), ("features", features), ("labels", labels)] {
        fs::write(directory.join(format!("{prefix}{name}.csv")), text).expect("a writable directory");
    }
}

fn program(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = abyssal(arguments);
    command.current_dir(directory);
    command
}

/// A directory with the files of sixty people and a session of two runs on them, `trained`.
fn trained() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_people(directory.path(), "old", 60);
    let files = ["--edges", "oldedges.csv", "--features", "oldfeatures.csv", "--labels", "oldlabels.csv"];
    let small = ["--layers", "4", "--set", "model.hidden=8", "--set", "train.epochs=20", "--seeds", "2"];
    let train = ["train", "--no-curriculum", "--quiet", "--out", "trained"];
    let table = succeed(&mut program(directory.path(), &[&train[..], &files, &small].concat()));
    assert!(table.ends_with("also new ones: abyssal predict --run trained\n"), "{table}");
    directory
}

const RUN: &str = "trained/r-soft-graph-ain/seed-0";

/// Rows of a table, without its header.
fn rows(table: &str) -> Vec<Vec<&str>> {
    table.lines().skip(1).map(|line| line.split(',').collect()).collect()
}

#[test]
fn a_run_says_again_what_it_has_said_of_its_own_nodes() {
    let directory = trained();
    // Neither labels nor the split are needed.
    fs::remove_file(directory.path().join("oldlabels.csv")).unwrap();
    let said = succeed(&mut program(directory.path(), &["predict", "--run", RUN]));
    assert!(said.starts_with("node,prediction,probability,p(baker),p(diver)\n"), "{said}");
    let kept = fs::read_to_string(directory.path().join(RUN).join("predictions.csv")).unwrap();
    assert_eq!(rows(&said).len(), 60);
    for (said, kept) in rows(&said).iter().zip(rows(&kept)) {
        assert_eq!(said[..2], kept[..2]);
        let [said, kept] = [said[2], kept[2]].map(|text| text.parse::<f64>().unwrap());
        assert!((said - kept).abs() < 1e-4, "{said} and {kept}");
    }
}

#[test]
fn nodes_nobody_has_seen_are_predicted() {
    let directory = trained();
    write_people(directory.path(), "new", 30);
    let files = ["--edges", "newedges.csv", "--features", "newfeatures.csv", "--out", "said.csv"];
    succeed(&mut program(directory.path(), &[&["predict", "--run", RUN][..], &files].concat()));
    let said = fs::read_to_string(directory.path().join("said.csv")).unwrap();
    let rows = rows(&said);
    assert_eq!(rows[29][0], "new29");
    let right = rows.iter().enumerate().filter(|(person, row)| row[1] == ["diver", "baker"][person % 2]);
    assert!(right.count() >= 28, "the circles are easy to tell apart: {said}");
}

#[test]
fn runs_of_a_session_are_averaged_and_can_teach() {
    let directory = trained();
    let probabilities = |run: &str| {
        let said = succeed(&mut program(directory.path(), &["predict", "--probabilities", "--run", run]));
        assert!(said.starts_with("node,p(baker),p(diver)\n"), "{said}");
        rows(&said).iter().map(|row| row[1].parse::<f64>().unwrap()).collect::<Vec<_>>()
    };
    let first = probabilities(RUN);
    let second = probabilities(&RUN.replace("seed-0", "seed-1"));
    let mean = probabilities("trained");
    assert_ne!(first, second);
    for ((first, second), mean) in first.iter().zip(second).zip(mean) {
        assert!(((first + second) / 2.0 - mean).abs() < 2e-6);
    }
    let write = ["predict", "--probabilities", "--run", "trained", "--out", "teacher.csv"];
    succeed(&mut program(directory.path(), &write));
    let files = ["--edges", "oldedges.csv", "--features", "oldfeatures.csv", "--labels", "oldlabels.csv"];
    let taught = ["train", "--teacher-predictions", "teacher.csv", "--quiet", "--set", "train.epochs=5"];
    succeed(&mut program(directory.path(), &[&taught[..], &files].concat()));
}

#[test]
fn a_graph_with_other_features_is_told() {
    let directory = trained();
    let features = fs::read_to_string(directory.path().join("oldfeatures.csv")).unwrap();
    let fewer: String =
        features.lines().map(|line| line.rsplit_once(',').unwrap().0.to_string() + "\n").collect();
    fs::write(directory.path().join("fewer.csv"), fewer).unwrap();
    let predict = ["predict", "--run", RUN, "--features", "fewer.csv"];
    let error = fail(&mut program(directory.path(), &predict), 1);
    assert!(error.contains("has 1 feature,") && error.contains("has learnt from 2 features"), "{error}");
    // The edges of other people.
    write_people(directory.path(), "new", 30);
    let error =
        fail(&mut program(directory.path(), &["predict", "--run", RUN, "--edges", "newedges.csv"]), 1);
    assert!(error.contains("newedges.csv, line 2") && error.contains("no node `new0`"), "{error}");
}

/// Of files; of all other data the classes are known.
#[test]
fn a_run_from_before_classes_were_kept_is_told() {
    let directory = trained();
    let result = directory.path().join(RUN).join("result.json");
    let mut earlier: serde_json::Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
    let names = earlier.as_object_mut().unwrap().remove("class_names");
    assert_eq!(names, Some(serde_json::json!(["baker", "diver"])));
    fs::write(&result, earlier.to_string()).unwrap();
    let error = fail(&mut program(directory.path(), &["predict", "--run", RUN]), 1);
    assert!(error.contains("train it again to predict with it"), "{error}");
}

#[test]
fn a_run_without_files_or_without_an_end_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    succeed(&mut train_small(&run, &[]));
    let predict = |more: &[&str]| {
        let mut command = abyssal(&["predict", "--run"]);
        command.arg(&run).args(more);
        command
    };
    let said = succeed(&mut predict(&[]));
    assert_eq!(rows(&said).len(), 240);
    let error = fail(&mut predict(&["--edges", "edges.csv"]), 1);
    assert!(error.contains("--edges") && error.contains("the run has learnt from csbm"), "{error}");
    let result = run.join("result.json");
    fs::remove_file(&result).unwrap();
    assert!(fail(&mut predict(&[]), 1).contains("is not finished; go on with: abyssal train --resume"));
}
