//! A curriculum as a whole, on a small generated graph: who teaches, what is learnt when, what is kept.

mod resuming;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use abyssal_graph::formats::npy;
use abyssal_graph::{Dataset, Library};
use abyssal_tensor::Matrix;
use abyssal_tensor::ops::Targets;
use abyssal_train::config::Method;
use abyssal_train::curriculum::{Course, SoftLabels, Stage};
use abyssal_train::memory::{MemoryPlan, MemorySettings};
use abyssal_train::{
    Config, EpochMetrics, LeftOutRecord, Observer, Outcome, Role, RunDirectory, RunResult, Session,
    Surroundings, TrainConfig, TrainError, Trainer,
};
use tempfile::TempDir;
use toml::Value;

fn config(settings: &[(&str, Value)]) -> Config {
    let small = [
        ("data.nodes", Value::from(200)),
        ("data.validation", Value::from(60)),
        ("model.layers", Value::from(3)),
        ("model.hidden", Value::from(8)),
        ("train.method", Value::from("curriculum")),
        ("train.epochs", Value::from(12)),
        ("curriculum.steps", Value::from(3)),
        ("curriculum.fine_tuning_epochs", Value::from(4)),
        ("teacher.models", Value::from("gcn")),
        ("teacher.gcn.model.layers", Value::from(2)),
        ("teacher.gcn.train.epochs", Value::from(20)),
    ];
    let names: Vec<&str> = settings.iter().map(|(key, _)| *key).collect();
    let changed = names.contains(&"teacher.models");
    let all = small
        .iter()
        .filter(|(key, _)| !(names.contains(key) || changed && key.starts_with("teacher.")))
        .chain(settings)
        .map(|(key, value)| (key.to_string(), value.clone()));
    Config::resolve(None, &all.collect::<Vec<_>>()).expect("valid settings")
}

fn models(names: &[&str]) -> Value {
    Value::Array(names.iter().map(|name| Value::from(*name)).collect())
}

fn dataset(config: &Config) -> Dataset {
    config.data.load(&Library::from_environment(None)).expect("a generated dataset")
}

/// Remembers what it saw.
#[derive(Default)]
struct Seen {
    roles: Vec<(Role, String)>,
    epochs: Vec<EpochMetrics>,
    left_out: Vec<LeftOutRecord>,
    cut_short: Vec<String>,
}

impl Observer for Seen {
    fn begin(&mut self, config: &Config, role: Role, _epochs: usize, _: &MemoryPlan) {
        self.roles.push((role, config.model.name().to_string()));
        self.epochs.clear();
    }

    fn epoch(&mut self, metrics: &EpochMetrics) {
        self.epochs.push(*metrics);
    }

    fn left_out(&mut self, candidate: &LeftOutRecord) {
        self.left_out.push(candidate.clone());
    }

    fn cut_short(&mut self, reason: &str) {
        self.cut_short.push(reason.to_string());
    }
}

/// Runs to the end in a directory that is kept as long as the first of what it gives.
fn run(config: &Config) -> (TempDir, RunResult, Seen) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let run = RunDirectory::create(&directory.path().join("run"), config).expect("a new run");
    let (result, seen) = run_in(&run, config);
    (directory, result, seen)
}

fn run_in(run: &RunDirectory, config: &Config) -> (RunResult, Seen) {
    let (seen, outcome) = try_in(run, config);
    match outcome.expect("training succeeds") {
        Outcome::Finished(result) => (*result, seen),
        Outcome::Stopped { .. } => panic!("nobody stopped it"),
    }
}

fn try_in(run: &RunDirectory, config: &Config) -> (Seen, Result<Outcome, TrainError>) {
    let mut seen = Seen::default();
    let outcome = watched(run, config, &mut seen, &AtomicBool::new(false));
    (seen, outcome)
}

fn watched(
    run: &RunDirectory,
    config: &Config,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Outcome, TrainError> {
    let library = Library::from_environment(None);
    let memory = MemorySettings::default();
    let mut surroundings = Surroundings { library: &library, observer, memory, stop };
    run.run(config, &dataset(config), &mut surroundings)
}

/// The numbers of a finished run's weights. The header before them has the configuration too.
fn weights(run: &Path) -> Vec<u8> {
    let bytes = std::fs::read(run.join("model.safetensors")).expect("a finished run");
    let (length, rest) = bytes.split_first_chunk().expect("the length of the header");
    rest[u64::from_le_bytes(*length) as usize..].to_vec()
}

fn same_weights(first: &Path, second: &Path) -> bool {
    weights(first) == weights(second)
}

#[test]
fn a_run_goes_from_its_teacher_through_all_tasks_to_fine_tuning() {
    let config = config(&[("curriculum.fine_tuning_learning_rate", 0.002.into())]);
    let (directory, result, seen) = run(&config);
    let roles = [(Role::Teacher { number: 1, of: 1 }, "gcn"), (Role::Result, "r-soft-graph-ain")];
    assert_eq!(seen.roles, roles.map(|(role, model)| (role, model.to_string())));
    let stages: Vec<Stage> = seen.epochs.iter().map(|metrics| metrics.stage).collect();
    let expected: Vec<Stage> =
        (1..=4).flat_map(|task| [Stage::Task(task); 3]).chain([Stage::FineTuning; 4]).collect();
    assert_eq!(stages, expected);
    assert!(seen.epochs[12..].iter().all(|metrics| metrics.learning_rate == 0.002));
    assert_eq!(result.stages.iter().map(|stage| stage.epoch).collect::<Vec<_>>(), [3, 6, 9, 12, 16]);
    for (record, last) in result.stages.iter().zip([2, 5, 8, 11, 15]) {
        assert_eq!(record.test_accuracy, seen.epochs[last].test_accuracy);
    }
    let teacher = result.teacher.unwrap();
    assert_eq!((teacher.name.as_str(), teacher.candidates.len()), ("gcn", 1));
    assert_eq!(teacher.validation_accuracy, teacher.candidates[0].validation_accuracy);
    let graph = std::fs::read_to_string(directory.path().join("run/auxiliary-graph.csv")).unwrap();
    assert!(graph.starts_with("source,target,weight\n") && graph.lines().count() > 200);
}

/// Without smoothing and filtering, the first task is plain self-training: all nodes, with what the teacher says about
/// those without a label.
#[test]
fn without_smoothing_and_filtering_the_first_task_is_self_training() {
    let config = config(&[
        ("curriculum.steps", 0.into()),
        ("curriculum.filtered", 0.0.into()),
        ("curriculum.fine_tuning_epochs", 0.into()),
    ]);
    let (directory, result, seen) = run(&config);
    assert_eq!(result.stages.len(), 1);
    let data = dataset(&config);
    let train = data.split().train();
    let known = Targets {
        rows: train.to_vec(),
        classes: train.iter().map(|&node| data.labels()[node as usize].unwrap()).collect(),
    };
    let said = read_npy(&directory.path().join("run/teacher.npy"));
    let labels = SoftLabels::estimated(&said, &known).unwrap();
    let curriculum = config.curriculum.as_ref().unwrap();
    let course = Course::new(curriculum, config.train.epochs, [labels]);
    let mut trainer = Trainer::new(&config, &data).unwrap().with_course(course);
    for metrics in &seen.epochs {
        assert_eq!(*metrics, trainer.run_epoch().unwrap());
    }
    assert!(trainer.is_finished());
}

fn read_npy(path: &Path) -> Matrix<f32> {
    let file = std::fs::File::open(path).expect("a file that was written");
    let array = npy::read(file, 1 << 20).expect("an array");
    let shape = array.shape.clone();
    Matrix::from_slice(shape[0], shape[1], &array.into_floats().expect("numbers"))
}

/// What a teacher said, read from a file, teaches the same as the teacher itself.
#[test]
fn predictions_from_a_file_teach_like_their_model() {
    let settings = [("curriculum.graph", Value::from("input")), ("curriculum.temperature", Value::from(0.5))];
    let (directory, result, _) = run(&config(&settings));
    let said = directory.path().join("run/teacher.npy");
    let [input, temperature] = settings;
    let from_file = config(&[
        input,
        temperature,
        ("teacher.models", models(&[])),
        ("teacher.predictions", said.to_string_lossy().as_ref().into()),
    ]);
    let (again, taught, seen) = run(&from_file);
    assert!(same_weights(&again.path().join("run"), &directory.path().join("run")));
    assert_eq!(seen.roles.len(), 1, "nobody else was trained");
    let (teacher, original) = (taught.teacher.unwrap(), result.teacher.unwrap());
    assert_eq!(teacher.name, "teacher.npy");
    assert_eq!(teacher.test_accuracy, original.test_accuracy);
    assert_eq!(teacher.entropy, original.entropy);
}

/// Label propagation has zeros for nodes that no label gets to; what is kept of it teaches the same from a file.
#[test]
fn a_row_of_zeros_says_nothing_about_its_node() {
    // Two of the nodes have no edges at all.
    let sparse = ("data.average_degree", Value::from(3.0));
    let graph = ("curriculum.graph", Value::from("features"));
    let propagated =
        config(&[sparse.clone(), graph.clone(), ("curriculum.estimation", "label-propagation".into())]);
    let (directory, ..) = run(&propagated);
    let said = directory.path().join("run/teacher.npy");
    let rows = read_npy(&said);
    let is_silent = |node: &usize| rows.row(*node).iter().all(|&value| value == 0.0);
    assert!((0..rows.rows()).filter(is_silent).count() > 0, "labels get to all nodes of this graph");
    let predictions = Value::from(said.to_string_lossy().as_ref());
    let from_file =
        config(&[sparse, graph, ("teacher.models", models(&[])), ("teacher.predictions", predictions)]);
    let (again, ..) = run(&from_file);
    assert!(same_weights(&again.path().join("run"), &directory.path().join("run")));
}

/// Teachers may take hours, and what they say could not be smoothed.
#[test]
fn too_many_neighbours_are_told_before_anybody_is_trained() {
    for graph in ["embeddings", "features"] {
        let config = config(&[("curriculum.neighbours", 200.into()), ("curriculum.graph", graph.into())]);
        let directory = tempfile::tempdir().unwrap();
        let run = RunDirectory::create(directory.path(), &config).unwrap();
        let (seen, outcome) = try_in(&run, &config);
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("curriculum.neighbours = 200") && error.contains("200 nodes"), "{error}");
        assert!(seen.roles.is_empty(), "{graph}: {:?}", seen.roles);
    }
}

/// An untrained perceptron against a trained GCN: the better one on the validation nodes teaches.
#[test]
fn the_best_candidate_of_a_panel_teaches() {
    let panel = config(&[
        ("teacher.models", models(&["mlp", "gcn"])),
        ("teacher.choice", "best".into()),
        ("teacher.mlp.train.epochs", 1.into()),
        ("teacher.gcn.train.epochs", 30.into()),
    ]);
    let (_directory, result, _) = run(&panel);
    let teacher = result.teacher.unwrap();
    let best = teacher.candidates.iter().map(|one| one.validation_accuracy).fold(0.0, f64::max);
    assert_eq!((teacher.name.as_str(), teacher.validation_accuracy), ("gcn", best));
    assert!(teacher.candidates[0].validation_accuracy < best);
}

/// A learning rate beyond reason.
const TOO_MUCH: f64 = 1e30;

#[test]
fn a_teacher_that_diverges_is_named_with_its_own_settings() {
    let config = config(&[("teacher.gcn.train.learning_rate", TOO_MUCH.into())]);
    let directory = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(directory.path(), &config).unwrap();
    let error = try_in(&run, &config).1.unwrap_err().to_string();
    assert!(error.starts_with("teacher.gcn: training diverged in epoch 1"), "{error}");
    assert!(error.ends_with("try a lower teacher.gcn.train.learning_rate"), "{error}");
}

/// The tasks have taught what they had to teach, and their best weights are those of the same run without fine-tuning.
#[test]
fn fine_tuning_that_diverges_ends_there() {
    let with = |setting: &str, value: Value| config(&[(&format!("curriculum.{setting}"), value)]);
    let (kept, result, seen) = run(&with("fine_tuning_learning_rate", TOO_MUCH.into()));
    let reason = result.cut_short.as_deref().expect("it diverged");
    let first = format!("training diverged in epoch {}: ", result.epochs + 1);
    assert!(reason.starts_with(&first), "{reason}");
    assert!(reason.ends_with("try a lower curriculum.fine_tuning_learning_rate"), "{reason}");
    assert_eq!(seen.cut_short, [reason]);
    let (untuned, expected, seen) = run(&with("fine_tuning_epochs", 0.into()));
    assert_eq!((expected.cut_short, seen.cut_short), (None, Vec::new()));
    assert_eq!(
        (result.epochs, result.selected, result.stages),
        (expected.epochs, expected.selected, expected.stages)
    );
    let weights = |directory: &TempDir| {
        let bytes = std::fs::read(directory.path().join("run/model.safetensors")).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let mut tensors: Vec<(String, Vec<u8>)> =
            tensors.iter().map(|(name, view)| (name.to_string(), view.data().to_vec())).collect();
        tensors.sort();
        tensors
    };
    assert_eq!(weights(&kept), weights(&untuned));
}

#[test]
fn a_candidate_that_diverges_is_left_out_of_the_panel() {
    for choice in ["best", "ensemble", "grown"] {
        let (_directory, result, seen) = run(&config(&[
            ("teacher.models", models(&["gcn", "mlp"])),
            ("teacher.choice", choice.into()),
            ("teacher.gcn.train.learning_rate", TOO_MUCH.into()),
            ("teacher.mlp.train.epochs", 5.into()),
        ]));
        let teacher = result.teacher.unwrap();
        assert_eq!((teacher.name.as_str(), teacher.candidates.len()), ("mlp", 1));
        assert_eq!(seen.left_out, teacher.left_out);
        let [gcn] = teacher.left_out.as_slice() else { panic!("{:?}", teacher.left_out) };
        assert_eq!(gcn.name, "gcn");
        assert!(gcn.reason.ends_with("try a lower teacher.gcn.train.learning_rate"), "{}", gcn.reason);
    }
}

#[test]
fn an_ensemble_is_the_mean_of_its_models() {
    let settings = |names: &[&str]| {
        config(
            &[
                ("teacher.models", models(names)),
                ("teacher.choice", "ensemble".into()),
                ("teacher.seeds", 2.into()),
                ("teacher.mlp.train.epochs", 10.into()),
                ("teacher.gcn.train.epochs", 10.into()),
            ]
            .into_iter()
            .filter(|(key, _)| !key.starts_with("teacher.mlp") || names.contains(&"mlp"))
            .collect::<Vec<_>>(),
        )
    };
    let said = |names: &[&str]| {
        let (directory, result, seen) = run(&settings(names));
        assert_eq!(seen.roles.len(), 2 * names.len() + 1);
        assert!(result.teacher.unwrap().candidates.iter().all(|candidate| candidate.seeds == [0, 1]));
        read_npy(&directory.path().join("run/teacher.npy"))
    };
    let (both, gcn) = (said(&["gcn", "mlp"]), said(&["gcn"]));
    let mlp = {
        let settings = config(&[
            ("teacher.models", models(&["mlp"])),
            ("teacher.seeds", 2.into()),
            ("teacher.mlp.train.epochs", 10.into()),
        ]);
        let (directory, ..) = run(&settings);
        read_npy(&directory.path().join("run/teacher.npy"))
    };
    let mean = Matrix::from_fn(both.rows(), both.columns(), |row, class| {
        0.5 * (gcn.get(row, class) + mlp.get(row, class))
    });
    assert!(both.max_difference(&mean) < 1e-6);
}

/// The student of the first round is the run with one round, bit for bit, and it teaches the second.
#[test]
fn rounds_let_students_teach() {
    let (one, ..) = run(&config(&[]));
    let (two, result, seen) = run(&config(&[("teacher.rounds", 2.into())]));
    let roles: Vec<Role> = seen.roles.iter().map(|(role, _)| *role).collect();
    let expected = [Role::Teacher { number: 1, of: 1 }, Role::Round { number: 1, of: 2 }, Role::Result];
    assert_eq!(roles, expected);
    let teacher = result.teacher.unwrap();
    let earlier: Vec<&str> = teacher.earlier().map(|teacher| teacher.name.as_str()).collect();
    assert_eq!((teacher.name.as_str(), earlier.as_slice()), ("student of round 1", &["gcn"][..]));
    assert_eq!(teacher.earlier().last().unwrap().candidates.len(), 1, "who taught first is known to the end");
    let teachers = std::fs::read_dir(two.path().join("run/teachers")).unwrap();
    let student = teachers
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().unwrap().to_string_lossy().starts_with("round-1"));
    let (first, second) = (one.path().join("run"), two.path().join("run"));
    assert!(same_weights(&student.unwrap(), &first) && !same_weights(&first, &second));
}

#[test]
fn runs_of_a_session_share_teachers_where_they_are_asked_to() {
    for (shared, rounds, expected) in [(true, 1, 1), (false, 1, 2), (true, 2, 2), (false, 2, 4)] {
        let directory = tempfile::tempdir().unwrap();
        let settings = [("teacher.shared", shared.into()), ("teacher.rounds", Value::from(rounds))];
        let configs = (0..2).map(|seed| Config { seed, ..config(&settings) });
        let session = Session::create(directory.path(), &configs.collect::<Vec<_>>()).unwrap();
        for planned in &session.runs {
            run_in(&planned.directory, &planned.config);
        }
        let teachers = std::fs::read_dir(directory.path().join("teachers")).unwrap().count();
        assert_eq!(teachers, expected, "shared = {shared}, rounds = {rounds}");
    }
}

#[test]
fn students_of_different_presets_share_teachers_that_are_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let presets = ["abyssal", "reference"];
    let strict = ("train.selection", Value::from("strict"));
    let configs = presets.map(|preset| config(&[("preset", preset.into()), strict.clone()]));
    assert_ne!(configs[0].curriculum, configs[1].curriculum);
    for (preset, config) in presets.iter().zip(&configs) {
        let run = RunDirectory::create(&directory.path().join(preset), config).unwrap();
        run_in(&run.with_teachers(&directory.path().join("teachers")), config);
    }
    assert_eq!(std::fs::read_dir(directory.path().join("teachers")).unwrap().count(), 1);
}

#[test]
fn fine_tuning_stops_early_and_tasks_do_not() {
    let (_directory, result, seen) = run(&config(&[
        ("train.patience", 1.into()),
        ("curriculum.fine_tuning_epochs", 500.into()),
        // So large that nothing gets better by it.
        ("curriculum.fine_tuning_learning_rate", 0.5.into()),
        ("curriculum.fine_tuning_patience", 3.into()),
    ]));
    assert!(result.epochs >= 15 && result.epochs < 512, "{}", result.epochs);
    assert_eq!(seen.epochs.len(), result.epochs);
    assert_eq!(seen.epochs[11].stage, Stage::Task(4));
}

#[test]
fn label_propagation_can_take_the_place_of_a_teacher() {
    let (_directory, result, seen) = run(&config(&[
        ("curriculum.estimation", "label-propagation".into()),
        ("curriculum.graph", "features".into()),
    ]));
    assert_eq!(seen.roles.len(), 1);
    let teacher = result.teacher.unwrap();
    assert_eq!(teacher.name, "label propagation");
    assert!(teacher.test_accuracy > 0.4, "five classes on a graph with homophily: {}", teacher.test_accuracy);
}

#[test]
fn a_temperature_by_entropy_is_recorded() {
    let (_directory, result, _) = run(&config(&[("curriculum.temperature", "entropy:0.8".into())]));
    let teacher = result.teacher.unwrap();
    assert!((teacher.entropy - 0.8).abs() < 1e-3 && teacher.temperature > 0.0, "{teacher:?}");
}

/// A model with good labels for all nodes does better than with its few own ones.
#[test]
fn a_good_teacher_helps() {
    let truth = config(&[("train.epochs", 60.into())]);
    let data = dataset(&truth);
    let mut sure = Matrix::zeros(data.nodes(), data.classes());
    for (node, label) in data.labels().iter().enumerate() {
        sure.set(node, label.unwrap() as usize, 1.0);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("truth.npy");
    std::fs::write(&path, npy::to_bytes(&sure)).unwrap();
    let taught = config(&[
        ("train.epochs", 60.into()),
        ("teacher.models", models(&[])),
        ("teacher.predictions", path.to_string_lossy().as_ref().into()),
    ]);
    let train = TrainConfig { method: Method::Direct, ..taught.train.clone() };
    let direct = Config { train, curriculum: None, teacher: None, ..taught.clone() };
    let (with, without) = (run(&taught).1.selected, run(&direct).1.selected);
    assert!(with.test_accuracy > without.test_accuracy + 0.05, "{with:?} {without:?}");
}
