//! `abyssal predict`.

use std::error::Error;
use std::io::Write;

use abyssal_graph::{DatasetConfig, write_atomically};
use abyssal_tensor::Matrix;
use abyssal_tensor::parallel::with_threads;
use abyssal_train::{Config, LastDataset, PlannedRun, Session, TrainError, predictions};

use crate::arguments::PredictArguments;
use crate::datasets;
use crate::say::{say, unless_closed};

/// Runs the command.
pub fn run(arguments: &PredictArguments) -> Result<(), Box<dyn Error>> {
    let mut runs = Session::open(&arguments.run)?.runs;
    let model = runs[0].config.model.name().to_string();
    runs.retain(|run| run.config.model.name() == model);
    let table = with_threads(arguments.threads.count(), || predict(&runs, arguments))??;
    match &arguments.out {
        Some(path) => {
            write_atomically(path, &table)?;
            if !arguments.quiet {
                let of_runs =
                    if runs.len() == 1 { String::new() } else { format!(", mean of {} runs", runs.len()) };
                say(format_args!("{model}{of_runs}: {}", path.display()));
            }
        }
        None => unless_closed(std::io::stdout().lock().write_all(&table))?,
    }
    Ok(())
}

/// The table of all nodes, from the mean of what the runs say.
fn predict(runs: &[PlannedRun], arguments: &PredictArguments) -> Result<Vec<u8>, TrainError> {
    let library = arguments.place.library();
    let mut last = LastDataset::default();
    let mut mean: Option<Matrix<f32>> = None;
    let mut table = Vec::new();
    for (number, run) in (1..).zip(runs) {
        let config = with_files(run, arguments)?;
        // Labels and masks of one's own files are not read, and may be gone.
        if config.data.name() != DatasetConfig::FILES {
            datasets::provide(&config.data, &library, arguments.place.offline, arguments.quiet)?;
        }
        let (said, dataset) = run.directory.predict(&config, &library, &mut last)?;
        let mean = mean.get_or_insert_with(|| Matrix::zeros(said.rows(), said.columns()));
        for (sum, value) in mean.as_mut_slice().iter_mut().zip(said.as_slice()) {
            *sum += value / runs.len() as f32;
        }
        if number == runs.len() {
            table = match arguments.probabilities {
                true => predictions::probabilities_to_csv(dataset, mean),
                false => predictions::classes_to_csv(dataset, mean),
            };
        }
    }
    Ok(table)
}

/// The configuration of a run, with the files that are given in place of its own.
fn with_files(run: &PlannedRun, arguments: &PredictArguments) -> Result<Config, TrainError> {
    let settings = arguments.settings();
    let Some((key, value)) = settings.first() else { return Ok(run.config.clone()) };
    let name = run.config.data.name();
    if name != DatasetConfig::FILES {
        return Err(TrainError::InvalidValue {
            key: key.replace("data.", "--"),
            value: value.to_string(),
            reason: format!("the run has learnt from {name}, which has no such files; leave it out"),
        });
    }
    Config::resolve(Some(&run.directory.path().join("config.toml")), &settings)
}
