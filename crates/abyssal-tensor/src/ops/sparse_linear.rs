//! Products of constant sparse features with weights: sparse input stays sparse, and so does its gradient.

use std::sync::Arc;

use super::activate::finish;
use super::{Activation, Dropout};
use crate::parallel::for_each_block;
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::{Scalar, SparseOperator};

impl<T: Scalar> Tape<'_, T> {
    /// `Y = dropout(X)·W` with constant sparse X. Shapes: X is n×f, W f×d, Y n×d.
    ///
    /// Dropping a zero changes nothing, so dropout visits stored values only.
    pub fn sparse_linear(
        &self,
        features: &Arc<SparseOperator<T>>,
        dropout: Option<Dropout>,
        weight: &Variable<T>,
    ) -> Variable<T> {
        let matrix = features.matrix();
        let values = dropout.map(|dropout| {
            let mut values = self.pool().take(1, matrix.stored());
            for_each_block(values.as_mut_slice(), 1, 4, |first, block| {
                block.copy_from_slice(&matrix.values()[first..first + block.len()]);
                finish(Activation::Identity, Some(dropout), first, block);
            });
            values
        });
        let mut output = self.pool().take(matrix.rows(), weight.columns());
        let used = values.as_ref().map_or(matrix.values(), |values| values.as_slice());
        matrix.multiply_values_into(used, weight, &mut output);
        self.record(Arc::new(output), &[weight.slot], || SparseLinear {
            features: Arc::clone(features),
            values,
            weight: weight.slot,
        })
    }
}

struct SparseLinear<T: Scalar> {
    features: Arc<SparseOperator<T>>,
    /// The features after dropout, where there was one.
    values: Option<Buffer<T>>,
    weight: Slot,
}

impl<T: Scalar> Backward<T> for SparseLinear<T> {
    /// `W̄ = dropout(X)ᵀ·Ȳ`.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (matrix, transpose) = (self.features.matrix(), self.features.transpose());
        let (pool, width) = (gradients.pool(), gradient.columns());
        let mut weight_gradient = pool.take(matrix.columns(), width);
        if matrix.collects_transposed(width) {
            let values = self.values.as_ref().map_or(matrix.values(), |values| values.as_slice());
            let mut partials = pool.take(1, matrix.collect_scratch(width));
            let partials = partials.as_mut_slice();
            matrix.collect_transposed_into(values, &gradient, &mut weight_gradient, partials);
        } else if let Some(values) = &self.values {
            let mut transposed = pool.take(1, transpose.stored());
            self.features.transpose_values(values.as_slice(), transposed.as_mut_slice());
            transpose.multiply_values_into(transposed.as_slice(), &gradient, &mut weight_gradient);
        } else {
            transpose.multiply_into(&gradient, &mut weight_gradient);
        }
        gradients.add(self.weight, weight_gradient);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::ops::check::check;
    use crate::random::{Purpose, Stream};
    use crate::testing::random_matrix;

    /// With many entries for a row of weights, and with few: there are two ways back.
    #[test]
    fn gradients() {
        let entries: Vec<_> = (0..20).map(|row| (row, row % 3, f64::from(row % 7) - 2.5)).collect();
        for columns in [4, 40] {
            let features = Csr::from_entries(20, columns, entries.clone()).unwrap();
            assert_eq!(features.collects_transposed(3), columns == 4);
            let features = Arc::new(SparseOperator::new(features));
            for dropout in [None, Dropout::new(0.5, Stream::new(2, Purpose::Dropout, 0, 0))] {
                check("sparse linear", &[random_matrix(columns, 3, 1)], |tape, inputs| {
                    tape.sparse_linear(&features, dropout, &inputs[0])
                });
            }
        }
    }
}
