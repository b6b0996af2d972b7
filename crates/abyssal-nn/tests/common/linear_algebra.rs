//! Linear algebra in plain loops, sharing no code with what it checks.

use abyssal_graph::Graph;
use abyssal_tensor::Matrix;

/// Rotations stop once the largest cosine, or entry off the diagonal, is this small relative to the rest.
const CONVERGED: f64 = 1e-15;
/// Jacobi's method needs fewer than ten sweeps for the sizes of these tests.
const SWEEPS: usize = 60;

/// `A · B`.
pub fn product(left: &Matrix<f64>, right: &Matrix<f64>) -> Matrix<f64> {
    assert_eq!(left.columns(), right.rows());
    Matrix::from_fn(left.rows(), right.columns(), |row, column| {
        (0..left.columns()).map(|inner| left.get(row, inner) * right.get(inner, column)).sum()
    })
}

/// `Aᵀ · B`.
pub fn transposed_product(left: &Matrix<f64>, right: &Matrix<f64>) -> Matrix<f64> {
    product(&left.transposed(), right)
}

/// `Σ c_k · A_k`.
pub fn weighted_sum(terms: &[(f64, &Matrix<f64>)]) -> Matrix<f64> {
    let (rows, columns) = terms[0].1.shape();
    Matrix::from_fn(rows, columns, |row, column| {
        terms.iter().map(|(weight, term)| weight * term.get(row, column)).sum()
    })
}

/// `⟨A, B⟩ = tr(AᵀB)`.
pub fn inner_product(left: &Matrix<f64>, right: &Matrix<f64>) -> f64 {
    left.as_slice().iter().zip(right.as_slice()).map(|(left, right)| left * right).sum()
}

/// `‖A‖²`, the sum of all squares.
pub fn squared_norm(matrix: &Matrix<f64>) -> f64 {
    inner_product(matrix, matrix)
}

/// `T = I - 1·1ᵀ/n`.
pub fn centering_matrix(nodes: usize) -> Matrix<f64> {
    Matrix::from_fn(nodes, nodes, |row, column| f64::from(row == column) - 1.0 / nodes as f64)
}

/// `Â = D̃^-½ (A + I) D̃^-½` with every entry written out.
pub fn dense_adjacency(graph: &Graph) -> Matrix<f64> {
    let nodes = graph.nodes();
    let mut matrix = Matrix::identity(nodes);
    for (first, second) in graph.pairs() {
        matrix.set(first as usize, second as usize, 1.0);
        matrix.set(second as usize, first as usize, 1.0);
    }
    let degrees: Vec<f64> = (0..nodes).map(|node| matrix.row(node).iter().sum()).collect();
    Matrix::from_fn(nodes, nodes, |row, column| {
        matrix.get(row, column) / degrees[row].sqrt() / degrees[column].sqrt()
    })
}

/// `Ā = T·A·T`.
pub fn doubly_centered(matrix: &Matrix<f64>) -> Matrix<f64> {
    let centering = centering_matrix(matrix.rows());
    product(&product(&centering, matrix), &centering)
}

/// Singular values, descending, with their vectors: `A = U · diag(s) · Vᵀ`.
pub struct SingularValues {
    /// U, as wide as A. A column that belongs to the singular value 0 is zero.
    pub left: Matrix<f64>,
    pub values: Vec<f64>,
    pub right: Matrix<f64>,
}

/// The singular value decomposition by one-sided Jacobi rotations (Hestenes): columns are rotated in pairs until
/// all are orthogonal. No Gram matrix is formed, so small singular values are accurate too.
pub fn singular_values(matrix: &Matrix<f64>) -> SingularValues {
    let dimension = matrix.columns();
    let mut columns = matrix.transposed();
    let mut vectors = Matrix::identity(dimension);
    for _ in 0..SWEEPS {
        let mut largest_cosine: f64 = 0.0;
        for first in 0..dimension {
            for second in first + 1..dimension {
                let dot = |left: usize, right: usize| -> f64 {
                    columns.row(left).iter().zip(columns.row(right)).map(|(left, right)| left * right).sum()
                };
                let (alpha, beta, gamma) = (dot(first, first), dot(second, second), dot(first, second));
                if gamma == 0.0 {
                    continue;
                }
                largest_cosine = largest_cosine.max(gamma.abs() / (alpha * beta).sqrt());
                let (cosine, sine) = rotation(beta - alpha, gamma);
                rotate_rows(&mut columns, first, second, cosine, sine);
                rotate_rows(&mut vectors, first, second, cosine, sine);
            }
        }
        // Columns of rounding errors beside real ones may keep turning; they are as good as zero.
        if largest_cosine < CONVERGED {
            break;
        }
    }
    let norm = |column: usize| columns.row(column).iter().map(|value| value * value).sum::<f64>().sqrt();
    let mut order: Vec<usize> = (0..dimension).collect();
    order.sort_by(|&first, &second| norm(second).total_cmp(&norm(first)));
    let values: Vec<f64> = order.iter().map(|&column| norm(column)).collect();
    let left = Matrix::from_fn(matrix.rows(), dimension, |row, place| match values[place] {
        0.0 => 0.0,
        value => columns.get(order[place], row) / value,
    });
    let right = Matrix::from_fn(dimension, dimension, |row, place| vectors.get(order[place], row));
    SingularValues { left, values, right }
}

/// Eigenvalues of a symmetric matrix, by descending absolute value, and the eigenvectors as columns (Jacobi).
pub fn symmetric_eigen(matrix: &Matrix<f64>) -> (Vec<f64>, Matrix<f64>) {
    let dimension = matrix.rows();
    let mut work = matrix.clone();
    let mut vectors = Matrix::identity(dimension);
    let scale = squared_norm(matrix).sqrt();
    for _ in 0..SWEEPS {
        let mut largest: f64 = 0.0;
        for first in 0..dimension {
            for second in first + 1..dimension {
                let off = work.get(first, second);
                if off.abs() <= CONVERGED * CONVERGED * scale {
                    continue;
                }
                largest = largest.max(off.abs());
                let (cosine, sine) = rotation(work.get(second, second) - work.get(first, first), off);
                rotate_rows(&mut work, first, second, cosine, sine);
                rotate_columns(&mut work, first, second, cosine, sine);
                rotate_rows(&mut vectors, first, second, cosine, sine);
            }
        }
        if largest <= CONVERGED * scale {
            break;
        }
    }
    let mut order: Vec<usize> = (0..dimension).collect();
    let value = |index: usize| work.get(index, index);
    order.sort_by(|&first, &second| value(second).abs().total_cmp(&value(first).abs()));
    let values = order.iter().map(|&index| value(index)).collect();
    (values, Matrix::from_fn(dimension, dimension, |row, place| vectors.get(order[place], row)))
}

/// Cosine and sine that bring `[[x, off], [off, x + difference]]` to diagonal form.
fn rotation(difference: f64, off: f64) -> (f64, f64) {
    let zeta = difference / (2.0 * off);
    let tangent = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    (cosine, cosine * tangent)
}

fn rotate_rows(matrix: &mut Matrix<f64>, first: usize, second: usize, cosine: f64, sine: f64) {
    for column in 0..matrix.columns() {
        let (upper, lower) = (matrix.get(first, column), matrix.get(second, column));
        matrix.set(first, column, cosine * upper - sine * lower);
        matrix.set(second, column, sine * upper + cosine * lower);
    }
}

fn rotate_columns(matrix: &mut Matrix<f64>, first: usize, second: usize, cosine: f64, sine: f64) {
    for row in 0..matrix.rows() {
        let (left, right) = (matrix.get(row, first), matrix.get(row, second));
        matrix.set(row, first, cosine * left - sine * right);
        matrix.set(row, second, sine * left + cosine * right);
    }
}

/// `U · diag(g(s)) · Vᵀ` for `A = U · diag(s) · Vᵀ`; `g` is given the place of a singular value, and the value.
pub fn with_singular_values(
    decomposition: &SingularValues,
    mut function: impl FnMut(usize, f64) -> f64,
) -> Matrix<f64> {
    let SingularValues { left, values, right } = decomposition;
    let scaled: Vec<f64> = values.iter().enumerate().map(|(place, &value)| function(place, value)).collect();
    let scaled =
        Matrix::from_fn(left.rows(), left.columns(), |row, place| left.get(row, place) * scaled[place]);
    product(&scaled, &right.transposed())
}

/// `B(BᵀB)^-½ = U·Vᵀ`, the nearest matrix with orthonormal columns (paper, Corollary 1).
pub fn nearest_orthonormal(matrix: &Matrix<f64>) -> Matrix<f64> {
    with_singular_values(&singular_values(matrix), |_, _| 1.0)
}
