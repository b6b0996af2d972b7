//! Multi-head graph attention (Veličković et al.: *Graph attention networks*, ICLR 2018) without messages on edges.

mod inputs;
mod kernels;
mod signed;

use std::sync::Arc;

use super::Dropout;
use super::activate::keep_positive;
use crate::parallel::{for_each_block, for_each_ragged_block};
use crate::tape::{Backward, Buffer, Gradients, Pool, Tape, Variable};
use crate::{Matrix, Scalar, SparseOperator};
use inputs::Inputs;
use kernels::{attention_weights, drop_values, multiply_ends, score_backward, weigh_rows};

impl<T: Scalar> Tape<'_, T> {
    /// `Y_i = ‖_k Σ_j dropout(α_ijk)·X_jk`, `α_i·k = softmax_j LeakyReLU(⟨t_k, X_ik⟩ + ⟨s_k, X_jk⟩)`, where j runs over
    /// the stored entries of row i of the pattern and `X_jk` is the k-th of the K equal parts of row j.
    ///
    /// Shapes: the pattern is n×n, X and Y are n×(K·d), s (`source`, the one who is heard) and t (`target`, the one who
    /// hears) are K×d. Of the edges only `α` is kept, K numbers each. A row without entries gives zeros.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn attend(
        &self,
        pattern: &Arc<SparseOperator<T>>,
        transformed: &Variable<T>,
        source: &Variable<T>,
        target: &Variable<T>,
        slope: f64,
        dropout: Option<Dropout>,
    ) -> Variable<T> {
        let inputs = Inputs::new(pattern, transformed, source, target);
        let matrix = pattern.matrix();
        let (nodes, columns) = transformed.shape();
        let heads = inputs.heads();
        let slope = T::from_f64(slope);
        let pool = self.pool();
        let scores = inputs.scores(pool);
        let mut weights = pool.take(matrix.stored(), heads);
        let work = 8 * heads * inputs.entries();
        for_each_ragged_block(weights.as_mut_slice(), matrix.offsets(), heads, work, |first, block| {
            attention_weights(
                &matrix.offsets()[first..],
                matrix.indices(),
                scores.as_slice(),
                (first, heads),
                slope,
                block,
            );
        });
        let mut output = pool.take(nodes, columns);
        let dropped = dropout.map(|dropout| Dropped::new(&weights, dropout, pool));
        let used = dropped.as_ref().map_or(&weights, |dropped| &dropped.weights);
        for_each_block(output.as_mut_slice(), columns, columns * inputs.entries(), |first, block| {
            let offsets = &matrix.offsets()[first..];
            weigh_rows(
                offsets,
                matrix.indices(),
                used.as_slice(),
                transformed.as_slice(),
                (heads, columns),
                block,
            );
        });
        let slots = inputs.slots();
        self.record(Arc::new(output), &slots, || Attend { inputs, weights, slope, dropped })
    }
}

struct Attend<T: Scalar> {
    inputs: Inputs<T>,
    /// `α` before dropout, one row an edge.
    weights: Buffer<T>,
    slope: T,
    dropped: Option<Dropped<T>>,
}

impl<T: Scalar> Backward<T> for Attend<T> {
    /// With `z_ij` what LeakyReLU reads:
    /// `z̄_ij = LeakyReLU'(z_ij)·α_ij·(ᾱ_ij - Σ_k α_ik·ᾱ_ik)`, `ᾱ_ij = dropout(⟨Ȳ_i, X_j⟩)`; [`Inputs`] has the rest.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let inputs = &self.inputs;
        let (matrix, transformed) = (inputs.pattern.matrix(), &inputs.rows.0);
        let (columns, heads) = (transformed.columns(), inputs.heads());
        let pool = gradients.pool().clone();

        let scores = inputs.scores(&pool);
        let mut score_gradients = pool.take(matrix.stored(), heads);
        let (block, work) = (score_gradients.as_mut_slice(), columns * inputs.entries());
        for_each_ragged_block(block, matrix.offsets(), heads, work, |first, block| {
            let offsets = &matrix.offsets()[first..];
            let start = offsets[0] * heads;
            let products = (gradient.as_slice(), transformed.as_slice());
            multiply_ends(offsets, matrix.indices(), products, (first, heads, columns), block);
            if let Some(Dropped { weights, scale }) = &self.dropped {
                // A weight of zero may not have been dropped; then its gradient is zero all the same.
                keep_positive(block, &weights.as_slice()[start..start + block.len()], *scale);
            }
            let weights = &self.weights.as_slice()[start..start + block.len()];
            let scores = scores.as_slice();
            score_backward(offsets, matrix.indices(), scores, weights, (first, heads), self.slope, block);
        });
        drop(scores);

        let sums = inputs.scores_backward(score_gradients, gradients);
        if inputs.rows.1.is_some() {
            let used = self.dropped.as_ref().map_or(&self.weights, |dropped| &dropped.weights);
            inputs.rows_backward(&sums, used, &gradient, gradients);
        }
    }
}

/// The attention weights after dropout. They are kept for the way back: random numbers cost more than reading them.
struct Dropped<T: Scalar> {
    weights: Buffer<T>,
    /// The factor of those that stayed.
    scale: T,
}

impl<T: Scalar> Dropped<T> {
    fn new(weights: &Matrix<T>, dropout: Dropout, pool: &Pool<T>) -> Self {
        let (edges, heads) = weights.shape();
        let mut dropped = pool.take(edges, heads);
        for_each_block(dropped.as_mut_slice(), heads, 4 * heads, |first, block| {
            let start = first * heads;
            block.copy_from_slice(&weights.as_slice()[start..start + block.len()]);
            drop_values(dropout, start, block);
        });
        Self { weights: dropped, scale: dropout.scale() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::ops::check::check;
    use crate::random::{Purpose, Stream};
    use crate::testing::random_matrix;

    /// Not symmetric: 0 hears 1 and 2, nobody hears 3, and 4 hears nobody, not even itself.
    fn pattern() -> Arc<SparseOperator<f64>> {
        let entries =
            [(0, 0), (0, 1), (0, 2), (1, 1), (1, 0), (1, 4), (2, 2), (2, 0), (3, 0), (3, 1), (3, 2)];
        let entries = entries.map(|(row, column)| (row, column, 1.0)).to_vec();
        Arc::new(SparseOperator::new(Csr::from_entries(5, 5, entries).unwrap()))
    }

    #[test]
    fn gradients() {
        for (heads, width) in [(1, 3), (3, 2), (2, 9)] {
            for dropout in [None, Dropout::new(0.4, Stream::new(5, Purpose::Dropout, 0, 0))] {
                let inputs = [
                    random_matrix(5, heads * width, 1),
                    random_matrix(heads, width, 2),
                    random_matrix(heads, width, 3),
                ];
                check(&format!("attend, {heads} heads"), &inputs, |tape, inputs| {
                    tape.attend(&pattern(), &inputs[0], &inputs[1], &inputs[2], 0.2, dropout)
                });
            }
        }
    }

    /// Scores of a thousand would overflow the exponential; the largest one takes all.
    #[test]
    fn large_scores_stay_finite() {
        let tape = Tape::<f64>::inference(&Pool::new());
        let rows = Matrix::from_rows(&[[1e3, 1.0], [3e3, 2.0], [2e3, 3.0], [0.0, 4.0], [0.0, 5.0]]);
        let rows = tape.constant(&Arc::new(rows));
        let vector = tape.constant(&Arc::new(Matrix::from_rows(&[[1.0, 0.0]])));
        let output = tape.attend(&pattern(), &rows, &vector, &vector, 0.2, None);
        assert_eq!([output.get(0, 1), output.get(1, 1), output.get(2, 1)], [2.0, 2.0, 3.0]);
        assert_eq!(output.row(4), &[0.0, 0.0]);
    }
}
