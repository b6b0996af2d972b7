//! Plans of memory where several models train in one process.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use abyssal_graph::Library;
use abyssal_train::memory::{MemoryMode, MemoryPlan, MemorySettings};
use abyssal_train::{Config, EpochMetrics, Observer, Outcome, Role, RunDirectory, Surroundings, TrainError};
use toml::Value;

const FOUR: MemoryMode = MemoryMode::Checkpoint(NonZeroUsize::new(4).unwrap());

fn config(settings: &[(&str, Value)]) -> Config {
    let small = [("model.layers", Value::from(16)), ("train.epochs", Value::from(1))];
    let all = small.iter().chain(settings).map(|(key, value)| (key.to_string(), value.clone()));
    Config::resolve(None, &all.collect::<Vec<_>>()).expect("valid settings")
}

/// Remembers how models were to use memory.
#[derive(Default)]
struct Plans(Vec<(String, MemoryPlan)>);

impl Observer for Plans {
    fn begin(&mut self, config: &Config, _: Role, _: usize, memory: &MemoryPlan) {
        self.0.push((config.model.name().to_string(), *memory));
    }

    fn epoch(&mut self, _: &EpochMetrics) {}
}

/// Trains a model after its teachers, and tells the plans of all.
fn train(config: &Config, memory: MemorySettings) -> Result<Vec<(String, MemoryPlan)>, TrainError> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = Library::from_environment(None);
    let dataset = config.data.load(&library)?;
    let mut plans = Plans::default();
    let stop = AtomicBool::new(false);
    let mut surroundings = Surroundings { library: &library, observer: &mut plans, memory, stop: &stop };
    let run = RunDirectory::create(&directory.path().join("run"), config)?;
    let outcome = run.run(config, &dataset, &mut surroundings)?;
    assert!(matches!(outcome, Outcome::Finished(_)), "nobody stopped it");
    Ok(plans.0)
}

/// What the first model has given back and the allocator kept is not counted again for the second.
#[test]
fn all_seeds_have_the_same_estimate() {
    let config = config(&[("data.nodes", 3000.into()), ("model.layers", 48.into())]);
    let plans = [0, 1, 2].map(|seed| {
        let config = Config { seed, ..config.clone() };
        train(&config, MemorySettings::default()).expect("training succeeds")
    });
    assert_eq!(plans[0], plans[1]);
    assert_eq!(plans[0], plans[2]);
}

/// A perceptron keeps its few layers, whatever is asked of the model that it teaches.
#[test]
fn teachers_need_not_compute_layers_again() {
    let small = ("data.nodes", Value::from(800));
    let taught = config(&[
        small.clone(),
        ("train.method", "curriculum".into()),
        ("curriculum.steps", 2.into()),
        ("curriculum.fine_tuning_epochs", 1.into()),
        ("teacher.models", "mlp".into()),
        ("teacher.mlp.train.epochs", 5.into()),
    ]);
    let memory = MemorySettings { mode: FOUR, ..MemorySettings::default() };
    let plans = train(&taught, memory).expect("training succeeds");
    let modes: Vec<(&str, MemoryMode)> =
        plans.iter().map(|(name, plan)| (name.as_str(), plan.mode)).collect();
    assert_eq!(modes, [("mlp", MemoryMode::Full), ("r-soft-graph-ain", FOUR)]);
    let alone = config(&[small, ("model.name", "mlp".into()), ("model.layers", 2.into())]);
    let refused = train(&alone, memory).expect_err("it was asked for by name");
    assert!(matches!(refused, TrainError::NotRecomputable { .. }), "{refused}");
}

/// Every task of a curriculum is a matrix of nodes and classes, and no two copies of it are kept.
#[test]
fn tasks_of_a_curriculum_are_counted() {
    let plan = |steps: i64| {
        let config = config(&[
            ("data.nodes", 800.into()),
            ("train.method", "curriculum".into()),
            ("curriculum.steps", steps.into()),
        ]);
        let dataset = config.data.load(&Library::from_environment(None)).expect("a generated dataset");
        let unlimited = MemorySettings { budget: Some(u64::MAX), ..MemorySettings::default() };
        let plan = MemoryPlan::new(&config, &dataset, &unlimited).expect("there is no limit");
        (plan.bytes, (dataset.nodes() * dataset.classes() * size_of::<f32>()) as u64)
    };
    let ((few, _), (many, task)) = (plan(1000), plan(21_000));
    assert_eq!(many - few, 20_000 * task);
}
