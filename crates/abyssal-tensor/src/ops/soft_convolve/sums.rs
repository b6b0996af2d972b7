//! The column sums of a propagation, with which its mean is known before it is.

use std::sync::Arc;

use super::super::soft_normalize::Rule;
use super::for_each_chunk;
use crate::gemm::rows_of;
use crate::parallel::{block_rows, partial_count, sum_over_rows, sum_while_writing};
use crate::tape::{Buffer, Pool, Variable};
use crate::vectorized::vectorized;
use crate::{Matrix, Scalar, SparseOperator};

/// `1ᵀA·H`, with which the mean of `A·H·W` is known before that is. Shape 1×d.
pub(super) fn propagated_sums<T: Scalar>(
    operator: &Arc<SparseOperator<T>>,
    hidden: &Variable<T>,
    pool: &Pool<T>,
) -> Arc<Buffer<T>> {
    if let Some(known) = &hidden.facts.propagated_sums
        && Arc::ptr_eq(&known.operator, operator)
    {
        return Arc::clone(&known.sums);
    }
    let (rows, columns) = hidden.shape();
    let mut sums = pool.take(1, columns);
    let mut partials = pool.take(partial_count(rows), columns);
    let (total, room) = (sums.as_mut_slice(), partials.as_mut_slice());
    sum_over_rows(rows, columns, total, room, |range, partial| {
        partial.fill(T::ZERO);
        let values = &hidden.as_slice()[range.start * columns..range.end * columns];
        add_weighted_rows(partial, &operator.column_sums()[range], values);
    });
    Arc::new(sums)
}

/// All rows of `H`, whose [sums](propagated_sums) are taken while they are close: in the same order, so that they have the same bits.
pub(super) fn apply_while_summing<T: Scalar>(
    rule: &Rule<T>,
    operator: &SparseOperator<T>,
    combined: &Matrix<T>,
    output: &mut Matrix<T>,
    pool: &Pool<T>,
) -> Buffer<T> {
    let (rows, columns) = combined.shape();
    let mut sums = pool.take(1, columns);
    let mut partials = pool.take(partial_count(rows), columns);
    let (total, room) = (sums.as_mut_slice(), partials.as_mut_slice());
    let data = ([output.as_mut_slice()], columns);
    sum_while_writing(data, columns * columns, total, room, |range, blocks, partial| {
        partial.fill(T::ZERO);
        let most = block_rows(range.len(), columns);
        for_each_chunk((range, most), blocks, columns, |range, _, [block]| {
            rule.apply(range.start, rows_of(combined, range.start, range.len()), block);
            add_weighted_rows(partial, &operator.column_sums()[range], block);
        });
    });
    sums
}

vectorized! {
    /// `sums += weightsᵀ·rows`.
    fn add_weighted_rows<'a, T>(sums: &'a mut [T], weights: &'a [T], rows: &'a [T]) {
        for (row, &weight) in rows.chunks_exact(sums.len().max(1)).zip(weights) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += weight * value;
            }
        }
    }
}
