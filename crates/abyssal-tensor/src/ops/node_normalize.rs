//! NodeNorm: the spread of every row is tamed.

use std::sync::Arc;

use super::batch_normalize::EPSILON;
use super::row_sums::{dot, moments};
use crate::Scalar;
use crate::parallel::for_each_block;
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Value, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<'_, T> {
    /// NodeNorm (Zhou et al.: *Understanding and resolving performance degradation in deep graph convolutional
    /// networks*, CIKM 2021): `y_i = x_i / σ_i^(1/p)` with `σ_i = √(var(x_i) + ε)`, `ε = 1e-5`. Shapes n×d.
    ///
    /// `p = 1` divides by the standard deviation of the row, larger `p` does less.
    pub fn node_normalize(&self, input: &Variable<T>, root: f64) -> Variable<T> {
        let (rows, columns) = input.shape();
        let exponent = -0.5 / root;
        let mut output = self.pool().take(rows, columns);
        for_each_block(output.as_mut_slice(), columns, 4 * columns, |first, block| {
            let input = &input.as_slice()[first * columns..first * columns + block.len()];
            normalize_rows(block, input, columns, exponent);
        });
        self.record(Arc::new(output), &[input.slot], || NodeNormalize {
            input: (input.value.clone(), input.slot),
            exponent,
        })
    }
}

/// `(variance + ε)^exponent`.
#[inline(always)]
fn factor<T: Scalar>(variance: T, exponent: f64) -> T {
    T::from_f64((variance.to_f64() + EPSILON).powf(exponent))
}

vectorized! {
    fn normalize_rows<'a, T>(output: &'a mut [T], input: &'a [T], width: usize, exponent: f64) {
        for (output, input) in output.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
            let factor: T = factor(moments(input).1, exponent);
            for (output, &input) in output.iter_mut().zip(input) {
                *output = factor * input;
            }
        }
    }
}

struct NodeNormalize<T: Scalar> {
    input: (Value<T>, Slot),
    exponent: f64,
}

impl<T: Scalar> Backward<T> for NodeNormalize<T> {
    /// With `f = (var + ε)^e`: `x̄_i = f·(ȳ_i + 2e/(d·(var + ε)) · (ȳ_i·x_i) · (x_i - μ_i))`.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let columns = gradient.columns();
        let input = &self.input.0;
        for_each_block(gradient.as_mut_slice(), columns, 6 * columns, |first, block| {
            let input = &input.as_slice()[first * columns..first * columns + block.len()];
            go_back(block, input, columns, self.exponent);
        });
        gradients.add(self.input.1, gradient);
    }
}

vectorized! {
    fn go_back<'a, T>(gradient: &'a mut [T], input: &'a [T], width: usize, exponent: f64) {
        for (gradient, input) in gradient.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
            let (mean, variance) = moments(input);
            let factor: T = factor(variance, exponent);
            let along = dot(gradient, input)
                * T::from_f64(2.0 * exponent / (width as f64 * (variance.to_f64() + EPSILON)));
            for (gradient, &input) in gradient.iter_mut().zip(input) {
                *gradient = factor * (*gradient + along * (input - mean));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::check::check;
    use crate::tape::Pool;
    use crate::testing::random_matrix;

    #[test]
    fn gradients() {
        for root in [1.0, 2.0, 3.5] {
            check("node_normalize", &[random_matrix(6, 5, 1)], |tape, inputs| {
                tape.node_normalize(&inputs[0], root)
            });
        }
    }

    /// Rows of standard deviation σ come out with `σ^(1 - 1/p)`, up to ε.
    #[test]
    fn rows_have_the_asked_spread() {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let input = tape.constant(&Arc::new(random_matrix(40, 33, 7)));
        for root in [1.0, 2.0] {
            let output = tape.node_normalize(&input, root);
            for row in 0..40 {
                let expected = moments(input.row(row)).1.powf(1.0 - 1.0 / root);
                let actual = moments(output.row(row)).1;
                assert!((actual - expected).abs() < 1e-4 * expected, "{actual}, not {expected}");
            }
        }
    }
}
