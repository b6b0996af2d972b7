//! Products with a constant sparse matrix, such as a normalised adjacency.

use std::sync::Arc;

use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::{Scalar, SparseOperator};

impl<T: Scalar> Tape<'_, T> {
    /// `Y = A · X` with constant A. Shapes: A is m×n, X n×d, Y m×d.
    pub fn propagate(&self, operator: &Arc<SparseOperator<T>>, input: &Variable<T>) -> Variable<T> {
        let mut output = self.pool().take(operator.matrix().rows(), input.columns());
        operator.matrix().multiply_into(input, &mut output);
        self.record(Arc::new(output), &[input.slot], || Propagate {
            operator: Arc::clone(operator),
            input: input.slot,
        })
    }
}

struct Propagate<T> {
    operator: Arc<SparseOperator<T>>,
    input: Slot,
}

impl<T: Scalar> Backward<T> for Propagate<T> {
    /// `X̄ = Aᵀ·Ȳ`.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let transpose = self.operator.transpose();
        let mut input_gradient = gradients.pool().take(transpose.rows(), gradient.columns());
        transpose.multiply_into(&gradient, &mut input_gradient);
        gradients.add(self.input, input_gradient);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::ops::check::check;
    use crate::testing::random_matrix;
    use crate::{Csr, SparseOperator};

    #[test]
    fn gradient() {
        let entries = vec![(0, 1, 2.0), (1, 0, -1.0), (2, 2, 0.5), (3, 0, 1.5), (3, 2, 1.0)];
        let operator = Arc::new(SparseOperator::new(Csr::from_entries(4, 3, entries).unwrap()));
        check("propagate", &[random_matrix(3, 5, 1)], |tape, inputs| tape.propagate(&operator, &inputs[0]));
    }
}
