//! Energies and distances: how far rows are from each other.
//!
//! All are sums of squared differences, so that nothing cancels where rows are nearly equal: for rows of length 1,
//! `1 - cos(u_i, u_j) = ½ ‖u_i - u_j‖²`.

use abyssal_graph::Graph;
use abyssal_tensor::Matrix;

use super::{sum_rows, sum_rows_into};

/// Sums kept side by side, so that the processor need not wait for one addition before the next.
const LANES: usize = 8;

/// Means over the edges of an undirected graph; see [`super::Measures`].
pub struct EdgeMeans {
    /// `½ Σ_ij A_ij ‖h_i - h_j‖² / n`.
    pub energy: f64,
    /// `½ Σ_ij A_ij ‖h_i/√(d_i+1) - h_j/√(d_j+1)‖² / n`.
    pub normalized_energy: f64,
    /// The mean over nodes with neighbours of their mean cosine distance to these.
    pub cosine_distance: f64,
}

impl EdgeMeans {
    pub fn of(graph: &Graph, embedding: &Matrix<f64>, lengths: &[f64]) -> Self {
        let nodes = graph.nodes();
        let inverse_root = |node: usize| 1.0 / (graph.degree(node) as f64 + 1.0).sqrt();
        let mean_degree = 2 * graph.edges() / nodes;
        let work = 3 * embedding.columns() * mean_degree.max(1);
        let [energy, normalized_energy, distances, connected] = sum_rows(nodes, work, |node, sums| {
            let neighbours = graph.neighbours(node);
            if neighbours.is_empty() {
                return;
            }
            sums[3] += 1.0;
            let row = embedding.row(node);
            // Each edge once, for both of its nodes.
            let first = neighbours.partition_point(|&neighbour| (neighbour as usize) < node);
            for &neighbour in &neighbours[first..] {
                let neighbour = neighbour as usize;
                let other = embedding.row(neighbour);
                let normalized = (inverse_root(node), inverse_root(neighbour));
                sums[0] += squared_difference((row, 1.0), (other, 1.0));
                sums[1] += squared_difference((row, normalized.0), (other, normalized.1));
                let shares = 1.0 / graph.degree(node) as f64 + 1.0 / graph.degree(neighbour) as f64;
                sums[2] += shares * cosine_distance((row, lengths[node]), (other, lengths[neighbour]));
            }
        });
        Self {
            energy: energy / nodes as f64,
            normalized_energy: normalized_energy / nodes as f64,
            cosine_distance: distances / connected.max(1.0),
        }
    }
}

/// `‖h_i‖` for every row.
pub fn lengths(embedding: &Matrix<f64>) -> Vec<f64> {
    let zero = |row| squared_difference((row, 1.0), (row, 0.0)).sqrt();
    (0..embedding.rows()).map(|row| zero(embedding.row(row))).collect()
}

/// The mean of `1 - cos(h_i, h_j)` over all pairs `i ≠ j`.
///
/// `Σ_{i≠j} ½‖u_i - u_j‖² = n Σ_i ‖u_i - ū‖²`. A pair of which one row is zero gives ½ there where its distance is 1.
pub fn global_distance(embedding: &Matrix<f64>, lengths: &[f64]) -> f64 {
    let rows = embedding.rows() as f64;
    if rows < 2.0 {
        return 0.0;
    }
    let zeros = lengths.iter().filter(|&&length| length == 0.0).count() as f64;
    let mixed_pairs = zeros * (rows - zeros);
    scatter(embedding, |row| inverse(lengths[row])) / (rows - 1.0) + mixed_pairs / (rows * (rows - 1.0))
}

/// The root of the mean of `‖h_i - h_j‖²` over all pairs `i ≠ j`.
pub fn pairwise_distance(embedding: &Matrix<f64>) -> f64 {
    match embedding.rows() {
        0 | 1 => 0.0,
        rows => (2.0 * scatter(embedding, |_| 1.0) / (rows - 1) as f64).sqrt(),
    }
}

/// `Σ_i ‖s_i·h_i - m‖²`, where `m` is the mean of the scaled rows `s_i·h_i`.
fn scatter(embedding: &Matrix<f64>, scale: impl Fn(usize) -> f64 + Sync) -> f64 {
    let (rows, columns) = embedding.shape();
    let mut mean = vec![0.0; columns];
    sum_rows_into(rows, columns, &mut mean, |row, sum| {
        let scale = scale(row);
        for (sum, value) in sum.iter_mut().zip(embedding.row(row)) {
            *sum += scale * value;
        }
    });
    mean.iter_mut().for_each(|value| *value /= rows as f64);
    let [sum] = sum_rows(rows, columns, |row, sum| {
        sum[0] += squared_difference((embedding.row(row), scale(row)), (&mean, 1.0));
    });
    sum
}

/// `1 - cos(x, y)` of rows with their lengths.
fn cosine_distance((x, of_x): (&[f64], f64), (y, of_y): (&[f64], f64)) -> f64 {
    match (of_x == 0.0, of_y == 0.0) {
        (true, true) => 0.0,
        (false, false) => 0.5 * squared_difference((x, inverse(of_x)), (y, inverse(of_y))),
        _ => 1.0,
    }
}

/// `1/length`, and 0 for a row of zeros.
fn inverse(length: f64) -> f64 {
    if length == 0.0 { 0.0 } else { 1.0 / length }
}

/// `‖s·x - t·y‖²`.
fn squared_difference((x, s): (&[f64], f64), (y, t): (&[f64], f64)) -> f64 {
    let square = |x: f64, y: f64| (s * x - t * y) * (s * x - t * y);
    let ((x, rest_of_x), (y, rest_of_y)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (x, y) in x.iter().zip(y) {
        for lane in 0..LANES {
            sums[lane] += square(x[lane], y[lane]);
        }
    }
    let rest: f64 = rest_of_x.iter().zip(rest_of_y).map(|(&x, &y)| square(x, y)).sum();
    sums.iter().sum::<f64>() + rest
}
