//! A graph of the user's own, from files to a result.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{abyssal, fail, stderr, succeed};
use serde_json::Value;

/// Writes two rings of people, joined by one edge; those of a ring share a profession. Labels of every seventh
/// person are missing.
fn write_graph(directory: &Path) {
    let [mut edges, mut features, mut labels] =
        ["from,to\n".to_string(), "id,height,weight\n".to_string(), "id,profession\n".to_string()];
    for person in 0..60 {
        let ring = person / 30;
        for step in 1..=3 {
            edges.push_str(&format!("person {person},person {}\n", ring * 30 + (person + step) % 30));
        }
        features.push_str(&format!("person {person},{}.5,{}\n", person % 7, ring * 10 + person % 3));
        let profession = ["baker", "diver"][ring];
        labels.push_str(&match person % 7 {
            3 => format!("person {person},\n"),
            _ => format!("person {person},{profession}\n"),
        });
    }
    edges.push_str("person 0,person 59\n");
    for (name, text) in [("edges.csv", edges), ("features.csv", features), ("labels.csv", labels)] {
        fs::write(directory.join(name), text).expect("a writable directory");
    }
}

/// The program in a directory with a graph, with libraries of its own.
fn program(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = abyssal(arguments);
    command.current_dir(directory);
    command.env("ABYSSAL_DATA", directory.join("data")).env("ABYSSAL_CACHE", directory.join("cache"));
    command
}

const FILES: [&str; 6] = ["--edges", "edges.csv", "--features", "features.csv", "--labels", "labels.csv"];
const SMALL: [&str; 8] =
    ["--layers", "4", "--set", "model.hidden=8", "--set", "train.epochs=20", "--json", "--quiet"];

#[test]
fn files_train_a_model() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    let text = succeed(&mut program(directory.path(), &[&["train"][..], &FILES, &SMALL].concat()));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["splits"][0], "fractions:0.6,0.2, seed 0");
    assert!(report["mean"].as_f64().unwrap() > 0.9, "two rings are easy to tell apart: {report}");
    let run = directory.path().join("runs/files-r-soft-graph-ain-0001");
    let result: Value = serde_json::from_str(&fs::read_to_string(run.join("result.json")).unwrap()).unwrap();
    assert_eq!(result["dataset"]["edges"], 181);
    // Nodes without a label are predicted, by their names.
    let predictions = fs::read_to_string(run.join("predictions.csv")).unwrap();
    assert_eq!(predictions.lines().count(), 61);
    let third = predictions.lines().find(|line| line.starts_with("person 3,")).unwrap();
    assert!(third.starts_with("person 3,baker,") && third.ends_with(",,"), "{third}");
    // The configuration repeats the run from anywhere.
    let config = run.join("config.toml");
    let elsewhere = tempfile::tempdir().unwrap();
    let arguments = ["train", "--config", config.to_str().unwrap(), "--json", "--quiet"];
    let again: Value = serde_json::from_str(&succeed(&mut program(elsewhere.path(), &arguments))).unwrap();
    assert_eq!(again["runs"][0]["test_accuracy"], report["runs"][0]["test_accuracy"]);
}

/// Predictions are those of the classes their columns are named after, or in the order of the classes.
#[test]
fn predictions_are_matched_to_classes_by_name() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    let teach = |header: &str, of_first_ring: &str, of_second_ring: &str| {
        let row = |person| {
            let said = if person < 30 { of_first_ring } else { of_second_ring };
            format!("person {person},{said}\n")
        };
        let table = format!("{header}\n") + &(0..60).map(row).collect::<String>();
        fs::write(directory.path().join("predictions.csv"), table).unwrap();
        let teacher = ["train", "--teacher-predictions", "predictions.csv"];
        program(directory.path(), &[&teacher[..], &FILES, &SMALL].concat())
    };
    for (header, baker, diver) in [
        ("id,diver,baker", "0,1", "1,0"),
        ("id,Diver,BAKER", "0,1", "1,0"),
        ("id,p(diver),p(baker)", "0,1", "1,0"),
        ("id,baker,diver", "1,0", "0,1"),
        ("id,first,second", "1,0", "0,1"),
    ] {
        let report: Value = serde_json::from_str(&succeed(&mut teach(header, baker, diver))).unwrap();
        assert_eq!(report["runs"][0]["teacher"]["test_accuracy"], 1.0, "{header}");
    }
    let error = fail(&mut teach("id,baker,cook", "1,0", "0,1"), 1);
    let expected = "header (baker, cook) has the names of some classes and not of others (baker, diver)";
    assert!(error.contains("predictions.csv") && error.contains(expected), "{error}");
}

#[test]
fn a_class_without_a_training_node_is_told() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    let set = |person| match person {
        30..60 => "test",
        _ => ["train", "val", "test"][person % 3],
    };
    let masks: String = (0..60).map(|person| format!("person {person},{}\n", set(person))).collect();
    fs::write(directory.path().join("masks.csv"), format!("id,split\n{masks}")).unwrap();
    let arguments = [&["train", "--no-curriculum", "--masks", "masks.csv"][..], &FILES, &SMALL].concat();
    let output = program(directory.path(), &arguments).output().unwrap();
    let told = "warning: no training node has the class diver: nobody can learn it";
    assert!(output.status.success() && stderr(&output).contains(told), "{}", stderr(&output));
    let without_masks = [&["train", "--no-curriculum"][..], &FILES, &SMALL].concat();
    let output = program(directory.path(), &without_masks).output().unwrap();
    assert!(output.status.success() && !stderr(&output).contains("warning"), "{}", stderr(&output));
}

#[test]
fn large_features_get_a_hint_until_it_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    let hinted = |more: &[&str]| {
        let short = ["--layers", "2", "--set", "train.epochs=2"];
        let arguments = [&["train", "--no-curriculum"][..], &FILES, &short, more].concat();
        let output = program(directory.path(), &arguments).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output).contains("hint: features reach 12; with --set data.standardize=true")
    };
    assert!(hinted(&[]));
    assert!(!hinted(&["--set", "data.standardize=true"]) && !hinted(&["--quiet"]));
}

#[test]
fn an_imported_graph_is_the_graph_of_its_files() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    let import = [&["datasets", "import", "--name", "mine"][..], &FILES].concat();
    let said = succeed(&mut program(directory.path(), &import));
    assert!(
        said.contains("mine: 60 nodes, 181 edges listed, 2 features, 2 classes, 51 labelled nodes"),
        "{said}"
    );
    let info = |arguments: &[&str]| -> Value {
        let arguments = [&["datasets", "info", "--json"][..], arguments].concat();
        serde_json::from_str(&succeed(&mut program(directory.path(), &arguments))).unwrap()
    };
    let (imported, files) = (info(&["mine"]), info(&FILES));
    assert_eq!(imported["fingerprint"], files["fingerprint"]);
    assert_eq!(imported["class_names"], serde_json::json!(["baker", "diver"]));
    assert_eq!((&imported["nodes"], &imported["unlabelled"]), (&60.into(), &9.into()));
    let list = succeed(&mut program(directory.path(), &["datasets", "list"]));
    assert!(list.lines().any(|line| line.starts_with("mine ") && line.contains("imported")), "{list}");
    // A name is given once, unless it is to be replaced; names of benchmarks are never given.
    let error = fail(&mut program(directory.path(), &import), 1);
    assert!(error.contains("already") && error.contains("--force"), "{error}");
    succeed(&mut program(directory.path(), &[&import[..], &["--force"]].concat()));
    let cora = [&["datasets", "import", "--name", "cora"][..], &FILES].concat();
    assert!(fail(&mut program(directory.path(), &cora), 1).contains("there is a dataset `cora` already"));
    let outside = [&["datasets", "import", "--name", "../mine"][..], &FILES].concat();
    assert!(fail(&mut program(directory.path(), &outside), 1).contains("cannot be the name"));
}

#[test]
fn several_random_splits_are_several_runs() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    let splits = ["train", "--split", "per-class:5,5", "--splits", "3", "--seeds", "2"];
    let text = succeed(&mut program(directory.path(), &[&splits[..], &FILES, &SMALL].concat()));
    let report: Value = serde_json::from_str(&text).unwrap();
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 6);
    assert_eq!(report["splits"].as_array().unwrap().len(), 3);
    let fingerprints: std::collections::BTreeSet<&str> =
        runs.iter().map(|run| run["split_fingerprint"].as_str().unwrap()).collect();
    assert_eq!(fingerprints.len(), 3);
    assert!(
        directory
            .path()
            .join("runs/files-r-soft-graph-ain-0001/r-soft-graph-ain/per-class-5-5-2/seed-1")
            .is_dir()
    );
}

#[test]
fn the_default_split_of_an_own_graph_is_drawn_several_times() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    let import = [&["datasets", "import", "--name", "mine"][..], &FILES].concat();
    succeed(&mut program(directory.path(), &import));
    let splits = |data: &[&str]| {
        let text = succeed(&mut program(
            directory.path(),
            &[&["train", "--splits", "2"][..], data, &SMALL].concat(),
        ));
        let report: Value = serde_json::from_str(&text).unwrap();
        report["splits"].clone()
    };
    let expected = serde_json::json!(["fractions:0.6,0.2, seed 0", "fractions:0.6,0.2, seed 1"]);
    assert_eq!(splits(&FILES), expected);
    assert_eq!(splits(&["--dataset", "mine"]), expected);
    // Given masks are one split; the way to several is told.
    let masks: String = (0..60).map(|node| ["train\n", "val\n", "test\n"][node % 3]).collect();
    fs::write(directory.path().join("masks.csv"), masks).unwrap();
    let arguments = [&["train", "--splits", "2", "--masks", "masks.csv"][..], &FILES, &SMALL].concat();
    let error = fail(&mut program(directory.path(), &arguments), 1);
    assert!(error.contains("--splits = 2") && error.contains("--split fractions:0.6,0.2"), "{error}");
}

#[test]
fn one_split_of_geom_gcn_is_not_several() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    for split in [["--split", "geom-gcn:2"], ["--set", "data.split=geom-gcn:2"]] {
        let arguments = [&["train", "--splits", "3"][..], &split, &FILES, &SMALL].concat();
        let error = fail(&mut program(directory.path(), &arguments), 1);
        assert!(error.contains("geom-gcn:2 is one split") && error.contains("--split geom-gcn"), "{error}");
        assert!(!directory.path().join("runs").exists());
    }
}

#[test]
fn info_lists_the_splits_of_a_graph_without_masks() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    let text = succeed(&mut program(directory.path(), &[&["datasets", "info"][..], &FILES].concat()));
    let splits = text.lines().find(|line| line.starts_with("splits")).unwrap();
    assert_eq!(
        splits.trim_start_matches("splits").trim(),
        "per-class:20,30, fractions:0.6,0.2 and file:PATH"
    );
    // Without a name it is the default of --dataset.
    let text = succeed(&mut program(directory.path(), &["datasets", "info"]));
    assert!(text.starts_with("name               csbm"), "{text}");
}

#[test]
fn a_split_can_come_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    let line = |person: usize| {
        let set = ["train", "val", "test"][person % 3];
        format!("person {person},{set}\n")
    };
    let masks: String = (0..60).map(line).collect();
    fs::write(directory.path().join("masks.csv"), format!("id,split\n{masks}")).unwrap();
    let fingerprint = |extra: &[&str]| {
        let text = succeed(&mut program(directory.path(), &[&["train"][..], &FILES, extra, &SMALL].concat()));
        let report: Value = serde_json::from_str(&text).unwrap();
        report["runs"][0]["split_fingerprint"].as_str().unwrap().to_string()
    };
    let given = fingerprint(&["--masks", "masks.csv"]);
    assert_eq!(given, fingerprint(&["--split", "file:masks.csv"]));
    assert_ne!(given, fingerprint(&[]));
}

#[test]
fn mistakes_are_told_by_file_line_and_column() {
    for (file, line, broken, expected) in [
        ("edges.csv", 3, "person 0,nobody", "edges.csv, line 3, column 2: "),
        ("features.csv", 5, "person 3,tall,3", "features.csv, line 5, column 2: "),
        ("features.csv", 5, "person 3,3.5", "features.csv, line 5: "),
        ("labels.csv", 4, "nobody,baker", "labels.csv, line 4, column 1: "),
    ] {
        let directory = tempfile::tempdir().unwrap();
        write_graph(directory.path());
        let path = directory.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        let lines =
            text.lines().enumerate().map(|(number, old)| if number + 1 == line { broken } else { old });
        fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
        let error = fail(&mut program(directory.path(), &[&["train"][..], &FILES, &SMALL].concat()), 1);
        assert!(error.contains(expected), "{error}");
        assert!(!directory.path().join("runs/files-r-soft-graph-ain-0001/result.json").exists());
    }
}

#[test]
fn files_that_are_missing_are_named_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    fs::remove_file(directory.path().join("labels.csv")).unwrap();
    let error = fail(&mut program(directory.path(), &[&["train"][..], &FILES, &SMALL].concat()), 1);
    assert!(error.contains("cannot read") && error.contains("labels.csv"), "{error}");
    assert!(!directory.path().join("runs").exists());
}

/// Exchanges the labels of two people who learn.
fn exchange_labels(directory: &Path) {
    let labels = fs::read_to_string(directory.join("labels.csv")).expect("a file of labels");
    let changed =
        labels.replace("person 1,baker", "person 1,diver").replace("person 31,diver", "person 31,baker");
    assert_ne!(labels, changed);
    fs::write(directory.join("labels.csv"), changed).expect("a file of labels");
}

/// Lets an endless run make a checkpoint, and kills it.
fn stop_at_checkpoint(command: &mut Command, run: &Path) {
    let mut child = command.args(["--set", "train.epochs=100000"]).spawn().expect("the program starts");
    while !run.join("checkpoint.safetensors").exists() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().expect("it was running");
    child.wait().expect("it ended");
}

/// A configuration names files. If they have changed, what was learnt before says nothing about them: neither a
/// checkpoint, nor a finished run, nor a teacher.
#[test]
fn changed_files_are_refused_on_resume() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    let run = directory.path().join("stopped");
    let endless = ["--no-curriculum", "--out", "stopped", "--set", "train.checkpoint_seconds=0"];
    let mut command = program(directory.path(), &[&["train"][..], &FILES, &SMALL, &endless].concat());
    stop_at_checkpoint(&mut command, &run);
    // What a file says about the nodes is data too.
    let predictions = directory.path().join("predictions.csv");
    let rows = |first: f64| (0..60).map(|_| format!("{first},{}\n", 1.0 - first)).collect::<String>();
    fs::write(&predictions, rows(0.75)).unwrap();
    let endless = ["--out", "listening", "--set", "train.checkpoint_seconds=0", "--teacher-predictions"];
    let mut command = program(directory.path(), &[&["train"][..], &FILES, &SMALL, &endless].concat());
    stop_at_checkpoint(command.arg(&predictions), &directory.path().join("listening"));
    fs::write(&predictions, rows(0.25)).unwrap();
    let mut resumed = program(directory.path(), &["train", "--quiet", "--resume", "listening"]);
    let error = fail(&mut resumed, 1);
    assert!(error.contains("has learnt from other data: the teacher's predictions"), "{error}");

    let taught = ["--out", "taught", "--teacher", "gcn", "--set", "teacher.gcn.train.epochs=5"];
    succeed(&mut program(directory.path(), &[&["train"][..], &FILES, &SMALL, &taught].concat()));

    exchange_labels(directory.path());
    let resume = |run: &str| fail(&mut program(directory.path(), &["train", "--quiet", "--resume", run]), 1);
    let stopped = resume("stopped");
    assert!(stopped.contains("has learnt from other data: nodes, edges, features or labels"), "{stopped}");
    let auxiliary = fs::read_to_string(directory.path().join("taught/auxiliary-graph.csv")).unwrap();
    assert!(auxiliary.lines().nth(1).unwrap().starts_with("person 0,person "), "by names: {auxiliary}");
    let finished = resume("taught");
    assert!(finished.contains("taught has learnt from other data"), "{finished}");
    fs::remove_file(directory.path().join("taught/result.json")).unwrap();
    let teacher = resume("taught");
    assert!(teacher.contains("taught/teachers/gcn-seed-0"), "{teacher}");
    assert!(!directory.path().join("taught/result.json").exists());
}

/// A mistake in the data leaves no run behind: once it is mended, the same command works.
#[test]
fn a_mistake_in_the_data_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path());
    let features = fs::read_to_string(directory.path().join("features.csv")).unwrap();
    fs::write(directory.path().join("features.csv"), features.replacen("0.5", "nan", 1)).unwrap();
    let arguments = [&["train"][..], &FILES, &SMALL, &["--no-curriculum", "--out", "mine"]].concat();
    let error = fail(&mut program(directory.path(), &arguments), 1);
    assert!(error.contains("features.csv"), "{error}");
    assert!(!directory.path().join("mine").exists());
    fs::write(directory.path().join("features.csv"), features).unwrap();
    succeed(&mut program(directory.path(), &arguments));
}
