//! The running sums behind fuzzy connections.

use std::sync::Arc;

use crate::Scalar;
use crate::elementwise::scale;
use crate::parallel::for_each_block;
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<T> {
    /// `S' = p·S + c·H`. All shapes n×d.
    pub fn accumulate(&self, keep: f64, state: &Variable<T>, share: f64, input: &Variable<T>) -> Variable<T> {
        assert_eq!(state.shape(), input.shape(), "accumulate: shapes");
        let (keep, share) = (T::from_f64(keep), T::from_f64(share));
        let columns = input.columns();
        let mut output = self.pool().take(input.rows(), columns);
        for_each_block(output.as_mut_slice(), columns, 2 * columns, |first, block| {
            let range = first * columns..first * columns + block.len();
            weighted_sum(block, keep, &state.as_slice()[range.clone()], share, &input.as_slice()[range]);
        });
        self.record(Arc::new(output), &[state.slot, input.slot], || Accumulate {
            state: (keep, state.slot),
            input: (share, input.slot),
        })
    }
}

vectorized! {
    fn weighted_sum<'a, T>(output: &'a mut [T], keep: T, state: &'a [T], share: T, input: &'a [T]) {
        for ((output, &state), &input) in output.iter_mut().zip(state).zip(input) {
            *output = keep * state + share * input;
        }
    }
}

struct Accumulate<T> {
    state: (T, Slot),
    input: (T, Slot),
}

impl<T: Scalar> Backward<T> for Accumulate<T> {
    /// `S̄ = p·S̄'`, `H̄ = c·S̄'`.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let ((keep, state), (share, input)) = (self.state, self.input);
        gradients.add_scaled(input, share, &gradient);
        if keep != T::ONE {
            scale(&mut gradient, keep);
        }
        gradients.add(state, gradient);
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::check::check;
    use crate::testing::random_matrix;

    #[test]
    fn gradient() {
        let inputs = [random_matrix(5, 3, 1), random_matrix(5, 3, 2)];
        for (keep, share) in [(0.4, 1.0), (1.0, 0.09)] {
            check("accumulate", &inputs, |tape, inputs| tape.accumulate(keep, &inputs[0], share, &inputs[1]));
        }
    }
}
