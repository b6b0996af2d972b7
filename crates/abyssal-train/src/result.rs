//! What is kept of a run: `result.json`.

use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};

use abyssal_graph::{Dataset, Fingerprint, GraphRule};

use crate::curriculum::Stage;
use crate::teacher::TeacherRecord;
use crate::{Config, EpochMetrics, Role, Selection, TrainError};

/// The epoch a rule chose, and how well it does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelectedEpoch {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// Accuracy on the training nodes, as a share.
    pub train_accuracy: f64,
    /// Accuracy on the validation nodes.
    pub validation_accuracy: f64,
    /// Accuracy on the test nodes.
    pub test_accuracy: f64,
}

impl From<&EpochMetrics> for SelectedEpoch {
    fn from(metrics: &EpochMetrics) -> Self {
        Self {
            epoch: metrics.epoch,
            train_accuracy: metrics.train_accuracy,
            validation_accuracy: metrics.validation_accuracy,
            test_accuracy: metrics.test_accuracy,
        }
    }
}

/// How well a model did at the end of a stage of its curriculum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    /// The stage.
    pub stage: Stage,
    /// Its last epoch, counted from 1.
    pub epoch: usize,
    /// Accuracy on the validation nodes then.
    pub validation_accuracy: f64,
    /// Accuracy on the test nodes then. Never used for a decision.
    pub test_accuracy: f64,
}

impl StageRecord {
    /// The stages of a run from the metrics of all its epochs; none if it learnt directly.
    pub(crate) fn of(metrics: &[EpochMetrics]) -> Vec<Self> {
        let stages = metrics.chunk_by(|first, second| first.stage == second.stage);
        let lasts = stages.filter_map(|stage| stage.last()).filter(|last| last.stage != Stage::Direct);
        lasts
            .map(|last| Self {
                stage: last.stage,
                epoch: last.epoch,
                validation_accuracy: last.validation_accuracy,
                test_accuracy: last.test_accuracy,
            })
            .collect()
    }
}

/// Which data a result is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetRecord {
    /// Its name.
    pub name: String,
    /// SHA-256 over graph, features and labels.
    pub fingerprint: String,
    /// Nodes.
    pub nodes: usize,
    /// Unique undirected edges without loops.
    pub edges: usize,
    /// Features of a node.
    pub features: usize,
    /// Classes.
    pub classes: usize,
}

/// Which nodes were trained on, validated on and tested on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SplitRecord {
    /// Its name.
    pub name: String,
    /// SHA-256 over the three sets.
    pub fingerprint: String,
    /// Training nodes.
    pub train: usize,
    /// Validation nodes.
    pub validation: usize,
    /// Test nodes.
    pub test: usize,
}

/// The outcome of a run with everything needed to judge and repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The model's name.
    pub model: String,
    /// Its layers, from the configuration.
    pub layers: usize,
    /// How many numbers it learned.
    pub parameters: usize,
    /// The run's seed.
    pub seed: u64,
    /// The rule that chose [`RunResult::selected`].
    pub selection: Selection,
    /// The chosen epoch.
    pub selected: SelectedEpoch,
    /// What the strict rule chooses, whichever was asked for. Teachers have chosen their epochs by the one that was asked for.
    pub selected_by_strict_rule: SelectedEpoch,
    /// What the paper's rule chooses; it looks at the test set.
    pub selected_by_paper_rule: SelectedEpoch,
    /// Epochs that were run.
    pub epochs: usize,
    /// Who taught it, in a curriculum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teacher: Option<TeacherRecord>,
    /// Why fine-tuning ended before its time, if it diverged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// The stages of the curriculum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageRecord>,
    /// Tasks of the curriculum; with fewer epochs than tasks, some are no stage.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tasks: usize,
    /// The edges it propagates along: `input`, or the nearest neighbours by features, such as `features-knn:7`.
    #[serde(default = "input")]
    pub graph: String,
    /// The data.
    pub dataset: DatasetRecord,
    /// What its classes are called, in their order. Results of before November 19, 2026 do not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class_names: Vec<String>,
    /// The split.
    pub split: SplitRecord,
    /// SHA-256 of the file whose predictions taught, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predictions: Option<String>,
    /// Accuracy on the test nodes of always guessing the most common training class.
    pub majority_accuracy: f64,
    /// SHA-256 of the configuration.
    pub config_fingerprint: String,
    /// Version of Abyssal, with the commit it was built from where that is known.
    pub version: String,
    /// Threads that computed; results do not depend on it.
    pub threads: usize,
    /// Seconds of training and evaluation, over all interruptions; without those of teachers.
    pub seconds: f64,
    /// Largest memory of the process in bytes, where the system tells.
    pub peak_memory_bytes: Option<u64>,
}

impl RunResult {
    /// Seconds of this run and of its teachers.
    pub fn total_seconds(&self) -> f64 {
        self.seconds + self.teacher.as_ref().map_or(0.0, |teacher| teacher.seconds)
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What results before there was a choice have propagated along.
fn input() -> String {
    "input".to_string()
}

/// The edges a model propagates along, for people.
pub(crate) fn graph_of(config: &Config) -> String {
    match config.data.preparation().map(|preparation| &preparation.graph) {
        None | Some(GraphRule::Given) => input(),
        Some(rule) => format!("features-{rule}"),
    }
}

/// Which data a run learns from. Its configuration names files, not what is in them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Data {
    pub(crate) dataset: DatasetRecord,
    pub(crate) split: SplitRecord,
    /// SHA-256 of the file whose predictions teach.
    pub(crate) predictions: Option<String>,
    /// [`Lessons::fingerprint`](crate::lessons::Lessons) of a run that has a teacher, once it is heard.
    #[serde(default)]
    pub(crate) lessons: Option<String>,
}

impl Data {
    pub(crate) fn of(config: &Config, dataset: &Dataset) -> Self {
        let predictions = config.teacher.as_ref().map(|teacher| &teacher.predictions);
        // A file that cannot be read is told when it is to teach; a finished run needs it no more.
        let sum = |path: &String| Fingerprint::of_reader(&mut File::open(path).ok()?).ok();
        Self {
            dataset: DatasetRecord::of(dataset),
            split: SplitRecord::of(dataset),
            predictions: predictions.filter(|path| !path.is_empty()).and_then(sum),
            lessons: None,
        }
    }

    /// What `path` has of a run on earlier data must not go on with these.
    ///
    /// # Errors
    /// If the data has changed since.
    pub(crate) fn require_same(&self, path: &Path, earlier: &Self) -> Result<(), TrainError> {
        let changed = if self.dataset.fingerprint != earlier.dataset.fingerprint {
            "nodes, edges, features or labels"
        } else if self.split.fingerprint != earlier.split.fingerprint {
            "training, validation or test nodes"
        } else if self.predictions != earlier.predictions {
            "the teacher's predictions"
        } else {
            return self.require_same_lessons(path, earlier);
        };
        Err(TrainError::OtherData { path: path.to_path_buf(), changed })
    }

    /// With the same settings and data a teacher can still be another one: memory decides which candidates are heard.
    fn require_same_lessons(&self, path: &Path, earlier: &Self) -> Result<(), TrainError> {
        // Checkpoints from before lessons had a fingerprint have none.
        match earlier.lessons.is_none() || self.lessons == earlier.lessons {
            true => Ok(()),
            false => Err(TrainError::OtherTeacher { path: path.to_path_buf() }),
        }
    }

    /// A finished run must not be taken for one on these data. The predictions that taught it have done their part, unless it
    /// is to teach what it has learnt from them.
    ///
    /// # Errors
    /// If the data has changed since.
    pub(crate) fn require_same_result(
        &self,
        path: &Path,
        result: &RunResult,
        role: Role,
    ) -> Result<(), TrainError> {
        let mut earlier =
            Self { dataset: result.dataset.clone(), split: result.split.clone(), ..self.clone() };
        if let (Role::Round { .. }, Some(_), Some(_)) = (role, &self.predictions, &result.predictions) {
            earlier.predictions = result.predictions.clone();
        }
        self.require_same(path, &earlier)
    }
}

impl DatasetRecord {
    pub(crate) fn of(dataset: &Dataset) -> Self {
        Self {
            name: dataset.name().to_string(),
            fingerprint: dataset.fingerprint(),
            nodes: dataset.nodes(),
            edges: dataset.graph().edges(),
            features: dataset.features().columns(),
            classes: dataset.classes(),
        }
    }
}

impl SplitRecord {
    pub(crate) fn of(dataset: &Dataset) -> Self {
        let split = dataset.split();
        Self {
            name: split.name().to_string(),
            fingerprint: split.fingerprint(),
            train: split.train().len(),
            validation: split.validation().len(),
            test: split.test().len(),
        }
    }
}
