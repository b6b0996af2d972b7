//! Multi-head graph attention (Veličković et al.: *Graph attention networks*, ICLR 2018) without messages on edges.

mod kernels;

use std::sync::Arc;

use super::Dropout;
use crate::parallel::{for_each_block, for_each_ragged_block, partial_count, sum_over_rows};
use crate::tape::{Backward, Buffer, Gradients, Pool, Slot, Tape, Value, Variable};
use crate::{Matrix, Scalar, SparseOperator};
use kernels::{
    add_vectors, attention_weights, drop_values, multiply_ends, score_backward, score_rows, sum_scores,
    sum_vectors, weigh_back, weigh_rows,
};

impl<T: Scalar> Tape<T> {
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
        let matrix = pattern.matrix();
        let (nodes, columns) = transformed.shape();
        let heads = source.rows();
        assert_eq!((matrix.rows(), matrix.columns()), (nodes, nodes), "attention: the pattern's shape");
        assert_eq!(source.shape(), target.shape(), "attention: source and target");
        assert_eq!(source.as_slice().len(), columns, "attention: heads times width");
        let slope = T::from_f64(slope);
        let pool = self.pool();
        let scores = scores(transformed, source, target, pool);
        let mut weights = pool.take(matrix.stored(), heads);
        let work = 8 * heads * (1 + matrix.stored() / nodes.max(1));
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
        {
            let dropped = dropout.map(|dropout| drop_weights(&weights, dropout, pool));
            let used = dropped.as_ref().unwrap_or(&weights);
            let work = columns * (1 + matrix.stored() / nodes.max(1));
            for_each_block(output.as_mut_slice(), columns, work, |first, block| {
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
        }
        let inputs = [transformed.slot, source.slot, target.slot];
        self.record(Arc::new(output), &inputs, || Attend {
            pattern: Arc::clone(pattern),
            transformed: (transformed.value.clone(), transformed.slot),
            source: (source.value.clone(), source.slot),
            target: (target.value.clone(), target.slot),
            weights,
            slope,
            dropout,
        })
    }
}

struct Attend<T: Scalar> {
    pattern: Arc<SparseOperator<T>>,
    transformed: (Value<T>, Slot),
    source: (Value<T>, Slot),
    target: (Value<T>, Slot),
    /// `α` before dropout, one row an edge.
    weights: Buffer<T>,
    slope: T,
    dropout: Option<Dropout>,
}

impl<T: Scalar> Backward<T> for Attend<T> {
    /// With `z_ij` what LeakyReLU reads and `α̃` the weights after dropout:
    /// `z̄_ij = LeakyReLU'(z_ij)·α_ij·(ᾱ_ij - Σ_k α_ik·ᾱ_ik)`, `ᾱ_ij = dropout(⟨Ȳ_i, X_j⟩)`;
    /// `X̄_j = Σ_i α̃_ij·Ȳ_i + (Σ_k z̄_jk)·t + (Σ_i z̄_ij)·s`; `t̄ = Σ_ij z̄_ij·X_i`, `s̄ = Σ_ij z̄_ij·X_j`.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (transformed, source, target) = (&self.transformed.0, &self.source.0, &self.target.0);
        let (matrix, transpose) = (self.pattern.matrix(), self.pattern.transpose());
        let (nodes, columns) = transformed.shape();
        let heads = source.rows();
        let pool = gradients.pool().clone();
        let entries = 1 + matrix.stored() / nodes.max(1);

        let scores = scores(transformed, source, target, &pool);
        let mut score_gradients = pool.take(matrix.stored(), heads);
        let block = score_gradients.as_mut_slice();
        for_each_ragged_block(block, matrix.offsets(), heads, columns * entries, |first, block| {
            let offsets = &matrix.offsets()[first..];
            let start = offsets[0] * heads;
            let products = (gradient.as_slice(), transformed.as_slice());
            multiply_ends(offsets, matrix.indices(), products, (first, heads, columns), block);
            if let Some(dropout) = self.dropout {
                drop_values(dropout, start, block);
            }
            let weights = &self.weights.as_slice()[start..start + block.len()];
            let scores = scores.as_slice();
            score_backward(offsets, matrix.indices(), scores, weights, (first, heads), self.slope, block);
        });
        drop(scores);

        // What the two scores of every node get: as the one who hears, and as the one who is heard.
        let mut sums = pool.take(nodes, 2 * heads);
        for_each_block(sums.as_mut_slice(), 2 * heads, 2 * heads * entries, |first, block| {
            sum_scores(
                &matrix.offsets()[first..],
                &transpose.offsets()[first..],
                self.pattern.sources(),
                score_gradients.as_slice(),
                heads,
                block,
            );
        });
        drop(score_gradients);

        let mut both = pool.take(1, 2 * columns);
        let mut partials = pool.take(partial_count(nodes), 2 * columns);
        let (total, scratch) = (both.as_mut_slice(), partials.as_mut_slice());
        sum_over_rows(nodes, 2 * columns, total, scratch, |range, partial| {
            let sums = &sums.as_slice()[range.start * 2 * heads..range.end * 2 * heads];
            let rows = &transformed.as_slice()[range.start * columns..range.end * columns];
            sum_vectors(sums, rows, (heads, columns), partial);
        });
        let (of_target, of_source) = both.as_slice().split_at(columns);
        for (slot, values) in [(self.target.1, of_target), (self.source.1, of_source)] {
            let mut buffer = pool.take(heads, columns / heads.max(1));
            buffer.as_mut_slice().copy_from_slice(values);
            gradients.add(slot, buffer);
        }

        if self.transformed.1.is_some() {
            let dropped = self.dropout.map(|dropout| drop_weights(&self.weights, dropout, &pool));
            let used = dropped.as_ref().unwrap_or(&self.weights);
            let mut output = pool.take(nodes, columns);
            for_each_block(output.as_mut_slice(), columns, columns * entries, |first, block| {
                let offsets = &transpose.offsets()[first..];
                let edges = (transpose.indices(), self.pattern.sources());
                weigh_back(offsets, edges, used.as_slice(), gradient.as_slice(), (heads, columns), block);
                let sums = &sums.as_slice()[first * 2 * heads..];
                add_vectors(sums, target.as_slice(), source.as_slice(), heads, block);
            });
            gradients.add(self.transformed.1, output);
        }
    }
}

/// `[⟨t_k, X_ik⟩ | ⟨s_k, X_ik⟩]` for all nodes i and heads k. Shape n×2K.
fn scores<T: Scalar>(
    transformed: &Matrix<T>,
    source: &Matrix<T>,
    target: &Matrix<T>,
    pool: &Pool<T>,
) -> Buffer<T> {
    let (nodes, columns) = transformed.shape();
    let heads = source.rows();
    let mut scores = pool.take(nodes, 2 * heads);
    for_each_block(scores.as_mut_slice(), 2 * heads, 2 * columns, |first, block| {
        let rows = &transformed.as_slice()[first * columns..];
        score_rows(rows, target.as_slice(), source.as_slice(), heads, block);
    });
    scores
}

/// The attention weights after dropout.
fn drop_weights<T: Scalar>(weights: &Matrix<T>, dropout: Dropout, pool: &Pool<T>) -> Buffer<T> {
    let (edges, heads) = weights.shape();
    let mut dropped = pool.take(edges, heads);
    for_each_block(dropped.as_mut_slice(), heads, 4 * heads, |first, block| {
        let start = first * heads;
        block.copy_from_slice(&weights.as_slice()[start..start + block.len()]);
        drop_values(dropout, start, block);
    });
    dropped
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
