//! What is kept of a cell: `results/EXPERIMENT/CELL.json`.

use std::fs;
use std::path::{Path, PathBuf};

use abyssal_graph::write_atomically;
use serde::{Deserialize, Serialize};

use super::{Cell, Experiment, Protocol, Published, published};
use crate::{
    Config, DatasetRecord, RunResult, SelectedEpoch, TeacherRecord, TrainError, json, mean, sample_deviation,
};

/// A number of a table with everything needed to judge and repeat it. Accuracies are shares of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The experiment.
    pub experiment: Experiment,
    /// The dataset, by the name it has in tables.
    pub dataset: String,
    /// How runs were repeated.
    pub protocol: Protocol,
    /// The model or variant.
    pub label: String,
    /// The depth.
    pub layers: usize,
    /// What computes it.
    pub command: String,
    /// The paper's number.
    pub published: Option<Published>,
    /// Test accuracy of the epochs that strict selection chose: the result. Nothing if all runs failed.
    pub test: Option<Summary>,
    /// Test accuracy of the epochs that the paper's rule chose, which looks at the test nodes.
    pub test_by_paper_rule: Option<Summary>,
    /// Validation accuracy of the epochs that strict selection chose.
    pub validation: Option<Summary>,
    /// How many runs the protocol asks for; there are fewer if they were limited.
    pub protocol_runs: usize,
    /// Seconds it takes to compute it from nothing: all runs, and their teachers. A teacher of several runs counts once.
    pub seconds: f64,
    /// Its runs.
    pub runs: Vec<RunRecord>,
    /// Runs that came to no result.
    pub failures: Vec<FailureRecord>,
    /// The data.
    pub data: Option<DatasetRecord>,
    /// Every setting of the first run; the others differ in split and seed.
    pub configuration: toml::Table,
}

/// A mean over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The unbiased standard deviation; 0 of a single run.
    pub deviation: f64,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Its seed.
    pub seed: u64,
    /// The name of its split.
    pub split: String,
    /// SHA-256 over the three sets of nodes.
    pub split_fingerprint: String,
    /// The edges the model propagates along.
    pub graph: String,
    /// The epoch of strict selection.
    pub strict: SelectedEpoch,
    /// The epoch of the paper's rule.
    pub paper_rule: SelectedEpoch,
    /// Epochs that were run.
    pub epochs: usize,
    /// Why fine-tuning ended before its time, if it diverged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// Seconds, without those of teachers.
    pub seconds: f64,
    /// Who taught.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teacher: Option<TeacherRecord>,
    /// Version of Abyssal, with the commit it was built from where that is known.
    pub version: String,
    /// Threads that computed; results do not depend on it.
    pub threads: usize,
}

/// A run without a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// Its directory in that of the cell, which names split and seed.
    pub run: String,
    /// What went wrong.
    pub reason: String,
}

impl Record {
    /// Gathers the runs of a cell, in their order.
    pub(super) fn new(
        cell: &Cell,
        first: &Config,
        results: &[RunResult],
        failures: Vec<FailureRecord>,
    ) -> Self {
        let runs: Vec<RunRecord> = results.iter().map(RunRecord::of).collect();
        let label = &cell.contestant.label;
        Self {
            experiment: cell.experiment,
            dataset: cell.dataset.clone(),
            protocol: cell.protocol,
            label: label.clone(),
            layers: cell.layers,
            command: cell.command(),
            published: published(label, &cell.dataset, cell.layers),
            test: Summary::over(&runs, |run| run.strict.test_accuracy),
            test_by_paper_rule: Summary::over(&runs, |run| run.paper_rule.test_accuracy),
            validation: Summary::over(&runs, |run| run.strict.validation_accuracy),
            protocol_runs: cell.protocol_trials().len(),
            seconds: total_seconds(&runs),
            runs,
            failures,
            data: results.first().map(|result| result.dataset.clone()),
            configuration: first.table(),
        }
    }

    /// Whether it says more about the same configuration.
    pub fn is_fuller_than(&self, other: &Self) -> bool {
        self.runs.len() > other.runs.len() && self.config().is_some_and(|own| Some(own) == other.config())
    }

    /// Its configuration, where settings that came to be after it have their defaults; `None` if it has settings that are
    /// no more.
    fn config(&self) -> Option<Config> {
        self.configuration.clone().try_into().ok()
    }

    /// Its place in a directory of results: `accuracies/cora-honest-ours-32.json`.
    pub fn path(&self) -> PathBuf {
        let Self { dataset, label, layers, .. } = self;
        let name = format!("{dataset}-{}-{label}-{layers}.json", self.protocol.name());
        Path::new(self.experiment.name()).join(name)
    }

    /// Writes it to its place in a directory of results.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, results: &Path) -> Result<(), TrainError> {
        let directory = results.join(self.experiment.name());
        fs::create_dir_all(&directory).map_err(TrainError::io("create the directory", &directory))?;
        let mut text = serde_json::to_string_pretty(self).expect("a record is plain data");
        text.push('\n');
        Ok(write_atomically(&results.join(self.path()), text.as_bytes())?)
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the file cannot be read or is no record.
    pub fn read(path: &Path) -> Result<Self, TrainError> {
        json::read(path)
    }
}

impl RunRecord {
    fn of(result: &RunResult) -> Self {
        Self {
            seed: result.seed,
            split: result.split.name.clone(),
            split_fingerprint: result.split.fingerprint.clone(),
            graph: result.graph.clone(),
            strict: result.selected_by_strict_rule,
            paper_rule: result.selected_by_paper_rule,
            epochs: result.epochs,
            cut_short: result.cut_short.clone(),
            seconds: result.seconds,
            teacher: result.teacher.clone(),
            version: result.version.clone(),
            threads: result.threads,
        }
    }
}

impl Summary {
    fn over(runs: &[RunRecord], value: impl Fn(&RunRecord) -> f64) -> Option<Self> {
        let values: Vec<f64> = runs.iter().map(value).collect();
        (!values.is_empty()).then(|| Self { mean: mean(&values), deviation: sample_deviation(&values) })
    }
}

fn total_seconds(runs: &[RunRecord]) -> f64 {
    let own: f64 = runs.iter().map(|run| run.seconds).sum();
    own + TeacherRecord::seconds_of(runs.iter().filter_map(|run| run.teacher.as_ref()))
}
