//! Signed graph attention (Bo et al.: *Beyond low-frequency information in graph convolutional networks*, AAAI 2021)
//! without messages on edges.

use std::sync::Arc;

use super::Dropout;
use super::inputs::Inputs;
use super::kernels::{drop_values, multiply_ends};
use crate::parallel::{for_each_block, for_each_ragged_block};
use crate::tape::{Backward, Buffer, Gradients, Pool, Tape, Variable};
use crate::vectorized::vectorized;
use crate::{Csr, Scalar, SparseOperator};

impl<T: Scalar> Tape<'_, T> {
    /// `Y_i = Σ_j dropout(g_ij)·A_ij·X_j`, `g_ij = tanh(⟨t, X_i⟩ + ⟨s, X_j⟩)`, where j runs over the stored entries of
    /// row i of A: what a node is told counts from -1 to 1 times as much as A says.
    ///
    /// Shapes: A is n×n, X and Y are n×d, s (`source`, the one who is heard) and t (`target`, the one who hears) are 1×d.
    /// Of the edges only `g` is kept, a number each. A row without entries gives zeros.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn attend_signed(
        &self,
        operator: &Arc<SparseOperator<T>>,
        input: &Variable<T>,
        source: &Variable<T>,
        target: &Variable<T>,
        dropout: Option<Dropout>,
    ) -> Variable<T> {
        assert_eq!(source.rows(), 1, "signed attention has one head");
        let inputs = Inputs::new(operator, input, source, target);
        let (matrix, pool) = (operator.matrix(), self.pool());
        let mut gates = pool.take(matrix.stored(), 1);
        {
            let scores = inputs.scores(pool);
            let work = 16 * inputs.entries();
            for_each_ragged_block(gates.as_mut_slice(), matrix.offsets(), 1, work, |first, block| {
                let offsets = &matrix.offsets()[first..];
                gate_edges(offsets, matrix.indices(), scores.as_slice(), first, block);
            });
        }
        let mut output = pool.take(input.rows(), input.columns());
        let weights = weights(matrix, &gates, dropout, pool);
        matrix.multiply_values_into(weights.as_slice(), input, &mut output);
        let slots = inputs.slots();
        self.record(Arc::new(output), &slots, || AttendSigned { inputs, gates, dropout })
    }
}

struct AttendSigned<T: Scalar> {
    inputs: Inputs<T>,
    /// `g` before dropout, one an edge.
    gates: Buffer<T>,
    dropout: Option<Dropout>,
}

impl<T: Scalar> Backward<T> for AttendSigned<T> {
    /// With `z_ij` what tanh reads: `z̄_ij = (1 - g_ij²)·A_ij·dropout(⟨Ȳ_i, X_j⟩)`; the rest is shared by all attention.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let matrix = self.inputs.pattern.matrix();
        let input = &self.inputs.rows.0;
        let columns = input.columns();
        let pool = gradients.pool().clone();
        let mut score_gradients = pool.take(matrix.stored(), 1);
        let work = columns * self.inputs.entries();
        for_each_ragged_block(score_gradients.as_mut_slice(), matrix.offsets(), 1, work, |first, block| {
            let offsets = &matrix.offsets()[first..];
            let edges = offsets[0]..offsets[0] + block.len();
            let ends = (gradient.as_slice(), input.as_slice());
            multiply_ends(offsets, matrix.indices(), ends, (first, 1, columns), block);
            if let Some(dropout) = self.dropout {
                drop_values(dropout, edges.start, block);
            }
            gate_backward(&self.gates.as_slice()[edges.clone()], &matrix.values()[edges], block);
        });
        let sums = self.inputs.scores_backward(score_gradients, gradients);
        let weights = weights(matrix, &self.gates, self.dropout, &pool);
        self.inputs.rows_backward(&sums, &weights, &gradient, gradients);
    }
}

/// `dropout(g_ij)·A_ij` for all edges.
fn weights<T: Scalar>(
    matrix: &Csr<T>,
    gates: &Buffer<T>,
    dropout: Option<Dropout>,
    pool: &Pool<T>,
) -> Buffer<T> {
    let mut weights = pool.take(matrix.stored(), 1);
    for_each_block(weights.as_mut_slice(), 1, 4, |first, block| {
        let edges = first..first + block.len();
        multiply(&gates.as_slice()[edges.clone()], &matrix.values()[edges], block);
        if let Some(dropout) = dropout {
            drop_values(dropout, first, block);
        }
    });
    weights
}

vectorized! {
    /// `g` of the rows from `first` on.
    fn gate_edges<'a, T>(
        offsets: &'a [usize],
        indices: &'a [u32],
        scores: &'a [T],
        first: usize,
        gates: &'a mut [T],
    ) {
        let start = offsets[0];
        for (row, bounds) in offsets.windows(2).enumerate() {
            if bounds[0] - start >= gates.len() {
                break;
            }
            let own = scores[2 * (first + row)];
            let gates = &mut gates[bounds[0] - start..bounds[1] - start];
            for (gate, &neighbour) in gates.iter_mut().zip(&indices[bounds[0]..bounds[1]]) {
                *gate = Scalar::tanh(own + scores[2 * neighbour as usize + 1]);
            }
        }
    }
}

vectorized! {
    /// `product = left ∘ right`.
    fn multiply<'a, T>(left: &'a [T], right: &'a [T], product: &'a mut [T]) {
        for ((product, &left), &right) in product.iter_mut().zip(left).zip(right) {
            *product = left * right;
        }
    }
}

vectorized! {
    /// `gradient ∘= (1 - g²) ∘ A`.
    fn gate_backward<'a, T>(gates: &'a [T], values: &'a [T], gradient: &'a mut [T]) {
        for ((gradient, &gate), &value) in gradient.iter_mut().zip(gates).zip(values) {
            *gradient *= (T::ONE - gate * gate) * value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::ops::check::check;
    use crate::random::{Purpose, Stream};
    use crate::testing::random_matrix;

    /// Not symmetric, neither in its pattern nor in its values: nobody hears 3, and 4 hears nobody.
    fn operator() -> Arc<SparseOperator<f64>> {
        let entries =
            vec![(0, 1, 0.5), (0, 2, -1.5), (1, 0, 2.0), (1, 4, 0.7), (2, 0, 1.0), (3, 0, 0.3), (3, 2, -0.4)];
        Arc::new(SparseOperator::new(Csr::from_entries(5, 5, entries).unwrap()))
    }

    #[test]
    fn gradients() {
        for width in [1, 3, 9] {
            for dropout in [None, Dropout::new(0.4, Stream::new(5, Purpose::Dropout, 0, 0))] {
                let inputs =
                    [random_matrix(5, width, 1), random_matrix(1, width, 2), random_matrix(1, width, 3)];
                check(&format!("signed attention, width {width}"), &inputs, |tape, inputs| {
                    tape.attend_signed(&operator(), &inputs[0], &inputs[1], &inputs[2], dropout)
                });
            }
        }
    }

    /// Far from zero the gate is 1 or -1, whatever the exponential does; who hears nobody gets zeros.
    #[test]
    fn large_scores_agree_or_disagree() {
        let tape = Tape::<f64>::inference(&Pool::new());
        let rows = Matrix::from_rows(&[[0.0, 1.0], [1e6, 2.0], [-1e6, 3.0], [0.0, 4.0], [1e6, 5.0]]);
        let rows = tape.constant(&Arc::new(rows));
        let vector = |value| tape.constant(&Arc::new(Matrix::from_rows(&[[value, 0.0]])));
        let output = tape.attend_signed(&operator(), &rows, &vector(1.0), &vector(0.0), None);
        assert_eq!(output.get(0, 1), 0.5 * 2.0 + 1.5 * 3.0);
        assert_eq!(output.get(1, 1), 0.7 * 5.0);
        assert_eq!(output.row(4), &[0.0, 0.0]);
    }
}
