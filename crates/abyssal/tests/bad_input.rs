//! Mistakes get one clear sentence, an exit code, and leave nothing behind.

mod common;

use common::{abyssal, fail, succeed, train_small};

#[test]
fn settings_that_cannot_be_are_named_with_what_they_may_be() {
    let directory = tempfile::tempdir().unwrap();
    for (setting, expected) in [
        ("model.layer=3", "unknown setting `model.layer`; did you mean `model.layers`?"),
        ("trian.epochs=3", "did you mean `train.epochs`?"),
        ("epochs=3", "did you mean `train.epochs`?"),
        ("model.layers=0", "model.layers = 0 is out of range: it must be at least 1"),
        ("model.a=1.5", "model.strength = 1.5 is out of range: it must be between 0 and 1"),
        ("model.b=-0.1", "model.exponent = -0.1 is out of range: it must be between 0 and 1"),
        ("model.rank=0", "model.rank = 0 is out of range"),
        ("model.rank=65", "a count from 1 to model.hidden"),
        ("model.rank=1.5", "a ratio above 0 and at most 1"),
        ("model.alpha=0", "model.aggregated = 0 is out of range: it must be above 0 and at most 1e9"),
        ("model.beta=-1", "model.residual = -1 is out of range: it must be between 0 and 1e9"),
        ("model.gamma=nan", "model.initial = NaN is out of range: it must be between 0 and 1e9"),
        ("model.p=2", "model.residual_memory = 2 is out of range"),
        ("model.q=2", "model.initial_decay = 2 is out of range"),
        (
            "model.hidden_dropout=1",
            "model.hidden_dropout = 1 is out of range: it must be at least 0 and below 1",
        ),
        ("model.gradient=none", "`full`"),
        ("train.epochs=0", "train.epochs = 0 cannot be used: it must be at least 1"),
        ("train.learning_rate=0", "train.learning_rate"),
        ("train.weight_decay=-1", "train.weight_decay"),
        ("data.nodes=0", "nodes"),
        ("data.homophily=2", "homophily"),
        ("data.train_per_class=1000", "train_per_class"),
        ("model.name=gcm", "did you mean \"gcn\"?"),
    ] {
        let out = directory.path().join("run");
        let mut command = abyssal(&["train", "--set", setting]);
        let error = fail(command.arg("--out").arg(&out), 1);
        assert!(error.contains(expected), "{setting}: {error}");
        assert!(error.starts_with("error: ") && error.trim().lines().count() == 1, "{setting}: {error}");
        assert!(!out.exists(), "{setting} left a directory behind");
    }
}

#[test]
fn layers_zero_is_refused_as_an_option_too() {
    assert!(fail(&mut abyssal(&["train", "--layers", "0"]), 1).contains("model.layers = 0"));
}

#[test]
fn an_unwritable_output_directory_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    let error = fail(&mut train_small(&file.join("run"), &[]), 1);
    assert!(error.contains("cannot create the directory") && error.contains("run"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn an_existing_run_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    for more in [&[][..], &["--seeds", "2"][..]] {
        let out = directory.path().join(format!("run{}", more.len()));
        succeed(&mut train_small(&out, more));
        let error = fail(&mut train_small(&out, more), 1);
        assert!(error.contains("already holds a run") && error.contains("--resume"), "{error}");
    }
}

#[test]
fn a_directory_without_a_run_cannot_be_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = abyssal(&["train", "--resume"]);
    assert!(fail(command.arg(directory.path()), 1).contains("holds no run;"));
}

#[test]
fn a_configuration_file_that_is_missing_or_broken_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    let train = || {
        let mut command = abyssal(&["train", "--config"]);
        command.arg(&path).arg("--out").arg(directory.path().join("run"));
        fail(&mut command, 1)
    };
    assert!(train().contains("cannot read"));
    std::fs::write(&path, "[model]\nlayerz = 3\n").unwrap();
    assert!(train().contains("did you mean `model.layers`?"));
    std::fs::write(&path, "[model\n").unwrap();
    assert!(train().contains("not a valid TOML file"));
}

/// A learning rate beyond reason: the run stops, names the epoch, and keeps what it wrote.
#[test]
fn divergence_stops_the_run_and_names_the_epoch() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("run");
    let error = fail(&mut train_small(&out, &["--set", "train.lr=1e30"]), 1);
    assert!(error.contains("training diverged in epoch"), "{error}");
    assert!(out.join("metrics.jsonl").exists() && !out.join("result.json").exists());
}
