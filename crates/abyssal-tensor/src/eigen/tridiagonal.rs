//! From a symmetric matrix to a tridiagonal one.
//!
//! In double precision whatever the matrix has: an error here is relative to the largest eigenvalue, and would not be small beside the
//! smallest ones, which whitening magnifies most.

use crate::vectorized::vectorized;
use crate::{Matrix, Scalar};

/// Slices are rounded up to this many values where zeros do no harm, so that no loop has a remainder.
const LANES: usize = 8;

/// `T = Qᵀ A Q`, and the reflections `Q = H_(d-1) ⋯ H_1` with `H_k = I - τ_k·v_k·v_kᵀ`, where `v_k` has `k` values.
pub(super) struct Tridiagonal {
    /// Row `k` begins with `v_k`, zeros follow. Before a reflection is known its row is one of the matrix.
    reflectors: Matrix<f64>,
    /// `τ_k`.
    scales: Vec<f64>,
    /// `T_kk`.
    diagonal: Vec<f64>,
    /// `T_(k,k-1)`; the first is not used.
    off_diagonal: Vec<f64>,
    work: Vec<f64>,
}

impl Tridiagonal {
    pub(super) fn new(dimension: usize) -> Self {
        Self {
            reflectors: Matrix::zeros(dimension, dimension),
            scales: vec![0.0; dimension],
            diagonal: vec![0.0; dimension],
            off_diagonal: vec![0.0; dimension],
            work: vec![0.0; 3 * dimension],
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let vectors = [&self.scales, &self.diagonal, &self.off_diagonal, &self.work];
        let values = self.reflectors.as_slice().len() + vectors.map(Vec::len).iter().sum::<usize>();
        values * size_of::<f64>()
    }

    pub(super) fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    /// The entries of `T`, for the iteration to change.
    pub(super) fn entries_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.diagonal, &mut self.off_diagonal)
    }

    /// `v_k` with zeros after it, and `τ_k`.
    #[inline(always)]
    pub(super) fn reflection(&self, index: usize) -> (&[f64], f64) {
        (self.reflectors.row(index), self.scales[index])
    }

    /// Reduces a symmetric matrix. It is divided by the power of two this returns, so that no square leaves the range of the type.
    pub(super) fn reduce<T: Scalar>(&mut self, matrix: &Matrix<T>) -> f64 {
        let largest = largest(matrix.as_slice()).to_f64();
        let scale = if largest > 0.0 { largest.log2().floor().exp2() } else { 1.0 };
        for (target, &value) in self.reflectors.as_mut_slice().iter_mut().zip(matrix.as_slice()) {
            *target = value.to_f64() / scale;
        }
        let Self { reflectors, scales, diagonal, off_diagonal, work } = self;
        tridiagonalize(reflectors.as_mut_slice(), scales, diagonal, off_diagonal, work);
        scale
    }
}

/// The largest absolute value.
fn largest<T: Scalar>(values: &[T]) -> T {
    let mut largest = [T::ZERO; LANES];
    for chunk in values.chunks(LANES) {
        for (largest, &value) in largest.iter_mut().zip(chunk) {
            let size = if value < T::ZERO { -value } else { value };
            *largest = if size > *largest { size } else { *largest };
        }
    }
    largest.into_iter().fold(T::ZERO, |first, second| if second > first { second } else { first })
}

vectorized! {
    /// Householder's method from the last row up. With `B` the part of the matrix before row `k`, `x` that of row `k`, and `v = x/‖x‖`
    /// changed in its last value so that `H·x` has no other one, a step is
    ///
    /// `p = τ·B·v,  w = p - ½τ·(pᵀv)·v,  B ← B - v·wᵀ - w·vᵀ`.
    ///
    /// `B` is changed only when the next step multiplies it: every row is read and written once for both. Products are sums of rows,
    /// which needs the whole of `B`, not half of it, and no sums across a register.
    fn tridiagonalize<'a>(
        matrix: &'a mut [f64],
        scales: &'a mut [f64],
        diagonal: &'a mut [f64],
        off_diagonal: &'a mut [f64],
        work: &'a mut [f64],
    ) {
        let dimension = scales.len();
        work.fill(0.0);
        let (last_v, rest) = work.split_at_mut(dimension);
        let (last_w, product) = rest.split_at_mut(dimension);
        for index in (1..dimension).rev() {
            let (before, row) = matrix.split_at_mut(index * dimension);
            let row = &mut row[..dimension];
            subtract_pair(row, (last_v[index], &*last_v), (last_w[index], &*last_w));
            diagonal[index] = row[index];
            row[index..].fill(0.0);

            let width = index.next_multiple_of(LANES).min(dimension);
            let vector = &mut row[..width];
            let (subdiagonal, scale) = reflector(vector, index - 1);
            (off_diagonal[index], scales[index]) = (subdiagonal, scale);

            let product = &mut product[..width];
            product.fill(0.0);
            let (v, w) = (&last_v[..width], &last_w[..width]);
            let mut pairs = before.chunks_exact_mut(2 * dimension);
            for (pair, rows) in (&mut pairs).enumerate() {
                let (first, second) = rows.split_at_mut(dimension);
                let (i, j) = (2 * pair, 2 * pair + 1);
                let (v_i, v_j, w_i, w_j) = (last_v[i], last_v[j], last_w[i], last_w[j]);
                let (next_i, next_j) = (vector[i], vector[j]);
                let rows = first[..width].iter_mut().zip(&mut second[..width]);
                for (((first, second), sum), (&v, &w)) in rows.zip(product.iter_mut()).zip(v.iter().zip(w)) {
                    *first -= v_i * w + w_i * v;
                    *second -= v_j * w + w_j * v;
                    *sum += next_i * *first + next_j * *second;
                }
            }
            let single = pairs.into_remainder();
            if !single.is_empty() {
                let single = &mut single[..width];
                subtract_pair(single, (last_v[index - 1], v), (last_w[index - 1], w));
                let next = vector[index - 1];
                product.iter_mut().zip(single).for_each(|(sum, &mut value)| *sum += next * value);
            }

            let half = 0.5 * scale * scale * dot(product, vector);
            last_v.fill(0.0);
            last_v[..width].copy_from_slice(vector);
            last_w.fill(0.0);
            for ((w, &product), &v) in last_w[..index].iter_mut().zip(product.iter()).zip(vector.iter()) {
                *w = scale * product - half * v;
            }
        }
        diagonal[0] = matrix[0] - 2.0 * last_v[0] * last_w[0];
    }
}

/// `x ← x - a·w - b·v`, given `(a, v)` and `(b, w)`.
#[inline(always)]
fn subtract_pair(values: &mut [f64], (a, v): (f64, &[f64]), (b, w): (f64, &[f64])) {
    for (value, (&v, &w)) in values.iter_mut().zip(v.iter().zip(w)) {
        *value -= a * w + b * v;
    }
}

/// Turns `x` into `v`, with `v/‖x‖` of about length 1: `x - ‖x‖·e_last` or `x + ‖x‖·e_last`, whichever cancels nothing. Gives the one value
/// that `H·x` has left, and `τ`. Values after the last must be zero.
#[inline(always)]
fn reflector(vector: &mut [f64], last: usize) -> (f64, f64) {
    let pivot = vector[last];
    vector[last] = 0.0;
    let others = dot(vector, vector);
    if others < f64::NEGLIGIBLE {
        // Of values up to 1, these are far below rounding.
        vector.fill(0.0);
        return (pivot, 0.0);
    }
    let norm = (pivot * pivot + others).sqrt();
    let inverse = 1.0 / norm;
    vector.iter_mut().for_each(|value| *value *= inverse);
    let left = if pivot > 0.0 { -norm } else { norm };
    vector[last] = (pivot - left) * inverse;
    (left, norm / (norm + pivot.abs()))
}

#[inline(always)]
fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (left, right) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    let rest = left.remainder().iter().zip(right.remainder());
    let rest: f64 = rest.fold(0.0, |sum, (&left, &right)| sum + left * right);
    for (left, right) in left.zip(right) {
        for (sum, (&left, &right)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum += left * right;
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = sums.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(low, high)| *low += *high);
        half /= 2;
    }
    sums[0] + rest
}
