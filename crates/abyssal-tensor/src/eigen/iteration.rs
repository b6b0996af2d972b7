//! The eigenvalues of a tridiagonal matrix.

use crate::Scalar;
use crate::vectorized::vectorized;

/// So many sweeps for one eigenvalue, where two are usual, mean that there is no convergence.
const MOST_SWEEPS: usize = 60;
/// Squares of matrices with entries up to 1 that are below this count as zero.
const TINY: f64 = 1e-290;

/// What the iteration did to a tridiagonal matrix: `Λ = Z ⋯ D T D ⋯ Zᵀ`, signs first, then sweeps of rotations.
pub(super) struct Rotations<T> {
    /// The diagonal of `D`, which makes the off-diagonal positive: whether it is -1.
    negative: Vec<bool>,
    /// The first row of each sweep, and its number of rotations.
    sweeps: Vec<(usize, usize)>,
    /// Cosine and sine of all rotations, in their order. Until all are found: their squares, with the signs of what they are squares of.
    angles: Vec<(T, T)>,
}

impl<T: Scalar> Rotations<T> {
    pub(super) fn new(dimension: usize) -> Self {
        // About two sweeps for an eigenvalue, each half as long as the matrix.
        let (sweeps, angles) = (2 * dimension, dimension * dimension);
        Self {
            negative: vec![false; dimension],
            sweeps: Vec::with_capacity(sweeps),
            angles: Vec::with_capacity(angles),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.negative.len()
            + self.sweeps.capacity() * size_of::<(usize, usize)>()
            + self.angles.capacity() * size_of::<(T, T)>()
    }

    /// Whether row `index` changes its sign before all rotations.
    pub(super) fn is_negative(&self, index: usize) -> bool {
        self.negative[index]
    }

    /// The sweeps in their order: rotations of the rows `(i, i+1)` for `i = last, last - 1, …, first`.
    pub(super) fn sweeps(&self) -> impl Iterator<Item = (usize, &[(T, T)])> {
        let mut rest = self.angles.as_slice();
        self.sweeps.iter().map(move |&(first, count)| {
            let (angles, later) = rest.split_at(count);
            rest = later;
            (first, angles)
        })
    }

    /// Turns the diagonal of a tridiagonal matrix into its eigenvalues, in any order; tells whether that succeeded. `off_diagonal[k]`
    /// lies beside `diagonal[k - 1]` and `diagonal[k]`, and is destroyed.
    ///
    /// The QL iteration with Wilkinson's shift `σ` in the form of Pal, Walker and Kahan, which works with squares: `c = cos²`, `s = sin²`,
    /// `b = e²`. A sweep goes up from row `m`, where the off-diagonal vanishes, with `γ = d_m - σ` and `p = γ²`:
    ///
    /// `r = p + b,  c = p/r,  s = b/r,  q = p·(d - σ) - b·γ,  γ' = q/r,  d ← γ + d - γ',  p ← γ'²/c = γ'·q/p`.
    ///
    /// The next rotation waits for one division and three multiplications of this one. The sine has the sign of the entry beside the diagonal,
    /// the cosine that of `γ/cos`, of the rotation before it: neither waits for a square root, and all roots are taken together at the end.
    pub(super) fn find(&mut self, diagonal: &mut [f64], off_diagonal: &mut [f64]) -> bool {
        let dimension = diagonal.len();
        self.sweeps.clear();
        self.angles.clear();
        let mut negative = false;
        for (sign, &entry) in self.negative.iter_mut().zip(off_diagonal.iter()).skip(1) {
            negative ^= entry < 0.0;
            *sign = negative;
        }
        // From here on, squares[k] lies beside diagonal[k] and diagonal[k + 1].
        let squares = off_diagonal;
        squares.copy_within(1.., 0);
        squares.iter_mut().for_each(|entry| *entry *= *entry);
        if let Some(last) = squares.last_mut() {
            *last = 0.0;
        }
        let precision = 0.5 * T::EPSILON.to_f64();
        for first in 0..dimension {
            let mut sweeps = 0;
            let mut negative = false;
            loop {
                let end = (first..dimension - 1).find(|&row| {
                    let bound = precision * (diagonal[row].abs() + diagonal[row + 1].abs());
                    squares[row] <= (bound * bound).max(TINY)
                });
                let end = end.unwrap_or(dimension - 1);
                squares[end] = 0.0;
                if end == first {
                    break;
                }
                if sweeps == MOST_SWEEPS {
                    return false;
                }
                sweeps += 1;
                negative ^= self.sweep(&mut diagonal[first..=end], &mut squares[first..end], first, negative);
            }
        }
        take_roots(&mut self.angles);
        true
    }

    /// One sweep over a block, in which `squares` has one value less than `diagonal`. All entries beside the diagonal are positive but the
    /// first, whose sign a sweep may change: it is given, and whether it changes is returned.
    fn sweep(
        &mut self,
        diagonal: &mut [f64],
        squares: &mut [f64],
        first: usize,
        first_negative: bool,
    ) -> bool {
        let last = squares.len();
        let shift = wilkinson_shift(diagonal[0], diagonal[1], squares[0]);
        let (mut c, mut s) = (1.0f64, 0.0f64);
        let mut gamma = diagonal[last] - shift;
        let mut p = gamma * gamma;
        // The signs of the cosine before, and of the next one.
        let (mut before, mut negative) = (false, gamma < 0.0);
        for index in (0..last).rev() {
            let b = squares[index];
            let r = p + b;
            if index + 1 < last {
                squares[index + 1] = s * r;
            }
            let (old_c, inverse_p) = (c, 1.0 / p);
            let inverse_r = 1.0 / r;
            (c, s) = (p * inverse_r, b * inverse_r);
            let signed_c = if negative { -c } else { c };
            let signed_s = if first_negative && index == 0 { -s } else { s };
            self.angles.push((T::from_f64(signed_c), T::from_f64(signed_s)));
            let (old_gamma, value) = (gamma, diagonal[index]);
            let q = p * (value - shift) - b * old_gamma;
            gamma = q * inverse_r;
            diagonal[index + 1] = old_gamma + (value - gamma);
            if p > TINY {
                p = gamma * (q * inverse_p);
                (before, negative) = (negative, negative ^ (gamma < 0.0));
            } else {
                // No cosine to divide by. The last one, times the entry beside the diagonal, takes its place with the other sign.
                p = old_c * b;
                (before, negative) = (negative, !before);
            }
        }
        squares[0] = s * p;
        diagonal[0] = shift + gamma;
        self.sweeps.push((first, last));
        negative
    }
}

vectorized! {
    /// `x ← sign(x)·√|x|`, from squares to cosines and sines.
    fn take_roots<'a, T>(angles: &'a mut [(T, T)]) {
        let root = |value: T| if value < T::ZERO { -(-value).sqrt() } else { value.sqrt() };
        for (cosine, sine) in angles {
            (*cosine, *sine) = (root(*cosine), root(*sine));
        }
    }
}

/// The eigenvalue of `[[a, e], [e, b]]` that is closer to `a`, given `e²`.
fn wilkinson_shift(a: f64, b: f64, square: f64) -> f64 {
    let root = square.sqrt();
    let half = (b - a) / (2.0 * root);
    let length = (half * half + 1.0).sqrt();
    a - root / (half + length.copysign(half))
}
