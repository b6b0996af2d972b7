//! Products with weights.

use std::sync::Arc;

use crate::Scalar;
use crate::gemm::{multiply_into, rows_of, transposed_product_into, transposed_product_scratch};
use crate::kernels::Accumulate;
use crate::parallel::sum_while_writing;
use crate::tape::{Backward, Buffer, Gradients, Packed, Slot, Tape, Value, Variable};

impl<T: Scalar> Tape<'_, T> {
    /// `Y = X · W`. Shapes: X is n×d, W d×e, Y n×e.
    pub fn linear(&self, input: &Variable<T>, weight: &Variable<T>) -> Variable<T> {
        let mut output = self.pool().take(input.rows(), weight.columns());
        multiply_into(input, Packed::new(weight, self.pool()).panels(), &mut output);
        self.record(Arc::new(output), &[input.slot, weight.slot], || Linear {
            input: (input.value.clone(), input.slot),
            weight: (weight.value.clone(), weight.slot),
        })
    }
}

struct Linear<T: Scalar> {
    input: (Value<T>, Slot),
    weight: (Value<T>, Slot),
}

impl<T: Scalar> Backward<T> for Linear<T> {
    /// `X̄ = Ȳ·Wᵀ`, `W̄ = Xᵀ·Ȳ`.
    ///
    /// Both read `Ȳ`, so they go over it together; `X̄` is added in place to what was gathered before.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let ((input, input_slot), (weight, weight_slot)) = (self.input, self.weight);
        let (rows, columns) = input.shape();
        let pool = gradients.pool().clone();
        let mut weight_gradient = pool.take(weight.rows(), weight.columns());
        let mut scratch = pool.take(1, transposed_product_scratch(rows, weight.rows(), weight.columns()));
        if input_slot.is_none() {
            transposed_product_into(&input, &gradient, &mut weight_gradient, scratch.as_mut_slice());
        } else {
            let mut fresh = None;
            let (target, accumulate) = match gradients.gathered(input_slot) {
                Some(gathered) => (gathered, Accumulate::Add),
                None => (fresh.insert(pool.take(rows, columns)), Accumulate::Replace),
            };
            let back = Packed::transposed(&weight, &pool);
            let work = 2 * weight.rows() * weight.columns();
            let (total, partials) = (weight_gradient.as_mut_slice(), scratch.as_mut_slice());
            sum_while_writing(
                ([target.as_mut_slice()], columns),
                work,
                total,
                partials,
                |range, [block], partial| {
                    let outer = rows_of(&gradient, range.start, range.len());
                    T::multiply(block, accumulate, outer, back.panels());
                    let input = (rows_of(&input, range.start, range.len()), columns, 0..columns);
                    T::multiply_transposed(partial, Accumulate::Replace, input, (outer, weight.columns()));
                },
            );
            if let Some(fresh) = fresh {
                gradients.add(input_slot, fresh);
            }
        }
        gradients.add(weight_slot, weight_gradient);
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::check::check;
    use crate::testing::random_matrix;

    #[test]
    fn gradient() {
        let inputs = [random_matrix(7, 4, 1), random_matrix(4, 3, 2)];
        check("linear", &inputs, |tape, inputs| tape.linear(&inputs[0], &inputs[1]));
        let square = [random_matrix(7, 4, 1), random_matrix(4, 4, 2)];
        check("linear, input used twice", &square, |tape, inputs| {
            let once = tape.linear(&inputs[0], &inputs[1]);
            tape.linear(&once, &tape.linear(&inputs[1], &inputs[1]))
        });
    }
}
