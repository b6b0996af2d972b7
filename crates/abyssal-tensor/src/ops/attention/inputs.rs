//! What attention reads, and the way back to it that does not depend on how scores become weights.

use std::sync::Arc;

use super::kernels::{add_vectors, score_rows, sum_scores, sum_vectors, weigh_back};
use crate::parallel::{for_each_block, partial_count, sum_over_rows};
use crate::tape::{Buffer, Gradients, Pool, Slot, Value, Variable};
use crate::{Matrix, Scalar, SparseOperator};

/// A pattern of edges, `X` of n×(K·d), `s` and `t` of K×d.
pub(super) struct Inputs<T: Scalar> {
    pub(super) pattern: Arc<SparseOperator<T>>,
    pub(super) rows: (Value<T>, Slot),
    source: (Value<T>, Slot),
    target: (Value<T>, Slot),
}

impl<T: Scalar> Inputs<T> {
    /// # Panics
    /// If the shapes do not fit.
    pub(super) fn new(
        pattern: &Arc<SparseOperator<T>>,
        rows: &Variable<T>,
        source: &Variable<T>,
        target: &Variable<T>,
    ) -> Self {
        let (matrix, nodes) = (pattern.matrix(), rows.rows());
        assert_eq!((matrix.rows(), matrix.columns()), (nodes, nodes), "attention: the pattern's shape");
        assert_eq!(source.shape(), target.shape(), "attention: source and target");
        assert_eq!(source.as_slice().len(), rows.columns(), "attention: heads times width");
        let [rows, source, target] =
            [rows, source, target].map(|variable| (variable.value.clone(), variable.slot));
        Self { pattern: Arc::clone(pattern), rows, source, target }
    }

    pub(super) fn slots(&self) -> [Slot; 3] {
        [self.rows.1, self.source.1, self.target.1]
    }

    /// `K`.
    pub(super) fn heads(&self) -> usize {
        self.source.0.rows()
    }

    /// About how many edges a node has, for estimates of work.
    pub(super) fn entries(&self) -> usize {
        let matrix = self.pattern.matrix();
        1 + matrix.stored() / matrix.rows().max(1)
    }

    /// `[⟨t_k, X_ik⟩ | ⟨s_k, X_ik⟩]` for all nodes i and heads k. Shape n×2K.
    pub(super) fn scores(&self, pool: &Pool<T>) -> Buffer<T> {
        let (nodes, columns) = self.rows.0.shape();
        let heads = self.heads();
        let mut scores = pool.take(nodes, 2 * heads);
        for_each_block(scores.as_mut_slice(), 2 * heads, 2 * columns, |first, block| {
            let rows = &self.rows.0.as_slice()[first * columns..];
            score_rows(rows, self.target.0.as_slice(), self.source.0.as_slice(), heads, block);
        });
        scores
    }

    /// Given `z̄_ij`, the gradients of what edges add up from the scores of their ends:
    /// `t̄ = Σ_ij z̄_ij·X_i`, `s̄ = Σ_ij z̄_ij·X_j`.
    ///
    /// Returns what the two scores of every node get, n×2K: as the one who hears, `Σ_j z̄_ij`, and as the one who is
    /// heard, `Σ_j z̄_ji`.
    pub(super) fn scores_backward(
        &self,
        score_gradients: Buffer<T>,
        gradients: &mut Gradients<T>,
    ) -> Buffer<T> {
        let (matrix, transpose) = (self.pattern.matrix(), self.pattern.transpose());
        let (nodes, columns) = self.rows.0.shape();
        let heads = self.heads();
        let pool = gradients.pool().clone();
        let mut sums = pool.take(nodes, 2 * heads);
        for_each_block(sums.as_mut_slice(), 2 * heads, 2 * heads * self.entries(), |first, block| {
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
            let rows = &self.rows.0.as_slice()[range.start * columns..range.end * columns];
            sum_vectors(sums, rows, (heads, columns), partial);
        });
        let (of_target, of_source) = both.as_slice().split_at(columns);
        for (slot, values) in [(self.target.1, of_target), (self.source.1, of_source)] {
            let mut buffer = pool.take(heads, columns / heads.max(1));
            buffer.as_mut_slice().copy_from_slice(values);
            gradients.add(slot, buffer);
        }
        sums
    }

    /// `X̄_j = Σ_i w_ij·Ȳ_i + (Σ_k z̄_jk)·t + (Σ_i z̄_ij)·s` with the weights `w` that the edges had, and the sums that
    /// [`Inputs::scores_backward`] gives.
    pub(super) fn rows_backward(
        &self,
        sums: &Matrix<T>,
        weights: &Matrix<T>,
        gradient: &Matrix<T>,
        gradients: &mut Gradients<T>,
    ) {
        let transpose = self.pattern.transpose();
        let (nodes, columns) = gradient.shape();
        let heads = self.heads();
        let mut output = gradients.pool().take(nodes, columns);
        for_each_block(output.as_mut_slice(), columns, columns * self.entries(), |first, block| {
            let offsets = &transpose.offsets()[first..];
            let edges = (transpose.indices(), self.pattern.sources());
            weigh_back(offsets, edges, weights.as_slice(), gradient.as_slice(), (heads, columns), block);
            let sums = &sums.as_slice()[first * 2 * heads..];
            add_vectors(sums, self.target.0.as_slice(), self.source.0.as_slice(), heads, block);
        });
        gradients.add(self.rows.1, output);
    }
}
