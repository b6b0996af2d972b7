//! What is kept of a run: `result.json`.

use serde::{Deserialize, Serialize};

use abyssal_graph::Dataset;

use crate::{EpochMetrics, Selection};

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
    /// What the strict rule chooses, whichever was asked for.
    pub selected_by_strict_rule: SelectedEpoch,
    /// What the paper's rule chooses; it looks at the test set.
    pub selected_by_paper_rule: SelectedEpoch,
    /// Epochs that were run.
    pub epochs: usize,
    /// The data.
    pub dataset: DatasetRecord,
    /// The split.
    pub split: SplitRecord,
    /// Accuracy on the test nodes of always guessing the most common training class.
    pub majority_accuracy: f64,
    /// SHA-256 of the configuration.
    pub config_fingerprint: String,
    /// Version of Abyssal.
    pub version: String,
    /// Threads that computed; results do not depend on it.
    pub threads: usize,
    /// Seconds of training and evaluation, over all interruptions.
    pub seconds: f64,
    /// Largest memory of the process in bytes, where the system tells.
    pub peak_memory_bytes: Option<u64>,
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

/// The largest memory this process has had; Linux tells it in `/proc`.
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}
