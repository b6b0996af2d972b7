//! The paper's experiments: which runs give which number, and what is kept of them.
//!
//! An [`Experiment`] has [`Cell`]s, one a number: a model on a dataset at a depth under a [`Protocol`]. A [`Runner`] trains
//! the runs of a cell and writes a [`Record`] of it, with everything needed to judge and repeat the number.

mod ablation;
mod accuracies;
mod backbones;
mod cell;
mod protocol;
mod published;
mod record;
mod runner;

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::TrainError;

pub use ablation::Variant;
pub use accuracies::{BASELINES, OURS, REFERENCE};
pub use cell::{Cell, Contestant};
pub use protocol::{Protocol, Trial};
pub use published::{Published, published};
pub use record::{FailureRecord, Record, RunRecord, Summary};
pub use runner::Runner;

/// The datasets of the paper's tables, in their order; ogbn-arxiv apart, which needs another machine.
pub const DATASETS: [&str; 11] = [
    "cora",
    "citeseer",
    "pubmed",
    "coauthor-cs",
    "coauthor-physics",
    "amazon-computers",
    "amazon-photo",
    "texas",
    "wisconsin",
    "cornell",
    "actor",
];

/// An experiment of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Experiment {
    /// Our method, the student of the released code and the baselines on all datasets (tables 1 and 2).
    Accuracies,
    /// Our method on GAT and GIN (tables 1 and 2).
    Backbones,
    /// Our method with parts taken away (table 3).
    Ablation,
}

/// Which cells of an experiment are wanted. An empty list means all there are, or the usual ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Datasets by name.
    pub datasets: Vec<String>,
    /// Labels of models or variants.
    pub labels: Vec<String>,
    /// Protocols; if there are none, those the tables show.
    pub protocols: Vec<Protocol>,
    /// Depths.
    pub layers: Vec<usize>,
    /// At most so many runs a cell.
    pub runs_per_cell: Option<NonZeroUsize>,
}

impl Experiment {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Accuracies, Self::Backbones, Self::Ablation];

    /// What to call it, on the command line and in directories.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracies => "accuracies",
            Self::Backbones => "backbones",
            Self::Ablation => "ablation",
        }
    }

    /// The datasets it runs on.
    pub fn datasets(self) -> &'static [&'static str] {
        match self {
            Self::Accuracies => &DATASETS,
            Self::Backbones => &backbones::DATASETS,
            Self::Ablation => &ablation::DATASETS,
        }
    }

    /// The labels of its models or variants.
    pub fn labels(self) -> Vec<String> {
        self.contestants().into_iter().map(|contestant| contestant.label).collect()
    }

    /// The protocols it can run under.
    pub fn protocols(self) -> &'static [Protocol] {
        match self {
            Self::Accuracies | Self::Backbones => &Protocol::ALL,
            // On its datasets they hardly differ.
            Self::Ablation => &[Protocol::Honest],
        }
    }

    /// The depths it runs at if nothing else is said.
    pub fn layers(self) -> &'static [usize] {
        match self {
            Self::Accuracies | Self::Backbones => &[32],
            Self::Ablation => &[32, 64],
        }
    }

    /// At most so many runs of a protocol.
    pub(crate) fn runs(self) -> usize {
        match self {
            Self::Accuracies | Self::Backbones => usize::MAX,
            Self::Ablation => ablation::RUNS,
        }
    }

    fn contestants(self) -> Vec<Contestant> {
        match self {
            Self::Accuracies => accuracies::contestants(),
            Self::Backbones => backbones::contestants(),
            Self::Ablation => ablation::contestants(),
        }
    }

    /// The protocols of a label that tables show: baselines are compared honestly and not otherwise, the student of the
    /// released code with the paper's numbers.
    fn protocols_in_tables(self, label: &str) -> &'static [Protocol] {
        match label {
            REFERENCE => &[Protocol::Paper],
            label if BASELINES.contains(&label) => &[Protocol::Honest],
            _ => self.protocols(),
        }
    }

    /// The cells that are asked for, those of a dataset together.
    ///
    /// # Errors
    /// If there is no such dataset or label.
    pub fn cells(self, request: &Request) -> Result<Vec<Cell>, TrainError> {
        let datasets = chosen("--datasets", &request.datasets, self.datasets())?;
        let labels = self.labels();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let labels = chosen("--labels", &request.labels, &labels)?;
        let mut contestants = self.contestants();
        contestants.retain(|contestant| labels.contains(&contestant.label));
        let depths = if request.layers.is_empty() { self.layers() } else { &request.layers };
        let mut cells = Vec::new();
        for dataset in &datasets {
            for &layers in depths {
                for contestant in &contestants {
                    let protocols = match request.protocols.as_slice() {
                        [] => self.protocols_in_tables(&contestant.label),
                        given => given,
                    };
                    cells.extend(protocols.iter().map(|&protocol| Cell {
                        experiment: self,
                        dataset: dataset.clone(),
                        protocol,
                        contestant: contestant.clone(),
                        layers,
                        runs_per_cell: request.runs_per_cell,
                    }));
                }
            }
        }
        Ok(cells)
    }
}

/// Those of the known names that are wanted, in the order they are known in; all if none is.
fn chosen(option: &str, wanted: &[String], known: &[&str]) -> Result<Vec<String>, TrainError> {
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(TrainError::InvalidValue {
            key: option.to_string(),
            value: unknown.clone(),
            reason: format!("there are {}", known.join(", ")),
        });
    }
    let is_wanted = |name: &&str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    Ok(known.iter().copied().filter(is_wanted).map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(experiment: Experiment, request: &Request) -> Vec<String> {
        experiment.cells(request).unwrap().iter().map(Cell::title).collect()
    }

    #[test]
    fn without_a_protocol_there_is_what_tables_show() {
        let request = Request {
            datasets: vec!["cornell".to_string()],
            labels: vec!["gcnii".to_string(), "ours".to_string()],
            ..Request::default()
        };
        assert_eq!(
            titles(Experiment::Accuracies, &request),
            ["cornell paper ours 32", "cornell honest ours 32", "cornell honest gcnii 32"]
        );
        let request = Request { protocols: vec![Protocol::Paper], layers: vec![8], ..request };
        assert_eq!(
            titles(Experiment::Accuracies, &request),
            ["cornell paper ours 8", "cornell paper gcnii 8"]
        );
    }

    #[test]
    fn unknown_names_are_told_what_there_is() {
        let request = Request { datasets: vec!["corra".to_string()], ..Request::default() };
        let error = Experiment::Ablation.cells(&request).unwrap_err().to_string();
        assert!(error.contains("--datasets = corra") && error.contains("cora, citeseer, pubmed"), "{error}");
        let request = Request { labels: vec!["ours".to_string()], ..Request::default() };
        let error = Experiment::Backbones.cells(&request).unwrap_err().to_string();
        assert!(error.contains("--labels = ours") && error.contains("ours-gat, ours-gin"), "{error}");
    }
}
