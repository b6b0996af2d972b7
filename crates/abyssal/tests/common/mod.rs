//! Running the real program.
// Every test binary compiles this file and uses its own part of it.
#![allow(dead_code)]

#[path = "../../../abyssal-graph/tests/common/mod.rs"]
pub mod real_data;

use std::path::Path;
use std::process::{Command, Output};

/// A small task that still has everything: dropout, halved learning rate, full gradients.
const SMALL: &[&str] = &[
    "data.nodes=240",
    "data.validation=60",
    "data.train_per_class=10",
    "model.layers=4",
    "model.hidden=16",
    "model.hidden_dropout=0.2",
    "train.epochs=40",
    "train.halve_at=20",
    "train.checkpoint_seconds=0",
];

/// `abyssal` with arguments, ready to run or spawn.
pub fn abyssal(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_abyssal"));
    command.args(arguments);
    command
}

/// `abyssal train` of the small task with one model into a directory.
pub fn train_small(out: &Path, more: &[&str]) -> Command {
    let mut command = abyssal(&["train", "--model", "r-soft-graph-ain", "--json", "--quiet"]);
    command.arg("--out").arg(out);
    command.args(SMALL.iter().flat_map(|setting| ["--set", setting]));
    command.args(more);
    command
}

/// Standard output of a command that must succeed.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).expect("text")
}

/// Standard error of a command that must fail with this exit code and say nothing on standard output.
pub fn fail(command: &mut Command, code: i32) -> String {
    let output = command.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    stderr(&output)
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What must be the same bit for bit after an interruption, or with another number of threads.
pub fn outcome(run: &Path) -> (Vec<u8>, Vec<u8>) {
    let read = |name: &str| std::fs::read(run.join(name)).expect("a finished run");
    (read("model.safetensors"), read("metrics.jsonl"))
}
