//! A dataset as its files tell it.

use crate::{Features, Split};

/// Everything the files of a dataset say, before any transform.
///
/// Edges are as they were listed: with their directions, with loops and repetitions. Readers make sure that edges
/// stay among the nodes, that there is one row of features and one label (or `None`) a node, and that labels are
/// below `classes`.
#[derive(Clone, Debug, PartialEq)]
pub struct RawDataset {
    /// Number of nodes.
    pub nodes: usize,
    /// Edges as listed, `(source, target)`.
    pub edges: Vec<(u32, u32)>,
    /// Features, one row a node.
    pub features: Features,
    /// The label of each node; `None` where it is unknown.
    pub labels: Vec<Option<u32>>,
    /// Number of classes.
    pub classes: usize,
    /// The name of each class, or nothing if classes have only numbers.
    pub class_names: Vec<String>,
    /// The name of each node, or nothing if nodes have only numbers.
    pub node_names: Vec<String>,
    /// The splits that come with the data, each with its name.
    pub splits: Vec<Split>,
}
