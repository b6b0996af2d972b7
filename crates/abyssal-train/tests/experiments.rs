//! Cells of experiments, trained on a small generated graph.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use abyssal_graph::Library;
use abyssal_train::experiments::{Cell, Contestant, Experiment, Protocol, Record, Runner, Variant};
use abyssal_train::memory::{MemoryPlan, MemorySettings};
use abyssal_train::{Config, EpochMetrics, Observer, Role, Surroundings, TrainError};
use toml::Value;

/// A cell on a graph of 240 nodes.
fn cell(label: &str, runs: usize, settings: &[(&str, Value)]) -> Cell {
    let small = [
        ("data.nodes", Value::from(240)),
        ("data.validation", Value::from(60)),
        ("data.train_per_class", Value::from(10)),
        ("model.hidden", Value::from(8)),
        ("train.epochs", Value::from(12)),
    ];
    let all = small.iter().chain(settings).map(|(key, value)| (key.to_string(), value.clone()));
    let (label, settings) = (label.to_string(), all.collect());
    Cell {
        experiment: Experiment::Accuracies,
        dataset: "csbm".to_string(),
        protocol: Protocol::Honest,
        contestant: Contestant { label, settings, variant: Variant::Full, taught_as_ours: false },
        layers: 2,
        runs_per_cell: NonZeroUsize::new(runs),
    }
}

fn runner(directory: &Path) -> Runner {
    Runner { runs: directory.join("runs"), results: directory.join("results") }
}

/// Counts the models that are trained; asks to stop after so many epochs.
struct Watch<'a> {
    results: usize,
    teachers: usize,
    epochs_left: usize,
    stop: &'a AtomicBool,
}

impl Observer for Watch<'_> {
    fn begin(&mut self, _: &Config, role: Role, _: usize, _: &MemoryPlan) {
        match role {
            Role::Result => self.results += 1,
            Role::Teacher { .. } | Role::Round { .. } => self.teachers += 1,
        }
    }

    fn epoch(&mut self, _: &EpochMetrics) {
        self.epochs_left -= 1;
        self.stop.store(self.epochs_left == 0, Ordering::Relaxed);
    }
}

/// Computes a cell for at most so many epochs; tells the record and how many results and teachers were trained.
fn run_for(
    epochs: usize,
    runner: &Runner,
    cell: &Cell,
) -> Result<(Option<Record>, usize, usize), TrainError> {
    let (library, stop) = (Library::from_environment(None), AtomicBool::new(false));
    let mut watch = Watch { results: 0, teachers: 0, epochs_left: epochs, stop: &stop };
    let record = runner.run(
        cell,
        &mut Surroundings {
            library: &library,
            observer: &mut watch,
            memory: MemorySettings::default(),
            stop: &stop,
        },
    )?;
    Ok((record, watch.results, watch.teachers))
}

/// As above, to the end.
fn run(runner: &Runner, cell: &Cell) -> (Record, usize, usize) {
    let (record, results, teachers) = run_for(usize::MAX, runner, cell).expect("it can be computed");
    (record.expect("nothing interrupts it"), results, teachers)
}

fn written(runner: &Runner, record: &Record) -> Vec<u8> {
    fs::read(runner.results.join(record.path())).expect("a record")
}

#[test]
fn what_is_finished_is_not_trained_again() {
    let directory = tempfile::tempdir().unwrap();
    let runner = runner(directory.path());
    let two = cell("small", 2, &[]);
    assert_eq!(runner.progress(&two).unwrap(), (0, 2));
    let (first, trained, _) = run(&runner, &two);
    assert_eq!((trained, first.runs.len(), first.protocol_runs), (2, 2, 10));
    assert_eq!(runner.progress(&two).unwrap(), (2, 2));
    let bytes = written(&runner, &first);
    let (again, trained, _) = run(&runner, &two);
    assert_eq!((trained, &again), (0, &first));
    assert_eq!(written(&runner, &again), bytes);

    let three = cell("small", 3, &[]);
    assert_eq!(runner.progress(&three).unwrap(), (2, 3));
    let (more, trained, _) = run(&runner, &three);
    assert_eq!((trained, &more.runs[..2]), (1, &first.runs[..]));
    assert!(directory.path().join("runs/accuracies/csbm-honest-small-2/seed-2/result.json").is_file());
}

/// A quick look takes nothing from a record: neither here, where all runs are finished, nor with runs elsewhere.
#[test]
fn a_record_does_not_shrink() {
    let directory = tempfile::tempdir().unwrap();
    let here = runner(directory.path());
    let (full, ..) = run(&here, &cell("small", 3, &[]));
    let (look, trained, _) = run(&here, &cell("small", 1, &[]));
    assert_eq!((trained, &look), (0, &full));
    let elsewhere = Runner { runs: directory.path().join("elsewhere"), ..here.clone() };
    let (look, trained, _) = run(&elsewhere, &cell("small", 1, &[]));
    assert_eq!((trained, look.runs.len()), (1, 1));
    assert_eq!(here.kept(&look).as_ref(), Some(&full));
    // Nor from one that is older than a setting, which has its default there.
    let mut older = full.clone();
    let train = older.configuration["train"].as_table_mut().unwrap();
    assert!(train.remove("selection").is_some());
    assert!(older.is_fuller_than(&look) && !look.is_fuller_than(&older));
    // Another configuration is another number.
    let other = Runner { runs: directory.path().join("other"), ..here.clone() };
    let (changed, ..) = run(&other, &cell("small", 1, &[("model.hidden", 4.into())]));
    assert_eq!(here.kept(&changed), Some(changed.clone()));
}

#[test]
fn a_record_tells_everything_and_reads_back_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let runner = runner(directory.path());
    let (record, ..) = run(&runner, &cell("small", 3, &[]));
    let path = directory.path().join("results/accuracies/csbm-honest-small-2.json");
    assert_eq!(Record::read(&path).unwrap(), record);
    assert_eq!(record.runs.iter().map(|run| run.seed).collect::<Vec<_>>(), [0, 1, 2]);
    let tests: Vec<f64> = record.runs.iter().map(|run| run.strict.test_accuracy).collect();
    let summary = record.test.unwrap();
    assert!((summary.mean - tests.iter().sum::<f64>() / 3.0).abs() < 1e-12);
    assert!(record.test_by_paper_rule.unwrap().mean >= summary.mean, "it looks at the test nodes");
    assert!(record.command.ends_with("--layers 2 --runs-per-cell 3"), "{}", record.command);
    assert_eq!(record.configuration["data"]["nodes"], Value::from(240));
    assert_eq!(record.configuration["model"]["layers"], Value::from(2));
    assert_eq!(record.data.unwrap().name, "csbm");
    let text = fs::read_to_string(path).unwrap();
    let place = directory.path().to_string_lossy();
    assert!(!text.contains(&*place), "a record names no place on a machine");
}

#[test]
fn a_run_that_diverges_is_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let runner = runner(directory.path());
    let wild = [("model.name", "gcn".into()), ("train.learning_rate", 1e30.into())];
    let (record, ..) = run(&runner, &cell("wild", 2, &wild));
    assert_eq!((record.runs.len(), record.test), (0, None));
    assert_eq!(record.failures.len(), 2, "the second had its turn");
    assert_eq!(record.failures[1].run, "seed-1");
    assert!(record.failures[1].reason.contains("diverged"), "{}", record.failures[1].reason);
    assert_eq!(Record::read(&runner.results.join(record.path())).unwrap(), record);
}

#[test]
fn what_was_interrupted_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let whole = runner(&directory.path().join("whole"));
    let cut = runner(&directory.path().join("cut"));
    let cell = cell("small", 2, &[]);
    let (expected, ..) = run(&whole, &cell);
    // In the middle of the second run.
    let (record, results, _) = run_for(17, &cut, &cell).unwrap();
    assert_eq!((record, results), (None, 2));
    assert!(!cut.results.exists(), "there is no record of half a cell");
    assert!(cut.runs.join("accuracies/csbm-honest-small-2/seed-1/checkpoint.safetensors").is_file());
    let (record, results, _) = run(&cut, &cell);
    assert_eq!(results, 1);
    for (one, other) in record.runs.iter().zip(&expected.runs) {
        assert_eq!((one.strict, one.paper_rule), (other.strict, other.paper_rule));
    }
}

#[test]
fn runs_of_other_settings_are_an_error_that_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let runner = runner(directory.path());
    run(&runner, &cell("small", 1, &[]));
    let other = cell("small", 1, &[("train.learning_rate", 0.5.into())]);
    for error in [runner.progress(&other).unwrap_err(), run_for(usize::MAX, &runner, &other).unwrap_err()] {
        let text = error.to_string();
        assert!(matches!(error, TrainError::OtherExperiment { .. }), "{text}");
        assert!(
            text.contains("csbm-honest-small-2") && text.contains("train.learning_rate is 0.01 there"),
            "{text}"
        );
    }
}

#[test]
fn cells_share_their_teachers() {
    let directory = tempfile::tempdir().unwrap();
    let runner = runner(directory.path());
    let taught = [
        ("train.method", Value::from("curriculum")),
        ("teacher.models", Value::from("mlp")),
        ("teacher.mlp.train.epochs", Value::from(5)),
    ];
    let (record, results, teachers) = run(&runner, &cell("taught", 2, &taught));
    assert_eq!((results, teachers), (2, 2), "every seed has its own teacher");
    assert_eq!(record.runs[0].teacher.as_ref().unwrap().name, "mlp");
    let steps = [taught.as_slice(), &[("curriculum.steps", Value::from(0))]].concat();
    let (_, results, teachers) = run(&runner, &cell("taught-without-smoothing", 2, &steps));
    assert_eq!((results, teachers), (2, 0), "they are trained already");

    let as_paper = Cell { protocol: Protocol::Paper, ..cell("taught", 3, &taught) };
    let (record, results, teachers) = run(&runner, &as_paper);
    assert_eq!((results, teachers), (3, 0), "one for all, and it is there");
    let seconds: f64 = record.runs.iter().map(|run| run.seconds).sum();
    let teacher = record.runs[0].teacher.as_ref().unwrap().seconds;
    assert!((record.seconds - seconds - teacher).abs() < 1e-9, "it counts once");
}

#[test]
fn every_variant_of_the_ablation_trains_with_the_same_teacher() {
    let directory = tempfile::tempdir().unwrap();
    let runner = runner(directory.path());
    let taught = [
        ("train.method", Value::from("curriculum")),
        ("teacher.models", Value::from("self")),
        ("teacher.self.train.epochs", Value::from(5)),
    ];
    let mut trained = 0;
    for variant in Variant::ALL {
        let mut cell = cell(variant.label(), 1, &taught);
        cell.contestant.variant = variant;
        let (record, results, teachers) = run(&runner, &cell);
        assert_eq!((results, record.failures.len()), (1, 0), "{}", variant.label());
        assert_eq!(record.runs[0].teacher.is_some(), variant != Variant::WithoutCurriculum);
        trained += teachers;
    }
    assert_eq!(trained, 1, "though `self` is the student's own model");
}
