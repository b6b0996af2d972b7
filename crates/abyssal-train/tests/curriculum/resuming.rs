//! A curriculum that is interrupted goes on with what it has learnt, and with nothing else.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use abyssal_graph::formats::npy;
use abyssal_tensor::Matrix;
use abyssal_train::memory::MemoryPlan;
use abyssal_train::{Config, EpochMetrics, Observer, Outcome, Role, RunDirectory};
use tempfile::TempDir;
use toml::Value;

use super::{config, dataset, models, run, run_in, same_weights, try_in, watched};

/// Asks to stop after an epoch of a model.
struct Interruption<'a> {
    role: Role,
    epoch: usize,
    stop: &'a AtomicBool,
    current: Option<Role>,
}

impl Observer for Interruption<'_> {
    fn begin(&mut self, _: &Config, role: Role, _epochs: usize, _: &MemoryPlan) {
        self.current = Some(role);
    }

    fn epoch(&mut self, metrics: &EpochMetrics) {
        let reached = self.current == Some(self.role) && metrics.epoch == self.epoch;
        self.stop.fetch_or(reached, Ordering::Relaxed);
    }
}

const TEACHER: Role = Role::Teacher { number: 1, of: 1 };

/// A run that was stopped after an epoch of its model, or of a teacher's.
fn stopped(config: &Config, role: Role, epoch: usize) -> (TempDir, RunDirectory) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let run = RunDirectory::create(&directory.path().join("run"), config).expect("a new directory");
    let stop = AtomicBool::new(false);
    let mut interruption = Interruption { role, epoch, stop: &stop, current: None };
    let outcome = watched(&run, config, &mut interruption, &stop).expect("a run that can begin");
    assert!(matches!(outcome, Outcome::Stopped { .. }), "{role:?} has no epoch {epoch}");
    (directory, run)
}

/// The run of a teacher whose name begins so.
fn teacher_in(run: &RunDirectory, beginning: &str) -> PathBuf {
    let teachers = std::fs::read_dir(run.path().join("teachers")).expect("teachers have begun");
    let mut paths = teachers.map(|entry| entry.expect("a readable directory").path());
    let is_it = |path: &PathBuf| {
        path.file_name().expect("an entry has a name").to_string_lossy().starts_with(beginning)
    };
    paths.find(is_it).expect("a run of this teacher")
}

/// Sure and wrong about everybody.
fn write_predictions(path: &Path, config: &Config, class: usize) {
    let data = dataset(config);
    let said = Matrix::from_fn(data.nodes(), data.classes(), |_, column| f32::from(column == class));
    std::fs::write(path, npy::to_bytes(&said)).expect("a writable file");
}

#[test]
fn wherever_it_is_stopped_a_curriculum_ends_in_the_same_bits() {
    let config = config(&[("teacher.rounds", 2.into())]);
    let (directory, ..) = run(&config);
    let round = Role::Round { number: 1, of: 2 };
    for (role, epoch) in [(TEACHER, 5), (round, 4), (round, 14), (Role::Result, 4), (Role::Result, 14)] {
        let (_directory, run) = stopped(&config, role, epoch);
        run_in(&run, &config);
        assert!(
            same_weights(run.path(), &directory.path().join("run")),
            "stopped in {role:?}, epoch {epoch}"
        );
    }
}

#[test]
fn half_of_a_curriculum_is_not_learnt_from_another_teacher() {
    let config = config(&[]);
    let (_directory, run) = stopped(&config, Role::Result, 5);
    let weights = teacher_in(&run, "gcn").join("model.safetensors");
    let original = std::fs::read(&weights).unwrap();
    let (_other, other) = stopped(&Config { seed: 1, ..config.clone() }, Role::Result, 5);
    std::fs::copy(teacher_in(&other, "gcn").join("model.safetensors"), &weights).unwrap();
    let error = try_in(&run, &config).1.unwrap_err().to_string();
    assert!(error.contains("has learnt from another teacher"), "{error}");
    std::fs::write(&weights, original).unwrap();
    run_in(&run, &config);
}

/// The student of an earlier round has learnt from the file; with another one it has nothing to say any more.
#[test]
fn predictions_that_change_between_rounds_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("said.npy");
    let config = config(&[
        ("teacher.rounds", 2.into()),
        ("teacher.models", models(&[])),
        ("teacher.predictions", Value::from(path.to_string_lossy().as_ref())),
    ]);
    write_predictions(&path, &config, 0);
    let (_directory, run) = stopped(&config, Role::Result, 1);
    // As if it had been killed before its first checkpoint.
    std::fs::remove_file(run.path().join("checkpoint.safetensors")).unwrap();
    write_predictions(&path, &config, 1);
    let error = try_in(&run, &config).1.unwrap_err().to_string();
    assert!(error.contains("the teacher's predictions have changed") && error.contains("round-1"), "{error}");
    write_predictions(&path, &config, 0);
    let (result, _) = run_in(&run, &config);
    assert_eq!(result.teacher.unwrap().name, "student of round 1");
    // Once it is finished, nobody needs the file.
    std::fs::remove_file(&path).unwrap();
    run_in(&run, &config);
}
