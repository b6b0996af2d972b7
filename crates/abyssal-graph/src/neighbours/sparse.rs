//! Nearest neighbours of sparse rows, through an inverted index: which rows have an entry in each column.

use std::ops::Range;

use abyssal_tensor::Csr;
use abyssal_tensor::parallel::for_each_block;

use super::Distance;
use super::nearest::{Candidate, Nearest};

/// A multiply-add at a scattered place takes as long as this many in a dense product.
const DENSE_SPEED: f64 = 32.0;
/// Values the dense form may have: 256 MiB, and as much again for its screen.
const DENSE_VALUES: usize = 1 << 26;

/// Whether so many rows share columns that the dense form is faster, and it fits into memory.
pub(super) fn is_crowded(features: &Csr<f32>) -> bool {
    let (rows, columns) = (features.rows(), features.columns());
    let mut entries = vec![0.0f64; columns];
    for &column in features.indices() {
        entries[column as usize] += 1.0;
    }
    let pairs: f64 = entries.iter().map(|entries| entries.powi(2)).sum();
    let products = (rows as f64).powi(2) * columns as f64;
    rows.saturating_mul(columns) <= DENSE_VALUES && pairs * DENSE_SPEED > products
}

/// Writes the `k` nearest rows of every row of the features: n×k.
pub(super) fn nearest_into(features: &Csr<f32>, k: usize, distance: Distance, indices: &mut [u32]) {
    let search = Search::new(features, distance);
    for_each_block(indices, k, features.rows() + features.stored(), |first, block| {
        let mut meeting = Meeting::new(features.rows());
        for (row, indices) in (first..).zip(block.chunks_exact_mut(k)) {
            let mut nearest = Nearest::new(k);
            search.row(row, &mut meeting, &mut nearest);
            nearest.write(indices);
        }
    });
}

struct Search<'a> {
    features: &'a Csr<f32>,
    /// The transposed features.
    index: Csr<f32>,
    /// Squared norms.
    norms: Vec<f64>,
    distance: Distance,
    /// All nodes in groups; nodes of one group are equally far from any node they share no column with. Groups
    /// come the nearest first, nodes of a group by index.
    order: Vec<u32>,
    groups: Vec<Range<usize>>,
}

impl<'a> Search<'a> {
    fn new(features: &'a Csr<f32>, distance: Distance) -> Self {
        let norm = |row| features.row(row).1.iter().map(|&value| f64::from(value).powi(2)).sum();
        let norms: Vec<f64> = (0..features.rows()).map(norm).collect();
        let share = |node: u32| match distance {
            Distance::Euclidean => norms[node as usize],
            Distance::Cosine => 0.0,
        };
        let mut order: Vec<u32> = (0..features.rows() as u32).collect();
        // A stable sort: equal nodes stay in the order of their indices.
        order.sort_by(|&left, &right| share(left).total_cmp(&share(right)));
        let mut end = 0;
        let range = |group: &[u32]| {
            end += group.len();
            end - group.len()..end
        };
        let groups = order.chunk_by(|&left, &right| share(left) == share(right)).map(range).collect();
        Self { features, index: features.transposed().0, norms, distance, order, groups }
    }

    /// Offers one row all others.
    fn row(&self, row: usize, meeting: &mut Meeting, nearest: &mut Nearest) {
        meeting.meet(row, self.features, &self.index);
        for &node in &meeting.met {
            if node as usize != row {
                let norms = (self.norms[row], self.norms[node as usize]);
                let product = meeting.products[node as usize];
                let distance = self.distance.between(norms, product, || self.are_equal(row, node as usize));
                nearest.offer(Candidate { distance, node });
            }
        }
        for group in &self.groups {
            let nodes = &self.order[group.clone()];
            let norms = (self.norms[row], self.norms[nodes[0] as usize]);
            // Without a common column, only rows of zeros are equal, and only two of those have distance 0.
            let distance = self.distance.between(norms, 0.0, || true);
            // Larger norms can round to the same distance, so equal is not far enough.
            if nearest.farthest().is_some_and(|farthest| distance > farthest.distance) {
                break;
            }
            for &node in nodes {
                if node as usize == row || meeting.has_met(row, node as usize) {
                    continue;
                }
                // One refused, all larger indices are.
                if !nearest.offer(Candidate { distance, node }) {
                    break;
                }
            }
        }
    }

    /// Whether two rows are equal, whichever of their zeros are stored.
    fn are_equal(&self, left: usize, right: usize) -> bool {
        let entries = |row| {
            let (columns, values) = self.features.row(row);
            columns.iter().zip(values).filter(|(_, value)| **value != 0.0)
        };
        entries(left).eq(entries(right))
    }
}

/// The nodes that share a column with one row, and their inner products with it. One for each thread, used row by row.
struct Meeting {
    products: Vec<f64>,
    /// The row each node was last met from.
    last: Vec<u32>,
    /// The nodes met.
    met: Vec<u32>,
}

impl Meeting {
    fn new(nodes: usize) -> Self {
        Self { products: vec![0.0; nodes], last: vec![u32::MAX; nodes], met: Vec::new() }
    }

    /// Computes the products of a row. Its columns ascend, so every sum is in the order of the definition.
    fn meet(&mut self, row: usize, features: &Csr<f32>, index: &Csr<f32>) {
        self.met.clear();
        let (columns, values) = features.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            let value = f64::from(value);
            let (nodes, others) = index.row(column as usize);
            for (&node, &other) in nodes.iter().zip(others) {
                let product = value * f64::from(other);
                let place = node as usize;
                if self.last[place] == row as u32 {
                    self.products[place] += product;
                } else {
                    self.last[place] = row as u32;
                    self.products[place] = product;
                    self.met.push(node);
                }
            }
        }
    }

    fn has_met(&self, row: usize, node: usize) -> bool {
        self.last[node] == row as u32
    }
}

#[cfg(test)]
mod tests {
    use abyssal_tensor::Matrix;
    use proptest::prelude::*;

    use super::super::dense;
    use super::*;

    fn matrix() -> impl Strategy<Value = Matrix<f32>> {
        (2usize..60, 1usize..20, 1u32..8, prop::sample::select(vec![1.0f32, 0.3, 1e-20, 1e18])).prop_flat_map(
            |(rows, columns, zeros, factor)| {
                let value = prop_oneof![zeros => Just(0.0f32), 1 => (-3i8..6).prop_map(f32::from)];
                prop::collection::vec(value, rows * columns).prop_map(move |values| {
                    Matrix::from_fn(rows, columns, |row, column| factor * values[row * columns + column])
                })
            },
        )
    }

    proptest! {
        /// The dense search is tested against the definition.
        #[test]
        fn the_index_finds_what_the_dense_search_finds(matrix in matrix(), k in 1usize..60) {
            for distance in [Distance::Euclidean, Distance::Cosine] {
                for k in [1, k.min(matrix.rows() - 1), matrix.rows() - 1] {
                    let (mut sparse, mut dense) = (vec![0; matrix.rows() * k], vec![0; matrix.rows() * k]);
                    nearest_into(&Csr::from_dense(&matrix), k, distance, &mut sparse);
                    dense::nearest_into(&matrix, k, distance, &mut dense);
                    prop_assert_eq!(sparse, dense);
                }
            }
        }
    }

    #[test]
    fn stored_zeros_do_not_matter() {
        // Rows 0 and 1 are equal; row 2 is zero.
        let stored = Csr::new(3, 2, vec![0, 2, 3, 4], vec![0, 1, 0, 1], vec![1.0, 0.0, 1.0, 0.0]);
        let stored = stored.expect("a valid matrix");
        let mut indices = [9; 6];
        nearest_into(&stored, 2, Distance::Euclidean, &mut indices);
        assert_eq!(indices, [1, 2, 0, 2, 0, 1]);
    }

    #[test]
    fn full_matrices_are_crowded_and_bags_of_words_are_not() {
        let full = Matrix::from_fn(20, 10, |_, _| 1.0);
        assert!(is_crowded(&Csr::from_dense(&full)));
        let words = Matrix::from_fn(20, 10, |row, column| if row % 10 == column { 1.0 } else { 0.0 });
        assert!(!is_crowded(&Csr::from_dense(&words)));
    }
}
