//! What there is to know about a dataset at a glance.

use serde::Serialize;

use crate::formats::RawDataset;
use crate::preparation::{PaperSplit, Preparation};
use crate::{Graph, GraphError, Split, SplitRule};

/// A dataset in numbers. Edges are unique, undirected and without loops unless said otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// Its name.
    pub name: String,
    /// Nodes.
    pub nodes: usize,
    /// Unique undirected edges without loops.
    pub edges: usize,
    /// Features of a node.
    pub features: usize,
    /// Classes.
    pub classes: usize,
    /// Nodes with an edge to themselves.
    pub self_loops: usize,
    /// Edges as the files list them, with directions, loops and repetitions.
    pub listed_edges: usize,
    /// Features that are not zero, over all nodes.
    pub feature_nonzeros: usize,
    /// Nodes of each class.
    pub class_sizes: Vec<usize>,
    /// Names of the classes, if they have some.
    pub class_names: Vec<String>,
    /// Nodes without a label.
    pub unlabelled: usize,
    /// The share of edges that join two nodes of one class; `None` without labelled edges.
    pub homophily: Option<f64>,
    /// Connected components.
    pub components: usize,
    /// The largest of them.
    pub largest_component: ComponentSize,
    /// How many neighbours nodes have.
    pub degree: DegreeSummary,
    /// The splits that come with the data, and the paper's.
    pub splits: Vec<SplitSize>,
    /// SHA-256 of what the files say ([`RawDataset::fingerprint`]).
    pub fingerprint: String,
}

/// The size of a connected component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComponentSize {
    /// Its nodes.
    pub nodes: usize,
    /// The edges between them.
    pub edges: usize,
}

/// How many neighbours nodes have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DegreeSummary {
    /// Of the node with the fewest.
    pub minimum: usize,
    /// Of the node in the middle (the lower one of two).
    pub median: usize,
    /// On average.
    pub mean: f64,
    /// Of the node with the most.
    pub maximum: usize,
    /// Nodes with none.
    pub isolated: usize,
}

/// The sizes of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SplitSize {
    /// Its name.
    pub name: String,
    /// Training nodes.
    pub train: usize,
    /// Validation nodes.
    pub validation: usize,
    /// Test nodes.
    pub test: usize,
    /// SHA-256 of the three sets.
    pub fingerprint: String,
}

impl Statistics {
    /// Counts.
    ///
    /// # Errors
    /// If the data is no graph.
    pub fn of(name: &str, raw: &RawDataset, paper: PaperSplit) -> Result<Self, GraphError> {
        let graph = Graph::from_edges(raw.nodes, raw.edges.iter().copied())?;
        let components = graph.components();
        let largest = components.largest();
        let mut class_sizes = vec![0; raw.classes];
        for label in raw.labels.iter().flatten() {
            class_sizes[*label as usize] += 1;
        }
        let mut looped: Vec<u32> =
            raw.edges.iter().filter(|(source, target)| source == target).map(|edge| edge.0).collect();
        looped.sort_unstable();
        looped.dedup();
        let mut splits = Vec::new();
        for split in &raw.splits {
            splits.push(SplitSize::of(&split.clone().labelled(&raw.labels)?));
        }
        // Where the paper used a split that comes with the data, it is listed already.
        if matches!(paper, PaperSplit::Drawn | PaperSplit::DrawnInLargestComponent) {
            let rule = Preparation { split: SplitRule::Paper, ..Preparation::default() };
            splits.push(SplitSize::of(&rule.draw_split(name, raw, paper)?));
        }
        Ok(Self {
            name: name.to_string(),
            nodes: raw.nodes,
            edges: graph.edges(),
            features: raw.features.columns(),
            classes: raw.classes,
            self_loops: looped.len(),
            listed_edges: raw.edges.len(),
            feature_nonzeros: raw.features.nonzeros(),
            unlabelled: raw.nodes - class_sizes.iter().sum::<usize>(),
            class_sizes,
            class_names: raw.class_names.clone(),
            homophily: graph.edge_homophily(&raw.labels),
            components: components.count,
            largest_component: ComponentSize {
                nodes: largest.len(),
                edges: largest.iter().map(|&node| graph.degree(node as usize)).sum::<usize>() / 2,
            },
            degree: DegreeSummary::of(&graph),
            splits,
            fingerprint: raw.fingerprint(),
        })
    }
}

impl DegreeSummary {
    fn of(graph: &Graph) -> Self {
        let mut degrees: Vec<usize> = (0..graph.nodes()).map(|node| graph.degree(node)).collect();
        degrees.sort_unstable();
        Self {
            minimum: degrees[0],
            median: degrees[(degrees.len() - 1) / 2],
            mean: degrees.iter().sum::<usize>() as f64 / degrees.len() as f64,
            maximum: degrees[degrees.len() - 1],
            isolated: degrees.partition_point(|&degree| degree == 0),
        }
    }
}

impl SplitSize {
    fn of(split: &Split) -> Self {
        Self {
            name: split.name().to_string(),
            train: split.train().len(),
            validation: split.validation().len(),
            test: split.test().len(),
            fingerprint: split.fingerprint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use abyssal_tensor::Matrix;

    use super::*;
    use crate::Features;

    #[test]
    fn a_small_graph_in_numbers() {
        let raw = RawDataset {
            nodes: 6,
            edges: vec![(0, 1), (1, 0), (1, 2), (3, 3), (3, 3), (4, 3)],
            features: Features::Dense(Matrix::from_fn(6, 2, |row, column| (row * column) as f32)),
            labels: vec![Some(0), Some(0), Some(1), Some(1), None, Some(1)],
            classes: 3,
            class_names: Vec::new(),
            node_names: Vec::new(),
            splits: vec![Split::new(vec![0, 2], vec![1], vec![3, 4]).unwrap().with_name("given")],
        };
        let statistics = Statistics::of("small", &raw, PaperSplit::None).unwrap();
        assert_eq!((statistics.nodes, statistics.edges, statistics.listed_edges), (6, 3, 6));
        assert_eq!((statistics.self_loops, statistics.feature_nonzeros), (1, 5));
        assert_eq!((statistics.class_sizes, statistics.unlabelled), (vec![2, 3, 0], 1));
        assert_eq!(statistics.homophily, Some(0.5));
        assert_eq!(statistics.components, 3);
        assert_eq!(statistics.largest_component, ComponentSize { nodes: 3, edges: 2 });
        let degree = DegreeSummary { minimum: 0, median: 1, mean: 1.0, maximum: 2, isolated: 1 };
        assert_eq!(statistics.degree, degree);
        // The node without a label is in no set.
        let split = &statistics.splits[0];
        assert_eq!((split.name.as_str(), split.train, split.validation, split.test), ("given", 2, 1, 1));
    }
}
