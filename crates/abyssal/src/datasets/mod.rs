//! `abyssal datasets`.

mod info;
mod list;

use std::error::Error;
use std::io::Write;

use abyssal_graph::catalogue::Benchmark;
use abyssal_graph::fetch::{self, FetchOptions, FileState};
use abyssal_graph::formats::container;
use abyssal_graph::formats::own::{self, OwnFiles};
use abyssal_graph::{DatasetConfig, GraphError, Library, check_contents, write_atomically};
use abyssal_train::Config;

use crate::arguments::{DatasetsCommand, ExportArguments, FetchArguments, ImportArguments, VerifyArguments};
use crate::fetch_progress::FetchBar;
use crate::say::say;

/// Runs the command.
pub fn run(command: &DatasetsCommand) -> Result<(), Box<dyn Error>> {
    let mut output = std::io::stdout().lock();
    match command {
        DatasetsCommand::List(arguments) => list::run(arguments, &mut output)?,
        DatasetsCommand::Info(arguments) => info::run(arguments, &mut output)?,
        DatasetsCommand::Fetch(arguments) => fetch_benchmarks(arguments, &mut output)?,
        DatasetsCommand::Verify(arguments) => verify(arguments, &mut output)?,
        DatasetsCommand::Import(arguments) => import(arguments, &mut output)?,
        DatasetsCommand::Export(arguments) => export(arguments)?,
    }
    Ok(output.flush()?)
}

/// Makes sure that a dataset is here: fetches a benchmark that is not, unless told not to.
pub fn provide(
    config: &DatasetConfig,
    library: &Library,
    offline: bool,
    quiet: bool,
) -> Result<(), GraphError> {
    match (config.check_present(library), Benchmark::named(config.name())) {
        (Err(GraphError::NotFetched { .. }), Some(benchmark)) if !offline => {
            if !quiet {
                say(format_args!("{} is not in {} yet", benchmark.name, library.data_directory().display()));
            }
            fetch_one(benchmark, library, &FetchOptions::from_environment(), quiet).map(|_| ())
        }
        (present, _) => present,
    }
}

fn fetch_benchmarks(arguments: &FetchArguments, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let library = arguments.place.library();
    let benchmarks = match arguments.all {
        true => Benchmark::all().iter().collect(),
        false => named(&arguments.names, &library)?,
    };
    if arguments.place.offline {
        return Err("--offline and fetching exclude each other".into());
    }
    let options = FetchOptions { replace: arguments.force, ..FetchOptions::from_environment() };
    for benchmark in benchmarks {
        let report = fetch_one(benchmark, &library, &options, arguments.quiet)?;
        writeln!(
            output,
            "{}: {} files fetched ({} kB), {} here already",
            benchmark.name,
            report.fetched.len(),
            report.bytes.div_ceil(1000),
            report.kept.len(),
        )?;
    }
    writeln!(output, "kept in {}", library.data_directory().display())?;
    Ok(())
}

fn fetch_one(
    benchmark: &Benchmark,
    library: &Library,
    options: &FetchOptions,
    quiet: bool,
) -> Result<fetch::FetchReport, GraphError> {
    let mut bar = FetchBar::new(quiet);
    fetch::fetch(library.data_directory(), &benchmark.files(), options, &check_contents, &mut bar)
}

/// Tells the state of every file; an error if one of them is wrong, or missing from what was asked for.
fn verify(arguments: &VerifyArguments, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let library = arguments.place.library();
    let asked_for = !arguments.names.is_empty();
    let benchmarks = match asked_for {
        true => named(&arguments.names, &library)?,
        false => Benchmark::all().iter().collect(),
    };
    let (mut faulty, mut seen) = (0, 0);
    for benchmark in benchmarks {
        let states = fetch::verify(library.data_directory(), benchmark, &check_contents);
        let good = states.iter().filter(|(_, state)| *state == FileState::Good).count();
        let missing = states.iter().filter(|(_, state)| *state == FileState::Missing).count();
        match missing {
            // Without names it is about what is here.
            missing if missing == states.len() && !asked_for => continue,
            0 => writeln!(output, "{}: {good} of {} files are right", benchmark.name, states.len())?,
            missing if missing == states.len() => writeln!(output, "{}: not here", benchmark.name)?,
            missing => {
                let all = states.len();
                writeln!(output, "{}: {good} of {all} files are right, {missing} missing", benchmark.name)?;
            }
        }
        seen += 1;
        if missing > 0 && asked_for {
            faulty += 1;
        }
        for (file, state) in &states {
            match state {
                FileState::Wrong { found } => writeln!(output, "  {}: wrong, {found}", file.path)?,
                FileState::Unreadable { reason } => {
                    writeln!(output, "  {}: unreadable, {reason}", file.path)?
                }
                FileState::Good | FileState::Missing => continue,
            }
            faulty += 1;
        }
    }
    if seen == 0 {
        writeln!(output, "no benchmark is in {}", library.data_directory().display())?;
    }
    match faulty {
        0 => Ok(()),
        _ => Err("not everything is as it must be; get it with: abyssal datasets fetch NAME --force".into()),
    }
}

fn import(arguments: &ImportArguments, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let files = &arguments.files;
    let Some(edges) = files.edges.clone() else {
        return Err("give the file of edges with --edges FILE".into());
    };
    let files = OwnFiles {
        edges,
        features: files.features.clone(),
        labels: files.labels.clone(),
        masks: files.masks.clone(),
    };
    let library = arguments.place.library();
    let raw = own::read(&files)?;
    let path = library.import(&arguments.name, &raw, arguments.force)?;
    let labelled = raw.labels.iter().flatten().count();
    writeln!(
        output,
        "{}: {} nodes, {} edges listed, {} features, {} classes, {labelled} labelled nodes",
        arguments.name,
        raw.nodes,
        raw.edges.len(),
        raw.features.columns(),
        raw.classes,
    )?;
    let elsewhere = match &arguments.place.data_dir {
        Some(directory) => format!(" --data-dir {}", directory.display()),
        None => String::new(),
    };
    let name = &arguments.name;
    writeln!(output, "kept in {}\nuse it: abyssal train --dataset {name}{elsewhere}", path.display())?;
    Ok(())
}

fn export(arguments: &ExportArguments) -> Result<(), Box<dyn Error>> {
    let library = arguments.place.library();
    let settings = [("data.name".to_string(), arguments.name.as_str().into())];
    let config = Config::resolve(None, &settings)?.data;
    provide(&config, &library, arguments.place.offline, false)?;
    let (raw, _) = config.read(&library)?;
    Ok(write_atomically(&arguments.out, &container::write(&raw))?)
}

fn named(names: &[String], library: &Library) -> Result<Vec<&'static Benchmark>, Box<dyn Error>> {
    let benchmark = |name: &String| match (Benchmark::named(name), library.check_present(name)) {
        (Some(benchmark), _) => Ok(benchmark),
        (None, Ok(())) => Err(format!(
            "{name} is no benchmark: there is nowhere to fetch it from and nothing to compare it with"
        )
        .into()),
        (None, Err(_)) => Err(library.unknown(name).into()),
    };
    names.iter().map(benchmark).collect()
}
