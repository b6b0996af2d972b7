//! A dataset as its files tell it.

use super::FormatError;
use super::limits::{check_classes, check_features};
use crate::{Dataset, Features, Fingerprint, Split};

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

impl RawDataset {
    /// Checks what readers promise.
    ///
    /// # Errors
    /// With the first thing that does not hold.
    pub fn check(&self) -> Result<(), FormatError> {
        let nodes = self.nodes;
        let require =
            |holds: bool, reason: String| if holds { Ok(()) } else { Err(FormatError::new(reason)) };
        require(nodes >= 1 && nodes <= u32::MAX as usize, format!("{nodes} nodes make no graph"))?;
        let inside = |&(source, target): &(u32, u32)| (source.max(target) as usize) < nodes;
        if let Some((source, target)) = self.edges.iter().find(|edge| !inside(edge)) {
            return Err(FormatError::new(format!("edge ({source}, {target}) leaves the {nodes} nodes")));
        }
        let rows = self.features.rows();
        require(rows == nodes, format!("{rows} rows of features for {nodes} nodes"))?;
        let labels = self.labels.len();
        require(labels == nodes, format!("{labels} labels for {nodes} nodes"))?;
        check_features(&self.features)?;
        check_classes(self.classes)?;
        let classes = self.classes;
        let below = |label: &Option<u32>| label.is_none_or(|label| (label as usize) < classes);
        require(self.labels.iter().all(below), format!("a label is not below the {classes} classes"))?;
        for (what, names, count) in [("class", &self.class_names, classes), ("node", &self.node_names, nodes)]
        {
            let given = names.len();
            require(given == 0 || given == count, format!("{given} {what} names for {count}"))?;
        }
        for split in &self.splits {
            let sets = [split.train(), split.validation(), split.test()];
            let inside = sets.iter().all(|set| set.iter().all(|&node| (node as usize) < nodes));
            require(inside, format!("the split {} leaves the {nodes} nodes", split.name()))?;
        }
        Ok(())
    }

    /// SHA-256, in hexadecimal, of nodes, edges in their order, features, labels and classes: what the arrays of
    /// a file say, however they are stored.
    pub fn fingerprint(&self) -> String {
        let mut fingerprint = Fingerprint::new();
        fingerprint.bytes(b"abyssal raw dataset 1").number(self.nodes).number(self.edges.len());
        for (source, target) in &self.edges {
            fingerprint.bytes(&source.to_le_bytes()).bytes(&target.to_le_bytes());
        }
        self.features.fingerprint_into(&mut fingerprint);
        for label in &self.labels {
            fingerprint.number(label.map_or(0, |label| label as usize + 1));
        }
        fingerprint.number(self.classes);
        fingerprint.finish()
    }
}

impl From<Dataset> for RawDataset {
    /// A dataset as if it came from a file: every edge is listed once, from its source to its target.
    fn from(dataset: Dataset) -> Self {
        let directed = dataset.graph().is_directed();
        // A directed graph tells of a node and the neighbours it hears.
        let edge = |(first, second)| if directed { (second, first) } else { (first, second) };
        let (class_names, node_names) = dataset.names();
        Self {
            nodes: dataset.nodes(),
            edges: dataset.graph().pairs().map(edge).collect(),
            features: dataset.features().clone(),
            labels: dataset.labels().to_vec(),
            classes: dataset.classes(),
            class_names: class_names.to_vec(),
            node_names: node_names.to_vec(),
            splits: vec![dataset.split().clone()],
        }
    }
}

#[cfg(test)]
mod tests {
    use abyssal_tensor::Matrix;

    use super::*;
    use crate::preparation::{PaperSplit, Preparation};

    #[test]
    fn a_directed_dataset_with_names_comes_back_the_same() {
        let names = |kind: &str, count: usize| (0..count).map(|number| format!("{kind} {number}")).collect();
        let raw = RawDataset {
            nodes: 4,
            edges: vec![(3, 0), (0, 1), (1, 2), (2, 1)],
            features: Features::Dense(Matrix::from_fn(4, 2, |row, column| (row + column) as f32)),
            labels: vec![Some(0), Some(1), Some(1), None],
            classes: 2,
            class_names: names("class", 2),
            node_names: names("node", 4),
            splits: vec![Split::new(vec![0], vec![1], vec![2]).unwrap()],
        };
        let preparation = Preparation { symmetrize: false, ..Preparation::default() };
        let apply = |raw: &RawDataset| preparation.apply("small", raw.clone(), PaperSplit::None).unwrap();
        let dataset = apply(&raw);
        let mut again = RawDataset::from(dataset.clone());
        assert_eq!(apply(&again), dataset);
        again.edges.sort_unstable_by_key(|edge| raw.edges.iter().position(|listed| listed == edge));
        assert_eq!(again, raw);
    }
}
