//! Loops over all values of a matrix, and sums over its columns.

use crate::parallel::{for_each_block, partial_count, simd, sum_over_rows};
use crate::tape::Pool;
use crate::{Matrix, Scalar};

/// `target += scale · source`.
pub(crate) fn add_scaled<T: Scalar>(target: &mut Matrix<T>, scale: T, source: &Matrix<T>) {
    update(target, source, move |target, source| *target += scale * source);
}

/// `target = scale · source`.
pub(crate) fn scaled_copy<T: Scalar>(target: &mut Matrix<T>, scale: T, source: &Matrix<T>) {
    update(target, source, move |target, source| *target = scale * source);
}

/// `target *= scale`.
pub(crate) fn scale<T: Scalar>(target: &mut Matrix<T>, scale: T) {
    let columns = target.columns();
    for_each_block(target.as_mut_slice(), columns, columns, |_, block| {
        simd(|| block.iter_mut().for_each(|value| *value *= scale));
    });
}

/// Applies `operation(&mut target, source)` to every pair of values.
pub(crate) fn update<T: Scalar>(
    target: &mut Matrix<T>,
    source: &Matrix<T>,
    operation: impl Fn(&mut T, T) + Sync + Send,
) {
    assert_eq!(target.shape(), source.shape());
    let columns = target.columns();
    for_each_block(target.as_mut_slice(), columns, columns, |first, block| {
        let source = &source.as_slice()[first * columns..first * columns + block.len()];
        simd(|| {
            for (target, &source) in block.iter_mut().zip(source) {
                operation(target, source);
            }
        });
    });
}

/// Writes the sum of every column into `sums` (one row).
pub(crate) fn column_sums<T: Scalar>(matrix: &Matrix<T>, sums: &mut Matrix<T>, pool: &Pool<T>) {
    let columns = matrix.columns();
    assert_eq!(sums.shape(), (1, columns));
    let mut partials = pool.take(partial_count(matrix.rows()), columns);
    sum_over_rows(matrix.rows(), columns, sums.as_mut_slice(), partials.as_mut_slice(), |range, partial| {
        let rows = &matrix.as_slice()[range.start * columns..range.end * columns];
        simd(|| {
            for row in rows.chunks_exact(columns.max(1)) {
                for (sum, &value) in partial.iter_mut().zip(row) {
                    *sum += value;
                }
            }
        });
    });
}

/// `matrix = scale · (matrix - 1·shift)` with `shift` one row.
pub(crate) fn shift_and_scale<T: Scalar>(matrix: &mut Matrix<T>, shift: &Matrix<T>, scale: T) {
    let columns = matrix.columns();
    let shift = shift.as_slice();
    for_each_block(matrix.as_mut_slice(), columns, columns, |_, block| {
        simd(|| {
            for row in block.chunks_exact_mut(columns.max(1)) {
                for (value, &shift) in row.iter_mut().zip(shift) {
                    *value = scale * (*value - shift);
                }
            }
        });
    });
}
