//! Products with weights.

use std::sync::Arc;

use crate::Scalar;
use crate::gemm::{
    multiply_into, multiply_transposed_into, transposed_product_into, transposed_product_scratch,
};
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Value, Variable};

impl<T: Scalar> Tape<T> {
    /// `Y = X · W`. Shapes: X is n×d, W d×e, Y n×e.
    pub fn linear(&self, input: &Variable<T>, weight: &Variable<T>) -> Variable<T> {
        let mut output = self.pool().take(input.rows(), weight.columns());
        multiply_into(input, weight, &mut output);
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
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let ((input, input_slot), (weight, weight_slot)) = (self.input, self.weight);
        if weight_slot.is_some() {
            let length = transposed_product_scratch(input.rows(), weight.rows(), weight.columns());
            let mut scratch = gradients.pool().take(1, length);
            let mut weight_gradient = gradients.pool().take(weight.rows(), weight.columns());
            transposed_product_into(&input, &gradient, &mut weight_gradient, scratch.as_mut_slice());
            gradients.add(weight_slot, weight_gradient);
        }
        if input_slot.is_some() {
            let mut input_gradient = gradients.pool().take(input.rows(), input.columns());
            multiply_transposed_into(&gradient, &weight, &mut input_gradient);
            gradients.add(input_slot, input_gradient);
        }
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
    }
}
