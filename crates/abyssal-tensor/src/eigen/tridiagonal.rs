//! From a symmetric matrix to a tridiagonal one.
//!
//! In double precision whatever the matrix has: an error here is relative to the largest eigenvalue, and would not be small beside the
//! smallest ones, which whitening magnifies most.

use crate::vectorized::vectorized;
use crate::{Matrix, Scalar};

/// Values that are computed with together. Rows are rounded up to whole registers with zeros, so that no loop has a remainder.
const LANES: usize = 8;
/// Rows that are changed together: as many as registers have room for what belongs to each.
const ROWS: usize = 4;

type Register = [f64; LANES];

/// `T = Qᵀ A Q`, and the reflections `Q = H_(d-1) ⋯ H_1` with `H_k = I - τ_k·v_k·v_kᵀ`, where `v_k` has `k` values.
pub(super) struct Tridiagonal {
    /// Row `k` begins with `v_k`, zeros follow, up to a whole register. Before a reflection is known its row is one of the matrix.
    reflectors: Matrix<f64>,
    /// `τ_k`.
    scales: Vec<f64>,
    /// `T_kk`.
    diagonal: Vec<f64>,
    /// `T_(k,k-1)`; the first is not used.
    off_diagonal: Vec<f64>,
    /// The `v` and `w` of the step before, and the product of a step.
    work: Matrix<f64>,
}

impl Tridiagonal {
    pub(super) fn new(dimension: usize) -> Self {
        Self {
            reflectors: Matrix::zeros(dimension, dimension.next_multiple_of(LANES)),
            scales: vec![0.0; dimension],
            diagonal: vec![0.0; dimension],
            off_diagonal: vec![0.0; dimension],
            work: Matrix::zeros(3, dimension.next_multiple_of(LANES)),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let matrices = [&self.reflectors, &self.work].map(|matrix| matrix.as_slice().len());
        let vectors = [&self.scales, &self.diagonal, &self.off_diagonal].map(Vec::len);
        matrices.iter().chain(&vectors).sum::<usize>() * size_of::<f64>()
    }

    /// The diagonal of `T` and what lies beside it, for the iteration to change, and the reflections.
    pub(super) fn parts_mut(&mut self) -> (&mut [f64], &mut [f64], Reflections<'_>) {
        let Self { reflectors, scales, diagonal, off_diagonal, .. } = self;
        (diagonal, off_diagonal, Reflections { vectors: reflectors, scales })
    }

    /// Reduces a symmetric matrix. It is divided by the power of two this returns, so that no square leaves the range of the type.
    pub(super) fn reduce<T: Scalar>(&mut self, matrix: &Matrix<T>) -> f64 {
        let mut largest = T::ZERO;
        find_largest(&mut largest, matrix.as_slice());
        let largest = largest.to_f64();
        let scale = if largest < f64::MIN_POSITIVE { 1.0 } else { largest.log2().floor().exp2() };
        for row in 0..matrix.rows() {
            // What lies before the diagonal, and the square of registers on it.
            let target = &mut self.reflectors.row_mut(row)[..(row + 1).next_multiple_of(LANES)];
            copy_scaled(target, matrix.row(row), 1.0 / scale);
        }
        let Self { reflectors, scales, diagonal, off_diagonal, work } = self;
        let (reflectors, work) = (reflectors.as_mut_slice(), work.as_mut_slice());
        tridiagonalize(reflectors.as_chunks_mut().0, scales, diagonal, off_diagonal, work.as_chunks_mut().0);
        scale
    }
}

/// The reflections of which `Q` is made.
pub(super) struct Reflections<'a> {
    vectors: &'a Matrix<f64>,
    scales: &'a [f64],
}

impl Reflections<'_> {
    /// `v_k` with zeros after it, and `τ_k`.
    #[inline(always)]
    pub(super) fn get(&self, index: usize) -> (&[f64], f64) {
        (self.vectors.row(index), self.scales[index])
    }
}

vectorized! {
    /// The largest absolute value.
    fn find_largest<'a, T>(largest: &'a mut T, values: &'a [T]) {
        let mut sizes = [T::ZERO; 2 * LANES];
        for chunk in values.chunks(2 * LANES) {
            for (largest, &value) in sizes.iter_mut().zip(chunk) {
                let size = if value < T::ZERO { -value } else { value };
                *largest = if size > *largest { size } else { *largest };
            }
        }
        *largest = sizes.into_iter().fold(T::ZERO, |first, second| if second > first { second } else { first });
    }
}

vectorized! {
    /// `target = factor·source`, as far as both go.
    fn copy_scaled<'a, T>(target: &'a mut [f64], source: &'a [T], factor: f64) {
        for (target, &value) in target.iter_mut().zip(source) {
            *target = value.to_f64() * factor;
        }
    }
}

vectorized! {
    /// Householder's method from the last row up. With `B` the part of the matrix before row `k`, `x` that of row `k`, and `v = x/‖x‖`
    /// changed in its last value so that `H·x` has no other one, a step is
    ///
    /// `p = τ·B·v,  w = p - ½τ·(pᵀv)·v,  B ← B - v·wᵀ - w·vᵀ`.
    ///
    /// `B` is changed only when the next step multiplies it: every row is read and written once for both. Of `B` there is half: what lies below
    /// the diagonal, and the squares of registers on it. What the last square has beyond `B` meets zeros of `v`, or is not read.
    fn tridiagonalize<'a>(
        matrix: &'a mut [Register],
        scales: &'a mut [f64],
        diagonal: &'a mut [f64],
        off_diagonal: &'a mut [f64],
        work: &'a mut [Register],
    ) {
        let dimension = scales.len();
        let stride = dimension.div_ceil(LANES);
        work.fill([0.0; LANES]);
        let (last_v, rest) = work.split_at_mut(stride);
        let (last_w, product) = rest.split_at_mut(stride);
        for index in (1..dimension).rev() {
            let (before, row) = matrix.split_at_mut(index * stride);
            let row = &mut row[..stride];
            let last = (&*last_v, &*last_w);
            subtract_pair(&mut row[..=index / LANES], (at(last.0, index), at(last.1, index)), last);
            diagonal[index] = at(row, index);
            row.as_flattened_mut()[index..].fill(0.0);

            let width = index.div_ceil(LANES);
            let vector = &mut row[..width];
            let (subdiagonal, scale) = reflector(vector, index - 1);
            (off_diagonal[index], scales[index]) = (subdiagonal, scale);

            let product = &mut product[..width];
            product.fill([0.0; LANES]);
            for (block, rows) in before.chunks_mut(LANES * stride).enumerate() {
                let mut row = block * LANES;
                let mut groups = rows.chunks_exact_mut(ROWS * stride);
                for rows in &mut groups {
                    change_and_multiply::<ROWS>(rows, (row, block), last, vector, product);
                    row += ROWS;
                }
                for rows in groups.into_remainder().chunks_exact_mut(stride) {
                    change_and_multiply::<1>(rows, (row, block), last, vector, product);
                    row += 1;
                }
            }

            let half = 0.5 * scale * scale * dot(product, vector);
            last_v[..width].copy_from_slice(vector);
            last_v[width..].fill([0.0; LANES]);
            last_w.fill([0.0; LANES]);
            let values = last_w.as_flattened_mut()[..index].iter_mut();
            let sources = product.as_flattened().iter().zip(vector.as_flattened());
            for (w, (&product, &v)) in values.zip(sources) {
                *w = scale * product - half * v;
            }
        }
        diagonal[0] = matrix[0][0] - 2.0 * last_v[0][0] * last_w[0][0];
    }
}

/// `B ← B - v·wᵀ - w·vᵀ`, then `p += B·x`, both for some rows from `row` on: for the registers before number `block`, which stand for their
/// mirror images too, and for that one, which belongs to a square on the diagonal.
#[inline(always)]
fn change_and_multiply<const COUNT: usize>(
    rows: &mut [Register],
    (row, block): (usize, usize),
    (v, w): (&[Register], &[Register]),
    x: &[Register],
    product: &mut [Register],
) {
    let of_rows =
        |values: &[Register]| -> [f64; COUNT] { std::array::from_fn(|index| at(values, row + index)) };
    let (v_rows, w_rows, x_rows) = (of_rows(v), of_rows(w), of_rows(x));
    let mut rows = rows.chunks_exact_mut(rows.len() / COUNT);
    let rows: [&mut [Register]; COUNT] =
        std::array::from_fn(|_| &mut rows.next().unwrap_or_default()[..=block]);
    let (v, w, x) = (&v[..=block], &w[..=block], &x[..=block]);
    let mut mirrored = [[0.0; LANES]; COUNT];
    for place in 0..=block {
        let (v, w, x) = (v[place], w[place], x[place]);
        let mut sum = product[place];
        for index in 0..COUNT {
            let mut value = rows[index][place];
            for lane in 0..LANES {
                value[lane] -= v_rows[index] * w[lane] + w_rows[index] * v[lane];
                sum[lane] += x_rows[index] * value[lane];
            }
            rows[index][place] = value;
            if place < block {
                for lane in 0..LANES {
                    mirrored[index][lane] += value[lane] * x[lane];
                }
            }
        }
        product[place] = sum;
    }
    for (index, mirrored) in mirrored.into_iter().enumerate() {
        product[block][(row + index) % LANES] += sum_of(mirrored);
    }
}

#[inline(always)]
fn at(values: &[Register], index: usize) -> f64 {
    values.as_flattened()[index]
}

/// `x ← x - a·w - b·v`.
#[inline(always)]
fn subtract_pair(values: &mut [Register], (a, b): (f64, f64), (v, w): (&[Register], &[Register])) {
    for (value, (v, w)) in values.iter_mut().zip(v.iter().zip(w)) {
        for lane in 0..LANES {
            value[lane] -= a * w[lane] + b * v[lane];
        }
    }
}

/// Turns `x` into `v = (x - s·e_last)/‖x‖`, where `s` is `‖x‖` or `-‖x‖`, whichever cancels nothing; `v` has a length from √2 to 2. Gives
/// `s`, the one value that `H·x` has left, and `τ = 2/‖v‖²`; where all values but the last are negligible, `v = 0`, `s = x_last` and
/// `τ = 0`. Values after the last must be zero.
#[inline(always)]
fn reflector(vector: &mut [Register], last: usize) -> (f64, f64) {
    let pivot = at(vector, last);
    vector.as_flattened_mut()[last] = 0.0;
    let others = dot(vector, vector);
    if others < f64::NEGLIGIBLE {
        // Of values up to 1, these are far below rounding.
        vector.fill([0.0; LANES]);
        return (pivot, 0.0);
    }
    let norm = (pivot * pivot + others).sqrt();
    let inverse = 1.0 / norm;
    vector.as_flattened_mut().iter_mut().for_each(|value| *value *= inverse);
    let left = if pivot > 0.0 { -norm } else { norm };
    vector.as_flattened_mut()[last] = (pivot - left) * inverse;
    (left, norm / (norm + pivot.abs()))
}

#[inline(always)]
fn dot(left: &[Register], right: &[Register]) -> f64 {
    let mut sums = [0.0; LANES];
    for (left, right) in left.iter().zip(right) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    sum_of(sums)
}

/// The sum of a register's values, by halves.
#[inline(always)]
fn sum_of(mut sums: Register) -> f64 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}
