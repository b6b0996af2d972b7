//! `abyssal reproduce`.

use std::error::Error;
use std::io::Write;
use std::sync::atomic::AtomicBool;

use abyssal_graph::{Library, write_atomically};
use abyssal_report::Records;
use abyssal_tensor::parallel::with_threads;
use abyssal_train::experiments::{Cell, Experiment, Record, Request, Runner};
use abyssal_train::memory::MemorySettings;
use abyssal_train::{Surroundings, TrainError};

use crate::arguments::{CellArguments, ReproduceCommand, TableArguments};
use crate::datasets;
use crate::say::{say, unless_closed};
use crate::train::{Ending, stop_on_interrupt};
use crate::train_progress::Progress;

/// Runs the command.
pub fn run(command: &ReproduceCommand) -> Result<Ending, Box<dyn Error>> {
    match command {
        ReproduceCommand::Accuracies(arguments) => {
            compute(Experiment::Accuracies, &arguments.request(), &arguments.cells)
        }
        ReproduceCommand::Backbones(arguments) => {
            compute(Experiment::Backbones, &arguments.request(), &arguments.cells)
        }
        ReproduceCommand::Ablation(arguments) => {
            compute(Experiment::Ablation, &arguments.request(), arguments)
        }
        ReproduceCommand::Tables(arguments) => tables(arguments).map(|()| Ending::Finished),
    }
}

/// Computes the cells of an experiment that are asked for, or lists them.
fn compute(
    experiment: Experiment,
    request: &Request,
    arguments: &CellArguments,
) -> Result<Ending, Box<dyn Error>> {
    let cells = experiment.cells(request)?;
    let runner = Runner { runs: arguments.directory.clone(), results: arguments.results.clone() };
    if arguments.list {
        let mut output = std::io::stdout().lock();
        for cell in &cells {
            writeln!(output, "{}", progress_of(cell, &runner)?)?;
        }
        return Ok(Ending::Finished);
    }
    let library = arguments.place.library();
    // Before anything is trained: what is missing is fetched, and runs of other settings are told.
    for cell in &cells {
        runner.progress(cell)?;
        if let Some(config) = cell.configs()?.first() {
            datasets::provide(&config.data, &library, arguments.place.offline, arguments.quiet)?;
        }
    }
    let stop = stop_on_interrupt()?;
    for cell in &cells {
        match run_cell(&runner, cell, &library, arguments, &stop)? {
            Some(record) => {
                // The records are for others too.
                unless_closed(writeln!(std::io::stdout(), "{}", outcome(cell, &record)))?;
                if let Some(kept) = runner.kept(&record).filter(|kept| kept.is_fuller_than(&record)) {
                    say(format_args!("the record of {} stays", runs(kept.runs.len())));
                }
            }
            None => {
                say("stopped with a checkpoint; the same command goes on");
                return Ok(Ending::Interrupted);
            }
        }
    }
    Ok(Ending::Finished)
}

/// Computes a cell; `None` if it was interrupted.
fn run_cell(
    runner: &Runner,
    cell: &Cell,
    library: &Library,
    arguments: &CellArguments,
    stop: &AtomicBool,
) -> Result<Option<Record>, Box<dyn Error>> {
    if !arguments.quiet {
        say(progress_of(cell, runner)?);
    }
    let mut progress = Progress::new(arguments.quiet);
    let record = with_threads(arguments.threads.count(), || {
        let memory = MemorySettings::default();
        runner.run(cell, &mut Surroundings { library, observer: &mut progress, memory, stop })
    })?;
    progress.finish();
    Ok(record?)
}

/// How far a cell is: `cora honest ours 32: 10 runs, 4 finished`.
fn progress_of(cell: &Cell, runner: &Runner) -> Result<String, TrainError> {
    let (finished, all) = runner.progress(cell)?;
    Ok(format!("{}: {}, {finished} finished", cell.title(), runs(all)))
}

/// Puts tables of all records into a page, or tells whether they are there.
fn tables(arguments: &TableArguments) -> Result<(), Box<dyn Error>> {
    let TableArguments { results, page, check } = arguments;
    let name = page.display();
    let records = Records::read(results)?;
    let text = std::fs::read_to_string(page).map_err(|error| format!("cannot read {name}: {error}"))?;
    let rendered = abyssal_report::render(&text, &records).map_err(|error| format!("{name}: {error}"))?;
    let mut output = std::io::stdout();
    match (rendered == text, check) {
        (true, _) => writeln!(output, "{name} is up to date")?,
        (false, true) => {
            return Err(
                format!("{name} is not up to date; bring it there with: abyssal reproduce tables").into()
            );
        }
        (false, false) => {
            write_atomically(page, rendered.as_bytes())?;
            writeln!(output, "{name} has new tables")?;
        }
    }
    Ok(())
}

/// A cell in one line: `cora honest ours 32: 84.9 ± 0.4 (10 runs, 312 s)`.
fn outcome(cell: &Cell, record: &Record) -> String {
    let accuracy = match record.test {
        Some(test) if record.runs.len() > 1 => {
            format!("{:.1} ± {:.1}", 100.0 * test.mean, 100.0 * test.deviation)
        }
        Some(test) => format!("{:.1}", 100.0 * test.mean),
        None => "–".to_string(),
    };
    let failed = match record.failures.len() {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    format!("{}: {accuracy} ({}{failed}, {:.0} s)", cell.title(), runs(record.runs.len()), record.seconds)
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_string() } else { format!("{count} runs") }
}
