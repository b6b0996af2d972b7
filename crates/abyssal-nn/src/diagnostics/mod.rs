//! How far embeddings have collapsed, layer by layer: measures of over-smoothing and the gradients that reach a layer.
//!
//! No single measure tells it all: energies and distances shrink when embeddings merely get smaller, cosines do not see
//! the length of rows, and ranks see collapse onto few directions before the others do. So they stand side by side.
//!
//! Everything is computed in double precision, in sums of a fixed shape: the bits do not depend on the number of threads.

mod layers;
mod spectrum;
mod spread;

pub use layers::{Examination, LayerDiagnosis, diagnose};

use serde::{Deserialize, Serialize};

use abyssal_graph::Graph;
use abyssal_tensor::parallel::{partial_count, sum_over_rows};
use abyssal_tensor::{Matrix, Scalar, TensorError};

/// Measures of an embedding H (n×d, rows `h_i`) on a graph with `n` nodes, `A` its adjacency without self-loops and
/// `d_i` the degrees. In a directed graph, edges count without their direction.
///
/// The cosine of a row of zeros and another row counts as 0, that of two rows of zeros as 1: they are the same. An
/// embedding of a single node has no pairs, and a graph without edges no neighbours: what is a mean over none is 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// `tr(Hᵀ(D-A)H) / n = ½ Σ_ij A_ij ‖h_i - h_j‖² / n`: each edge once, on average over the nodes.
    pub dirichlet_energy: f64,
    /// `tr(Hᵀ(I-Â)H) / n = ½ Σ_ij A_ij ‖h_i/√(d_i+1) - h_j/√(d_j+1)‖² / n`, with the operator of graph convolutions
    /// `Â = D̃^-½ (A+I) D̃^-½` (Cai and Wang: *A note on over-smoothing for graph neural networks*, 2020; they do not
    /// divide by n). It is 0 for `h_i ∝ √(d_i+1)`, to where convolutions lead, not for equal rows.
    pub normalized_dirichlet_energy: f64,
    /// Mean average distance (MAD): the mean over nodes with neighbours of their mean cosine distance `1 - cos(h_i, h_j)`
    /// to these, in [0, 2] (Chen et al.: *Measuring and relieving the over-smoothing problem*, AAAI 2020; they leave
    /// distances of exactly 0 out of the means).
    pub neighbour_distance: f64,
    /// MAD over all pairs of nodes, which is 1 minus [`Measures::cosine_similarity`], in [0, 2].
    ///
    /// `Σ_i ‖u_i - ū‖² / (n-1)` for the rows scaled to length 1, with mean `ū`: exact, without going through the pairs.
    pub global_distance: f64,
    /// The mean of `cos(h_i, h_j)` over all pairs of nodes, in [-1, 1].
    pub cosine_similarity: f64,
    /// The root of the mean of `‖h_i - h_j‖²` over all pairs of nodes: `√(2 Σ_i ‖h_i - h̄‖² / (n-1))`.
    pub pairwise_distance: f64,
    /// `exp(-Σ p_k ln p_k)`, `p_k = σ_k / Σ σ`, for the singular values σ of H: how many directions H really uses, from 1
    /// to d (Roy and Vetterli: *The effective rank*, 2007). 0 for an embedding of zeros.
    pub effective_rank: f64,
    /// `‖H‖_F² / ‖H‖₂² = Σ σ_k² / σ_1²`: as the effective rank, but small directions hardly count. 0 for zeros.
    pub stable_rank: f64,
}

impl Measures {
    /// Measures an embedding.
    ///
    /// # Errors
    /// If it holds infinity or NaN, or its singular values cannot be computed.
    ///
    /// # Panics
    /// If graph and embedding differ in nodes.
    pub fn of<T: Scalar>(graph: &Graph, embedding: &Matrix<T>) -> Result<Self, TensorError> {
        assert_eq!(graph.nodes(), embedding.rows(), "a row a node");
        // Squares of single-precision numbers, however large or small, are in the range of double precision.
        let embedding = embedding.cast::<f64>();
        let ranks = spectrum::Ranks::of(&embedding)?;
        let lengths = spread::lengths(&embedding);
        let edges = spread::EdgeMeans::of(&graph.undirected(), &embedding, &lengths);
        let global_distance = spread::global_distance(&embedding, &lengths);
        Ok(Self {
            dirichlet_energy: edges.energy,
            normalized_dirichlet_energy: edges.normalized_energy,
            neighbour_distance: edges.cosine_distance,
            global_distance,
            cosine_similarity: 1.0 - global_distance,
            pairwise_distance: spread::pairwise_distance(&embedding),
            effective_rank: ranks.effective,
            stable_rank: ranks.stable,
        })
    }
}

/// Sums vectors over rows: `operation(row, sum)` adds what a row gives.
fn sum_rows<const N: usize>(
    rows: usize,
    work_per_row: usize,
    operation: impl Fn(usize, &mut [f64]) + Sync + Send,
) -> [f64; N] {
    let mut total = [0.0; N];
    sum_rows_into(rows, work_per_row, &mut total, operation);
    total
}

/// As [`sum_rows`], for a width that is known only now.
fn sum_rows_into(
    rows: usize,
    work_per_row: usize,
    total: &mut [f64],
    operation: impl Fn(usize, &mut [f64]) + Sync + Send,
) {
    let mut partials = vec![0.0; partial_count(rows) * total.len()];
    sum_over_rows(rows, work_per_row, total, &mut partials, |range, partial| {
        range.for_each(|row| operation(row, partial));
    });
}
