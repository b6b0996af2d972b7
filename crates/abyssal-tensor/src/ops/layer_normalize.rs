//! Normalisation of rows.

use std::sync::Arc;

use super::batch_normalize::EPSILON;
use super::row_sums::{moments, shifted_dot, sum};
use crate::Scalar;
use crate::parallel::{for_each_block, partial_count, sum_while_writing};
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Value, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<'_, T> {
    /// Layer normalisation (Ba, Kiros and Hinton, 2016) of every row:
    ///
    /// `y_i = γ∘(x_i - μ_i)/√(σ_i² + ε) + β`, `ε = 1e-5`, with `μ_i` and `σ_i²` (biased) the mean and the variance of
    /// row i. Shapes: X and Y are n×d, γ (`gain`) and β (`shift`) 1×d.
    pub fn layer_normalize(
        &self,
        input: &Variable<T>,
        gain: &Variable<T>,
        shift: &Variable<T>,
    ) -> Variable<T> {
        let (rows, columns) = input.shape();
        assert_eq!((gain.shape(), shift.shape()), ((1, columns), (1, columns)), "layer_normalize: shapes");
        let mut output = self.pool().take(rows, columns);
        for_each_block(output.as_mut_slice(), columns, 4 * columns, |first, block| {
            let input = &input.as_slice()[first * columns..first * columns + block.len()];
            normalize_rows(block, input, gain.as_slice(), shift.as_slice());
        });
        self.record(Arc::new(output), &[input.slot, gain.slot, shift.slot], || LayerNormalize {
            input: (input.value.clone(), input.slot),
            gain: (gain.value.clone(), gain.slot),
            shift: shift.slot,
        })
    }
}

vectorized! {
    fn normalize_rows<'a, T>(output: &'a mut [T], input: &'a [T], gain: &'a [T], shift: &'a [T]) {
        let width = gain.len().max(1);
        for (output, input) in output.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
            let (mean, variance) = moments(input);
            let inverse = T::ONE / (variance + T::from_f64(EPSILON)).sqrt();
            for ((output, &input), (&gain, &shift)) in output.iter_mut().zip(input).zip(gain.iter().zip(shift)) {
                *output = gain * ((input - mean) * inverse) + shift;
            }
        }
    }
}

struct LayerNormalize<T: Scalar> {
    input: (Value<T>, Slot),
    gain: (Value<T>, Slot),
    shift: Slot,
}

impl<T: Scalar> Backward<T> for LayerNormalize<T> {
    /// With `x̂_i = (x_i - μ_i)/√(σ_i² + ε)`: `β̄ = 1ᵀȲ`, `γ̄ = 1ᵀ(Ȳ∘X̂)`, and with `g = γ∘ȳ_i`
    ///
    /// `x̄_i = (g - mean(g) - x̂_i·mean(g∘x̂_i)) / √(σ_i² + ε)`.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (rows, columns) = gradient.shape();
        let pool = gradients.pool().clone();
        let mut sums = pool.take(2, columns);
        let mut partials = pool.take(partial_count(rows), 2 * columns);
        let (total, scratch) = (sums.as_mut_slice(), partials.as_mut_slice());
        let (input, gain) = (&self.input.0, self.gain.0.as_slice());
        let data = ([gradient.as_mut_slice()], columns);
        sum_while_writing(data, 8 * columns, total, scratch, |range, [block], partial| {
            let input = &input.as_slice()[range.start * columns..range.end * columns];
            go_back(block, input, gain, partial.split_at_mut(columns));
        });
        for (slot, row) in [(self.gain.1, 0), (self.shift, 1)] {
            let mut part = pool.take(1, columns);
            part.as_mut_slice().copy_from_slice(sums.row(row));
            gradients.add(slot, part);
        }
        gradients.add(self.input.1, gradient);
    }
}

vectorized! {
    /// Turns `ȳ_i` into `x̄_i` and sums `Ȳ∘X̂` and `Ȳ`.
    fn go_back<'a, T>(gradient: &'a mut [T], input: &'a [T], gain: &'a [T], sums: (&'a mut [T], &'a mut [T])) {
        let width = gain.len().max(1);
        let share = T::ONE / T::from_f64(width as f64);
        let (weighted, plain) = sums;
        weighted.fill(T::ZERO);
        plain.fill(T::ZERO);
        for (gradient, input) in gradient.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
            let (mean, variance) = moments(input);
            let inverse = T::ONE / (variance + T::from_f64(EPSILON)).sqrt();
            for ((weighted, &gradient), &input) in weighted.iter_mut().zip(&*gradient).zip(input) {
                *weighted += gradient * ((input - mean) * inverse);
            }
            for ((plain, gradient), &gain) in plain.iter_mut().zip(&mut *gradient).zip(gain) {
                *plain += *gradient;
                *gradient *= gain;
            }
            let middle = share * sum(gradient);
            let along = share * inverse * inverse * shifted_dot((gradient, T::ZERO), (input, mean));
            for (gradient, &input) in gradient.iter_mut().zip(input) {
                *gradient = inverse * (*gradient - middle - along * (input - mean));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Matrix;
    use crate::ops::check::check;
    use crate::tape::Pool;
    use crate::testing::random_matrix;

    #[test]
    fn gradients() {
        let inputs = [random_matrix(6, 5, 1), random_matrix(1, 5, 2), random_matrix(1, 5, 3)];
        check("layer_normalize", &inputs, |tape, inputs| {
            tape.layer_normalize(&inputs[0], &inputs[1], &inputs[2])
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Every row has mean 0 and variance 1 (up to ε), then the shift and the gain.
        #[test]
        fn rows_have_the_asked_moments(rows in 1usize..300, columns in 10usize..40, seed in 0u64..1000) {
            let pool = Pool::new();
            let tape = Tape::inference(&pool);
            let row = |value| tape.constant(&Arc::new(Matrix::from_fn(1, columns, |_, _| value)));
            let input = tape.constant(&Arc::new(random_matrix(rows, columns, seed)));
            let output = tape.layer_normalize(&input, &row(3.0), &row(0.5));
            for index in 0..rows {
                let mean = output.row(index).iter().sum::<f64>() / columns as f64;
                let squares: f64 = output.row(index).iter().map(|value| (value - mean).powi(2)).sum();
                prop_assert!((mean - 0.5).abs() < 1e-10);
                prop_assert!((squares / columns as f64 - 9.0).abs() < 3e-3);
            }
        }
    }
}
