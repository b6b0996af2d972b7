//! `abyssal train --memory`: less memory, the same bits, and a word before a run that cannot fit.

mod common;

use std::path::Path;
use std::process::Command;

use common::{abyssal, fail, stderr};
use serde_json::Value;

const OURS: &str = "r-soft-graph-ain";
const DEEP: [&str; 8] = [
    "--set",
    "model.layers=48",
    "--set",
    "model.hidden=32",
    "--set",
    "data.nodes=3000",
    "--set",
    "train.epochs=2",
];

const CURRICULUM: [&str; 14] = [
    "--set",
    "data.nodes=20000",
    "--set",
    "data.classes=40",
    "--set",
    "model.layers=2",
    "--set",
    "curriculum.steps=50",
    "--set",
    "curriculum.fine_tuning_epochs=1",
    "--teacher",
    "mlp",
    "--set",
    "teacher.mlp.train.epochs=2",
];

fn command(out: &Path, model: &str, arguments: &[&str]) -> Command {
    let mut command = abyssal(&["train", "--model", model]);
    command.args(DEEP).args(arguments).arg("--out").arg(out);
    command
}

/// What training says on standard error, and its result.
fn train(out: &Path, model: &str, arguments: &[&str]) -> (String, Value) {
    let output = command(out, model, arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let result = std::fs::read_to_string(out.join("result.json")).expect("a finished run");
    (stderr(&output), serde_json::from_str(&result).expect("JSON"))
}

/// The estimate of a run, in bytes.
fn estimate(text: &str) -> f64 {
    let line = text.lines().find(|line| line.contains(" of memory")).expect("an estimate");
    let words: Vec<&str> = line.split_whitespace().collect();
    let unit = if words[2] == "GiB" { 1 << 30 } else { 1 << 20 };
    words[1].parse::<f64>().expect("a number") * f64::from(unit)
}

#[cfg(target_os = "linux")]
#[test]
fn estimates_are_close_to_what_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let cases: [(&str, &[&str]); 9] = [
        (OURS, &[]),
        (OURS, &["--memory", "checkpoint:7"]),
        // Embeddings of 16 MiB are computed again: to keep them would take a third more.
        (OURS, &["--set", "data.nodes=135000", "--set", "model.layers=12"]),
        ("gcnii", &[]),
        ("gcnii", &["--memory", "checkpoint:6", "--threads", "1"]),
        ("gat", &["--set", "model.layers=3"]),
        ("appnp", &["--set", "model.layers=10"]),
        // Labels of all nodes, 51 times.
        (OURS, &CURRICULUM),
        // Most of it are nodes two steps apart.
        (
            "h2gcn",
            &["--set", "model.layers=1", "--set", "data.nodes=30000", "--set", "data.average_degree=30"],
        ),
    ];
    for (index, (model, arguments)) in cases.iter().enumerate() {
        let (text, result) = train(&directory.path().join(index.to_string()), model, arguments);
        let ratio = estimate(&text) / result["peak_memory_bytes"].as_f64().unwrap();
        assert!((0.8..1.2).contains(&ratio), "{model} {arguments:?}: {ratio} of the measured memory");
    }
}

#[test]
fn saving_memory_changes_nothing_that_is_learnt() {
    let directory = tempfile::tempdir().unwrap();
    let [full, saving] = ["full", "checkpoint:5"].map(|mode| {
        let out = directory.path().join(mode.replace(':', "-"));
        train(&out, OURS, &["--set", "model.hidden_dropout=0.2", "--memory", mode]);
        ["model.safetensors", "metrics.jsonl", "diagnosis.json"]
            .map(|file| std::fs::read(out.join(file)).unwrap())
    });
    assert!(full == saving);
}

#[test]
fn a_run_that_does_not_fit_says_so_before_it_starts() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |model: &str, arguments: &[&str]| {
        fail(&mut command(&directory.path().join(arguments.concat()), model, arguments), 1)
    };
    let message = refused(OURS, &["--memory", "full", "--memory-budget", "40MiB"]);
    assert!(message.contains("40 MiB may be used; --memory checkpoint:"), "{message}");
    let message = refused(OURS, &["--memory-budget", "1MiB"]);
    assert!(message.contains("take fewer layers"), "{message}");
    let message = refused(OURS, &["--set", "model.hidden=1000000"]);
    assert!(message.contains("may be used; take fewer layers, a smaller model.hidden"), "{message}");
    let message = refused("appnp", &["--memory", "checkpoint:3"]);
    assert!(message.contains("appnp cannot compute layers again"), "{message}");
    let message = refused(OURS, &["--memory", "checkpoint:3", "--set", "model.layers=8"]);
    assert!(message.contains("8 layers are too few for --memory checkpoint:K"), "{message}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
    let (text, _) = train(&directory.path().join("auto"), OURS, &["--memory-budget", "40MiB"]);
    assert!(
        text.contains("layers at a time and computing the others again (--memory full: faster, about "),
        "{text}"
    );
}

/// What one model has given back is there for the next.
#[cfg(target_os = "linux")]
#[test]
fn a_budget_for_one_model_is_enough_for_several() {
    let directory = tempfile::tempdir().unwrap();
    let (text, _) = train(&directory.path().join("one"), OURS, &[]);
    let budget = format!("{}", (1.1 * estimate(&text)) as u64);
    let arguments = ["--memory", "full", "--memory-budget", &budget];
    let seeds = command(&directory.path().join("seeds"), OURS, &["--seeds", "3"]).args(arguments).output();
    let seeds = seeds.expect("the program starts");
    let text = stderr(&seeds);
    assert!(seeds.status.success(), "{text}");
    let estimates: Vec<&str> = text.lines().filter(|line| line.contains(" of memory")).collect();
    assert!(estimates.len() == 3 && estimates.iter().all(|line| *line == estimates[0]), "{text}");
}

#[test]
fn compared_models_compute_layers_again_only_where_they_can() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("compared");
    let arguments = ["--set", "data.nodes=800", "--compare", "mlp", "--memory", "checkpoint:5"];
    let output = command(&out, OURS, &arguments).output().expect("the program starts");
    let text = stderr(&output);
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches("keeping 5 layers at a time").count(), 1, "{text}");
}
