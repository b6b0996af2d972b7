//! `abyssal train`.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abyssal_graph::Dataset;
use abyssal_tensor::parallel::with_threads;
use abyssal_train::{Config, Outcome, PlannedRun, Session, TrainError};

use crate::arguments::TrainArguments;
use crate::progress::Progress;
use crate::report::SessionReport;

/// How the command ended without an error.
pub enum Ending {
    Finished,
    Interrupted,
}

/// Runs the command.
pub fn run(arguments: &TrainArguments) -> Result<Ending, Box<dyn Error>> {
    let session = match &arguments.resume {
        Some(path) => resume(path, arguments)?,
        None => start(arguments)?,
    };
    let stop = stop_on_interrupt()?;
    let quiet = arguments.quiet;
    let results = with_threads(usize::from(arguments.threads), || train_all(&session, quiet, &stop))??;
    let Some(results) = results else {
        let path = session.path.display();
        eprintln!("stopped with a checkpoint; go on with: abyssal train --resume {path}");
        return Ok(Ending::Interrupted);
    };
    let report = SessionReport::new(&results).ok_or("there was nothing to run")?;
    let mut output = std::io::stdout().lock();
    let written = match arguments.json {
        true => report.write_json(&mut output),
        false => report.write_table(&session.path, &mut output),
    };
    match written.and_then(|()| output.flush()) {
        // Whoever read our output has read enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Ending::Finished),
        written => Ok(written.map(|()| Ending::Finished)?),
    }
}

/// Plans the runs: every model with every seed.
fn start(arguments: &TrainArguments) -> Result<Session, TrainError> {
    let config = Config::resolve(arguments.config.as_deref(), &arguments.settings())?;
    let mut configs = vec![config.clone()];
    for name in arguments.compared_models() {
        let settings = [("model.name".to_string(), toml::Value::from(name.as_str()))];
        let other = Config::resolve(None, &settings)?;
        // A model that is named twice is trained once.
        if configs.iter().all(|planned| planned.model.name() != other.model.name()) {
            configs.push(Config { model: other.model.sized_like(&config.model), ..config.clone() });
        }
    }
    let seeds: Vec<u64> = match arguments.seeds {
        Some(count) => (0..count).collect(),
        None => vec![config.seed],
    };
    let with_seeds = configs
        .iter()
        .flat_map(|config| seeds.iter().map(|&seed| Config { seed, ..config.clone() }))
        .collect();
    let path = arguments.out.clone().unwrap_or_else(|| {
        let name = format!("{}-{}", config.data.name(), config.model.name());
        Session::free_directory(Path::new("runs"), &name)
    });
    Session::create(&path, with_seeds)
}

/// Opens earlier runs; settings given beside `--resume` must be those of the runs.
fn resume(path: &Path, arguments: &TrainArguments) -> Result<Session, TrainError> {
    let session = Session::open(path)?;
    let settings = arguments.settings();
    for PlannedRun { directory, config } in &session.runs {
        if let Some(difference) = other_name(config, &settings) {
            let path = directory.path().to_path_buf();
            return Err(TrainError::OtherConfiguration { path, difference });
        }
        let wanted = match &arguments.config {
            Some(file) => Config::resolve(Some(file), &settings)?,
            None if settings.is_empty() => continue,
            None => Config::resolve(Some(&directory.path().join("config.toml")), &settings)?,
        };
        if let Some(difference) = config.difference(&wanted) {
            let path = directory.path().to_path_buf();
            return Err(TrainError::OtherConfiguration { path, difference });
        }
    }
    Ok(session)
}

/// Whether settings ask for another model or dataset; their other settings would not even have the same names.
fn other_name(config: &Config, settings: &[(String, toml::Value)]) -> Option<String> {
    let names = [("model.name", config.model.name()), ("data.name", config.data.name())];
    names.into_iter().find_map(|(key, name)| {
        let (_, wanted) = settings.iter().rev().find(|(given, _)| given == key)?;
        (wanted.as_str() != Some(name)).then(|| format!("{key} is \"{name}\" there and {wanted} here"))
    })
}

/// Trains every run that is not finished; `None` if it was interrupted.
fn train_all(
    session: &Session,
    quiet: bool,
    stop: &AtomicBool,
) -> Result<Option<Vec<(PathBuf, abyssal_train::RunResult)>>, TrainError> {
    let mut results = Vec::new();
    let mut dataset: Option<(abyssal_graph::DatasetConfig, Dataset)> = None;
    for PlannedRun { directory, config } in &session.runs {
        // All runs of a session usually share their data.
        let data = match dataset.take().filter(|(source, _)| *source == config.data) {
            Some((_, data)) => data,
            None => {
                let data = config.data.load()?;
                if !quiet {
                    eprintln!("{}", describe(&data));
                }
                data
            }
        };
        let mut progress = Progress::new(config, quiet);
        let outcome = directory.run(config, &data, &mut progress, stop);
        progress.finish();
        match outcome? {
            Outcome::Finished(result) => results.push((directory.path().to_path_buf(), *result)),
            Outcome::Stopped { .. } => return Ok(None),
        }
        dataset = Some((config.data.clone(), data));
    }
    Ok(Some(results))
}

fn describe(dataset: &Dataset) -> String {
    let split = dataset.split();
    format!(
        "{}: {} nodes, {} edges, {} features, {} classes; {} training, {} validation, {} test nodes",
        dataset.name(),
        dataset.nodes(),
        dataset.graph().edges(),
        dataset.features().columns(),
        dataset.classes(),
        split.train().len(),
        split.validation().len(),
        split.test().len(),
    )
}

/// A flag that Ctrl-C sets. A second Ctrl-C ends the program at once; the last checkpoint stays.
fn stop_on_interrupt() -> Result<Arc<AtomicBool>, ctrlc::Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(crate::INTERRUPTED));
        }
        eprintln!("stopping after this epoch; press Ctrl-C again to stop at once");
    })?;
    Ok(stop)
}
