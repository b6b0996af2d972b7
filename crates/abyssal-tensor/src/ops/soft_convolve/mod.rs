//! A whole layer of R-SoftGraphAIN on a graph convolution as one operation.
//!
//! It computes what [`Tape::linear`], [`Tape::propagate`], [`Tape::combine`] and [`Tape::soft_normalize`] compute one after the
//! other. On graphs whose embeddings do not fit into the caches those spend half of their time on moving matrices, so here each
//! block of nodes goes through as many steps as it can while it is close: two passes over the nodes on the way there, two (with
//! exact gradients three) on the way back, and neither `H·W` nor `Z` is ever stored.

mod backward;
mod sums;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use super::combine::States;
use super::soft_normalize::Normalized;
use super::{Centering, Connections, Dropout, Memory, Mixture, SoftNormalization};
use crate::elementwise::scale;
use crate::gemm::mirror_lower;
use crate::kernels::Accumulate;
use crate::parallel::{even_share, partial_count, sum_while_writing};
use crate::tape::{Facts, Kept, Note, Packed, PropagatedSums, Tape, Value, Variable};
use crate::{Scalar, SparseOperator, TensorError};
use backward::SoftConvolve;
use sums::{apply_while_summing, propagated_sums};

/// Rows that go through all steps together hold at most this many values, so that they stay in a core's own cache.
const CHUNK_VALUES: usize = 3 << 14;

/// The parameters of the operation.
#[derive(Clone, Copy, Debug)]
pub struct SoftConvolution {
    /// How the aggregated term and the connections are combined. Only the aggregated term can be centred.
    pub mixture: Mixture,
    /// What the combination is normalised with.
    pub normalization: SoftNormalization,
}

impl SoftConvolution {
    /// Whether the operation can do this with embeddings of so many columns.
    pub fn is_possible(&self, columns: usize) -> bool {
        self.mixture.centering == Centering::Aggregated && !self.normalization.whitening.is_identity(columns)
    }
}

impl<T: Scalar> Tape<'_, T> {
    /// Takes up `H` into the connections, then combines them with the convolution of `H` and normalises:
    ///
    /// `S_last ← p·S_last + H`, `S_init ← S_init + c·H`, `B = α·T·A·H·W + β·S_last + γ·S_init`, `H' = dropout(σ(B·M))`,
    ///
    /// `M = a·U f(Λ) Uᵀ + (1 - a)·I`, `BᵀB = U Λ Uᵀ`. Without earlier connections `S_last = S_init = H`. Shapes: A is n×n,
    /// W d×d, all others n×d.
    ///
    /// The mean that `T` subtracts is known before `A·H·W` is: `1ᵀA·H·W / n`, with `1ᵀA` constant.
    ///
    /// # Errors
    /// If `B` holds infinity or NaN.
    ///
    /// # Panics
    /// If shapes do not fit, or it is not [possible](SoftConvolution::is_possible).
    pub fn soft_convolve(
        &self,
        layer: &SoftConvolution,
        (operator, weight): (&Arc<SparseOperator<T>>, &Variable<T>),
        hidden: &Variable<T>,
        (memory, connections): (Memory, Option<Connections<T>>),
        dropout: Option<Dropout>,
    ) -> Result<(Variable<T>, Connections<T>), TensorError> {
        let (rows, columns) = hidden.shape();
        assert_eq!(operator.matrix().rows(), rows, "soft convolution: rows");
        assert_eq!(weight.shape(), (columns, columns), "soft convolution: weights");
        assert!(layer.is_possible(columns), "soft convolution: centring or whitening");
        let pool = self.pool();
        let weights @ [alpha, _, _] = layer.mixture.weights();
        let packed = Packed::new(weight, pool);
        let (connecting, mut states) = self.connecting(weights, memory, hidden, connections);
        let (mut combined, mut output) = (pool.take(rows, columns), pool.take(rows, columns));
        let mut gram = pool.take(columns, columns);
        let (shift, noted) = match self.recall() {
            Some(Note { shift: Some(shift), whitening }) => {
                (shift, Some(self.whitener_again(&layer.normalization, whitening, dropout)))
            }
            _ => {
                let mut shift = pool.take(1, columns);
                let sums = propagated_sums(operator, hidden, pool);
                T::multiply(shift.as_mut_slice(), Accumulate::Replace, sums.as_slice(), packed.panels());
                scale(&mut shift, T::from_f64(1.0 / rows as f64));
                scale(&mut shift, alpha);
                (shift, None)
            }
        };
        pool.stock(chunk_rows(columns), columns);
        {
            let sums = if noted.is_some() { 0 } else { columns * columns };
            let mut partials = pool.take(partial_count(rows), sums.max(1));
            let (total, partials) = (&mut gram.as_mut_slice()[..sums], partials.as_mut_slice());
            let (work, shift) = (columns * columns * 2, shift.as_slice());
            // Rows of A·H·W, with room for those of A·H. What they are combined with is read right after that.
            let convolve = |range: &Range<usize>, room: &mut [T], block: &mut [T], soon: &[&[T]]| {
                let gathered = &mut room[..block.len()];
                operator.matrix().multiply_rows_into(range.start, hidden, gathered);
                T::multiply_fetching(block, Accumulate::Replace, gathered, packed.panels(), soon);
            };
            // What is done with rows of B while they are close: if M is known, that is all there is to do.
            let finish = |first, accumulate, block: &[T], output: &mut [T], partial: &mut [T]| match &noted {
                Some(whitener) => whitener.rule.apply(first, block, output),
                None => T::gram_lower(partial, accumulate, (block, columns)),
            };
            match &mut states {
                States::Running(last, initial) => {
                    let data =
                        [&mut combined, &mut output, last, initial].map(|buffer| buffer.as_mut_slice());
                    sum_while_writing((data, columns), work, total, partials, |range, blocks, partial| {
                        let mut room = pool.take(chunk_rows(columns), columns);
                        for_each_chunk(
                            (range, chunk_rows(columns)),
                            blocks,
                            columns,
                            |range, accumulate, [block, output, last, initial]| {
                                let hidden = &hidden.as_slice()[range.start * columns..range.end * columns];
                                convolve(&range, room.as_mut_slice(), block, &[hidden, last, initial]);
                                connecting.take_up_and_combine(hidden, shift, (block, last, initial));
                                finish(range.start, accumulate, block, output, partial);
                            },
                        );
                    });
                }
                States::Unchanged(last, initial) => {
                    let data = ([combined.as_mut_slice(), output.as_mut_slice()], columns);
                    sum_while_writing(data, work, total, partials, |range, blocks, partial| {
                        let mut room = pool.take(chunk_rows(columns), columns);
                        for_each_chunk(
                            (range, chunk_rows(columns)),
                            blocks,
                            columns,
                            |range, accumulate, [block, output]| {
                                let values = range.start * columns..range.end * columns;
                                let states = (&last.as_slice()[values.clone()], &initial.as_slice()[values]);
                                convolve(&range, room.as_mut_slice(), block, &[states.0, states.1]);
                                connecting.combine(shift, states, block);
                                finish(range.start, accumulate, block, output, partial);
                            },
                        );
                    });
                }
            }
        }
        let combined = Value::Computed(Arc::new(combined));
        let (whitener, propagated_sums) = match noted {
            Some(whitener) => (whitener, None),
            None => {
                mirror_lower(&mut gram);
                let whitener = self.whitener(&layer.normalization, &gram, Some(shift), dropout)?;
                let sums = apply_while_summing(&whitener.rule, operator, &combined, &mut output, pool);
                let operator = Arc::clone(operator);
                (whitener, Some(PropagatedSums { operator, sums: Arc::new(sums) }))
            }
        };
        let Normalized { output, facts, way_back } =
            self.normalized(&layer.normalization, &combined, whitener, output);
        let facts = Facts { propagated_sums, ..facts };
        let [old_last, old_initial] = connecting.old;
        let inputs = [hidden.slot, weight.slot, old_last, old_initial];
        let slots = [self.state_slot(&inputs), self.state_slot(&inputs)];
        let output = self.record(output, &inputs, || SoftConvolve {
            operator: Arc::clone(operator),
            hidden: (Kept::of(hidden), hidden.slot),
            rectified: hidden.facts.rectified,
            weight: (weight.value.clone(), weight.slot),
            connecting,
            states: slots,
            way_back,
        });
        Ok((Variable { facts, ..output }, states.into_connections(slots)))
    }
}

/// How many rows go through all steps together, at most.
fn chunk_rows(columns: usize) -> usize {
    (CHUNK_VALUES / columns.max(1)).max(1)
}

/// Calls `operation(rows, accumulate, blocks)` for one chunk of a range of rows after the other, where sums are replaced in
/// the first and added to in the others. Chunks are of about the same size, at most so many rows: every one reads and writes all weights and sums, so
/// a last one with the rows left over would cost as much for less.
fn for_each_chunk<T, const N: usize>(
    (range, most): (Range<usize>, usize),
    mut blocks: [&mut [T]; N],
    columns: usize,
    mut operation: impl FnMut(Range<usize>, Accumulate, [&mut [T]; N]),
) {
    let step = even_share(range.len(), most);
    for start in range.clone().step_by(step) {
        let chunk = start..(start + step).min(range.end);
        let values = (chunk.start - range.start) * columns..(chunk.end - range.start) * columns;
        let accumulate = if start == range.start { Accumulate::Replace } else { Accumulate::Add };
        operation(chunk, accumulate, blocks.each_mut().map(|block| &mut block[values.clone()]));
    }
}
