//! Nearest neighbours of dense rows: screened in single precision, ranked in double.

use std::iter::once;

use abyssal_tensor::Matrix;
use abyssal_tensor::gemm::inner_products_into;
use abyssal_tensor::parallel::for_each_block;

use super::Distance;
use super::distance::inner_products;
use super::nearest::{Candidate, Nearest};
use super::screen::Screen;

/// Rows and columns of the block of products a thread works on: 1 MiB.
const ROWS: usize = 256;
const COLUMNS: usize = 1024;
/// Products screened with one limit.
const STRETCH: usize = 32;
/// Exact products computed side by side.
const LANES: usize = 8;

/// Writes the `k` nearest rows of every row of the features: n×k.
pub(super) fn nearest_into(features: &Matrix<f32>, k: usize, distance: Distance, indices: &mut [u32]) {
    let norms: Vec<f64> = (0..features.rows())
        .map(|row| {
            let [norm] = inner_products(features.row(row), [features.row(row)]);
            norm
        })
        .collect();
    let screen = Screen::new(features, &norms, distance);
    let search = Search { features, norms, distance, screen };
    for_each_block(indices, k, features.rows() * features.columns(), |first, block| {
        let mut products = vec![0.0; ROWS.min(block.len() / k) * COLUMNS.min(features.rows())];
        for (index, indices) in block.chunks_mut(ROWS * k).enumerate() {
            search.rows(first + index * ROWS, k, indices, &mut products);
        }
    });
}

struct Search<'a> {
    features: &'a Matrix<f32>,
    /// Squared norms of the features.
    norms: Vec<f64>,
    distance: Distance,
    screen: Screen,
}

impl Search<'_> {
    /// Finds the neighbours of consecutive rows from `first` on, as many as `indices` has room for.
    fn rows(&self, first: usize, k: usize, indices: &mut [u32], products: &mut [f32]) {
        let count = indices.len() / k;
        let points = self.screen.points();
        let mut nearest: Vec<Nearest> = (0..count).map(|_| Nearest::new(k)).collect();
        // Rows nearby in the data are often nearby in space, and the sooner near ones are found, the fewer pass the
        // screen later.
        let own = first / COLUMNS;
        let others = (0..points.rows().div_ceil(COLUMNS)).filter(|&block| block != own);
        for start in once(own).chain(others).map(|block| block * COLUMNS) {
            let columns = start..points.rows().min(start + COLUMNS);
            let width = columns.len();
            let products = &mut products[..count * width];
            inner_products_into((points, first..first + count), (points, columns), products);
            for ((row, nearest), products) in (first..).zip(&mut nearest).zip(products.chunks_exact(width)) {
                self.stretches(row, start, products, nearest);
            }
        }
        for (nearest, indices) in nearest.into_iter().zip(indices.chunks_exact_mut(k)) {
            nearest.write(indices);
        }
    }

    /// Offers one row the nodes from `start` on that pass the screen.
    fn stretches(&self, row: usize, start: usize, products: &[f32], nearest: &mut Nearest) {
        let mut limit = self.limit(row, nearest);
        for (first, products) in (start..).step_by(STRETCH).zip(products.chunks(STRETCH)) {
            if self.screen.are_far(first, products, limit) {
                continue;
            }
            // Nothing is nearer than 0, whatever the screen cannot exclude: among thousands of equal rows, this ends it.
            if nearest.farthest().is_some_and(|last| last.distance == 0.0 && (last.node as usize) < first) {
                return;
            }
            let mut passing = [0; STRETCH];
            let mut count = 0;
            for node in self.screen.passing(first, products, limit).filter(|&node| node as usize != row) {
                passing[count] = node;
                count += 1;
            }
            self.rank(row, &passing[..count], nearest);
            limit = self.limit(row, nearest);
        }
    }

    fn limit(&self, row: usize, nearest: &Nearest) -> f32 {
        nearest.farthest().map_or(f32::NEG_INFINITY, |farthest| self.screen.limit(row, farthest.distance))
    }

    /// Offers one row some nodes at their exact distances.
    fn rank(&self, row: usize, nodes: &[u32], nearest: &mut Nearest) {
        let (groups, rest) = nodes.as_chunks::<LANES>();
        for &group in groups {
            self.rank_group(row, group, nearest);
        }
        for &node in rest {
            self.rank_group(row, [node], nearest);
        }
    }

    fn rank_group<const N: usize>(&self, row: usize, nodes: [u32; N], nearest: &mut Nearest) {
        let own = self.features.row(row);
        let others = nodes.map(|node| self.features.row(node as usize));
        let products = inner_products(own, others);
        for ((node, other), product) in nodes.into_iter().zip(others).zip(products) {
            let norms = (self.norms[row], self.norms[node as usize]);
            let distance = self.distance.between(norms, product, || own == other);
            nearest.offer(Candidate { distance, node });
        }
    }
}
