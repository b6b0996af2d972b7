//! Layers of R-SoftGraphAIN without weights, on random connected graphs.

use std::sync::Arc;

use abyssal_graph::{Graph, normalized_adjacency};
use abyssal_nn::SoftLayer;
use abyssal_tensor::ops::{Activation, Centering, Gradient, Mixture};
use abyssal_tensor::tape::{Pool, Tape};
use abyssal_tensor::{Csr, Matrix, SparseOperator};
use proptest::prelude::*;

use super::linear_algebra::{dense_adjacency, weighted_sum};

pub type Operator = Arc<SparseOperator<f64>>;

/// Connected graphs of 12 to 40 nodes. Half of them are bipartite, with many edges: their adjacency has large negative
/// eigenvalues, which is where careless statements about "the largest" ones fail.
pub fn graph() -> impl Strategy<Value = Graph> {
    prop_oneof![sparse_graph(), bipartite_graph()]
}

/// A random tree, where every node but the first is joined to one before it, and random further edges.
fn sparse_graph() -> impl Strategy<Value = Graph> {
    (12usize..=40).prop_flat_map(|nodes| {
        let tree: Vec<_> = (1..nodes as u32).map(|node| (Just(node), 0..node)).collect();
        let edge = (0..nodes as u32, 0..nodes as u32);
        (tree, prop::collection::vec(edge, 0..=nodes)).prop_map(move |(tree, further)| {
            Graph::from_edges(nodes, tree.into_iter().chain(further)).expect("all ends are nodes")
        })
    })
}

/// The same between even and odd nodes only.
fn bipartite_graph() -> impl Strategy<Value = Graph> {
    (12usize..=40).prop_flat_map(|nodes| {
        // The nodes before `node` on the other side: 0, 2, … for an odd node, 1, 3, … for an even one.
        let other_side = |node: u32| (0..node.div_ceil(2)).prop_map(move |k| 2 * k + (1 - node % 2));
        let tree: Vec<_> = (1..nodes as u32).map(|node| (Just(node), other_side(node))).collect();
        let side = 0..nodes as u32 / 2;
        let edge = (side.clone(), side).prop_map(|(even, odd)| (2 * even, 2 * odd + 1));
        (tree, prop::collection::vec(edge, nodes..=4 * nodes)).prop_map(move |(tree, further)| {
            Graph::from_edges(nodes, tree.into_iter().chain(further)).expect("all ends are nodes")
        })
    })
}

pub fn width() -> impl Strategy<Value = usize> {
    2usize..=5
}

pub fn seed() -> impl Strategy<Value = u64> {
    0u64..1_000_000
}

/// `Â`, as models propagate with it.
pub fn adjacency(graph: &Graph) -> Operator {
    Arc::new(SparseOperator::new(normalized_adjacency(graph)))
}

/// `½(I + Â)`, whose eigenvalues are positive, since those of `Â` are above -1.
pub fn lazy_adjacency(graph: &Graph) -> (Operator, Matrix<f64>) {
    let lazy = weighted_sum(&[(0.5, &Matrix::identity(graph.nodes())), (0.5, &dense_adjacency(graph))]);
    (Arc::new(SparseOperator::new(Csr::from_dense(&lazy))), lazy)
}

pub fn mixture(aggregated: f64, residual: f64, initial: f64) -> Mixture {
    let total = aggregated + residual + initial;
    let [aggregated, residual, initial] = [aggregated, residual, initial].map(|weight| weight / total);
    Mixture { aggregated, residual, initial, centering: Centering::Aggregated }
}

/// Hard GraphAIN: `a = b = 1`, full rank, `(α, β, γ) = (1, 0, 0)`, no activation.
pub fn hard(width: usize) -> SoftLayer {
    SoftLayer {
        mixture: mixture(1.0, 0.0, 0.0),
        residual_memory: 0.0,
        initial_decay: 0.0,
        strength: 1.0,
        exponent: 1.0,
        rank: width,
        gradient: Gradient::Full,
        activation: Activation::Identity,
    }
}

/// `[H_1, H_2, …]` for `H_0 = X` and aggregations without weights, `Agg(H) = A·H`.
pub fn embeddings(
    operator: &Operator,
    features: Matrix<f64>,
    layers: impl IntoIterator<Item = SoftLayer>,
) -> Vec<Matrix<f64>> {
    let pool = Pool::new();
    let tape = Tape::inference(&pool);
    let mut connections = None;
    let mut hidden = tape.constant(&Arc::new(features));
    let outputs = layers.into_iter().map(|layer| {
        let aggregated = tape.propagate(operator, &hidden);
        hidden = layer.apply(&tape, &aggregated, &mut connections, None).expect("finite embeddings");
        Matrix::clone(&hidden)
    });
    outputs.collect()
}
