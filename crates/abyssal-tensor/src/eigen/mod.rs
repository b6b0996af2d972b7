//! Eigenvalues and eigenvectors of a symmetric matrix, `A = U Λ Uᵀ`, for matrices as wide as embeddings.
//!
//! The three steps of the textbooks (Golub and Van Loan, *Matrix Computations*, chapter 8): reflections make the matrix tridiagonal,
//! `A = Q T Qᵀ`; the QL iteration finds the eigenvalues of `T` and the rotations that lead to them; and the eigenvectors are the rows of
//! what these rotations make of `Qᵀ`.
//!
//! faer has all this too, for matrices of any size and kind. At the width of embeddings an epoch of the smallest graphs spent
//! most of its time there, which is why these loops exist: they work along rows, read the matrix once for every reflection,
//! and find rotations without a square root on the critical path. `cargo bench -p abyssal-tensor -- spectral` measures them.

mod iteration;
mod tridiagonal;
mod vectors;

use crate::parallel::join;
use crate::{Matrix, Scalar};
use iteration::Rotations;
use tridiagonal::Tridiagonal;
use vectors::Panels;

/// Room for decompositions of d×d matrices, used again and again.
pub(crate) struct Eigensolver<T> {
    tridiagonal: Tridiagonal,
    rotations: Rotations<T>,
    panels: Panels<T>,
    /// Where the eigenvalues are in the order of their size.
    order: Vec<usize>,
}

impl<T: Scalar> Eigensolver<T> {
    pub(crate) fn new(dimension: usize) -> Self {
        Self {
            tridiagonal: Tridiagonal::new(dimension),
            rotations: Rotations::new(dimension),
            panels: Panels::new(dimension),
            order: (0..dimension).collect(),
        }
    }

    /// How much memory that is.
    pub(crate) fn bytes(&self) -> usize {
        self.tridiagonal.bytes()
            + self.rotations.bytes()
            + self.panels.bytes()
            + self.order.len() * size_of::<usize>()
    }

    /// Writes the eigenvalues of a symmetric matrix, ascending, and its eigenvectors as the rows of `vectors`; tells whether the
    /// iteration converged.
    pub(crate) fn decompose(
        &mut self,
        matrix: &Matrix<T>,
        values: &mut [T],
        vectors: &mut Matrix<T>,
    ) -> bool {
        let Self { tridiagonal, rotations, panels, order } = self;
        let scale = tridiagonal.reduce(matrix);
        let (eigenvalues, off_diagonal, reflections) = tridiagonal.parts_mut();
        // One long chain that no other thread can help with; meanwhile it can do what needs no rotations.
        let (converged, ()) =
            join(|| rotations.find(eigenvalues, off_diagonal), || panels.reflect(&reflections));
        if !converged {
            return false;
        }
        // Equal eigenvalues go by their places, or the order of their vectors would be that of the last matrix.
        order.sort_unstable_by(|&first, &second| {
            eigenvalues[first].total_cmp(&eigenvalues[second]).then(first.cmp(&second))
        });
        for (value, &place) in values.iter_mut().zip(&*order) {
            *value = T::from_f64(eigenvalues[place] * scale);
        }
        panels.rotate(rotations);
        panels.write(order, vectors);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gemm::product;
    use crate::testing::random_matrix;

    fn decomposed<T: Scalar>(matrix: &Matrix<T>) -> (Vec<T>, Matrix<T>) {
        let dimension = matrix.rows();
        let (mut values, mut vectors) = (vec![T::ZERO; dimension], Matrix::zeros(dimension, dimension));
        assert!(Eigensolver::new(dimension).decompose(matrix, &mut values, &mut vectors));
        (values, vectors)
    }

    /// `U Λ Uᵀ` must be the matrix, `Uᵀ U` the identity, and the eigenvalues ascend; all up to rounding.
    fn check<T: Scalar>(name: &str, matrix: &Matrix<T>) {
        let dimension = matrix.rows();
        let (values, vectors) = decomposed(matrix);
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1]), "{name}: {values:?}");
        let (matrix, vectors) = (matrix.cast::<f64>(), vectors.cast::<f64>());
        let largest = matrix.as_slice().iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        let tolerance = 20.0 * T::EPSILON.to_f64() * dimension as f64;
        let scaled = Matrix::from_fn(dimension, dimension, |row, column| {
            values[row].to_f64() * vectors.get(row, column)
        });
        let error = product(&vectors.transposed(), &scaled).max_difference(&matrix);
        assert!(error <= tolerance * largest, "{name}: off by {error:e}");
        let error = product(&vectors, &vectors.transposed()).max_difference(&Matrix::identity(dimension));
        assert!(error <= tolerance, "{name}: not orthogonal by {error:e}");
    }

    /// `XᵀX`, with columns of X scaled so that eigenvalues spread over the given number of decimal powers.
    fn gram(rows: usize, dimension: usize, decades: f64, seed: u64) -> Matrix<f64> {
        let tall = random_matrix(rows, dimension, seed);
        let scale = |column: usize| 10f64.powf(-0.5 * decades * column as f64 / dimension as f64);
        let tall = Matrix::from_fn(rows, dimension, |row, column| scale(column) * tall.get(row, column));
        product(&tall.transposed(), &tall)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_matrix_is_what_its_spectrum_says(
            dimension in 1usize..80, share in 0.2f64..3.0, decades in 0.0f64..12.0, seed in 0u64..1000
        ) {
            let rows = ((dimension as f64 * share) as usize).max(1);
            let matrix = gram(rows, dimension, decades, seed);
            check("double precision", &matrix);
            check("single precision", &matrix.cast::<f32>());
            // Not only matrices without negative eigenvalues.
            let square = random_matrix(dimension, dimension, seed);
            let symmetric = Matrix::from_fn(dimension, dimension, |row, column| {
                square.get(row, column) + square.get(column, row)
            });
            check("indefinite", &symmetric);
        }
    }

    #[test]
    fn every_width_around_a_register_or_a_panel() {
        for dimension in [1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200] {
            let matrix = gram(dimension + 3, dimension, 3.0, 7);
            check("double precision", &matrix);
            check("single precision", &matrix.cast::<f32>());
        }
    }

    /// Matrices on which iterations stall, divide by zero, or leave the range of the type.
    #[test]
    fn awkward_matrices() {
        let dimension = 33;
        let from = |entry: fn(usize, usize) -> f64| Matrix::from_fn(dimension, dimension, entry);
        let toeplitz = |row: usize, column: usize| match row.abs_diff(column) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        };
        let cases: [(&str, Matrix<f64>); 9] = [
            ("zero", from(|_, _| 0.0)),
            ("identity", from(|row, column| f64::from(row == column))),
            ("diagonal", from(|row, column| if row == column { (row as f64 - 16.0).powi(3) } else { 0.0 })),
            ("of rank one", from(|_, _| 1.0)),
            ("tridiagonal", Matrix::from_fn(dimension, dimension, toeplitz)),
            ("anti-diagonal", from(|row, column| f64::from(row + column == 32))),
            ("two blocks", from(|row, column| f64::from((row < 10) == (column < 10)))),
            ("graded", from(|row, column| 10f64.powi(-(row.max(column) as i32)))),
            (
                "Wilkinson's",
                from(|row, column| match row.abs_diff(column) {
                    0 => (row as f64 - 16.0).abs(),
                    1 => 1.0,
                    _ => 0.0,
                }),
            ),
        ];
        for (name, matrix) in cases {
            check(name, &matrix);
            check(name, &matrix.cast::<f32>());
            for scale in [1e-30, 1e30] {
                let scaled =
                    Matrix::from_fn(dimension, dimension, |row, column| scale * matrix.get(row, column));
                check(name, &scaled);
                check(name, &scaled.cast::<f32>());
            }
        }
    }

    #[test]
    fn eigenvalues_by_hand() {
        // [[2, 1], [1, 2]] and a third direction.
        let matrix = Matrix::from_rows(&[[2.0f64, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, -5.0]]);
        let (values, vectors) = decomposed(&matrix);
        for (value, expected) in values.iter().zip([-5.0, 1.0, 3.0]) {
            assert!((value - expected).abs() < 1e-14);
        }
        assert!((vectors.get(0, 2).abs() - 1.0).abs() < 1e-14);
        assert!((vectors.get(1, 0) + vectors.get(1, 1)).abs() < 1e-14);
        assert!((vectors.get(2, 0) - vectors.get(2, 1)).abs() < 1e-14);
    }

    /// diag(2, 1) turns the order around; the identity must not find it so.
    #[test]
    fn equal_eigenvalues_do_not_remember_the_matrix_before() {
        let diagonal = |first: f64, second: f64| Matrix::from_rows(&[[first, 0.0], [0.0, second]]);
        let mut solver = Eigensolver::new(2);
        for matrix in [diagonal(1.0, 2.0), diagonal(2.0, 1.0), diagonal(1.0, 1.0)] {
            let (mut values, mut vectors) = (vec![0.0; 2], Matrix::zeros(2, 2));
            assert!(solver.decompose(&matrix, &mut values, &mut vectors));
            assert_eq!((values, vectors), decomposed(&matrix));
        }
    }

    /// A solver that was used before must not remember anything.
    #[test]
    fn the_same_bits_on_any_number_of_threads_and_any_time() {
        let matrices = [gram(300, 150, 2.0, 1).cast::<f32>(), gram(100, 150, 5.0, 2).cast::<f32>()];
        let mut solver = Eigensolver::new(150);
        let bits = |solver: &mut Eigensolver<f32>, matrix| {
            let (mut values, mut vectors) = (vec![0.0; 150], Matrix::zeros(150, 150));
            assert!(solver.decompose(matrix, &mut values, &mut vectors));
            (values, vectors.as_slice().to_vec())
        };
        let first = bits(&mut solver, &matrices[0]);
        bits(&mut solver, &matrices[1]);
        for threads in [1, 2, 3] {
            let again = crate::parallel::with_threads(threads, || bits(&mut solver, &matrices[0])).unwrap();
            assert_eq!(first, again);
        }
    }
}
