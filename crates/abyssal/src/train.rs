//! `abyssal train`.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abyssal_graph::{Dataset, DatasetConfig, Library, SplitRule};
use abyssal_tensor::parallel::with_threads;
use abyssal_train::memory::MemoryPlan;
use abyssal_train::{
    Config, LastDataset, Outcome, PlannedRun, RunResult, Session, Surroundings, TrainError, check_lessons,
};

use crate::arguments::TrainArguments;
use crate::datasets;
use crate::report::SessionReport;
use crate::say::{say, unless_closed};
use crate::train_progress::Progress;

/// Features larger than this are worth a hint: first layers begin with weights for features near 1.
const LARGE_FEATURE: f32 = 10.0;

/// How the command ended without an error.
pub enum Ending {
    Finished,
    Interrupted,
}

/// Runs the command.
pub fn run(arguments: &TrainArguments) -> Result<Ending, Box<dyn Error>> {
    let library = arguments.data.place.library();
    let threads = arguments.threads.count();
    let mut data = LastDataset::default();
    let session = match &arguments.resume {
        Some(path) => resume(path, arguments)?,
        None => with_threads(threads, || start(arguments, &library, &mut data))??,
    };
    // Only now: until here there is nothing to keep, and Ctrl-C ends the program at once.
    let stop = stop_on_interrupt()?;
    let trained = with_threads(threads, || train_all(&session, &mut data, &library, arguments, &stop))??;
    let Some(Trained { results, failures }) = trained else {
        let path = session.path.display();
        say(format_args!("stopped with a checkpoint; go on with: abyssal train --resume {path}"));
        return Ok(Ending::Interrupted);
    };
    let planned = session.runs.iter().map(|run| &run.config);
    let Some(report) = SessionReport::new(planned, &results, &failures) else {
        return Err(failures.join("\n").into());
    };
    let mut output = std::io::stdout().lock();
    let written = match arguments.json {
        true => report.write_json(&mut output),
        false => report.write_table(&session.path, &mut output),
    };
    unless_closed(written.and_then(|()| output.flush()))?;
    match failures.len() {
        0 => Ok(Ending::Finished),
        failed => Err(format!("{failed} of {} runs failed, see above", session.runs.len()).into()),
    }
}

/// What came of the runs of a session.
struct Trained {
    results: Vec<(PathBuf, RunResult)>,
    /// What went wrong with the others.
    failures: Vec<String>,
}

/// Plans the runs: every model with every split and every seed. The data of the first is read and its memory planned before
/// anything is written, so that a mistake in one or too little of the other leaves nothing behind.
fn start(
    arguments: &TrainArguments,
    library: &Library,
    data: &mut LastDataset,
) -> Result<Session, TrainError> {
    let config = Config::resolve(arguments.model.config.as_deref(), &arguments.settings())?;
    // Before anything is written: what is missing is fetched, or told.
    datasets::provide(&config.data, library, arguments.data.place.offline, arguments.quiet)?;
    let configs = arguments.model.compared(&arguments.data, config.clone())?;
    let seeds: Vec<u64> = match arguments.seeds {
        Some(count) => seeds(count, arguments)?,
        None => vec![config.seed],
    };
    let splits = splits(&config.data, library, arguments)?;
    let mut runs = Vec::new();
    for config in &configs {
        for data in &splits {
            runs.extend(seeds.iter().map(|&seed| Config { seed, data: data.clone(), ..config.clone() }));
        }
    }
    let first = data.get(&runs[0].data, || load(&runs[0].data, library, arguments))?;
    MemoryPlan::new(&runs[0], first, &arguments.memory_settings())?;
    check_lessons(&runs[0], first)?;
    match &arguments.out {
        Some(path) => Session::create(path, &runs),
        None => {
            let name = format!("{}-{}", config.data.name(), config.model.name());
            Session::create_next(Path::new("runs"), &name, &runs)
        }
    }
}

/// Reads data, and tells what it is.
fn load(
    source: &DatasetConfig,
    library: &Library,
    arguments: &TrainArguments,
) -> Result<Dataset, TrainError> {
    let dataset = source.load(library)?;
    if !arguments.quiet {
        say(describe(&dataset));
    }
    let largest = dataset.features().largest();
    if !arguments.quiet && largest > LARGE_FEATURE && source.preparation().is_some_and(|own| !own.standardize)
    {
        say(format_args!(
            "hint: features reach {largest}; with --set data.standardize=true most models learn more"
        ));
    }
    let unknown = classes_nobody_teaches(&dataset);
    if !unknown.is_empty() {
        say(format_args!(
            "warning: no training node has the class {}: nobody can learn it",
            unknown.join(" or ")
        ));
    }
    Ok(dataset)
}

/// The names of the classes that nodes have, but no training node.
fn classes_nobody_teaches(dataset: &Dataset) -> Vec<String> {
    let classes_of = |nodes: &mut dyn Iterator<Item = usize>| -> BTreeSet<u32> {
        nodes.filter_map(|node| dataset.labels()[node]).collect()
    };
    let all = classes_of(&mut (0..dataset.nodes()));
    let taught = classes_of(&mut dataset.split().train().iter().map(|&node| node as usize));
    all.difference(&taught).map(|&class| dataset.class_name(class as usize).to_string()).collect()
}

/// The seeds of `--seeds`. As beside `--seed`, a seed in the settings would not be obeyed.
fn seeds(count: u64, arguments: &TrainArguments) -> Result<Vec<u64>, TrainError> {
    match arguments.model.set.iter().find(|(key, _)| key == "seed") {
        None => Ok((0..count).collect()),
        Some((_, seed)) => Err(TrainError::InvalidValue {
            key: "seed".to_string(),
            value: seed.to_string(),
            reason: format!("--seeds {count} takes the seeds from 0 to {}; leave one of them out", count - 1),
        }),
    }
}

/// The data with each of the splits to train on.
fn splits(
    data: &DatasetConfig,
    library: &Library,
    arguments: &TrainArguments,
) -> Result<Vec<DatasetConfig>, TrainError> {
    let refuse = |reason: &str| {
        let given = match arguments.splits {
            Some(count) => ("--splits", count.to_string()),
            None => ("--split", "geom-gcn".to_string()),
        };
        let (key, value) = (given.0.to_string(), given.1);
        Err(TrainError::InvalidValue { key, value, reason: reason.to_string() })
    };
    let all_of_geom_gcn = arguments.wants_all_of_geom_gcn();
    if arguments.splits.is_none() && !all_of_geom_gcn {
        return Ok(vec![data.clone()]);
    }
    let Some(preparation) = data.preparation() else {
        return refuse("a generated graph has the split its settings describe");
    };
    let of_geom_gcn = all_of_geom_gcn
        || matches!(&preparation.split, SplitRule::Stored(name) if name.starts_with("geom-gcn:"));
    let count = arguments.splits.map_or(SplitRule::GEOM_GCN, |count| count as usize);
    match of_geom_gcn {
        true if count > SplitRule::GEOM_GCN => refuse("geom-gcn has ten splits"),
        true if !all_of_geom_gcn
            && (arguments.split.is_some() || preparation.split != SplitRule::geom_gcn(0)) =>
        {
            let split = &preparation.split;
            refuse(&format!(
                "{split} is one split; for the first {count} of geom-gcn's ten write --split geom-gcn"
            ))
        }
        true => Ok((0..count).map(|number| data.with_split(SplitRule::geom_gcn(number))).collect()),
        false => match data.random_split(library)? {
            Some(rule) => {
                let data = data.with_split(rule);
                Ok((0..count).map(|seed| data.with_seed(seed as u64)).collect())
            }
            None => refuse(
                "the split of this data is given, and it is one; to draw several, write --split fractions:0.6,0.2 or \
                 --split per-class:20,30, and for those of geom-gcn, if the data has them, --split geom-gcn",
            ),
        },
    }
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
        let wanted = match &arguments.model.config {
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

/// Whether settings ask for another model, dataset or preset; the settings of those would not even have the same names, or
/// would come from elsewhere.
fn other_name(config: &Config, settings: &[(String, toml::Value)]) -> Option<String> {
    let names = [
        ("model.name", config.model.name()),
        ("data.name", config.data.name()),
        ("preset", config.preset.name()),
    ];
    names.into_iter().find_map(|(key, name)| {
        let (_, wanted) = settings.iter().rev().find(|(given, _)| given == key)?;
        (wanted.as_str() != Some(name)).then(|| format!("{key} is \"{name}\" there and {wanted} here"))
    })
}

/// Trains every run that is not finished; `None` if it was interrupted. One that diverges does not keep the others from
/// their turn.
fn train_all(
    session: &Session,
    data: &mut LastDataset,
    library: &Library,
    arguments: &TrainArguments,
    stop: &AtomicBool,
) -> Result<Option<Trained>, TrainError> {
    let (mut results, mut failures) = (Vec::new(), Vec::new());
    for PlannedRun { directory, config } in &session.runs {
        // All runs of a session usually share their data.
        let dataset = data.get(&config.data, || load(&config.data, library, arguments))?;
        let mut progress = Progress::new(arguments.quiet);
        // Whoever is compared does what the first model is asked for as far as it can.
        let is_first = config.model.name() == session.runs[0].config.model.name();
        let memory = arguments.memory_settings();
        let memory = if is_first { memory } else { memory.along(&config.model) };
        let mut surroundings = Surroundings { library, observer: &mut progress, memory, stop };
        let outcome = directory.run(config, dataset, &mut surroundings);
        progress.finish();
        match outcome {
            Ok(Outcome::Finished(result)) => results.push((directory.path().to_path_buf(), *result)),
            Ok(Outcome::Stopped { .. }) => return Ok(None),
            Err(error) if error.concerns_one_run() => {
                let failure = format!("{}, seed {}: {error}", config.model.name(), config.seed);
                if session.runs.len() > 1 {
                    say(format_args!("error: {failure}"));
                }
                failures.push(failure);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Some(Trained { results, failures }))
}

fn describe(dataset: &Dataset) -> String {
    let split = dataset.split();
    format!(
        "{}: {} nodes, {} edges, {} features, {} classes; split {}: {} training, {} validation, {} test nodes",
        dataset.name(),
        dataset.nodes(),
        dataset.graph().edges(),
        dataset.features().columns(),
        dataset.classes(),
        split.name(),
        split.train().len(),
        split.validation().len(),
        split.test().len(),
    )
}

/// A flag that Ctrl-C sets. A second Ctrl-C ends the program at once; the last checkpoint stays.
pub fn stop_on_interrupt() -> Result<Arc<AtomicBool>, ctrlc::Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(crate::INTERRUPTED));
        }
        say("stopping after this epoch; press Ctrl-C again to stop at once");
    })?;
    Ok(stop)
}
