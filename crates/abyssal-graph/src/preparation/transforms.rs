//! Changes to a whole dataset.

use abyssal_tensor::Matrix;
use abyssal_tensor::random::{Purpose, Stream};

use crate::formats::RawDataset;
use crate::{Features, Graph, GraphError, Split};

/// Some nodes of a dataset, renumbered in their order.
pub(super) struct Cut {
    /// The nodes that stay, ascending.
    kept: Vec<u32>,
    /// For each node of the whole its new number; `None` if it goes.
    places: Vec<Option<u32>>,
}

impl Cut {
    /// Keeps the largest connected component.
    pub(super) fn largest_component(raw: &RawDataset) -> Result<Self, GraphError> {
        let kept = Graph::from_edges(raw.nodes, raw.edges.iter().copied())?.components().largest();
        let mut places = vec![None; raw.nodes];
        for (place, &node) in (0..).zip(&kept) {
            places[node as usize] = Some(place);
        }
        Ok(Self { kept, places })
    }

    /// What is left of a dataset. Splits keep what is left of them, and those of which a set is lost are left out.
    ///
    /// Nodes without names are called by the numbers they had: the user knows no others.
    pub(super) fn dataset(&self, raw: RawDataset) -> RawDataset {
        let place = |node: u32| self.places[node as usize];
        let edge = |&(source, target): &(u32, u32)| Some((place(source)?, place(target)?));
        let name = |&node: &u32| match raw.node_names.get(node as usize) {
            Some(name) => name.clone(),
            None => node.to_string(),
        };
        RawDataset {
            nodes: self.kept.len(),
            edges: raw.edges.iter().filter_map(edge).collect(),
            features: raw.features.select_rows(&self.kept),
            labels: self.kept.iter().map(|&node| raw.labels[node as usize]).collect(),
            classes: raw.classes,
            class_names: raw.class_names,
            node_names: self.kept.iter().map(name).collect(),
            splits: raw.splits.iter().filter_map(|split| self.split(split).ok()).collect(),
        }
    }

    /// What is left of a split of the whole.
    ///
    /// # Errors
    /// If nothing is left of one of its sets.
    pub(super) fn split(&self, split: &Split) -> Result<Split, GraphError> {
        let left = |nodes: &[u32]| nodes.iter().filter_map(|&node| self.places[node as usize]).collect();
        let cut = Split::new(left(split.train()), left(split.validation()), left(split.test()));
        let cut = cut.map_err(|error| match error {
            GraphError::EmptySubset { subset } => {
                GraphError::SubsetLost { split: split.name().to_string(), subset }
            }
            other => other,
        })?;
        Ok(cut.with_name(split.name()))
    }
}

/// Features that say nothing: independent numbers from N(0, 1).
pub(super) fn noise(rows: usize, columns: usize, seed: u64) -> Features {
    let stream = Stream::new(seed, Purpose::NoiseFeatures, 0, 0);
    Features::Dense(Matrix::from_fn(rows, columns, |row, column| {
        stream.normal((row * columns + column) as u64) as f32
    }))
}
