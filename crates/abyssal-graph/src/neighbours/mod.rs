//! Exact k-nearest-neighbour graphs of features or embeddings.
//!
//! Dense rows are screened by single-precision products with a proven bound (`screen`), sparse ones meet through an
//! inverted index (`sparse`). Either way distances are ranked by one definition in double precision
//! ([`Distance`]), so the result depends on the features alone: not on their storage, on blocks or on threads.

mod dense;
mod distance;
mod nearest;
mod screen;
mod sparse;
mod weights;

use crate::{Features, Graph, GraphError};

pub use distance::Distance;
pub use weights::similarity_weights;

/// The k nearest other nodes of every node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// How many neighbours each node has.
    pub k: usize,
    /// The neighbours of one node after those of another: n×k.
    pub indices: Vec<u32>,
}

impl Neighbours {
    /// The neighbours of a node, the nearest first.
    pub fn of(&self, node: usize) -> &[u32] {
        &self.indices[node * self.k..(node + 1) * self.k]
    }
}

/// The k nearest other nodes of every node, ascending by ([`Distance`], index).
///
/// Shapes: the features are n×d, the neighbours n×k. Cost: dense, n²d multiply-adds in single precision and n·d
/// values of memory; sparse, one multiply-add for every pair of entries in a column and n values a thread, or as dense
/// where so many entries are stored that this is faster. Rows
/// that single precision cannot tell apart are compared one by one, at up to n²d multiply-adds in double precision.
///
/// # Errors
/// If k is 0 or not below the number of nodes, if the features have no columns or one of them is not finite, or if
/// n·k indices do not fit into memory.
pub fn nearest_neighbours(
    features: &Features,
    k: usize,
    distance: Distance,
) -> Result<Neighbours, GraphError> {
    let nodes = features.rows();
    if k == 0 || k >= nodes {
        return Err(GraphError::NeighbourCount { k, nodes });
    }
    if nodes > u32::MAX as usize {
        return Err(GraphError::TooManyNodes { nodes });
    }
    if features.columns() == 0 {
        return Err(GraphError::NoFeatures);
    }
    features.check_finite()?;
    let mut indices = Vec::new();
    let length = nodes.saturating_mul(k);
    indices.try_reserve_exact(length).map_err(|_| GraphError::TooManyNeighbours { k, nodes })?;
    indices.resize(length, 0);
    match features {
        Features::Dense(matrix) => dense::nearest_into(matrix, k, distance, &mut indices),
        Features::Sparse(matrix) if sparse::is_crowded(matrix) => {
            dense::nearest_into(&matrix.to_dense(), k, distance, &mut indices);
        }
        Features::Sparse(matrix) => sparse::nearest_into(matrix, k, distance, &mut indices),
    }
    Ok(Neighbours { k, indices })
}

/// The k-nearest-neighbour graph without directions: two nodes are joined if one is among the k nearest of the other.
///
/// # Errors
/// As for [`nearest_neighbours`].
pub fn neighbour_graph(features: &Features, k: usize, distance: Distance) -> Result<Graph, GraphError> {
    let neighbours = nearest_neighbours(features, k, distance)?;
    let edges = neighbours.indices.chunks_exact(k).zip(0..);
    Graph::from_edges(
        features.rows(),
        edges.flat_map(|(row, node)| row.iter().map(move |&other| (node, other))),
    )
}
