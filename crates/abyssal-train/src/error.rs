//! What can go wrong between a configuration and a result.

use std::path::{Path, PathBuf};

use abyssal_graph::GraphError;
use abyssal_nn::NnError;

use crate::Remedy;
use crate::memory::{MemoryPlan, readable_beside, readable_bytes};

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A key no configuration has.
    #[error("unknown setting `{key}`; did you mean `{nearest}`?")]
    UnknownKey {
        /// The key as written.
        key: String,
        /// The known key that looks most like it.
        nearest: String,
    },
    /// A value a setting cannot have.
    #[error("{key} = {value} cannot be used: {reason}")]
    InvalidValue {
        /// The setting.
        key: String,
        /// What it was set to.
        value: String,
        /// Why not.
        reason: String,
    },
    /// A setting of a curriculum where there is none.
    #[error(
        "`{key}` is about a curriculum, and train.method is \"direct\"; set train.method=curriculum (--curriculum) too"
    )]
    NoCurriculum {
        /// The key as written.
        key: String,
    },
    /// A name among the teachers that says nothing.
    #[error(
        "there is no model `{name}` to teach; take self, panel, one of abyssal models list, or say which model it is with \
         teacher.{name}.model.name"
    )]
    UnknownTeacher {
        /// The name.
        name: String,
    },
    /// A configuration file that is not TOML.
    #[error("{path} is not a valid TOML file: {message}")]
    InvalidFile {
        /// The file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
    /// A setting or a step of the model.
    #[error(transparent)]
    Model(#[from] NnError),
    /// The data.
    #[error(transparent)]
    Data(#[from] GraphError),
    /// Numbers left the finite range during training.
    #[error("training diverged in epoch {epoch}: {reason}; {}", remedy.advice(""))]
    Diverged {
        /// The epoch, counted from 1.
        epoch: usize,
        /// What was seen.
        reason: String,
        /// What may help.
        remedy: Remedy,
    },
    /// As [`TrainError::Diverged`], of a teacher.
    #[error(
        "teacher.{name}: training diverged in epoch {epoch}: {reason}; {}",
        remedy.advice(&format!("teacher.{name}."))
    )]
    TeacherDiverged {
        /// The teacher.
        name: String,
        /// The epoch, counted from 1.
        epoch: usize,
        /// What was seen.
        reason: String,
        /// What may help.
        remedy: Remedy,
    },
    /// As [`TrainError::TooLarge`], of a teacher.
    #[error(
        "teacher.{name}: {}; leave it out of teacher.models, or give a larger --memory-budget",
        too_much(*bytes, *budget)
    )]
    TeacherTooLarge {
        /// The teacher.
        name: String,
        /// How many bytes it would take.
        bytes: u64,
        /// How many may be used.
        budget: u64,
    },
    /// A teacher that is of no use.
    #[error("the teacher cannot teach: {reason}")]
    InvalidTeacher {
        /// What is wrong with its predictions.
        reason: String,
    },
    /// The file system refused.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A checkpoint that cannot be read.
    #[error("the checkpoint {path} is damaged ({reason}); delete it and resume again to start this run anew")]
    DamagedCheckpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A checkpoint of another configuration.
    #[error(
        "{path} belongs to another configuration ({difference}); resume without changed settings, or start a new \
         run with another --out"
    )]
    OtherConfiguration {
        /// The run directory.
        path: PathBuf,
        /// The first difference.
        difference: String,
    },
    /// A run on other data than there is now.
    #[error(
        "{path} has learnt from other data: {changed} have changed since; put the old files back, or begin anew in \
         another directory"
    )]
    OtherData {
        /// The run directory.
        path: PathBuf,
        /// What is different.
        changed: &'static str,
    },
    /// A run whose teacher says something else than it did.
    #[error(
        "{path} has learnt from another teacher: with other memory, other candidates are heard, or its runs have changed; \
         resume with the memory it began with (--memory-budget), or begin anew in another directory"
    )]
    OtherTeacher {
        /// The checkpoint.
        path: PathBuf,
    },
    /// A run of an experiment with another configuration than the experiment has now.
    #[error(
        "{path} holds a run of another configuration ({difference}); remove it to train it anew, or choose another \
         --directory"
    )]
    OtherExperiment {
        /// The run directory.
        path: PathBuf,
        /// The first difference.
        difference: String,
    },
    /// A model that would take more memory than it may.
    #[error(
        "{}; {}",
        too_much(plan.bytes, *budget),
        way_out(instead.as_ref())
    )]
    TooLarge {
        /// How it was to be trained.
        plan: MemoryPlan,
        /// How many bytes may be used.
        budget: u64,
        /// How it could be.
        instead: Option<MemoryPlan>,
    },
    /// A model that cannot compute layers again.
    #[error("{model} cannot compute layers again on the way back: use --memory full")]
    NotRecomputable {
        /// The model.
        model: String,
    },
    /// A model of which nothing is worth computing again.
    #[error(
        "{layers} layers are too few for --memory checkpoint:K, which saves memory from {least} on: use --memory full"
    )]
    TooFewLayers {
        /// Its layers.
        layers: usize,
        /// From how many on it is.
        least: usize,
    },
    /// A directory that already holds a run.
    #[error("{path} already holds a run; continue it with --resume {path}, or choose another --out")]
    RunExists {
        /// The directory.
        path: PathBuf,
    },
    /// A directory with something else in it, which a run might overwrite.
    #[error("{path} is not empty, and holds no run; choose another --out")]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// A run that is to predict before it is finished.
    #[error("{path} is not finished; go on with: abyssal train --resume {path}")]
    NotFinished {
        /// The directory.
        path: PathBuf,
    },
    /// A finished run on files of the user's own that cannot predict, for nobody knows what its classes are called.
    #[error("{path} was made before runs kept the names of their classes; train it again to predict with it")]
    UnknownClasses {
        /// The directory.
        path: PathBuf,
    },
    /// A graph that a run cannot predict, for it has learnt another task.
    #[error("the graph to predict has {given}, and {path} has learnt from {learnt}")]
    OtherTask {
        /// The directory.
        path: PathBuf,
        /// The features or classes that the run knows.
        learnt: String,
        /// Those of the graph.
        given: String,
    },
    /// A run that another process trains.
    #[error("another process is training {path}; wait for it or stop it, then give this command again")]
    RunInUse {
        /// The directory.
        path: PathBuf,
    },
    /// A run that has kept no weights so far.
    #[error("{path} holds no weights yet; train it with: abyssal train --resume {path}")]
    NotTrained {
        /// The directory.
        path: PathBuf,
    },
    /// A file of weights that cannot be read.
    #[error("the weights {path} cannot be used: {reason}")]
    DamagedModel {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A directory without a run.
    #[error("{path} holds no run; give the directory a run was started in")]
    NoRun {
        /// The directory.
        path: PathBuf,
    },
}

impl TrainError {
    /// Whether it says nothing about other runs: with another seed or split, training may well succeed.
    pub fn concerns_one_run(&self) -> bool {
        matches!(self, Self::Diverged { .. } | Self::TeacherDiverged { .. } | Self::InvalidTeacher { .. })
    }

    /// The same error, about one of the teachers or a setting of it.
    pub(crate) fn of_teacher(self, name: &str) -> Self {
        let prefix = format!("teacher.{name}.");
        match self {
            Self::UnknownKey { key, nearest } => {
                Self::UnknownKey { key: format!("{prefix}{key}"), nearest: format!("{prefix}{nearest}") }
            }
            Self::InvalidValue { key, value, reason } => {
                Self::InvalidValue { key: format!("{prefix}{key}"), value, reason }
            }
            Self::Model(NnError::OutOfRange { key, value, allowed }) => Self::InvalidValue {
                key: format!("{prefix}model.{key}"),
                value,
                reason: format!("it must be {allowed}"),
            },
            Self::Diverged { epoch, reason, remedy } => {
                Self::TeacherDiverged { name: name.to_string(), epoch, reason, remedy }
            }
            Self::TooLarge { plan, budget, .. } => {
                Self::TeacherTooLarge { name: name.to_string(), bytes: plan.bytes, budget }
            }
            other => other,
        }
    }

    /// Wraps an input/output error: `.map_err(TrainError::io("write", path))`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}

fn too_much(bytes: u64, budget: u64) -> String {
    let [wanted, given] = readable_beside(bytes, budget);
    format!("training would take about {wanted} of memory, and {given} may be used")
}

fn way_out(instead: Option<&MemoryPlan>) -> String {
    match instead {
        Some(plan) => format!("--memory {} would take about {}", plan.mode, readable_bytes(plan.bytes)),
        None => "take fewer layers, a smaller model.hidden, or a larger --memory-budget".to_string(),
    }
}
