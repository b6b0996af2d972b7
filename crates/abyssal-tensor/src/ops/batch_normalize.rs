//! Normalisation of columns.

use std::sync::Arc;

use crate::elementwise::{column_sums, scale};
use crate::parallel::{for_each_block, partial_count, sum_over_rows};
use crate::tape::{Backward, Buffer, Gradients, Pool, Slot, Tape, Value, Variable};
use crate::vectorized::vectorized;
use crate::{Matrix, Scalar};

/// `ε`: added to variances, so that constant columns stay finite. As in PyTorch.
pub(super) const EPSILON: f64 = 1e-5;

impl<T: Scalar> Tape<'_, T> {
    /// Batch normalisation (Ioffe and Szegedy, ICML 2015) over all rows:
    ///
    /// `Y = γ∘(X - μ)/√(σ² + ε) + β`, `ε = 1e-5`, with `μ` and `σ²` (biased) the mean and the variance of every
    /// column. Shapes: X and Y are n×d, γ (`gain`) and β (`shift`) 1×d.
    ///
    /// All nodes of a graph are one batch, in training and in evaluation alike, so there are no running statistics:
    /// evaluation uses those of the batch it sees.
    pub fn batch_normalize(
        &self,
        input: &Variable<T>,
        gain: &Variable<T>,
        shift: &Variable<T>,
    ) -> Variable<T> {
        let (rows, columns) = input.shape();
        assert_eq!((gain.shape(), shift.shape()), ((1, columns), (1, columns)), "batch_normalize: shapes");
        let (mean, inverse) = column_moments(input, self.pool());
        let mut normalized = self.pool().take(rows, columns);
        for_each_block(normalized.as_mut_slice(), columns, 2 * columns, |first, block| {
            let input = &input.as_slice()[first * columns..first * columns + block.len()];
            standardize(block, input, mean.as_slice(), inverse.as_slice());
        });
        let mut output = self.pool().take(rows, columns);
        for_each_block(output.as_mut_slice(), columns, 2 * columns, |first, block| {
            let normalized = &normalized.as_slice()[first * columns..first * columns + block.len()];
            stretch(block, normalized, gain.as_slice(), shift.as_slice());
        });
        self.record(Arc::new(output), &[input.slot, gain.slot, shift.slot], || BatchNormalize {
            normalized,
            inverse,
            input: input.slot,
            gain: (gain.value.clone(), gain.slot),
            shift: shift.slot,
        })
    }
}

/// The mean of every column, and `1/√(σ² + ε)`.
fn column_moments<T: Scalar>(input: &Matrix<T>, pool: &Pool<T>) -> (Buffer<T>, Buffer<T>) {
    let (rows, columns) = input.shape();
    let share = T::from_f64(1.0 / rows as f64);
    let mut mean = pool.take(1, columns);
    column_sums(input, &mut mean, pool);
    scale(&mut mean, share);
    let mut inverse = pool.take(1, columns);
    let mut partials = pool.take(partial_count(rows), columns);
    sum_over_rows(rows, 2 * columns, inverse.as_mut_slice(), partials.as_mut_slice(), |range, partial| {
        let rows = &input.as_slice()[range.start * columns..range.end * columns];
        sum_squares(partial, rows, mean.as_slice());
    });
    for value in inverse.as_mut_slice() {
        *value = T::ONE / (share * *value + T::from_f64(EPSILON)).sqrt();
    }
    (mean, inverse)
}

vectorized! {
    /// `sums = Σ_i (x_i - mean)²`.
    fn sum_squares<'a, T>(sums: &'a mut [T], rows: &'a [T], mean: &'a [T]) {
        sums.fill(T::ZERO);
        for row in rows.chunks_exact(mean.len().max(1)) {
            for ((sum, &value), &mean) in sums.iter_mut().zip(row).zip(mean) {
                *sum += (value - mean) * (value - mean);
            }
        }
    }
}

vectorized! {
    /// `output = (input - mean)∘inverse`.
    fn standardize<'a, T>(output: &'a mut [T], input: &'a [T], mean: &'a [T], inverse: &'a [T]) {
        let width = mean.len().max(1);
        for (output, input) in output.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
            for ((output, &input), (&mean, &inverse)) in output.iter_mut().zip(input).zip(mean.iter().zip(inverse)) {
                *output = (input - mean) * inverse;
            }
        }
    }
}

vectorized! {
    /// `output = gain∘input + shift`.
    fn stretch<'a, T>(output: &'a mut [T], input: &'a [T], gain: &'a [T], shift: &'a [T]) {
        let width = gain.len().max(1);
        for (output, input) in output.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
            for ((output, &input), (&gain, &shift)) in output.iter_mut().zip(input).zip(gain.iter().zip(shift)) {
                *output = gain * input + shift;
            }
        }
    }
}

struct BatchNormalize<T: Scalar> {
    /// `X̂ = (X - μ)/√(σ² + ε)`.
    normalized: Buffer<T>,
    /// `1/√(σ² + ε)`.
    inverse: Buffer<T>,
    input: Slot,
    gain: (Value<T>, Slot),
    shift: Slot,
}

impl<T: Scalar> Backward<T> for BatchNormalize<T> {
    /// `β̄ = 1ᵀȲ`, `γ̄ = 1ᵀ(Ȳ∘X̂)`, `X̄ = γ/√(σ² + ε) ∘ (Ȳ - β̄/n - X̂∘γ̄/n)`.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (rows, columns) = gradient.shape();
        let pool = gradients.pool().clone();
        let mut shift_gradient = pool.take(1, columns);
        column_sums(&gradient, &mut shift_gradient, &pool);
        let mut gain_gradient = pool.take(1, columns);
        let mut partials = pool.take(partial_count(rows), columns);
        let (total, scratch) = (gain_gradient.as_mut_slice(), partials.as_mut_slice());
        sum_over_rows(rows, 2 * columns, total, scratch, |range, partial| {
            let range = range.start * columns..range.end * columns;
            sum_products(partial, &gradient.as_slice()[range.clone()], &self.normalized.as_slice()[range]);
        });
        let share = T::from_f64(1.0 / rows as f64);
        let mut factor = self.inverse;
        for (factor, &gain) in factor.as_mut_slice().iter_mut().zip(self.gain.0.as_slice()) {
            *factor *= gain;
        }
        for_each_block(gradient.as_mut_slice(), columns, 4 * columns, |first, block| {
            let normalized = &self.normalized.as_slice()[first * columns..first * columns + block.len()];
            let sums = (shift_gradient.as_slice(), gain_gradient.as_slice());
            project(block, normalized, factor.as_slice(), sums, share);
        });
        gradients.add(self.gain.1, gain_gradient);
        gradients.add(self.shift, shift_gradient);
        gradients.add(self.input, gradient);
    }
}

vectorized! {
    /// `sums = Σ_i x_i∘y_i`.
    fn sum_products<'a, T>(sums: &'a mut [T], left: &'a [T], right: &'a [T]) {
        sums.fill(T::ZERO);
        let width = sums.len().max(1);
        for (left, right) in left.chunks_exact(width).zip(right.chunks_exact(width)) {
            for ((sum, &left), &right) in sums.iter_mut().zip(left).zip(right) {
                *sum += left * right;
            }
        }
    }
}

vectorized! {
    /// `gradient = factor∘(gradient - share·(sums.0 + normalized∘sums.1))`.
    fn project<'a, T>(
        gradient: &'a mut [T],
        normalized: &'a [T],
        factor: &'a [T],
        sums: (&'a [T], &'a [T]),
        share: T,
    ) {
        let width = factor.len().max(1);
        for (gradient, normalized) in gradient.chunks_exact_mut(width).zip(normalized.chunks_exact(width)) {
            let columns = factor.iter().zip(sums.0.iter().zip(sums.1));
            for ((gradient, &normalized), (&factor, (&plain, &weighted))) in
                gradient.iter_mut().zip(normalized).zip(columns)
            {
                *gradient = factor * (*gradient - share * (plain + normalized * weighted));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::check::check;
    use crate::testing::random_matrix;

    #[test]
    fn gradients() {
        let inputs = [random_matrix(7, 4, 1), random_matrix(1, 4, 2), random_matrix(1, 4, 3)];
        check("batch_normalize", &inputs, |tape, inputs| {
            tape.batch_normalize(&inputs[0], &inputs[1], &inputs[2])
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Every column has mean 0 and variance 1 (up to ε), then the shift and the gain.
        #[test]
        fn columns_have_the_asked_moments(rows in 20usize..700, columns in 1usize..12, seed in 0u64..1000) {
            let pool = Pool::new();
            let tape = Tape::inference(&pool);
            let row = |value| tape.constant(&Arc::new(Matrix::from_fn(1, columns, |_, _| value)));
            let input = tape.constant(&Arc::new(random_matrix(rows, columns, seed)));
            let output = tape.batch_normalize(&input, &row(3.0), &row(0.5)).transposed();
            for column in 0..columns {
                let mean = output.row(column).iter().sum::<f64>() / rows as f64;
                let squares: f64 = output.row(column).iter().map(|value| (value - mean).powi(2)).sum();
                prop_assert!((mean - 0.5).abs() < 1e-10);
                prop_assert!((squares / rows as f64 - 9.0).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn a_constant_column_becomes_the_shift() {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let row = |value| tape.constant(&Arc::new(Matrix::from_fn(1, 2, |_, _| value)));
        let input = tape.constant(&Arc::new(Matrix::from_fn(5, 2, |_, _| 4.0)));
        let output = tape.batch_normalize(&input, &row(3.0), &row(0.5));
        assert!(output.as_slice().iter().all(|&value: &f64| value == 0.5));
    }
}
