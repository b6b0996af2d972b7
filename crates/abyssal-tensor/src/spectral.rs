//! The spectral function behind soft an-isotropic normalisation, and its derivative.
//!
//! For `G = BᵀB = U Λ Uᵀ` (d×d, symmetric, positive semi-definite) the whitening matrix is
//!
//! `M = a · U f(Λ) Uᵀ + (1 - a) · I`, with `f(λ) = λ^(-b/2)` on the largest `d₀` eigenvalues and 0 on the others.
//!
//! # Truncation
//!
//! Only kept eigenvectors enter the product that makes `M`. All of them are computed, though: most of the time of a decomposition
//! goes into steps that are needed for any number of eigenvectors.
//!
//! # Differentiating it
//!
//! Eigenvectors of equal eigenvalues are not differentiable, so differentiating an eigen-decomposition gives NaN:
//!
//! ```python
//! b = torch.eye(4, 2, requires_grad=True)        # two equal singular values
//! values, vectors = torch.linalg.eigh(b.T @ b)
//! (b @ vectors @ torch.diag(values ** -0.5) @ vectors.T).sum().backward()
//! b.grad                                         # nan, nan, ...
//! ```
//!
//! `M` itself is smooth there. With `S` the symmetric part of the gradient with respect to `M`, the gradient with
//! respect to `G` is (Daleckii and Krein)
//!
//! `Ḡ = a · U (K ∘ UᵀSU) Uᵀ`, `K_ij = (f(λ_i) - f(λ_j)) / (λ_i - λ_j)`, `K_ii = f'(λ_i)`,
//!
//! and the divided difference `K_ij` has a finite limit for equal eigenvalues.

use crate::eigen::Eigensolver;
use crate::gemm::{Panels, mirror_lower, rows_of, symmetrize};
use crate::kernels::Accumulate;
use crate::parallel::for_each_block_of;
use crate::vectorized::vectorized;
use crate::{Matrix, Scalar, TensorError};

/// The parameters of the whitening matrix `M`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Whitening {
    /// `a`: how far towards whitened embeddings to go, in [0, 1].
    pub strength: f64,
    /// `b`: the exponent of the whitening, in [0, 1].
    pub exponent: f64,
    /// `d₀`: how many of the largest eigenvalues are whitened.
    pub rank: usize,
}

impl Whitening {
    /// Whether `M` is the identity for every `G` of this dimension, so that nothing has to be decomposed.
    ///
    /// With `b = 0` and nothing truncated this treats eigenvalues below the floor as kept, which they should be:
    /// `λ⁰ = 1` needs no floor.
    pub fn is_identity(&self, dimension: usize) -> bool {
        self.strength == 0.0 || (self.exponent == 0.0 && self.rank >= dimension)
    }
}

/// Eigenvalues and eigenvectors of a symmetric matrix.
#[derive(Debug)]
pub struct Spectrum<T> {
    /// Eigenvalues, ascending.
    pub values: Vec<T>,
    /// Row `i` is the eigenvector of eigenvalue `i`: this is `Uᵀ`.
    pub vectors: Matrix<T>,
}

/// Memory for decompositions of one dimension, used again and again.
pub struct SpectralWorkspace<T> {
    solver: Eigensolver<T>,
    first: Matrix<T>,
    second: Matrix<T>,
    /// Room for three factors in panels.
    panels: [Matrix<T>; 3],
    functions: Vec<f64>,
}

impl<T: Scalar> SpectralWorkspace<T> {
    /// Memory for d×d matrices.
    pub fn new(dimension: usize) -> Self {
        Self {
            solver: Eigensolver::new(dimension),
            first: Matrix::zeros(dimension, dimension),
            second: Matrix::zeros(dimension, dimension),
            panels: std::array::from_fn(|_| Matrix::zeros(1, Panels::<T>::length(dimension, dimension))),
            functions: Vec::with_capacity(dimension),
        }
    }

    /// How much memory that is.
    pub(crate) fn bytes(&self) -> usize {
        let matrices = [&self.first, &self.second].into_iter().chain(&self.panels);
        let matrices = matrices.map(|matrix| size_of_val(matrix.as_slice())).sum::<usize>();
        self.solver.bytes() + matrices + self.functions.capacity() * size_of::<f64>()
    }

    /// Decomposes a symmetric matrix into `spectrum`.
    ///
    /// # Errors
    /// If the matrix holds infinity or NaN, or the solver does not converge.
    pub fn decompose(&mut self, gram: &Matrix<T>, spectrum: &mut Spectrum<T>) -> Result<(), TensorError> {
        let dimension = gram.rows();
        // Infinity and NaN anywhere in a column show in the sum of its squares.
        let squares = (0..dimension).map(|index| gram.get(index, index));
        if squares.clone().any(|square| !square.is_finite()) {
            return Err(TensorError::NotFinite { operation: "soft normalisation" });
        }
        if squares.clone().all(|square| square < T::NEGLIGIBLE) {
            // As good as zero: nothing to whiten, and nothing a solver could work on.
            spectrum.values.fill(T::ZERO);
            spectrum.vectors.as_mut_slice().fill(T::ZERO);
            (0..dimension).for_each(|index| spectrum.vectors.set(index, index, T::ONE));
            return Ok(());
        }
        let converged = self.solver.decompose(gram, &mut spectrum.values, &mut spectrum.vectors);
        if converged { Ok(()) } else { Err(TensorError::NoConvergence { dimension }) }
    }

    /// Writes `M = a · U f(Λ) Uᵀ + (1 - a) · I`.
    pub fn whitening_matrix(
        &mut self,
        whitening: &Whitening,
        spectrum: &Spectrum<T>,
        matrix: &mut Matrix<T>,
    ) {
        let dimension = spectrum.values.len();
        let first = first_kept(whitening, &spectrum.values);
        // M - (1 - a)·I = RᵀR with the rows of R scaled by √(a·f): only kept eigenvectors enter the product.
        for index in first..dimension {
            let scale =
                T::from_f64((whitening.strength * function(whitening, spectrum.values[index])).sqrt());
            let target = self.first.row_mut(index);
            for (value, &component) in target.iter_mut().zip(spectrum.vectors.row(index)) {
                *value = scale * component;
            }
        }
        let kept = rows_of(&self.first, first, dimension - first);
        T::gram_lower(matrix.as_mut_slice(), Accumulate::Replace, (kept, dimension));
        mirror_lower(matrix);
        let rest = T::from_f64(1.0 - whitening.strength);
        for index in 0..dimension {
            matrix.set(index, index, matrix.get(index, index) + rest);
        }
    }

    /// Turns `S`, any matrix whose symmetric part is the gradient with respect to `M`, into `Ḡ`, in place.
    pub fn gradient(&mut self, whitening: &Whitening, spectrum: &Spectrum<T>, gradient: &mut Matrix<T>) {
        let dimension = spectrum.values.len();
        let vectors = &spectrum.vectors;
        let Self { first, second, panels: [gradients, columns, rows], functions, .. } = self;
        functions.clear();
        functions.extend(spectrum.values.iter().map(|&value| function(whitening, value)));
        let kept_from = first_kept(whitening, &spectrum.values);
        let quotients = Quotients { whitening, values: &spectrum.values, functions, kept_from };
        symmetrize(gradient);
        let gradients = Panels::new(gradient, gradients.as_mut_slice());
        let columns = Panels::transposed(vectors, columns.as_mut_slice());
        let rows = Panels::new(vectors, rows.as_mut_slice());
        let work = 2 * dimension * dimension;
        let data = [first.as_mut_slice(), second.as_mut_slice()];
        for_each_block_of(data, dimension, work, |row, [first, second]| {
            let source = rows_of(vectors, row, first.len() / dimension);
            T::multiply(first, Accumulate::Replace, source, gradients);
            T::multiply(second, Accumulate::Replace, first, columns);
            for (row, values) in (row..).zip(second.chunks_exact_mut(dimension)) {
                quotients.scale(row, values);
            }
        });
        let strength = T::from_f64(whitening.strength);
        let data = [first.as_mut_slice(), gradient.as_mut_slice()];
        for_each_block_of(data, dimension, work, |row, [first, gradient]| {
            let vectors = (vectors.as_slice(), dimension, row..row + first.len() / dimension);
            T::multiply_transposed(first, Accumulate::Replace, vectors, (second.as_slice(), dimension));
            T::multiply(gradient, Accumulate::Replace, first, rows);
            gradient.iter_mut().for_each(|value| *value *= strength);
        });
    }
}

/// The divided differences `K`.
struct Quotients<'a, T> {
    whitening: &'a Whitening,
    values: &'a [T],
    /// `f` at every eigenvalue.
    functions: &'a [f64],
    /// The first of the kept eigenvalues.
    kept_from: usize,
}

impl<T: Scalar> Quotients<'_, T> {
    /// Multiplies a row of a matrix with the row of `K`, value by value.
    fn scale(&self, row: usize, values: &mut [T]) {
        let (dropped, kept) = values.split_at_mut(self.kept_from);
        let functions = &self.functions[self.kept_from..];
        if row < self.kept_from {
            dropped.fill(T::ZERO);
            for (column, value) in (self.kept_from..).zip(kept) {
                *value = T::from_f64(self.across(column, row) * value.to_f64());
            }
            return;
        }
        for (column, value) in dropped.iter_mut().enumerate() {
            *value = T::from_f64(self.across(row, column) * value.to_f64());
        }
        if self.whitening.exponent == 1.0 {
            scale_by_differences(kept, functions, self.functions[row]);
            return;
        }
        for (column, value) in (self.kept_from..).zip(kept) {
            let [low, high] = [row.min(column), row.max(column)]
                .map(|index| (self.values[index].to_f64(), self.functions[index]));
            *value = T::from_f64(divided_difference(self.whitening, low, high) * value.to_f64());
        }
    }

    /// Of a kept and a dropped eigenvalue: f jumps between them, so their gap must not vanish.
    fn across(&self, kept: usize, dropped: usize) -> f64 {
        let [high, low] = [kept, dropped].map(|index| self.values[index].to_f64());
        self.functions[kept] / (high - low).max(T::EPSILON.to_f64().sqrt() * high)
    }
}

vectorized! {
    /// Multiplies values with the divided differences of `λ^-½` between one eigenvalue and others, given the function at them.
    fn scale_by_differences<'a, T>(values: &'a mut [T], functions: &'a [f64], function: f64) {
        for (value, &other) in values.iter_mut().zip(functions) {
            *value = T::from_f64(difference_of_inverse_roots(function, other) * value.to_f64());
        }
    }
}

/// `(f(x) - f(y)) / (x - y)` for `f(λ) = λ^-½`, given `f(x)` and `f(y)`: `-f(x)²·f(y)² / (f(x) + f(y))`.
#[inline(always)]
fn difference_of_inverse_roots(at_x: f64, at_y: f64) -> f64 {
    let product = at_x * at_y;
    -product * product / (at_x + at_y)
}

impl<T: Scalar> Spectrum<T> {
    /// Room for the spectrum of a d×d matrix.
    pub fn new(dimension: usize) -> Self {
        Self { values: vec![T::ZERO; dimension], vectors: Matrix::zeros(dimension, dimension) }
    }
}

/// The index of the first kept eigenvalue: among the `d₀` largest, and above the floor `λ_max · d · ε`.
///
/// Below the floor an eigenvalue of a computed Gram matrix is rounding error, and its power would amplify noise.
fn first_kept<T: Scalar>(whitening: &Whitening, ascending: &[T]) -> usize {
    let dimension = ascending.len();
    let largest = ascending.last().map_or(0.0, |value| value.to_f64());
    let floor = largest * dimension as f64 * T::EPSILON.to_f64();
    let above = ascending.partition_point(|value| value.to_f64() <= floor);
    above.max(dimension - whitening.rank.min(dimension))
}

/// `f(λ) = λ^(-b/2)`; meaningful for kept eigenvalues, which are positive.
fn function<T: Scalar>(whitening: &Whitening, value: T) -> f64 {
    let value = value.to_f64();
    if whitening.exponent == 1.0 { 1.0 / value.sqrt() } else { value.powf(-0.5 * whitening.exponent) }
}

/// `(f(x) - f(y)) / (x - y)` for `f(λ) = λ^c`, `c = -b/2`, given `(x, f(x))` and `(y, f(y))`, without cancellation.
///
/// Close together, `x = y·eʳ` gives `y^(c-1) · (e^(c·r) - 1) / (eʳ - 1)`, whose limit for `r → 0` is `f'(y)`.
fn divided_difference(whitening: &Whitening, (x, at_x): (f64, f64), (y, at_y): (f64, f64)) -> f64 {
    let gap = x - y;
    if gap.abs() > 0.1 * y {
        return (at_x - at_y) / gap;
    }
    let power = -0.5 * whitening.exponent;
    let logarithm = (gap / y).ln_1p();
    let ratio = if logarithm == 0.0 { power } else { (power * logarithm).exp_m1() / logarithm.exp_m1() };
    at_y / y * ratio
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::product;
    use crate::testing::{assert_gradient, random_matrix};

    fn whitening_of(gram: &Matrix<f64>, whitening: &Whitening) -> Matrix<f64> {
        let dimension = gram.rows();
        let mut workspace = SpectralWorkspace::new(dimension);
        let mut spectrum = Spectrum::new(dimension);
        workspace.decompose(gram, &mut spectrum).unwrap();
        let mut matrix = Matrix::zeros(dimension, dimension);
        workspace.whitening_matrix(whitening, &spectrum, &mut matrix);
        matrix
    }

    /// `Q · diag(values) · Qᵀ` with a fixed random orthogonal Q.
    fn with_eigenvalues(values: &[f64]) -> Matrix<f64> {
        let dimension = values.len();
        let seed = random_matrix(3 * dimension, dimension, 5);
        let orthogonal = product(
            &seed,
            &whitening_of(
                &product(&seed.transposed(), &seed),
                &Whitening { strength: 1.0, exponent: 1.0, rank: dimension },
            ),
        );
        let orthogonal = Matrix::from_fn(dimension, dimension, |row, column| orthogonal.get(row, column));
        let gram = product(&orthogonal.transposed(), &orthogonal);
        let orthogonal = product(
            &orthogonal,
            &whitening_of(&gram, &Whitening { strength: 1.0, exponent: 1.0, rank: dimension }),
        );
        let scaled =
            Matrix::from_fn(dimension, dimension, |row, column| orthogonal.get(row, column) * values[column]);
        product(&scaled, &orthogonal.transposed())
    }

    #[test]
    fn hard_whitening_is_the_inverse_square_root() {
        let gram = with_eigenvalues(&[4.0, 1.0, 0.25]);
        let root = whitening_of(&gram, &Whitening { strength: 1.0, exponent: 1.0, rank: 3 });
        let identity = product(&product(&root, &gram), &root);
        assert!(identity.max_difference(&Matrix::identity(3)) < 1e-12);
    }

    #[test]
    fn truncation_leaves_the_smallest_directions_to_the_identity_part() {
        let gram = Matrix::from_rows(&[[4.0, 0.0], [0.0, 1.0]]);
        let matrix = whitening_of(&gram, &Whitening { strength: 0.5, exponent: 1.0, rank: 1 });
        assert!(matrix.max_difference(&Matrix::from_rows(&[[0.75, 0.0], [0.0, 0.5]])) < 1e-14);
    }

    #[test]
    fn zero_and_rank_deficient_matrices_stay_finite() {
        let whitening = Whitening { strength: 0.4, exponent: 1.0, rank: 3 };
        let zero = whitening_of(&Matrix::zeros(3, 3), &whitening);
        assert!(zero.max_difference(&Matrix::from_fn(3, 3, |i, j| if i == j { 0.6 } else { 0.0 })) < 1e-14);
        assert!(whitening_of(&with_eigenvalues(&[2.0, 0.0, 0.0]), &whitening).is_finite());
    }

    /// Embeddings of 1e-19 in single precision: their squares are subnormal, their inverse powers infinite.
    #[test]
    fn negligible_matrices_count_as_zero() {
        let gram = Matrix::from_fn(3, 3, |row, column| if row == column { 1e-38f32 } else { 1e-40 });
        let mut workspace = SpectralWorkspace::new(3);
        let mut spectrum = Spectrum::new(3);
        workspace.decompose(&gram, &mut spectrum).unwrap();
        let whitening = Whitening { strength: 0.4, exponent: 1.0, rank: 3 };
        let mut matrix = Matrix::zeros(3, 3);
        workspace.whitening_matrix(&whitening, &spectrum, &mut matrix);
        assert!(matrix.max_difference(&Matrix::from_fn(3, 3, |i, j| if i == j { 0.6 } else { 0.0 })) < 1e-7);
        let mut gradient = Matrix::from_fn(3, 3, |_, _| 1.0f32);
        workspace.gradient(&whitening, &spectrum, &mut gradient);
        assert!(gradient.is_finite());
    }

    #[test]
    fn not_a_number_is_an_error() {
        let gram = Matrix::from_rows(&[[f64::NAN, 0.0], [0.0, 1.0]]);
        let result = SpectralWorkspace::new(2).decompose(&gram, &mut Spectrum::new(2));
        assert_eq!(result, Err(TensorError::NotFinite { operation: "soft normalisation" }));
    }

    /// Distinct, repeated (where PyTorch gives NaN), nearly repeated, truncated and vanishing eigenvalues.
    #[test]
    fn the_gradient_agrees_with_differences() {
        let cases: [(&str, &[f64], Whitening); 7] = [
            ("distinct", &[3.0, 2.0, 1.0, 0.5], Whitening { strength: 0.7, exponent: 0.9, rank: 4 }),
            ("all equal", &[2.0; 4], Whitening { strength: 1.0, exponent: 1.0, rank: 4 }),
            ("two equal", &[2.0, 2.0, 1.0, 0.5], Whitening { strength: 0.5, exponent: 1.0, rank: 4 }),
            (
                "nearly equal",
                &[2.0, 2.0 + 1e-9, 1.0, 0.5],
                Whitening { strength: 0.5, exponent: 0.8, rank: 4 },
            ),
            ("truncated", &[3.0, 2.0, 1.0, 0.5], Whitening { strength: 0.7, exponent: 0.9, rank: 2 }),
            (
                "equal among dropped",
                &[3.0, 2.0, 0.5, 0.5],
                Whitening { strength: 0.7, exponent: 0.9, rank: 2 },
            ),
            (
                "zero among dropped",
                &[3.0, 3.0, 0.0, 0.0],
                Whitening { strength: 0.7, exponent: 1.0, rank: 2 },
            ),
        ];
        let weights = random_matrix(4, 4, 9);
        for (name, values, whitening) in cases {
            let gram = with_eigenvalues(values);
            let mut workspace = SpectralWorkspace::new(4);
            let mut spectrum = Spectrum::new(4);
            workspace.decompose(&gram, &mut spectrum).unwrap();
            let mut gradient = weights.clone();
            workspace.gradient(&whitening, &spectrum, &mut gradient);
            assert_gradient(name, &gram, &gradient, |probe| {
                // The function lives on symmetric matrices: an entry is moved together with its mirror image.
                let symmetric = Matrix::from_fn(4, 4, |row, column| {
                    0.5 * (probe.get(row, column) + probe.get(column, row))
                });
                let matrix = whitening_of(&symmetric, &whitening);
                matrix.as_slice().iter().zip(weights.as_slice()).map(|(value, weight)| value * weight).sum()
            });
        }
    }

    /// Several blocks of rows, some eigenvalues dropped, on one thread and on several: `Ḡ = a · U (K ∘ UᵀSU) Uᵀ` by definition.
    #[test]
    fn wide_gradients_are_those_of_the_formula_on_any_number_of_threads() {
        let dimension = 150;
        let tall = random_matrix(200, dimension, 1);
        let gram = product(&tall.transposed(), &tall);
        let outer = random_matrix(dimension, dimension, 2);
        let symmetric = Matrix::from_fn(dimension, dimension, |row, column| {
            0.5 * (outer.get(row, column) + outer.get(column, row))
        });
        let mut workspace = SpectralWorkspace::new(dimension);
        let mut spectrum = Spectrum::new(dimension);
        workspace.decompose(&gram, &mut spectrum).unwrap();
        for (exponent, rank) in [(1.0, dimension), (1.0, 100), (0.7, 100)] {
            let whitening = Whitening { strength: 0.3, exponent, rank };
            let kept = dimension - rank;
            let f = |index: usize| {
                if index < kept { 0.0 } else { spectrum.values[index].powf(-0.5 * exponent) }
            };
            let inner = product(&product(&spectrum.vectors, &symmetric), &spectrum.vectors.transposed());
            let inner = Matrix::from_fn(dimension, dimension, |row, column| {
                let (x, y) = (spectrum.values[row], spectrum.values[column]);
                let quotient = match (row == column, row < kept) {
                    (true, true) => 0.0,
                    (true, false) => -0.5 * exponent * f(row) / x,
                    (false, _) => (f(row) - f(column)) / (x - y),
                };
                0.3 * quotient * inner.get(row, column)
            });
            let expected = product(&product(&spectrum.vectors.transposed(), &inner), &spectrum.vectors);
            let [one, three] = [1, 3].map(|threads| {
                let mut gradient = outer.clone();
                let compute = || workspace.gradient(&whitening, &spectrum, &mut gradient);
                crate::parallel::with_threads(threads, compute).unwrap();
                gradient
            });
            assert_eq!(one, three);
            let error = one.max_difference(&expected);
            assert!(error < 1e-9, "exponent {exponent}, rank {rank}: off by {error:e}");
        }
    }

    #[test]
    fn divided_differences_do_not_cancel() {
        for gap in [0.0, 1e-15, 1e-9, 1e-3, 0.099, 0.101, 1e3] {
            let (x, y): (f64, f64) = (2.0 * (1.0 + gap), 2.0);
            let [at_x, at_y] = [x, y].map(|value| value.powf(-0.5));
            let whitening = Whitening { strength: 1.0, exponent: 1.0, rank: 2 };
            // (1/√x - 1/√y) / (x - y) = -1 / (√x·√y·(√x + √y)), which does not cancel.
            let exact = -1.0 / (x.sqrt() * y.sqrt() * (x.sqrt() + y.sqrt()));
            let closed = difference_of_inverse_roots(at_x, at_y);
            let general = divided_difference(&whitening, (x, at_x), (y, at_y));
            for (value, tolerance) in [(closed, 1e-14), (general, 1e-12)] {
                assert!((value / exact - 1.0).abs() < tolerance, "gap {gap}: {value} and {exact}");
            }
        }
    }
}
