//! `abyssal`, the command line.

// They panic where nobody reads: say and writeln! do not.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod arguments;
mod datasets;
mod diagnose;
mod fetch_progress;
mod label_propagation;
mod models;
mod predict;
mod report;
mod reproduce;
mod say;
mod train;
mod train_progress;

use std::error::Error;
use std::io;
use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use say::say;

/// The exit code of a program that was interrupted, as shells use it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let Arguments { command } = Arguments::parse();
    let outcome = match command {
        Command::Train(arguments) => train::run(&arguments),
        Command::Predict(arguments) => predict::run(&arguments).map(|()| train::Ending::Finished),
        Command::Diagnose(arguments) => diagnose::run(&arguments).map(|()| train::Ending::Finished),
        Command::LabelPropagation(arguments) => {
            label_propagation::run(&arguments).map(|()| train::Ending::Finished)
        }
        Command::Reproduce(command) => reproduce::run(&command),
        Command::Models(command) => models::run(&command).map(|()| train::Ending::Finished),
        Command::Datasets(command) => datasets::run(&command).map(|()| train::Ending::Finished),
    };
    match outcome {
        Ok(train::Ending::Finished) => ExitCode::SUCCESS,
        Ok(train::Ending::Interrupted) => ExitCode::from(INTERRUPTED),
        // Whoever read our output has read enough.
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    let kind = match (error.downcast_ref::<io::Error>(), error.downcast_ref::<serde_json::Error>()) {
        (Some(error), _) => Some(error.kind()),
        (None, Some(error)) => error.io_error_kind(),
        (None, None) => None,
    };
    kind == Some(io::ErrorKind::BrokenPipe)
}
