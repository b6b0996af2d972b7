//! From what files say to what models learn from: transforms and a split.

mod graph_rule;
mod transforms;

use serde::{Deserialize, Serialize};

use crate::formats::RawDataset;
use crate::formats::own::{self, NodeNames};
use crate::{Dataset, Features, Graph, GraphError, Rehearsal, Split, SplitRule, neighbour_graph};

use transforms::Cut;

pub use graph_rule::GraphRule;

/// What is done to the data before a model sees it, in the order of these fields, the split and its seed last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preparation {
    /// Keep the largest connected component only.
    pub largest_component: bool,
    /// Replace the features by as many numbers drawn from N(0, 1).
    pub noise_features: bool,
    /// Replace non-zero features by 1.
    pub binarize: bool,
    /// Divide each row of the features by the sum of its absolute values.
    pub row_normalize: bool,
    /// Give each column of the features mean 0 and variance 1; constant columns become 0.
    pub standardize: bool,
    /// The edges models propagate along: `given`, or `knn:K` for the K nearest neighbours by features.
    pub graph: GraphRule,
    /// Forget the directions of edges.
    pub symmetrize: bool,
    /// Let nodes hear themselves when neighbours are aggregated.
    pub self_loops: bool,
    /// Which nodes train, validate and test.
    pub split: SplitRule,
    /// Whether half of the validation nodes take the place of the test nodes: `off`, `first` or `second`.
    pub rehearsal: Rehearsal,
    /// The seed of random splits and of noise features.
    pub seed: u64,
}

impl Default for Preparation {
    /// Nothing is done to the features; directions are dropped and self-loops added, as the paper's models do.
    fn default() -> Self {
        Self {
            largest_component: false,
            noise_features: false,
            binarize: false,
            row_normalize: false,
            standardize: false,
            graph: GraphRule::Given,
            symmetrize: true,
            self_loops: true,
            split: SplitRule::Default,
            rehearsal: Rehearsal::Off,
            seed: 0,
        }
    }
}

/// The split the paper's results on a dataset were computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaperSplit {
    /// The dataset is not one of the paper's.
    None,
    /// One that comes with the data, by its name.
    Stored(&'static str),
    /// [`Split::paper`] over all nodes.
    Drawn,
    /// [`Split::paper`] over positions in the largest component.
    DrawnInLargestComponent,
}

impl Preparation {
    /// Makes the dataset.
    ///
    /// # Errors
    /// If the split does not exist or does not fit, or the data is not fit to learn from.
    pub fn apply(&self, name: &str, raw: RawDataset, paper: PaperSplit) -> Result<Dataset, GraphError> {
        let (raw, split) = self.select_nodes(name, raw, paper)?;
        let split = split.rehearsed(self.rehearsal, &raw.labels)?;
        self.transform(name, raw, split)
    }

    /// Makes a dataset to predict: nobody teaches, chooses or judges.
    ///
    /// # Errors
    /// If the data is not fit to be predicted.
    pub fn apply_unlabelled(&self, name: &str, raw: RawDataset) -> Result<Dataset, GraphError> {
        let raw = if self.largest_component { Cut::largest_component(&raw)?.dataset(raw) } else { raw };
        self.transform(name, raw, Split::nobody())
    }

    /// The transforms of what nodes have and are joined by.
    fn transform(&self, name: &str, raw: RawDataset, split: Split) -> Result<Dataset, GraphError> {
        let features = self.transform_features(raw.features)?;
        let graph = match (&self.graph, self.symmetrize) {
            (GraphRule::NearestNeighbours { count, distance }, _) => {
                neighbour_graph(&features, *count, *distance)?
            }
            (GraphRule::Given, true) => Graph::from_edges(raw.nodes, raw.edges)?,
            (GraphRule::Given, false) => Graph::from_directed_edges(raw.nodes, raw.edges)?,
        };
        let graph = graph.with_self_loops(self.self_loops);
        Dataset::new(name, graph, features, raw.labels, raw.classes, split)?
            .with_names(raw.class_names, raw.node_names)
    }

    /// The nodes to keep and their split.
    ///
    /// A given split is about the data as it was given, so what the cut leaves of it is taken, and a set of which nothing
    /// is left is told. Random splits are drawn afterwards, so that shares are those of the nodes that are there.
    fn select_nodes(
        &self,
        name: &str,
        raw: RawDataset,
        paper: PaperSplit,
    ) -> Result<(RawDataset, Split), GraphError> {
        if !self.largest_component {
            let split = self.draw_split(name, &raw, paper)?;
            return Ok((raw, split));
        }
        let cut = Cut::largest_component(&raw)?;
        let is_given = match &self.split {
            SplitRule::File(_) | SplitRule::Stored(_) => true,
            SplitRule::Default => !raw.splits.is_empty(),
            SplitRule::Paper => matches!(paper, PaperSplit::Stored(_)),
            SplitRule::PerClass { .. } | SplitRule::Fractions { .. } => false,
        };
        if is_given {
            let split = cut.split(&self.draw_split(name, &raw, paper)?)?;
            return Ok((cut.dataset(raw), split));
        }
        let raw = cut.dataset(raw);
        let split = self.draw_split(name, &raw, paper)?;
        Ok((raw, split))
    }

    fn transform_features(&self, features: Features) -> Result<Features, GraphError> {
        // Non-finite numbers must be told by their place in the data, before sums spread them.
        features.check_finite()?;
        let mut features = features;
        if self.noise_features {
            features = transforms::noise(features.rows(), features.columns(), self.seed);
        }
        if self.binarize {
            features = features.binarized();
        }
        if self.row_normalize {
            features = features.row_normalized();
        }
        if self.standardize {
            features = features.standardized();
        }
        Ok(features)
    }

    pub(crate) fn draw_split(
        &self,
        name: &str,
        raw: &RawDataset,
        paper: PaperSplit,
    ) -> Result<Split, GraphError> {
        let (labels, classes, seed) = (&raw.labels, raw.classes, self.seed);
        let stored = |wanted: &str| {
            let split = raw.splits.iter().find(|split| split.name() == wanted).cloned();
            let split = split.ok_or_else(|| GraphError::NoSuchSplit {
                dataset: name.to_string(),
                split: wanted.to_string(),
                available: available_splits(raw, paper),
            })?;
            // Stored masks may name nodes without a label; nothing can be learned or measured there.
            split.labelled(labels)
        };
        let named = |split: Split| split.with_name(format!("{}, seed {seed}", self.split));
        match &self.split {
            SplitRule::Default => match raw.splits.first() {
                Some(split) => split.clone().labelled(labels),
                None => {
                    let preparation = Self { split: SplitRule::FALLBACK, ..self.clone() };
                    preparation.draw_split(name, raw, paper)
                }
            },
            SplitRule::Stored(wanted) => stored(wanted),
            SplitRule::PerClass { train, validation } => {
                let split = Split::balanced(labels, classes, *train, *validation, seed);
                split.map(named).map_err(|error| error.with_class_name(&raw.class_names))
            }
            SplitRule::Fractions { train, validation } => {
                Split::fractions(labels, classes, *train, *validation, seed).map(named)
            }
            SplitRule::File(path) => {
                let nodes = NodeNames::of(raw).map_err(|error| error.in_file(path))?;
                Ok(own::read_masks(path, &nodes)?.labelled(labels)?.with_name(self.split.to_string()))
            }
            SplitRule::Paper => match paper {
                PaperSplit::Stored(wanted) => stored(wanted),
                PaperSplit::Drawn => Split::paper(labels, classes, None),
                // Inside the component alone, positions are node ids.
                PaperSplit::DrawnInLargestComponent if self.largest_component => {
                    Split::paper(labels, classes, None)
                }
                PaperSplit::DrawnInLargestComponent => {
                    let graph = Graph::from_edges(raw.nodes, raw.edges.iter().copied())?;
                    Split::paper(labels, classes, Some(&graph.components().largest()))?.labelled(labels)
                }
                PaperSplit::None => stored("paper"),
            },
        }
    }
}

/// The names of all splits that a dataset has, for messages and for `info`.
pub(crate) fn available_splits(raw: &RawDataset, paper: PaperSplit) -> Vec<String> {
    let stored = raw.splits.iter().map(|split| split.name().to_string());
    let paper = (paper != PaperSplit::None).then(|| "paper".to_string());
    stored.chain(paper).collect()
}

#[cfg(test)]
mod tests;
