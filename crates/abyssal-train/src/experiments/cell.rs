//! One number of a table: a model on a dataset at a depth, under a protocol.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use toml::Value;

use super::accuracies::{OUR_MODEL, OURS};
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
    /// Whether the teachers of our default recipe teach it, in place of those of its settings.
    pub taught_as_ours: bool,
}

impl Contestant {
    /// A model as it is.
    pub fn of(label: &str, model: &str) -> Self {
        let settings = vec![("model.name".to_string(), model.into())];
        Self { label: label.to_string(), settings, variant: Variant::Full, taught_as_ours: false }
    }
}

impl Cell {
    /// Its name for people: `cora honest ours 32`.
    pub fn title(&self) -> String {
        format!("{} {} {} {}", self.dataset, self.protocol.name(), self.contestant.label, self.layers)
    }

    /// The directory of its runs among those of all cells: `accuracies/cora-honest-ours-32`.
    pub(super) fn directory(&self) -> PathBuf {
        Path::new(self.experiment.name()).join(self.title().replace(' ', "-"))
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
        let mut config = self.config(&self.contestant.settings)?;
        if self.contestant.taught_as_ours {
            config.teacher = self.config(&Contestant::of(OURS, OUR_MODEL).settings)?.teacher;
        }
        let config = self.contestant.variant.of(self.protocol.adapt(config))?;
        let mut trials = self.protocol_trials();
        trials.truncate(self.runs_per_cell.map_or(usize::MAX, NonZeroUsize::get));
        Ok(trials.iter().map(|trial| trial.of(&config)).collect())
    }

    /// These settings, at the depth and on the dataset of the cell.
    fn config(&self, settings: &[(String, Value)]) -> Result<Config, TrainError> {
        let of_cell = [
            ("data.name".to_string(), self.protocol.dataset(&self.dataset).into()),
            ("model.layers".to_string(), Value::from(self.layers as i64)),
        ];
        Config::resolve(None, &[&of_cell, settings].concat())
    }

    /// The same cell with so many runs, if the protocol has more.
    pub(super) fn with_runs(&self, runs: usize) -> Self {
        let runs_per_cell = NonZeroUsize::new(runs).filter(|runs| runs.get() < self.protocol_trials().len());
        Self { runs_per_cell, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::experiments::{REFERENCE, Request};
    use crate::session::split_directory;

    /// Every cell there is, under both protocols where there are two.
    fn all() -> Vec<Cell> {
        let cells = |experiment: Experiment| {
            let request = Request {
                protocols: experiment.protocols().to_vec(),
                layers: vec![32, 64],
                ..Request::default()
            };
            experiment.cells(&request).unwrap()
        };
        Experiment::ALL.into_iter().flat_map(cells).collect()
    }

    #[test]
    fn every_cell_resolves() {
        let cells = all();
        assert_eq!(cells.len(), 2 * (2 * 11 * 8 + 2 * 7 * 2 + 3 * 6));
        for cell in &cells {
            let title = cell.title();
            let configs = cell.configs().unwrap_or_else(|error| panic!("{title}: {error}"));
            assert_eq!(configs.len(), cell.protocol_trials().len(), "{title}");
            let names: BTreeSet<(String, u64)> =
                configs.iter().map(|config| (split_directory(config), config.seed)).collect();
            assert_eq!(names.len(), configs.len(), "{title}: two runs in one directory");
            for config in &configs {
                assert_eq!(config.model.layers(), cell.layers, "{title}");
                assert_eq!(config.data.name(), cell.protocol.dataset(&cell.dataset), "{title}");
                let shared = config.teacher.as_ref().map(|teacher| teacher.shared);
                assert!(shared.is_none_or(|shared| shared == (cell.protocol == Protocol::Paper)), "{title}");
            }
        }
    }

    #[test]
    fn ours_is_taught_and_baselines_are_as_published() {
        for cell in all().iter().filter(|cell| cell.experiment != Experiment::Ablation) {
            let config = cell.configs().unwrap().swap_remove(0);
            let label = cell.contestant.label.as_str();
            let ours = label.starts_with("ours") || label == REFERENCE;
            assert_eq!(config.teacher.is_some(), ours, "{}", cell.title());
            assert_eq!(config.model.name(), if ours { "r-soft-graph-ain" } else { label });
            let backbone = config.table()["model"].get("backbone").cloned();
            let expected = ours.then(|| Value::from(label.strip_prefix("ours-").unwrap_or("gcn")));
            assert_eq!(backbone, expected, "{}", cell.title());
        }
    }

    #[test]
    fn the_student_of_the_released_code_has_the_teachers_of_ours() {
        let labels = [OURS, REFERENCE].map(str::to_string).to_vec();
        let request = Request { labels, protocols: vec![Protocol::Paper], ..Request::default() };
        for pair in Experiment::Accuracies.cells(&request).unwrap().chunks(2) {
            let [ours, reference] = [&pair[0], &pair[1]].map(|cell| cell.configs().unwrap().swap_remove(0));
            let title = pair[1].title();
            assert!(title.contains(REFERENCE) && reference.teacher == ours.teacher, "{title}");
            let model = reference.table()["model"].clone();
            assert_eq!(model["gradient"].as_str(), Some("detached"), "{title}");
            assert_eq!(reference.train.selection, ours.train.selection, "{title}");
            assert_eq!(reference.curriculum.unwrap().fine_tuning_epochs, 0, "{title}");
        }
    }

    #[test]
    fn limits_cut_the_runs_and_show_in_the_command() {
        let request = Request { runs_per_cell: NonZeroUsize::new(2), ..Request::default() };
        let cells = Experiment::Backbones.cells(&request).unwrap();
        assert!(cells.iter().all(|cell| cell.configs().unwrap().len() == 2));
        assert_eq!(
            cells[0].command(),
            "abyssal reproduce backbones --datasets cora --labels ours-gat --protocol paper --layers 32 --runs-per-cell 2"
        );
        let cells = Experiment::Ablation.cells(&Request::default()).unwrap();
        assert_eq!(
            cells[0].command(),
            "abyssal reproduce ablation --datasets cora --labels full --layers 32"
        );
        assert!(cells.iter().all(|cell| cell.configs().unwrap().len() == 5));
    }
}
