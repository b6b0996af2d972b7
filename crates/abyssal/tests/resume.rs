//! Runs that are interrupted, and go on as if they had not been.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{abyssal, fail, outcome, succeed, train_small};

fn resume(run: &Path) -> Command {
    let mut command = abyssal(&["train", "--json", "--quiet", "--resume"]);
    command.arg(run);
    command
}

fn epochs_done(run: &Path) -> usize {
    fs::read_to_string(run.join("metrics.jsonl")).map_or(0, |text| text.lines().count())
}

/// Kills the program ten times at ten different places, and once more after it was resumed, and compares what comes
/// out in the end.
#[test]
fn killed_runs_end_in_the_same_bits() {
    let directory = tempfile::tempdir().unwrap();
    let reference = directory.path().join("uninterrupted");
    let long = ["--set", "train.epochs=120"];
    succeed(&mut train_small(&reference, &long));
    let expected = outcome(&reference);
    let mut killed_in_the_middle = 0;
    for attempt in 0..10 {
        let run = directory.path().join(format!("killed-{attempt}"));
        let mut next = train_small(&run, &long);
        for epochs in [1 + 7 * attempt, 40 + 7 * attempt] {
            let mut child = next.stdout(Stdio::null()).spawn().unwrap();
            // Whatever the program is doing a moment after this epoch: computing, writing, syncing, renaming.
            while epochs_done(&run) < epochs && child.try_wait().unwrap().is_none() {
                sleep(Duration::from_micros(300 + 90 * attempt as u64));
            }
            child.kill().unwrap();
            child.wait().unwrap();
            killed_in_the_middle += usize::from(run.join("checkpoint.safetensors").exists());
            next = resume(&run);
        }
        succeed(&mut next);
        assert_eq!(outcome(&run), expected, "attempt {attempt}");
    }
    assert!(killed_in_the_middle > 0, "every run was over before it could be killed");
}

/// Ctrl-C: a checkpoint, a hint, exit code 130, and the same result in the end.
#[cfg(unix)]
#[test]
fn an_interrupt_makes_a_checkpoint_and_says_how_to_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let reference = directory.path().join("uninterrupted");
    let long = ["--set", "train.epochs=400", "--set", "train.checkpoint_seconds=1000"];
    succeed(&mut train_small(&reference, &long));
    let run = directory.path().join("interrupted");
    let child = train_small(&run, &long).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while epochs_done(&run) < 3 {
        sleep(Duration::from_millis(2));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
    let message = common::stderr(&output);
    assert!(message.contains(&format!("abyssal train --resume {}", run.display())), "{message}");
    assert!(run.join("checkpoint.safetensors").exists() && !run.join("result.json").exists());
    succeed(&mut resume(&run));
    assert_eq!(outcome(&run), outcome(&reference));
}

#[test]
fn a_finished_run_is_reported_again_and_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let first = succeed(&mut train_small(&run, &[]));
    let before = fs::read(run.join("result.json")).unwrap();
    assert_eq!(succeed(&mut resume(&run)), first);
    assert_eq!(fs::read(run.join("result.json")).unwrap(), before);
}

/// A session of several runs goes on with those that are not finished.
#[test]
fn a_session_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, cut) = (directory.path().join("whole"), directory.path().join("cut"));
    let more = ["--seeds", "2", "--compare", "gcn"];
    succeed(&mut train_small(&whole, &more));
    succeed(&mut train_small(&cut, &more));
    let unfinished = cut.join("gcn").join("seed-0");
    for name in ["result.json", "model.safetensors", "metrics.jsonl"] {
        fs::remove_file(unfinished.join(name)).unwrap();
    }
    succeed(&mut resume(&cut));
    assert_eq!(outcome(&unfinished), outcome(&whole.join("gcn").join("seed-0")));
}

/// A run stopped in the middle, with its checkpoint still there.
fn stopped_run(directory: &Path) -> std::path::PathBuf {
    let run = directory.join("stopped");
    let mut child = train_small(&run, &["--set", "train.epochs=100000"]).spawn().expect("the program starts");
    while !run.join("checkpoint.safetensors").exists() {
        sleep(Duration::from_millis(2));
    }
    child.kill().expect("it was running");
    child.wait().expect("it ended");
    run
}

#[test]
fn a_truncated_checkpoint_is_an_error_that_destroys_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let run = stopped_run(directory.path());
    let checkpoint = run.join("checkpoint.safetensors");
    let bytes = fs::read(&checkpoint).unwrap();
    let metrics = fs::read(run.join("metrics.jsonl")).unwrap();
    for length in [0, 7, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&checkpoint, &bytes[..length]).unwrap();
        let error = fail(&mut resume(&run), 1);
        assert!(error.contains("is damaged") && error.contains("delete it"), "{error}");
        assert_eq!(error.trim().lines().count(), 1, "{error}");
    }
    assert_eq!(fs::read(run.join("metrics.jsonl")).unwrap(), metrics);
}

#[test]
fn another_configuration_is_refused_on_resume() {
    let directory = tempfile::tempdir().unwrap();
    let run = stopped_run(directory.path());
    let checkpoint = fs::read(run.join("checkpoint.safetensors")).unwrap();
    let other_model = fail(resume(&run).args(["--model", "gcn"]), 1);
    assert!(other_model.contains("belongs to another configuration"), "{other_model}");
    assert!(other_model.contains("model.name"), "{other_model}");
    let other_rate = fail(resume(&run).args(["--set", "train.lr=0.5"]), 1);
    assert!(other_rate.contains("train.learning_rate is 0.01 there and 0.5 here"), "{other_rate}");

    // An edited config.toml no longer belongs to the checkpoint.
    let config = fs::read_to_string(run.join("config.toml")).unwrap();
    fs::write(run.join("config.toml"), config.replace("weight_decay = 0.0005", "weight_decay = 0.1"))
        .unwrap();
    let edited = fail(&mut resume(&run), 1);
    assert!(edited.contains("belongs to another configuration"), "{edited}");
    assert_eq!(fs::read(run.join("checkpoint.safetensors")).unwrap(), checkpoint);
}
