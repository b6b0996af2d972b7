//! What `abyssal train` prints and keeps.

mod common;

use std::process::Stdio;

use common::{abyssal, fail, outcome, succeed, train_small};
use serde_json::Value;

#[test]
fn json_is_one_object_with_every_run() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("run");
    let text = succeed(&mut train_small(&out, &["--seeds", "3", "--compare", "gcn", "--compare", "gcn"]));
    let report: Value = serde_json::from_str(&text).unwrap();
    for model in [&report, &report["compared"][0]] {
        let runs = model["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 3);
        let accuracies: Vec<f64> = runs.iter().map(|run| run["test_accuracy"].as_f64().unwrap()).collect();
        for (seed, run) in runs.iter().enumerate() {
            assert_eq!(run["seed"], seed);
            assert!((0.0..=1.0).contains(&run["validation_accuracy"].as_f64().unwrap()));
            assert!((1..=40).contains(&run["epoch"].as_u64().unwrap()));
            assert!(run["seconds"].as_f64().unwrap() > 0.0);
            assert!(std::path::Path::new(run["run_dir"].as_str().unwrap()).join("result.json").is_file());
        }
        let mean = accuracies.iter().sum::<f64>() / 3.0;
        assert!((model["mean"].as_f64().unwrap() - mean).abs() < 1e-12);
        assert!(model["std"].as_f64().unwrap() >= 0.0);
    }
    assert_eq!(report["compared"].as_array().unwrap().len(), 1, "a model named twice is trained once");
    assert_eq!(report["compared"][0]["model"], "gcn");
    assert_eq!(report["compared"][0]["layers"], 4);
}

/// Sums over neighbours overflow at this depth; the model that does not diverge is trained and reported nevertheless.
#[test]
fn a_run_that_diverges_does_not_take_the_others_along() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("run");
    let deep = ["--compare", "gin", "--set", "model.layers=200", "--set", "train.epochs=2"];
    let output = train_small(&out, &deep).output().unwrap();
    let message = common::stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("gin, seed 0: training diverged in epoch 1"), "{message}");
    assert!(message.contains("1 of 2 runs failed"), "{message}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["model"], report["failures"].as_array().unwrap().len()),
        (&"r-soft-graph-ain".into(), 1)
    );
}

#[test]
fn a_run_directory_holds_everything_and_its_configuration_repeats_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (directory.path().join("first"), directory.path().join("second"));
    succeed(&mut train_small(&first, &["--seed", "7"]));
    let result: Value =
        serde_json::from_str(&std::fs::read_to_string(first.join("result.json")).unwrap()).unwrap();
    for key in [
        "seed",
        "selected",
        "selected_by_strict_rule",
        "selected_by_paper_rule",
        "selection",
        "epochs",
        "version",
        "seconds",
        "config_fingerprint",
    ] {
        assert!(!result[key].is_null(), "{key}");
    }
    assert_eq!(result["seed"], 7);
    assert_eq!(result["dataset"]["nodes"], 240);
    assert_eq!(result["dataset"]["fingerprint"].as_str().unwrap().len(), 64);
    assert_eq!(result["split"]["fingerprint"].as_str().unwrap().len(), 64);
    assert_eq!(std::fs::read_to_string(first.join("metrics.jsonl")).unwrap().lines().count(), 40);
    assert!(!first.join("checkpoint.safetensors").exists(), "a finished run needs no checkpoint");

    let config = first.join("config.toml");
    let mut again = abyssal(&["train", "--quiet", "--config"]);
    succeed(again.arg(config).arg("--out").arg(&second));
    assert_eq!(outcome(&first), outcome(&second));
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let directory = tempfile::tempdir().unwrap();
    // Large enough that work is really shared out.
    let size = ["--set", "data.nodes=3000", "--set", "model.hidden=64", "--set", "train.epochs=4"];
    let run = |threads: &str| {
        let out = directory.path().join(threads);
        succeed(train_small(&out, &size).args(["--threads", threads]));
        outcome(&out)
    };
    let one = run("1");
    assert_eq!(one, run("2"));
    assert_eq!(one, run("3"));
}

#[test]
fn without_options_a_gcn_is_compared_with_and_runs_are_numbered() {
    let directory = tempfile::tempdir().unwrap();
    let train = || {
        let mut command = abyssal(&["train", "--layers", "3", "--set", "train.epochs=2"]);
        succeed(command.current_dir(directory.path()))
    };
    let text = train();
    assert!(text.contains("r-soft-graph-ain") && text.contains("gcn") && text.contains("majority"), "{text}");
    assert!(text.contains("csbm-r-soft-graph-ain-0001"), "{text}");
    assert!(train().contains("csbm-r-soft-graph-ain-0002"));
}

#[test]
fn progress_goes_to_standard_error_and_quiet_silences_it() {
    let directory = tempfile::tempdir().unwrap();
    let run = |name: &str, quiet: bool| {
        let mut command = abyssal(&["train", "--model", "gcn", "--set", "train.epochs=3"]);
        command.arg("--out").arg(directory.path().join(name));
        if quiet {
            command.arg("--quiet");
        }
        common::stderr(&command.output().unwrap())
    };
    let loud = run("loud", false);
    assert!(loud.contains("3000 nodes") && loud.contains("epoch 3/3"), "{loud}");
    assert_eq!(run("quiet", true), "");
}

#[test]
fn the_second_generator_and_the_reference_preset_train() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = abyssal(&["train", "--dataset", "clusters", "--json", "--quiet", "--layers", "4"]);
    command.args(["--set", "preset=reference", "--set", "train.epochs=30"]);
    let text = succeed(command.arg("--out").arg(directory.path().join("run")));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["selection"], "paper");
    let accuracy = report["mean"].as_f64().unwrap();
    assert!(accuracy > report["majority_accuracy"].as_f64().unwrap() + 0.2, "{accuracy}");
}

#[test]
fn help_has_examples_and_wrong_usage_has_its_own_exit_code() {
    let help = succeed(&mut abyssal(&["train", "--help"]));
    for word in ["Examples:", "--resume", "--seeds", "model.a=0.6", "Exit codes"] {
        assert!(help.contains(word), "{word}");
    }
    assert!(fail(&mut abyssal(&["train", "--sets", "a=1"]), 2).contains("--set"));
    assert!(fail(&mut abyssal(&["train", "--set", "epochs"]), 2).contains("KEY=VALUE"));
    assert!(fail(&mut abyssal(&["train", "--seed", "1", "--seeds", "2"]), 2).contains("cannot be used"));
    assert!(fail(&mut abyssal(&["train", "--seeds", "0"]), 2).contains("seeds"));
    let both = fail(&mut abyssal(&["train", "--seeds", "2", "--set", "seed=7"]), 1);
    assert!(both.contains("seed = 7 cannot be used: --seeds 2 takes the seeds from 0 to 1"), "{both}");
    let help = succeed(&mut abyssal(&["train", "--help"]));
    assert!(help.contains("if no data, no --model and no --config is given"), "{help}");
    // As many threads would take minutes to start.
    assert!(fail(&mut abyssal(&["train", "--threads", "60000"]), 2).contains("1024"));
}

/// A closed terminal, or a pipe into a program that has ended, does not take the result with it.
#[test]
fn a_run_goes_on_if_nobody_reads_its_messages() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut command = abyssal(&["train", "--model", "gcn", "--layers", "2", "--set", "train.epochs=30"]);
    command.arg("--out").arg(&run).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    drop(child.stderr.take());
    assert!(child.wait().unwrap().success());
    assert!(run.join("result.json").is_file());
}
