//! Products with a sparse pattern whose values are of one pass only.

use std::sync::Arc;

use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::{Scalar, SparseOperator};

/// Other values at the places of a [`SparseOperator`], in its order and in that of its transpose.
pub struct Reweighting<T: Scalar> {
    values: Arc<Buffer<T>>,
    transposed: Arc<Buffer<T>>,
}

impl<T: Scalar> Reweighting<T> {
    /// Values at the places of an operator. Where the pattern and they are `symmetric`, they are stored once.
    pub fn new(tape: &Tape<T>, operator: &SparseOperator<T>, values: Buffer<T>, symmetric: bool) -> Self {
        let values = Arc::new(values);
        let transposed = if symmetric {
            Arc::clone(&values)
        } else {
            let mut transposed = tape.pool().take(1, values.columns());
            operator.transpose_values(values.as_slice(), transposed.as_mut_slice());
            Arc::new(transposed)
        };
        Self { values, transposed }
    }

    /// The values, in the order of the operator.
    pub fn values(&self) -> &[T] {
        self.values.as_slice()
    }
}

impl<T: Scalar> Tape<T> {
    /// `Y = A·X` with constant A: the pattern of the operator and the values of the reweighting. Shapes: A is m×n, X n×d,
    /// Y m×d.
    pub fn propagate_reweighted(
        &self,
        operator: &Arc<SparseOperator<T>>,
        reweighting: &Reweighting<T>,
        input: &Variable<T>,
    ) -> Variable<T> {
        let mut output = self.pool().take(operator.matrix().rows(), input.columns());
        operator.matrix().multiply_values_into(reweighting.values(), input, &mut output);
        self.record(Arc::new(output), &[input.slot], || PropagateReweighted {
            operator: Arc::clone(operator),
            transposed: Arc::clone(&reweighting.transposed),
            input: input.slot,
        })
    }
}

struct PropagateReweighted<T: Scalar> {
    operator: Arc<SparseOperator<T>>,
    transposed: Arc<Buffer<T>>,
    input: Slot,
}

impl<T: Scalar> Backward<T> for PropagateReweighted<T> {
    /// `X̄ = Aᵀ·Ȳ`.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let transpose = self.operator.transpose();
        let mut input_gradient = gradients.pool().take(transpose.rows(), gradient.columns());
        transpose.multiply_values_into(self.transposed.as_slice(), &gradient, &mut input_gradient);
        gradients.add(self.input, input_gradient);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::ops::check::check;
    use crate::testing::random_matrix;

    #[test]
    fn gradients() {
        let entries = vec![(0, 1, 2.0), (1, 0, -1.0), (2, 2, 0.5), (3, 0, 1.5), (3, 2, 1.0)];
        let operator = Arc::new(SparseOperator::new(Csr::from_entries(4, 3, entries).unwrap()));
        let pair =
            Arc::new(SparseOperator::new(Csr::from_entries(2, 2, vec![(0, 1, 1.0), (1, 0, 1.0)]).unwrap()));
        for (operator, rows, values, symmetric) in
            [(operator, 3, vec![0.3, 0.0, -2.0, 1.0, 0.7], false), (pair, 2, vec![0.4, 0.4], true)]
        {
            check("propagate_reweighted", &[random_matrix(rows, 5, 1)], |tape, inputs| {
                let mut buffer = tape.pool().take(1, values.len());
                buffer.as_mut_slice().copy_from_slice(&values);
                let reweighting = Reweighting::new(tape, &operator, buffer, symmetric);
                tape.propagate_reweighted(&operator, &reweighting, &inputs[0])
            });
        }
    }
}
