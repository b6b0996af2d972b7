//! Bias, activation and dropout in one pass over the data.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Dropout;
use crate::Scalar;
use crate::elementwise::column_sums;
use crate::parallel::for_each_block;
use crate::tape::{Backward, Buffer, Flags, Gradients, Pool, Slot, Tape, Variable};
use crate::vectorized::vectorized;

/// The function applied to every value of a layer's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// `max(x, 0)`.
    #[default]
    Relu,
    /// `x`.
    Identity,
    /// `x` where positive, `eˣ - 1` elsewhere (Clevert et al., 2016).
    Elu,
    /// `x` where positive, `x/100` elsewhere (Maas et al., 2013).
    LeakyRelu,
}

/// The slope of [`Activation::LeakyRelu`] below zero.
const LEAK: f64 = 0.01;

impl<T: Scalar> Tape<'_, T> {
    /// `Y = dropout(σ(X + 1·b))`. Shapes: X and Y are n×d, b is 1×d.
    pub fn activate(
        &self,
        input: &Variable<T>,
        bias: Option<&Variable<T>>,
        activation: Activation,
        dropout: Option<Dropout>,
    ) -> Variable<T> {
        let columns = input.columns();
        let mut output = self.pool().take(input.rows(), columns);
        for_each_block(output.as_mut_slice(), columns, 2 * columns, |first, block| {
            let start = first * columns;
            block.copy_from_slice(&input.as_slice()[start..start + block.len()]);
            if let Some(bias) = bias {
                add_bias(block, bias.as_slice());
            }
            finish(activation, dropout, start, block);
        });
        let output = Arc::new(output);
        let bias = bias.and_then(|bias| bias.slot);
        self.record(Arc::clone(&output), &[input.slot, bias], || Activate {
            input: input.slot,
            bias,
            // What follows may have no use for the output itself.
            mask: Mask::small(activation, dropout, &output, self.pool()),
        })
    }
}

vectorized! {
    fn add_bias<'a, T>(rows: &'a mut [T], bias: &'a [T]) {
        for row in rows.chunks_exact_mut(bias.len().max(1)) {
            for (value, &bias) in row.iter_mut().zip(bias) {
                *value += bias;
            }
        }
    }
}

vectorized! {
    /// Applies activation, then dropout, to values that stand at positions `start, start + 1, …`.
    pub(super) fn finish<'a, T>(
        activation: Activation,
        dropout: Option<Dropout>,
        start: usize,
        values: &'a mut [T],
    ) {
        if activation == Activation::Relu {
            for value in &mut *values {
                // Not `max`: a NaN must stay one, so that it is noticed.
                *value = if *value < T::ZERO { T::ZERO } else { *value };
            }
        }
        if activation == Activation::Elu {
            for value in &mut *values {
                *value = if *value > T::ZERO { *value } else { value.exp_less_one() };
            }
        }
        if activation == Activation::LeakyRelu {
            let leak = T::from_f64(LEAK);
            for value in &mut *values {
                *value = if *value > T::ZERO { *value } else { leak * *value };
            }
        }
        if let Some(dropout) = dropout {
            dropout.apply(start, values);
        }
    }
}

/// What activation and dropout let through on the way back.
pub(super) enum Mask<T: Scalar> {
    /// Everything.
    Open,
    /// The places where the output is positive (neither cut off nor dropped), scaled.
    Positive(Arc<Buffer<T>>, T),
    /// The same, of whole rows, without the output.
    Flagged(Flags<T>, T),
    /// What this dropout lets through.
    Dropout(Dropout),
    /// What this dropout lets through, times the slope of ELU, which the output tells: 1 where it is positive, and
    /// `eˣ = output + 1` elsewhere.
    Elu(Arc<Buffer<T>>, Option<Dropout>),
    /// The same for the leaky ReLU, whose slope the sign of the output tells.
    Leaky(Arc<Buffer<T>>, Option<Dropout>),
}

impl<T: Scalar> Mask<T> {
    pub(super) fn new(activation: Activation, dropout: Option<Dropout>, output: &Arc<Buffer<T>>) -> Self {
        match (activation, dropout) {
            (Activation::Relu, dropout) => Mask::Positive(Arc::clone(output), scale_of(dropout)),
            (Activation::Identity, Some(dropout)) => Mask::Dropout(dropout),
            (Activation::Identity, None) => Mask::Open,
            (Activation::Elu, dropout) => Mask::Elu(Arc::clone(output), dropout),
            (Activation::LeakyRelu, dropout) => Mask::Leaky(Arc::clone(output), dropout),
        }
    }

    /// The same without the output, where that is possible.
    pub(super) fn small(
        activation: Activation,
        dropout: Option<Dropout>,
        output: &Arc<Buffer<T>>,
        pool: &Pool<T>,
    ) -> Self {
        match activation {
            Activation::Relu => Mask::Flagged(Flags::of_positive(output, pool), scale_of(dropout)),
            _ => Self::new(activation, dropout, output),
        }
    }

    /// Multiplies the gradient of the output with the mask, in place.
    fn apply(&self, gradient: &mut Buffer<T>) {
        if matches!(self, Mask::Open) {
            return;
        }
        let columns = gradient.columns();
        for_each_block(gradient.as_mut_slice(), columns, columns, |first, block| {
            self.apply_to(first * columns, block);
        });
    }

    /// As [`Mask::apply`], to values that stand at positions `start, start + 1, …`.
    pub(super) fn apply_to(&self, start: usize, gradient: &mut [T]) {
        match self {
            Mask::Open => {}
            Mask::Positive(output, scale) => {
                keep_positive(gradient, &output.as_slice()[start..start + gradient.len()], *scale);
            }
            Mask::Flagged(flags, scale) => flags.keep(start / flags.columns().max(1), gradient, *scale),
            Mask::Dropout(dropout) => finish(Activation::Identity, Some(*dropout), start, gradient),
            Mask::Elu(output, dropout) => {
                finish(Activation::Identity, *dropout, start, gradient);
                // Before dropout scaled it, the output was smaller by this.
                let unscale = T::ONE / scale_of::<T>(*dropout);
                slope_of_elu(gradient, &output.as_slice()[start..start + gradient.len()], unscale);
            }
            Mask::Leaky(output, dropout) => {
                finish(Activation::Identity, *dropout, start, gradient);
                slope_of_leaky_relu(gradient, &output.as_slice()[start..start + gradient.len()]);
            }
        }
    }
}

/// By how much dropout scales what it lets through.
fn scale_of<T: Scalar>(dropout: Option<Dropout>) -> T {
    dropout.map_or(T::ONE, |dropout| dropout.scale())
}

vectorized! {
    /// Scales the gradient where the output is positive, and zeroes it elsewhere.
    pub(super) fn keep_positive<'a, T>(gradient: &'a mut [T], output: &'a [T], scale: T) {
        for (gradient, &output) in gradient.iter_mut().zip(output) {
            let scaled = scale * *gradient;
            *gradient = if output > T::ZERO { scaled } else { T::ZERO };
        }
    }
}

vectorized! {
    fn slope_of_elu<'a, T>(gradient: &'a mut [T], output: &'a [T], unscale: T) {
        for (gradient, &output) in gradient.iter_mut().zip(output) {
            *gradient *= if output > T::ZERO { T::ONE } else { unscale * output + T::ONE };
        }
    }
}

vectorized! {
    fn slope_of_leaky_relu<'a, T>(gradient: &'a mut [T], output: &'a [T]) {
        let leak = T::from_f64(LEAK);
        for (gradient, &output) in gradient.iter_mut().zip(output) {
            *gradient *= if output > T::ZERO { T::ONE } else { leak };
        }
    }
}

struct Activate<T: Scalar> {
    input: Slot,
    bias: Slot,
    mask: Mask<T>,
}

impl<T: Scalar> Backward<T> for Activate<T> {
    /// `X̄ = Ȳ ∘ mask`, `b̄ = 1ᵀX̄`.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        self.mask.apply(&mut gradient);
        if self.bias.is_some() {
            let mut sums = gradients.pool().take(1, gradient.columns());
            column_sums(&gradient, &mut sums, gradients.pool());
            gradients.add(self.bias, sums);
        }
        gradients.add(self.input, gradient);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::check::check;
    use crate::random::{Purpose, Stream};
    use crate::testing::random_matrix;

    /// `eˣ - 1` would be off by 0.14 % at -1e-5 in single precision.
    #[test]
    fn elu_keeps_its_digits_near_zero() {
        let mut values: Vec<f32> = (0..400).map(|step| -(10f32.powf(-0.1 * step as f32))).collect();
        values.extend([0.0, 1e-5, 3.0]);
        let mut outputs = values.clone();
        finish(Activation::Elu, None, 0, &mut outputs);
        for (&value, &output) in values.iter().zip(&outputs) {
            let exact = if value > 0.0 { f64::from(value) } else { f64::from(value).exp_m1() };
            let error = (f64::from(output) - exact).abs();
            assert!(error <= 3e-7 * exact.abs(), "{value}: {output} instead of {exact}");
        }
    }

    #[test]
    fn gradients() {
        let dropout = Dropout::new(0.4, Stream::new(5, Purpose::Dropout, 0, 0));
        for activation in [Activation::Relu, Activation::Identity, Activation::Elu, Activation::LeakyRelu] {
            for dropout in [None, dropout] {
                let inputs = [random_matrix(6, 5, 1), random_matrix(1, 5, 2)];
                check("activate with bias", &inputs, |tape, inputs| {
                    tape.activate(&inputs[0], Some(&inputs[1]), activation, dropout)
                });
                check("activate", &inputs[..1], |tape, inputs| {
                    tape.activate(&inputs[0], None, activation, dropout)
                });
            }
        }
    }
}
