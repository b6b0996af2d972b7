//! The way back of a layer.

use std::sync::Arc;

use super::super::activate::keep_positive;
use super::super::combine::{Connecting, pending_gradients};
use super::super::soft_normalize::WayBack;
use super::{chunk_rows, for_each_chunk};
use crate::elementwise::{add_rows, scale};
use crate::gemm::transposed_product_scratch;
use crate::kernels::Accumulate;
use crate::parallel::{partial_count, sum_while_writing};
use crate::tape::{Backward, Buffer, Gradients, Kept, Packed, Slot, Value};
use crate::vectorized::vectorized;
use crate::{Scalar, SparseOperator};

/// What the way back of a layer needs.
pub(super) struct SoftConvolve<T: Scalar> {
    pub(super) operator: Arc<SparseOperator<T>>,
    pub(super) hidden: (Kept<T>, Slot),
    /// Whether `H` comes from a ReLU.
    pub(super) rectified: bool,
    pub(super) weight: (Value<T>, Slot),
    pub(super) connecting: Connecting<T>,
    /// The connections after; what follows has left their gradients there.
    pub(super) states: [Slot; 2],
    pub(super) way_back: WayBack<T>,
}

impl<T: Scalar> Backward<T> for SoftConvolve<T> {
    /// From `H̄'` over the normalisation to `B̄`, then
    ///
    /// `S̄_last += β·B̄`, `S̄_init += γ·B̄`, `Y = Aᵀ·α·T·B̄ = Aᵀ·α·B̄ - (Aᵀ1)·μ` with `μ = α·1ᵀB̄ / n`,
    /// `H̄ = S̄_last + c·S̄_init + Y·Wᵀ`, `W̄ = Hᵀ·Y`, and last `S̄_last ← p·S̄_last`. Where a ReLU gave `H`, what it stopped is left out of `H̄` at once.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let Self { operator, hidden, rectified, weight, connecting, states, way_back } = *self;
        let ((hidden, hidden_slot), (weight, weight_slot)) = (hidden, weight);
        let way_back = way_back.of_gradient(gradients.is_rectified());
        let (rows, columns) = gradient.shape();
        let pool = gradients.pool().clone();
        let gram_gradient = way_back.gram_gradient(&mut gradient, &pool);
        let mut states = pending_gradients(states, (rows, columns), gradients);
        let mut outer = pool.take(rows, columns);
        let mut mean = pool.take(1, columns);
        {
            let mut partials = pool.take(partial_count(rows), columns);
            let unshifted = pool.take_zeros(1, columns);
            let [last, initial] = &mut states;
            let data = [&mut gradient, last, initial, &mut outer].map(|buffer| buffer.as_mut_slice());
            let (total, partials) = (mean.as_mut_slice(), partials.as_mut_slice());
            let work = way_back.work_per_row();
            sum_while_writing((data, columns), work, total, partials, |range, blocks, partial| {
                partial.fill(T::ZERO);
                for_each_chunk(
                    (range, chunk_rows(columns)),
                    blocks,
                    columns,
                    |range, _, [gradient, last, initial, outer]| {
                        way_back.input_gradient(
                            range.start,
                            gradient,
                            gram_gradient.as_ref(),
                            outer,
                            &[last, initial],
                        );
                        connecting.spread(unshifted.as_slice(), outer, (last, initial), gradient);
                        add_rows(partial, outer);
                    },
                );
            });
        }
        scale(&mut mean, T::from_f64(1.0 / rows as f64));

        let mut weight_gradient = pool.take(columns, columns);
        let back = Packed::transposed(&weight, &pool);
        let room = 2 * chunk_rows(columns);
        pool.stock(room, columns);
        {
            let mut partials = pool.take(1, transposed_product_scratch(rows, columns, columns));
            let (total, partials) = (weight_gradient.as_mut_slice(), partials.as_mut_slice());
            let data = ([gradient.as_mut_slice()], columns);
            let work = 2 * columns * columns;
            sum_while_writing(data, work, total, partials, |range, blocks, partial| {
                let mut room = pool.take(room, columns);
                let (gathered, again) = room.as_mut_slice().split_at_mut(chunk_rows(columns) * columns);
                for_each_chunk(
                    (range, chunk_rows(columns)),
                    blocks,
                    columns,
                    |range, accumulate, [target]| {
                        let gathered = &mut gathered[..target.len()];
                        operator.transpose().multiply_rows_into(range.start, &outer, gathered);
                        shift_weighted_rows(
                            gathered,
                            &operator.column_sums()[range.clone()],
                            mean.as_slice(),
                        );
                        let hidden = hidden.rows(range, &mut again[..target.len()]);
                        T::multiply_fetching(target, Accumulate::Add, gathered, back.panels(), &[hidden]);
                        if rectified {
                            keep_positive(target, hidden, T::ONE);
                        }
                        let hidden = (hidden, columns, 0..columns);
                        T::multiply_transposed(partial, accumulate, hidden, (gathered, columns));
                    },
                );
            });
        }
        match rectified {
            true => gradients.add_rectified(hidden_slot, gradient),
            false => gradients.add(hidden_slot, gradient),
        }
        gradients.add(weight_slot, weight_gradient);
        connecting.hand_on(states, gradients);
    }
}

vectorized! {
    /// `rows -= weights·shift`, an outer product.
    fn shift_weighted_rows<'a, T>(rows: &'a mut [T], weights: &'a [T], shift: &'a [T]) {
        for (row, &weight) in rows.chunks_exact_mut(shift.len().max(1)).zip(weights) {
            for (value, &shift) in row.iter_mut().zip(shift) {
                *value -= weight * shift;
            }
        }
    }
}
