//! Dense products, cut into blocks of rows so that they parallelise with reproducible bits.
//!
//! Shapes throughout: tall matrices are n×d with n in the thousands or millions, weights are d×e with both in the
//! tens or hundreds. Each block is computed by one thread.

use std::ops::Range;

use faer::{MatMut, MatRef};

use crate::kernels::Accumulate;
use crate::parallel::{for_each_block, partial_count, sum_over_rows};
use crate::{Matrix, Scalar};

pub use crate::kernels::Panels;

/// `A · B` in a new matrix, on the calling thread. For small matrices.
pub fn product<T: Scalar>(left: &Matrix<T>, right: &Matrix<T>) -> Matrix<T> {
    let mut output = Matrix::zeros(left.rows(), right.columns());
    T::multiply_views(output.as_faer_mut(), left.as_faer(), right.as_faer());
    output
}

/// `Y = X · W`. Shapes: X is n×d, W d×e, Y n×e.
pub fn multiply_into<T: Scalar>(tall: &Matrix<T>, weight: Panels<'_, T>, output: &mut Matrix<T>) {
    assert_eq!(tall.rows(), output.rows(), "product: rows");
    let columns = output.columns();
    for_each_block(output.as_mut_slice(), columns, tall.columns() * columns, |first, block| {
        T::multiply(block, Accumulate::Replace, rows_of(tall, first, block.len() / columns), weight);
    });
}

/// How many scratch values [`transposed_product_into`] needs for tall matrices with these shapes.
pub fn transposed_product_scratch(rows: usize, left_columns: usize, right_columns: usize) -> usize {
    partial_count(rows) * left_columns * right_columns
}

/// `C = Xᵀ · Y`. Shapes: X is n×d, Y n×e, C d×e.
pub fn transposed_product_into<T: Scalar>(
    left: &Matrix<T>,
    right: &Matrix<T>,
    output: &mut Matrix<T>,
    scratch: &mut [T],
) {
    assert_eq!(left.rows(), right.rows(), "transposed product: rows");
    assert_eq!(output.shape(), (left.columns(), right.columns()), "transposed product: output shape");
    let (rows, columns) = output.shape();
    sum_over_rows(left.rows(), rows * columns, output.as_mut_slice(), scratch, |range, partial| {
        let [left, right] = [left, right].map(|tall| rows_of(tall, range.start, range.len()));
        T::multiply_transposed(partial, Accumulate::Replace, (left, rows, 0..rows), (right, columns));
    });
}

/// The Gram matrix `G = XᵀX`, computed once below the diagonal and mirrored. Shapes: X is n×d, G d×d.
pub fn gram_into<T: Scalar>(tall: &Matrix<T>, output: &mut Matrix<T>, scratch: &mut [T]) {
    let dimension = tall.columns();
    assert_eq!(output.shape(), (dimension, dimension), "Gram matrix: output shape");
    let work = dimension * dimension / 2;
    sum_over_rows(tall.rows(), work, output.as_mut_slice(), scratch, |range, partial| {
        let rows = rows_of(tall, range.start, range.len());
        T::gram_lower(partial, Accumulate::Replace, (rows, dimension));
    });
    mirror_lower(output);
}

/// Copies what is below the diagonal to above it.
pub(crate) fn mirror_lower<T: Scalar>(square: &mut Matrix<T>) {
    for_each_pair(square.rows(), |row, column| square.set(column, row, square.get(row, column)));
}

/// `S ← ½(S + Sᵀ)`.
pub(crate) fn symmetrize<T: Scalar>(square: &mut Matrix<T>) {
    let half = T::from_f64(0.5);
    for_each_pair(square.rows(), |row, column| {
        let mean = half * (square.get(row, column) + square.get(column, row));
        square.set(row, column, mean);
        square.set(column, row, mean);
    });
}

/// Calls `operation(row, column)` for all places below the diagonal, tile by tile: going along a row, every step down the
/// mirrored column would leave the cache.
fn for_each_pair(dimension: usize, mut operation: impl FnMut(usize, usize)) {
    const TILE: usize = 16;
    for first_row in (0..dimension).step_by(TILE) {
        for first_column in (0..=first_row).step_by(TILE) {
            for row in first_row..dimension.min(first_row + TILE) {
                for column in first_column..row.min(first_column + TILE) {
                    operation(row, column);
                }
            }
        }
    }
}

/// The inner products of some rows of X with some rows of Y, on the calling thread: `P = X[rows] · Y[others]ᵀ`,
/// row-major.
///
/// # Panics
/// If X and Y differ in columns, rows lie outside, or `output` does not hold `rows · others` values.
pub fn inner_products_into<T: Scalar>(
    (left, rows): (&Matrix<T>, Range<usize>),
    (right, others): (&Matrix<T>, Range<usize>),
    output: &mut [T],
) {
    assert_eq!(left.columns(), right.columns(), "inner products: columns");
    assert_eq!(output.len(), rows.len() * others.len(), "inner products: output shape");
    let output = MatMut::from_row_major_slice_mut(output, rows.len(), others.len());
    let view = |matrix, range: Range<usize>| {
        MatRef::from_row_major_slice(rows_of(matrix, range.start, range.len()), range.len(), left.columns())
    };
    T::multiply_views(output, view(left, rows), view(right, others).transpose());
}

/// The values of `count` rows from `first` on.
pub(crate) fn rows_of<T: Scalar>(matrix: &Matrix<T>, first: usize, count: usize) -> &[T] {
    let columns = matrix.columns();
    &matrix.as_slice()[first * columns..(first + count) * columns]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::random_matrix;

    fn naive(left: &Matrix<f64>, right: &Matrix<f64>) -> Matrix<f64> {
        Matrix::from_fn(left.rows(), right.columns(), |row, column| {
            (0..left.columns()).map(|inner| left.get(row, inner) * right.get(inner, column)).sum()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn products_equal_the_definition(n in 1usize..700, d in 1usize..20, e in 1usize..20, seed in 0u64..1000) {
            let tall = random_matrix(n, d, seed);
            let weight = random_matrix(d, e, seed + 1);
            let other = random_matrix(n, e, seed + 2);
            let mut output = Matrix::zeros(n, e);
            let mut room = vec![0.0; Panels::<f64>::length(d, e)];
            multiply_into(&tall, Panels::new(&weight, &mut room), &mut output);
            prop_assert!(output.max_difference(&naive(&tall, &weight)) < 1e-10);

            let mut output = Matrix::zeros(d, e);
            let mut scratch = vec![0.0; transposed_product_scratch(n, d, e)];
            transposed_product_into(&tall, &other, &mut output, &mut scratch);
            prop_assert!(output.max_difference(&naive(&tall.transposed(), &other)) < 1e-10);

            let mut output = Matrix::zeros(d, d);
            let mut scratch = vec![0.0; transposed_product_scratch(n, d, d)];
            gram_into(&tall, &mut output, &mut scratch);
            prop_assert!(output.max_difference(&naive(&tall.transposed(), &tall)) < 1e-10);

            let (rows, others) = (n / 3..n, 0..n.div_ceil(2));
            let mut output = Matrix::zeros(rows.len(), others.len());
            inner_products_into((&tall, rows.clone()), (&tall, others.clone()), output.as_mut_slice());
            let all = naive(&tall, &tall.transposed());
            let expected = Matrix::from_fn(rows.len(), others.len(), |row, other| all.get(rows.start + row, other));
            prop_assert!(output.max_difference(&expected) < 1e-10);
        }
    }
}
