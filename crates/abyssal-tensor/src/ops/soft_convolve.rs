//! A whole layer of R-SoftGraphAIN on a graph convolution as one operation.
//!
//! It computes what [`Tape::linear`], [`Tape::propagate`], [`Tape::combine`] and [`Tape::soft_normalize`] compute one after the
//! other. On graphs whose embeddings do not fit into the caches those spend half of their time on moving matrices, so here each
//! block of nodes goes through as many steps as it can while it is close: two passes over the nodes on the way there, two (with
//! exact gradients three) on the way back, and neither `H·W` nor `Z` is ever stored.

use std::ops::Range;
use std::sync::Arc;

use super::activate::keep_positive;
use super::combine::{Connecting, States, pending_gradients};
use super::soft_normalize::{Normalized, Rule, WayBack};
use super::{Centering, Connections, Dropout, Memory, Mixture, SoftNormalization};
use crate::elementwise::{add_rows, scale};
use crate::gemm::{mirror_lower, rows_of, transposed_product_scratch};
use crate::kernels::Accumulate;
use crate::parallel::{block_rows, even_share, partial_count, sum_over_rows, sum_while_writing};
use crate::tape::{
    Backward, Buffer, Facts, Gradients, Kept, Note, Packed, Pool, PropagatedSums, Slot, Tape, Value, Variable,
};
use crate::vectorized::vectorized;
use crate::{Matrix, Scalar, SparseOperator, TensorError};

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

/// `1ᵀA·H`, with which the mean of `A·H·W` is known before that is. Shape 1×d.
fn propagated_sums<T: Scalar>(
    operator: &Arc<SparseOperator<T>>,
    hidden: &Variable<T>,
    pool: &Pool<T>,
) -> Arc<Buffer<T>> {
    if let Some(known) = &hidden.facts.propagated_sums
        && Arc::ptr_eq(&known.operator, operator)
    {
        return Arc::clone(&known.sums);
    }
    let (rows, columns) = hidden.shape();
    let mut sums = pool.take(1, columns);
    let mut partials = pool.take(partial_count(rows), columns);
    let (total, room) = (sums.as_mut_slice(), partials.as_mut_slice());
    sum_over_rows(rows, columns, total, room, |range, partial| {
        partial.fill(T::ZERO);
        let values = &hidden.as_slice()[range.start * columns..range.end * columns];
        add_weighted_rows(partial, &operator.column_sums()[range], values);
    });
    Arc::new(sums)
}

/// All rows of `H`, whose [sums](propagated_sums) are taken while they are close: in the same order, so that they have the same bits.
fn apply_while_summing<T: Scalar>(
    rule: &Rule<T>,
    operator: &SparseOperator<T>,
    combined: &Matrix<T>,
    output: &mut Matrix<T>,
    pool: &Pool<T>,
) -> Buffer<T> {
    let (rows, columns) = combined.shape();
    let mut sums = pool.take(1, columns);
    let mut partials = pool.take(partial_count(rows), columns);
    let (total, room) = (sums.as_mut_slice(), partials.as_mut_slice());
    let data = ([output.as_mut_slice()], columns);
    sum_while_writing(data, columns * columns, total, room, |range, blocks, partial| {
        partial.fill(T::ZERO);
        let most = block_rows(range.len(), columns);
        for_each_chunk((range, most), blocks, columns, |range, _, [block]| {
            rule.apply(range.start, rows_of(combined, range.start, range.len()), block);
            add_weighted_rows(partial, &operator.column_sums()[range], block);
        });
    });
    sums
}

vectorized! {
    /// `sums += weightsᵀ·rows`.
    fn add_weighted_rows<'a, T>(sums: &'a mut [T], weights: &'a [T], rows: &'a [T]) {
        for (row, &weight) in rows.chunks_exact(sums.len().max(1)).zip(weights) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += weight * value;
            }
        }
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

struct SoftConvolve<T: Scalar> {
    operator: Arc<SparseOperator<T>>,
    hidden: (Kept<T>, Slot),
    /// Whether `H` comes from a ReLU.
    rectified: bool,
    weight: (Value<T>, Slot),
    connecting: Connecting<T>,
    /// The connections after; what follows has left their gradients there.
    states: [Slot; 2],
    way_back: WayBack<T>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::ops::check::check;
    use crate::ops::{Activation, Gradient};
    use crate::random::{Purpose, Stream};
    use crate::spectral::Whitening;
    use crate::testing::random_matrix;

    const MIXTURE: Mixture =
        Mixture { aggregated: 0.5, residual: 0.3, initial: 0.2, centering: Centering::Aggregated };

    /// Not symmetric, so that the transpose shows; every node is connected to three others and itself.
    fn operator(nodes: usize) -> Arc<SparseOperator<f64>> {
        let entries = (0..nodes as u32).flat_map(|row| {
            [0, 1, 5, 11].map(|step| (row, (row + step) % nodes as u32, 0.1 + f64::from((row + step) % 4)))
        });
        Arc::new(SparseOperator::new(Csr::from_entries(nodes, nodes, entries.collect()).unwrap()))
    }

    fn layer(gradient: Gradient) -> SoftConvolution {
        let whitening = Whitening { strength: 0.6, exponent: 0.9, rank: 3 };
        let normalization = SoftNormalization { whitening, gradient, activation: Activation::Relu };
        SoftConvolution { mixture: MIXTURE, normalization }
    }

    /// What a layer does: from weights and an embedding with connections to the next ones.
    type Layer<'a> = &'a dyn Fn(
        &Tape<f64>,
        (&Arc<SparseOperator<f64>>, &Variable<f64>),
        &Variable<f64>,
        (Memory, Option<Connections<f64>>),
    ) -> (Variable<f64>, Connections<f64>);

    /// Three layers on the first of the inputs, with the others as weights: connections begin, go on and end.
    fn three_layers(
        tape: &Tape<f64>,
        operator: &Arc<SparseOperator<f64>>,
        inputs: &[Variable<f64>],
        (keep, decay): (f64, f64),
        layer: Layer,
    ) -> Variable<f64> {
        let (mut hidden, mut connections, mut share) = (inputs[0].clone(), None, 1.0);
        for weight in &inputs[1..] {
            let memory = Memory { keep, share };
            let (next, after) = layer(tape, (operator, weight), &hidden, (memory, connections));
            (hidden, connections, share) = (next, Some(after), share * decay);
        }
        hidden
    }

    #[test]
    fn gradients() {
        let operator = operator(12);
        let inputs =
            [random_matrix(12, 4, 1), random_matrix(4, 4, 2), random_matrix(4, 4, 3), random_matrix(4, 4, 4)];
        for memory in [(0.4, 0.3), (0.0, 0.0), (0.4, 0.0)] {
            check("soft convolution", &inputs, |tape, inputs| {
                three_layers(tape, &operator, inputs, memory, &|tape, convolution, hidden, connections| {
                    let layer = layer(Gradient::Full);
                    tape.soft_convolve(&layer, convolution, hidden, connections, None).unwrap()
                })
            });
        }
    }

    /// Of what reads an embedding that comes from a ReLU, a convolution leaves out on the way back what does not count; others do not.
    #[test]
    fn gradients_of_embeddings_that_others_read_too() {
        let (operator, layer) = (operator(12), layer(Gradient::Full));
        let inputs = [random_matrix(12, 4, 1), random_matrix(4, 4, 2), random_matrix(4, 4, 3)];
        check("soft convolution beside others", &inputs, |tape, inputs| {
            let convolve = |weight, hidden: &_, share, connections| {
                let memory = Memory { keep: 0.4, share };
                tape.soft_convolve(&layer, (&operator, weight), hidden, (memory, connections), None).unwrap()
            };
            let (first, connections) = convolve(&inputs[1], &inputs[0], 1.0, None);
            let (second, _) = convolve(&inputs[2], &first, 0.3, Some(connections));
            // Everything that is not positive counts here, were it not for the ReLU.
            let elsewhere = tape.propagate(&operator, &first);
            tape.weighted_sum(&[(1.0, &second), (0.5, &elsewhere)])
        });
    }

    /// What was summed up while rows were written is what another pass over them gives, and none of another operator.
    #[test]
    fn sums_that_came_with_an_embedding_have_the_same_bits() {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let (ours, others) = (operator(600), operator(600));
        let [input, weight] = [(600, 200, 1), (200, 200, 2)]
            .map(|(rows, columns, seed)| tape.constant(&Arc::new(random_matrix(rows, columns, seed))));
        let connections = (Memory { keep: 0.4, share: 1.0 }, None);
        let (hidden, _) =
            tape.soft_convolve(&layer(Gradient::Full), (&ours, &weight), &input, connections, None).unwrap();
        let came_with = propagated_sums(&ours, &hidden, &pool);
        assert!(Arc::ptr_eq(&came_with, &hidden.facts.propagated_sums.as_ref().unwrap().sums));
        let again = propagated_sums(&others, &hidden, &pool);
        assert!(!Arc::ptr_eq(&came_with, &again));
        assert_eq!(came_with.as_slice(), again.as_slice());
    }

    /// The embedding after three layers and all gradients for one of it, and how many free n×d buffers there are afterwards.
    fn there_and_back(
        sparing: bool,
        operator: &Arc<SparseOperator<f64>>,
        columns: usize,
        layer: Layer,
    ) -> (Vec<Matrix<f64>>, usize) {
        let pool = Pool::new().sparing(sparing);
        let nodes = operator.matrix().rows();
        let results = {
            let tape = Tape::recording(&pool);
            let weights = (2..5).map(|seed| random_matrix(columns, columns, seed));
            let inputs: Vec<_> = std::iter::once(random_matrix(nodes, columns, 1))
                .chain(weights)
                .map(|input| tape.parameter(&Arc::new(input)))
                .collect();
            let output = three_layers(&tape, operator, &inputs, (0.4, 0.3), layer);
            let mut seed = pool.take(nodes, columns);
            seed.as_mut_slice().copy_from_slice(random_matrix(nodes, columns, 9).as_slice());
            let mut gradients = tape.backward_from(&output, seed);
            let gradients = inputs.iter().map(|input| Matrix::clone(&gradients.take(input).unwrap()));
            std::iter::once(Matrix::clone(&output)).chain(gradients).collect()
        };
        let free = pool.lengths().into_iter().find(|&(length, _)| length == nodes * columns);
        (results, free.map_or(0, |(_, count)| count))
    }

    fn dropout() -> Option<Dropout> {
        Dropout::new(0.3, Stream::new(1, Purpose::Dropout, 0, 0))
    }

    /// One after the other, the operations it is made of give the same, also where ranges of rows have several chunks.
    #[test]
    fn it_equals_its_parts() {
        for (nodes, columns) in [(13, 3), (600, 200)] {
            assert_eq!(nodes == 600, nodes / 2 > chunk_rows(columns), "several chunks");
            for (gradient, dropout) in [
                (Gradient::Full, None),
                (Gradient::Full, dropout()),
                (Gradient::Detached, None),
                (Gradient::Detached, dropout()),
            ] {
                let layer = layer(gradient);
                let whole: Layer = &|tape, convolution, hidden, connections| {
                    tape.soft_convolve(&layer, convolution, hidden, connections, dropout).unwrap()
                };
                let parts: Layer = &|tape, (operator, weight), hidden, (memory, connections)| {
                    let aggregated = tape.propagate(operator, &tape.linear(hidden, weight));
                    let (combined, connections) =
                        tape.combine(&layer.mixture, &aggregated, hidden, memory, connections);
                    (tape.soft_normalize(&layer.normalization, &combined, dropout).unwrap(), connections)
                };
                let [(whole, _), (parts, _)] =
                    [whole, parts].map(|layer| there_and_back(false, &operator(nodes), columns, layer));
                for (whole, parts) in whole.iter().zip(&parts) {
                    let size = parts.as_slice().iter().fold(1.0, |size: f64, value| size.max(value.abs()));
                    let dropped = dropout.is_some();
                    assert!(
                        whole.max_difference(parts) < 1e-9 * size,
                        "{nodes} nodes, {gradient:?}, dropped: {dropped}"
                    );
                }
            }
        }
    }

    /// Of three layers, two read an embedding that exact gradients can compute again.
    #[test]
    fn a_sparing_pool_keeps_less_for_the_same_bits() {
        for (gradient, fewer) in [(Gradient::Full, 2), (Gradient::Detached, 0)] {
            for (nodes, columns) in [(13, 3), (600, 200)] {
                let layer: Layer = &|tape, convolution, hidden, connections| {
                    tape.soft_convolve(&layer(gradient), convolution, hidden, connections, dropout()).unwrap()
                };
                let [(kept, all), (again, some)] =
                    [false, true].map(|sparing| there_and_back(sparing, &operator(nodes), columns, layer));
                assert_eq!(again, kept, "{nodes} nodes, {gradient:?}");
                assert_eq!(some, all - fewer, "{nodes} nodes, {gradient:?}");
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_an_error() {
        let tape = Tape::inference(&Pool::new());
        let mut input = random_matrix(13, 3, 1);
        input.set(2, 1, f64::NAN);
        let (input, weight) =
            (tape.constant(&Arc::new(input)), tape.constant(&Arc::new(random_matrix(3, 3, 2))));
        let connections = (Memory { keep: 0.4, share: 1.0 }, None);
        let result =
            tape.soft_convolve(&layer(Gradient::Full), (&operator(13), &weight), &input, connections, None);
        assert!(result.is_err());
    }
}
