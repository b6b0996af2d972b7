//! Dense systems of linear equations.

use faer::prelude::Solve;

use crate::{Matrix, TensorError};

/// The `X` of `A·X = B`, on the calling thread. Shapes: A is n×n and invertible, B and X n×d.
///
/// By LU with partial pivoting, in n³·⅔ multiply-adds.
///
/// # Errors
/// If the solution is not finite: A is singular, or holds infinity or NaN.
///
/// # Panics
/// If the shapes do not fit.
pub fn solve(matrix: &Matrix<f64>, right: &Matrix<f64>) -> Result<Matrix<f64>, TensorError> {
    assert_eq!(matrix.shape(), (right.rows(), right.rows()), "solve: shapes");
    let solution = matrix.as_faer().partial_piv_lu().solve(right.as_faer());
    let solution = Matrix::from_fn(right.rows(), right.columns(), |row, column| solution[(row, column)]);
    if solution.is_finite() { Ok(solution) } else { Err(TensorError::NotFinite { operation: "solve" }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::product;
    use crate::testing::random_matrix;

    #[test]
    fn solutions_solve() {
        for size in [1, 2, 7, 150] {
            let (matrix, right) = (random_matrix(size, size, 1), random_matrix(size, 3, 2));
            let solution = solve(&matrix, &right).unwrap();
            assert!(product(&matrix, &solution).max_difference(&right) < 1e-9, "{size}");
        }
    }

    #[test]
    fn a_singular_matrix_is_an_error() {
        let singular = Matrix::from_rows(&[[1.0, 2.0], [2.0, 4.0]]);
        assert!(solve(&singular, &random_matrix(2, 1, 1)).is_err());
    }
}
