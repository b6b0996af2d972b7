//! The three real datasets. Their statistics were measured with numpy and scipy.

use std::collections::BTreeSet;
use std::path::PathBuf;

use abyssal_graph::formats::{RawDataset, pickle::Pickle, planetoid};
use abyssal_graph::{Features, Graph};
use abyssal_tensor::Csr;

use crate::common::data;
use crate::writer::{self, Array, Sparse};

fn directory(name: &str) -> Option<PathBuf> {
    data().map(|data| data.join(name))
}

struct Statistics {
    nodes: usize,
    edges: usize,
    nodes_with_loop: usize,
    listed: usize,
    features: usize,
    stored: usize,
    class_sizes: &'static [usize],
    unlabelled: usize,
    train: usize,
}

fn check(name: &str, expected: &Statistics) {
    let Some(directory) = directory(name) else { return };
    let dataset = planetoid::read(&directory, name).expect("the real files can be read");
    let RawDataset { nodes, edges, features, labels, classes, class_names, node_names, splits } = dataset;
    assert_eq!((nodes, edges.len(), labels.len()), (expected.nodes, expected.listed, expected.nodes));
    let loops = edges.iter().filter(|(source, target)| source == target);
    assert_eq!(loops.collect::<BTreeSet<_>>().len(), expected.nodes_with_loop);
    let graph = Graph::from_edges(nodes, edges).expect("edges stay in the graph");
    assert_eq!(graph.edges(), expected.edges);

    let Features::Sparse(features) = features else { panic!("features are sparse") };
    let shape = (features.rows(), features.columns(), features.stored());
    assert_eq!(shape, (expected.nodes, expected.features, expected.stored));
    assert!(features.values().iter().all(|&value| value != 0.0));

    assert_eq!(classes, expected.class_sizes.len());
    let size = |class: usize| labels.iter().filter(|label| **label == Some(class as u32)).count();
    assert_eq!((0..classes).map(size).collect::<Vec<_>>(), expected.class_sizes);
    assert_eq!(labels.iter().filter(|label| label.is_none()).count(), expected.unlabelled);
    for (node, label) in labels.iter().enumerate().filter(|(_, label)| label.is_none()) {
        assert!(features.row(node).0.is_empty(), "node {node} has features, but the label {label:?}");
    }

    assert!(class_names.is_empty() && node_names.is_empty());
    let [split] = &splits[..] else { panic!("there is one split") };
    let first_test = (nodes - 1000 - expected.unlabelled) as u32;
    assert_eq!(split.name(), "public");
    assert_eq!(split.train(), (0..expected.train as u32).collect::<Vec<_>>());
    assert_eq!(split.validation(), (expected.train as u32..expected.train as u32 + 500).collect::<Vec<_>>());
    assert_eq!((split.test().len(), split.test()[0]), (1000, first_test));
    split.check_labels(&labels).expect("nodes of the split are labelled");
}

#[test]
fn cora() {
    check(
        "cora",
        &Statistics {
            nodes: 2708,
            edges: 5278,
            nodes_with_loop: 0,
            listed: 10858,
            features: 1433,
            stored: 49216,
            class_sizes: &[351, 217, 418, 818, 426, 298, 180],
            unlabelled: 0,
            train: 140,
        },
    );
}

/// The 15 nodes that are in no file are not of class 0, which has 249 nodes.
#[test]
fn citeseer() {
    check(
        "citeseer",
        &Statistics {
            nodes: 3327,
            edges: 4552,
            nodes_with_loop: 124,
            listed: 9464,
            features: 3703,
            stored: 105165,
            class_sizes: &[249, 590, 668, 701, 596, 508],
            unlabelled: 15,
            train: 120,
        },
    );
}

#[test]
fn pubmed() {
    check(
        "pubmed",
        &Statistics {
            nodes: 19717,
            edges: 44324,
            nodes_with_loop: 3,
            listed: 88676,
            features: 500,
            stored: 988031,
            class_sizes: &[4103, 7739, 7875],
            unlabelled: 0,
            train: 60,
        },
    );
}

fn rewritten(matrix: &Csr<f32>) -> Vec<u8> {
    let numbers =
        |values: Vec<usize>| Array::integers(&values.iter().map(|&value| value as i32).collect::<Vec<_>>());
    writer::csr(&Sparse {
        shape: (matrix.rows() as i32, matrix.columns() as i32),
        indptr: numbers(matrix.offsets().to_vec()),
        indices: numbers(matrix.indices().iter().map(|&column| column as usize).collect()),
        data: Array::floats(matrix.values()),
    })
}

/// What other tests read is what Python 2 would have written, and nothing is lost in reading.
#[test]
fn the_writer_of_these_tests_writes_the_files_of_cora_byte_for_byte() {
    let Some(directory) = directory("cora") else { return };
    let part =
        |part: &str| std::fs::read(directory.join(format!("ind.cora.{part}"))).expect("a file of Cora");
    for name in ["x", "tx", "allx"] {
        let bytes = part(name);
        let matrix = Pickle::read(&bytes).and_then(|pickle| pickle.csr()).unwrap();
        assert!(rewritten(&matrix) == bytes, "{name} differs");
    }
    for name in ["y", "ty", "ally"] {
        let bytes = part(name);
        let matrix = Pickle::read(&bytes).and_then(|pickle| pickle.matrix()).unwrap();
        let values: Vec<i32> = matrix.as_slice().iter().map(|&value| value as i32).collect();
        let shape = [matrix.rows() as i32, matrix.columns() as i32];
        assert!(writer::array(&Array::integers(&values).shaped(&shape)) == bytes, "{name} differs");
    }
    let bytes = part("graph");
    let adjacency = Pickle::read(&bytes).and_then(|pickle| pickle.adjacency()).unwrap();
    let signed = |numbers: &[u32]| numbers.iter().map(|&number| number as i32).collect::<Vec<_>>();
    let adjacency: Vec<_> = adjacency.iter().map(|(node, list)| (*node as i32, signed(list))).collect();
    assert!(writer::adjacency(&adjacency) == bytes, "graph differs");
}
