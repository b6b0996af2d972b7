//! Dense products on the calling thread.
//!
//! An epoch spends most of its time in products of three kinds: of a tall matrix with a small one, of a transposed tall matrix with a
//! tall one, and of a tall matrix with itself. Each has a loop of its own here around the same [tile](tile): at the widths of
//! embeddings that is faster than a general product, which copies both factors first (`cargo bench -p abyssal-tensor -- dense`). What is
//! not part of an epoch goes to faer.
//!
//! These functions are not generic: what is generic to the last instruction would be compiled anew in every program and test
//! that calls it.

mod lanes;
mod panels;
mod tile;
mod transposed;

use std::ops::Range;

use faer::linalg::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use lanes::Lanes;
use panels::Multiply;
pub use panels::Panels;
use transposed::{Part, TransposedProduct};

/// What becomes of the values that were there before a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulate {
    /// `C = A·B`.
    Replace,
    /// `C += A·B`.
    Add,
}

/// Dense kernels on the calling thread. All matrices lie in memory row by row.
pub trait DenseKernels: Lanes {
    /// `C = A·B` or `C += A·B`. Shapes: A is n×d, B d×e, C n×e.
    ///
    /// # Panics
    /// If the shapes do not fit.
    fn multiply(output: &mut [Self], accumulate: Accumulate, left: &[Self], right: Panels<'_, Self>) {
        Self::multiply_fetching(output, accumulate, left, right, &[]);
    }

    /// As [`DenseKernels::multiply`], while what is read next is fetched from memory: matrices of the shape of C.
    ///
    /// # Panics
    /// If the shapes do not fit.
    fn multiply_fetching(
        output: &mut [Self],
        accumulate: Accumulate,
        left: &[Self],
        right: Panels<'_, Self>,
        soon: &[&[Self]],
    );

    /// `C = Xᵀ·Y` or `C += Xᵀ·Y` for a range of the columns of X: `left` is X with d and the range, `right` Y with e. Shapes: X is n×d,
    /// Y n×e, C as many rows as the range has × e.
    ///
    /// # Panics
    /// If the shapes do not fit.
    fn multiply_transposed(
        output: &mut [Self],
        accumulate: Accumulate,
        left: (&[Self], usize, Range<usize>),
        right: (&[Self], usize),
    );

    /// The lower triangle of `C = XᵀX` or `C += XᵀX`; what is above is arbitrary. Shapes: X is n×d, C d×d.
    ///
    /// # Panics
    /// If the shapes do not fit.
    fn gram_lower(output: &mut [Self], accumulate: Accumulate, tall: (&[Self], usize));

    /// `C = A·B` for matrices however they lie in memory, by faer.
    fn multiply_views(output: MatMut<'_, Self>, left: MatRef<'_, Self>, right: MatRef<'_, Self>);
}

macro_rules! kernels {
    ($type:ty) => {
        impl DenseKernels for $type {
            fn multiply_fetching(
                output: &mut [Self],
                accumulate: Accumulate,
                left: &[Self],
                right: Panels<'_, Self>,
                soon: &[&[Self]],
            ) {
                Multiply { output, accumulate, left, right, soon }.run();
            }

            fn multiply_transposed(
                output: &mut [Self],
                accumulate: Accumulate,
                left: (&[Self], usize, Range<usize>),
                right: (&[Self], usize),
            ) {
                TransposedProduct { output, accumulate, left, right, part: Part::All }.run();
            }

            fn gram_lower(output: &mut [Self], accumulate: Accumulate, (tall, columns): (&[Self], usize)) {
                let (left, right, part) = ((tall, columns, 0..columns), (tall, columns), Part::Lower);
                TransposedProduct { output, accumulate, left, right, part }.run();
            }

            fn multiply_views(output: MatMut<'_, Self>, left: MatRef<'_, Self>, right: MatRef<'_, Self>) {
                matmul::matmul(output, Accum::Replace, left, right, 1.0, Par::Seq);
            }
        }
    };
}

kernels!(f32);
kernels!(f64);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::random_matrix;
    use crate::{Matrix, Scalar};

    /// `A·B` by the definition, in double precision.
    fn naive(left: &Matrix<f64>, right: &Matrix<f64>) -> Matrix<f64> {
        Matrix::from_fn(left.rows(), right.columns(), |row, column| {
            (0..left.columns()).map(|inner| left.get(row, inner) * right.get(inner, column)).sum()
        })
    }

    /// Writes and adds a product; what comes out must be three times the expected one, without what was there before.
    fn check<T: Scalar>(
        expected: &Matrix<f64>,
        tolerance: f64,
        is_wanted: impl Fn(usize, usize) -> bool,
        product: impl Fn(&mut [T], Accumulate),
    ) {
        let mut output = Matrix::from_fn(expected.rows(), expected.columns(), |_, _| T::from_f64(f64::NAN));
        product(output.as_mut_slice(), Accumulate::Replace);
        product(output.as_mut_slice(), Accumulate::Add);
        product(output.as_mut_slice(), Accumulate::Add);
        for row in 0..expected.rows() {
            for column in (0..expected.columns()).filter(|&column| is_wanted(row, column)) {
                let (found, expected) = (output.get(row, column).to_f64(), 3.0 * expected.get(row, column));
                assert!((found - expected).abs() <= tolerance, "{row}, {column}: {found} is not {expected}");
            }
        }
    }

    fn check_all<T: Scalar>((n, d, e): (usize, usize, usize), seed: u64, tolerance: f64) {
        let (left, right, tall) =
            (random_matrix(n, d, seed), random_matrix(d, e, seed + 1), random_matrix(n, e, seed + 2));
        let [x, w, back, y] = [&left, &right, &right.transposed(), &tall].map(|matrix| matrix.cast::<T>());
        let mut room = vec![T::from_f64(f64::NAN); Panels::<T>::length(d, e)];
        for transposed in [false, true] {
            let panels =
                if transposed { Panels::transposed(&back, &mut room) } else { Panels::new(&w, &mut room) };
            check(
                &naive(&left, &right),
                tolerance,
                |_, _| true,
                |output, accumulate| {
                    T::multiply(output, accumulate, x.as_slice(), panels);
                },
            );
        }
        let whole = naive(&left.transposed(), &tall);
        for range in [0..d, d / 3..d - d / 4] {
            let expected =
                Matrix::from_fn(range.len(), e, |row, column| whole.get(range.start + row, column));
            check(
                &expected,
                tolerance,
                |_, _| true,
                |output, accumulate| {
                    T::multiply_transposed(
                        output,
                        accumulate,
                        (x.as_slice(), d, range.clone()),
                        (y.as_slice(), e),
                    );
                },
            );
        }
        let gram = naive(&left.transposed(), &left);
        check(
            &gram,
            tolerance,
            |row, column| column <= row,
            |output, accumulate| {
                T::gram_lower(output, accumulate, (x.as_slice(), d));
            },
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn products_equal_the_definition(n in 0usize..90, d in 0usize..70, e in 0usize..70, seed in 0u64..1000) {
            check_all::<f32>((n, d, e), seed, 1e-3);
            check_all::<f64>((n, d, e), seed, 1e-11);
        }
    }

    /// Several panels, several stretches of a panel, several blocks of rows.
    #[test]
    fn large_products_equal_the_definition() {
        for shape in [(150, 300, 130), (700, 64, 64), (65, 128, 256), (7, 1, 200), (200, 200, 1)] {
            check_all::<f32>(shape, 5, 4e-3);
            check_all::<f64>(shape, 5, 1e-10);
        }
    }

    #[test]
    #[should_panic(expected = "product: left factor")]
    fn shapes_that_do_not_fit_are_refused() {
        let mut room = [0.0; 64];
        let room = &mut room[..Panels::<f32>::length(2, 1)];
        let panels = Panels::new(&Matrix::zeros(2, 1), room);
        f32::multiply(&mut [0.0; 3], Accumulate::Replace, &[0.0; 5], panels);
    }
}
