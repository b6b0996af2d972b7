//! One number of a table: a model on a dataset at a depth, under a protocol.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use toml::Value;

use super::{Experiment, Protocol, Trial, Variant};
use crate::{Config, TrainError};

/// What one number is computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The experiment it belongs to.
    pub experiment: Experiment,
    /// The dataset, by the name it has in tables.
    pub dataset: String,
    /// How runs are repeated.
    pub protocol: Protocol,
    /// What is trained.
    pub contestant: Contestant,
    /// The depth.
    pub layers: usize,
    /// Fewer runs than the protocol asks for.
    pub runs_per_cell: Option<NonZeroUsize>,
}

/// A model, or a variant of ours, in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Contestant {
    /// What it is called there, such as `ours-gat`, `gcnii` or `without-smoothing`.
    pub label: String,
    /// What is set beside dataset, depth, split and seed.
    pub settings: Vec<(String, Value)>,
    /// What is taken away from the method.
    pub variant: Variant,
}

impl Contestant {
    /// A model as it is.
    pub fn of(label: &str, model: &str) -> Self {
        let settings = vec![("model.name".to_string(), model.into())];
        Self { label: label.to_string(), settings, variant: Variant::Full }
    }
}

impl Cell {
    /// Its name, for files and directories: `cora-honest-ours-32`.
    pub fn name(&self) -> String {
        self.title().replace(' ', "-")
    }

    /// Its name for people: `cora honest ours 32`.
    pub fn title(&self) -> String {
        format!("{} {} {} {}", self.dataset, self.protocol.name(), self.contestant.label, self.layers)
    }

    /// The file of its record in a directory of results.
    pub fn record_path(&self) -> PathBuf {
        PathBuf::from(self.experiment.name()).join(format!("{}.json", self.name()))
    }

    /// The command that computes it.
    pub fn command(&self) -> String {
        let Self { dataset, layers, contestant: Contestant { label, .. }, .. } = self;
        let mut command =
            format!("abyssal reproduce {} --datasets {dataset} --labels {label}", self.experiment.name());
        if self.experiment.protocols().len() > 1 {
            command.push_str(&format!(" --protocol {}", self.protocol.name()));
        }
        command.push_str(&format!(" --layers {layers}"));
        if let Some(runs) = self.runs_per_cell {
            command.push_str(&format!(" --runs-per-cell {runs}"));
        }
        command
    }

    /// The runs it has when nothing limits them.
    pub fn protocol_trials(&self) -> Vec<Trial> {
        let mut trials = self.protocol.trials(self.protocol.dataset(&self.dataset));
        trials.truncate(self.experiment.runs());
        trials
    }

    /// The configurations of its runs.
    ///
    /// # Errors
    /// If a setting is unknown or does not fit.
    pub fn configs(&self) -> Result<Vec<Config>, TrainError> {
        let dataset = self.protocol.dataset(&self.dataset);
        let mut settings = vec![
            ("data.name".to_string(), Value::from(dataset)),
            ("model.layers".to_string(), Value::from(self.layers as i64)),
        ];
        settings.extend_from_slice(&self.contestant.settings);
        let config = self.protocol.adapt(Config::resolve(None, &settings)?);
        let config = self.contestant.variant.of(config)?;
        let mut trials = self.protocol_trials();
        trials.truncate(self.runs_per_cell.map_or(usize::MAX, NonZeroUsize::get));
        Ok(trials.iter().map(|trial| trial.of(&config)).collect())
    }
}
