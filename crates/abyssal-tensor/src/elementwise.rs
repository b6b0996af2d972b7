//! Loops over all values of a matrix, and sums over its columns.

use crate::parallel::{for_each_block, partial_count, sum_over_rows};
use crate::tape::Pool;
use crate::vectorized::vectorized;
use crate::{Matrix, Scalar};

/// `target += source`.
pub(crate) fn add<T: Scalar>(target: &mut Matrix<T>, source: &Matrix<T>) {
    assert_eq!(target.shape(), source.shape());
    let columns = target.columns();
    for_each_block(target.as_mut_slice(), columns, columns, |first, block| {
        let start = first * columns;
        add_values(block, &source.as_slice()[start..start + block.len()]);
    });
}

/// `target *= scale`.
pub(crate) fn scale<T: Scalar>(target: &mut Matrix<T>, scale: T) {
    let columns = target.columns();
    for_each_block(target.as_mut_slice(), columns, columns, |_, block| scale_values(block, scale));
}

/// Writes the sum of every column into `sums` (one row).
pub(crate) fn column_sums<T: Scalar>(matrix: &Matrix<T>, sums: &mut Matrix<T>, pool: &Pool<T>) {
    let columns = matrix.columns();
    assert_eq!(sums.shape(), (1, columns));
    let mut partials = pool.take(partial_count(matrix.rows()), columns);
    sum_over_rows(matrix.rows(), columns, sums.as_mut_slice(), partials.as_mut_slice(), |range, partial| {
        partial.fill(T::ZERO);
        add_rows(partial, &matrix.as_slice()[range.start * columns..range.end * columns]);
    });
}

/// `matrix = scale · (matrix - 1·shift)` with `shift` one row.
pub(crate) fn shift_and_scale<T: Scalar>(matrix: &mut Matrix<T>, shift: &Matrix<T>, scale: T) {
    let columns = matrix.columns();
    for_each_block(matrix.as_mut_slice(), columns, columns, |_, block| {
        shift_and_scale_rows(block, shift.as_slice(), scale);
    });
}

vectorized! {
    fn add_values<'a, T>(target: &'a mut [T], source: &'a [T]) {
        for (target, &source) in target.iter_mut().zip(source) {
            *target += source;
        }
    }
}

vectorized! {
    fn scale_values<'a, T>(target: &'a mut [T], scale: T) {
        for target in target {
            *target *= scale;
        }
    }
}

vectorized! {
    /// `sums += 1ᵀ·rows`.
    pub(crate) fn add_rows<'a, T>(sums: &'a mut [T], rows: &'a [T]) {
        for row in rows.chunks_exact(sums.len().max(1)) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += value;
            }
        }
    }
}

vectorized! {
    fn shift_and_scale_rows<'a, T>(rows: &'a mut [T], shift: &'a [T], scale: T) {
        for row in rows.chunks_exact_mut(shift.len().max(1)) {
            for (value, &shift) in row.iter_mut().zip(shift) {
                *value = scale * (*value - shift);
            }
        }
    }
}
