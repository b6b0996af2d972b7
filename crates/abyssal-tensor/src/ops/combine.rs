//! Centring, and the weighted sum of an aggregated embedding with its skip connections.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Scalar;
use crate::elementwise::{column_sums, scale, shift_and_scale};
use crate::parallel::for_each_block;
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::vectorized::vectorized;

/// What the centring operator `T` (subtract the column mean) is applied to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Centering {
    /// The aggregated term only, as in the paper: `B = α·T·Z + β·S_last + γ·S_init`.
    #[default]
    Aggregated,
    /// The whole combination, as in the released code: `B = T·(α·Z + β·S_last + γ·S_init)`.
    Combined,
}

/// The weights of a combination, and where it is centred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixture {
    /// `α`, the weight of the aggregated term.
    pub aggregated: f64,
    /// `β`, the weight of the residual connection.
    pub residual: f64,
    /// `γ`, the weight of the initial connection.
    pub initial: f64,
    /// What is centred.
    pub centering: Centering,
}

impl<T: Scalar> Tape<T> {
    /// `T·Z`: every column minus its mean. Shape n×d.
    pub fn center(&self, input: &Variable<T>) -> Variable<T> {
        let mixture =
            Mixture { aggregated: 1.0, residual: 0.0, initial: 0.0, centering: Centering::Aggregated };
        self.combine(&mixture, input, None)
    }

    /// `B = α·T·Z + β·S_last + γ·S_init`, or with the centring around the whole. All shapes n×d.
    ///
    /// `connections` are `(S_last, S_init)`; without them only the first term is left.
    pub fn combine(
        &self,
        mixture: &Mixture,
        input: &Variable<T>,
        connections: Option<(&Variable<T>, &Variable<T>)>,
    ) -> Variable<T> {
        let (rows, columns) = input.shape();
        let mut output = self.pool().take(rows, columns);
        let [alpha, beta, gamma] = [mixture.aggregated, mixture.residual, mixture.initial].map(T::from_f64);
        // What is subtracted from every row while the terms are added: α times the mean, where only Z is centred.
        let mut shift = self.pool().take(1, columns);
        match mixture.centering {
            Centering::Aggregated => {
                column_sums(input, &mut shift, self.pool());
                scale(&mut shift, alpha / T::from_f64(rows as f64));
            }
            Centering::Combined => shift.as_mut_slice().fill(T::ZERO),
        }
        for_each_block(output.as_mut_slice(), columns, 4 * columns, |first, block| {
            let range = first * columns..first * columns + block.len();
            let shift = shift.as_slice();
            shifted_copy(block, alpha, &input.as_slice()[range.clone()], shift);
            if let Some((last, initial)) = connections {
                let (last, initial) = (&last.as_slice()[range.clone()], &initial.as_slice()[range]);
                add_connections(block, beta, last, gamma, initial);
            }
        });
        if mixture.centering == Centering::Combined {
            column_sums(&output, &mut shift, self.pool());
            scale(&mut shift, T::from_f64(1.0 / rows as f64));
            shift_and_scale(&mut output, &shift, T::ONE);
        }
        let slots = connections.map_or([None, None], |(last, initial)| [last.slot, initial.slot]);
        self.record(Arc::new(output), &[input.slot, slots[0], slots[1]], || Combine {
            weights: [alpha, beta, gamma],
            centering: mixture.centering,
            input: input.slot,
            last: slots[0],
            initial: slots[1],
        })
    }
}

vectorized! {
    /// `output = α·input - 1·shift`.
    fn shifted_copy<'a, T>(output: &'a mut [T], alpha: T, input: &'a [T], shift: &'a [T]) {
        let width = shift.len().max(1);
        for (output, input) in output.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
            for ((output, &input), &shift) in output.iter_mut().zip(input).zip(shift) {
                *output = alpha * input - shift;
            }
        }
    }
}

vectorized! {
    /// `output += β·last + γ·initial`, while the block is still in the cache.
    fn add_connections<'a, T>(output: &'a mut [T], beta: T, last: &'a [T], gamma: T, initial: &'a [T]) {
        for ((output, &last), &initial) in output.iter_mut().zip(last).zip(initial) {
            *output += beta * last + gamma * initial;
        }
    }
}

struct Combine<T> {
    weights: [T; 3],
    centering: Centering,
    input: Slot,
    last: Slot,
    initial: Slot,
}

impl<T: Scalar> Backward<T> for Combine<T> {
    /// `T` is symmetric: `Z̄ = α·T·B̄`, `S̄_last = β·B̄`, `S̄_init = γ·B̄`, or all of them from `T·B̄`.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let [alpha, beta, gamma] = self.weights;
        let mut mean = gradients.pool().take(1, gradient.columns());
        column_sums(&gradient, &mut mean, gradients.pool());
        scale(&mut mean, T::from_f64(1.0 / gradient.rows() as f64));
        if self.centering == Centering::Combined {
            shift_and_scale(&mut gradient, &mean, T::ONE);
            mean.as_mut_slice().fill(T::ZERO);
        }
        gradients.add_scaled(self.last, beta, &gradient);
        gradients.add_scaled(self.initial, gamma, &gradient);
        shift_and_scale(&mut gradient, &mean, alpha);
        gradients.add(self.input, gradient);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ops::check::check;
    use crate::tape::Pool;
    use crate::testing::random_matrix;

    #[test]
    fn gradients() {
        let inputs = [random_matrix(6, 3, 1), random_matrix(6, 3, 2), random_matrix(6, 3, 3)];
        for centering in [Centering::Aggregated, Centering::Combined] {
            let mixture = Mixture { aggregated: 0.5, residual: 0.3, initial: 0.2, centering };
            check("combine", &inputs, |tape, inputs| {
                tape.combine(&mixture, &inputs[0], Some((&inputs[1], &inputs[2])))
            });
        }
        check("center", &inputs[..1], |tape, inputs| tape.center(&inputs[0]));
    }

    #[test]
    fn a_variable_may_be_both_connections() {
        let mixture =
            Mixture { aggregated: 0.5, residual: 0.3, initial: 0.2, centering: Centering::Aggregated };
        let inputs = [random_matrix(6, 3, 1), random_matrix(6, 3, 2)];
        check("combine", &inputs, |tape, inputs| {
            tape.combine(&mixture, &inputs[0], Some((&inputs[1], &inputs[1])))
        });
    }

    #[test]
    fn centred_columns_sum_to_zero() {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let centred = tape.center(&tape.constant(&Arc::new(random_matrix(50, 4, 1))));
        let mut sums = pool.take(1, 4);
        column_sums(&centred, &mut sums, &pool);
        assert!(sums.as_slice().iter().all(|sum| sum.abs() < 1e-12));
    }
}
