//! Centring, and the weighted sum of an aggregated embedding with its fuzzy connections.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Scalar;
use crate::elementwise::{column_sums, scale, shift_and_scale};
use crate::parallel::{for_each_block, for_each_block_of};
use crate::tape::{Backward, Buffer, Facts, Gradients, Slot, Tape, Value, Variable};
use crate::vectorized::vectorized;

/// What the centring operator `T` (subtract the column mean) is applied to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Centering {
    /// The aggregated term only, as in the paper: `B = α·T·Z + β·S_last + γ·S_init`.
    #[default]
    Aggregated,
    /// The whole combination, as in the released code: `B = T·(α·Z + β·S_last + γ·S_init)`.
    Combined,
}

/// The weights of a combination, and where it is centred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixture {
    /// `α`, the weight of the aggregated term.
    pub aggregated: f64,
    /// `β`, the weight of the residual connection.
    pub residual: f64,
    /// `γ`, the weight of the initial connection.
    pub initial: f64,
    /// What is centred.
    pub centering: Centering,
}

impl Mixture {
    /// `(α, β, γ)`.
    pub(super) fn weights<T: Scalar>(&self) -> [T; 3] {
        [self.aggregated, self.residual, self.initial].map(T::from_f64)
    }
}

/// How the connections take up a new embedding: `S_last ← p·S_last + H`, `S_init ← S_init + c·H`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// `p`.
    pub keep: f64,
    /// `c`.
    pub share: f64,
}

/// The fuzzy connections `S_last` and `S_init`. They belong to the next [`Tape::combine`] and to nothing else, so
/// their memory is used again in place.
pub struct Connections<T: Scalar> {
    last: Variable<T>,
    initial: Variable<T>,
}

impl<T: Scalar> Connections<T> {
    /// `S_last` and `S_init`, to be handed through a [stretch](Tape::stretch).
    pub fn into_variables(self) -> [Variable<T>; 2] {
        [self.last, self.initial]
    }

    /// What [`Connections::into_variables`] gave.
    pub fn from_variables(last: Variable<T>, initial: Variable<T>) -> Self {
        Self { last, initial }
    }
}

impl<T: Scalar> Tape<'_, T> {
    /// `T·Z`: every column minus its mean. Shape n×d.
    pub fn center(&self, input: &Variable<T>) -> Variable<T> {
        let (rows, columns) = input.shape();
        let mut mean = self.pool().take(1, columns);
        column_sums(input, &mut mean, self.pool());
        scale(&mut mean, T::from_f64(1.0 / rows as f64));
        let mut output = self.pool().take(rows, columns);
        for_each_block(output.as_mut_slice(), columns, 2 * columns, |first, block| {
            let start = first * columns;
            let input = &input.as_slice()[start..start + block.len()];
            shifted_copy(block, input, mean.as_slice());
        });
        self.record(Arc::new(output), &[input.slot], || Center { input: input.slot })
    }

    /// Takes up `H` into the connections, then combines them with the aggregated term `Z`:
    ///
    /// `S_last ← p·S_last + H`, `S_init ← S_init + c·H`, `B = α·T·Z + β·S_last + γ·S_init`,
    ///
    /// or with the centring around the whole sum. Without earlier connections `S_last = S_init = H`. All shapes n×d.
    pub fn combine(
        &self,
        mixture: &Mixture,
        input: &Variable<T>,
        hidden: &Variable<T>,
        memory: Memory,
        connections: Option<Connections<T>>,
    ) -> (Variable<T>, Connections<T>) {
        let (rows, columns) = input.shape();
        assert_eq!(hidden.shape(), (rows, columns), "combine: shapes");
        let weights @ [alpha, _, _] = mixture.weights();
        // What is subtracted from every row while the terms are added: α times the mean, where only Z is centred.
        let mut shift = self.pool().take_zeros(1, columns);
        if mixture.centering == Centering::Aggregated {
            column_sums(input, &mut shift, self.pool());
            scale(&mut shift, alpha / T::from_f64(rows as f64));
        }
        let mut output = self.pool().take(rows, columns);
        let (connecting, mut states) = self.connecting(weights, memory, hidden, connections);
        match &mut states {
            States::Running(last, initial) => {
                let states = [output.as_mut_slice(), last.as_mut_slice(), initial.as_mut_slice()];
                for_each_block_of(states, columns, 8 * columns, |first, [block, last, initial]| {
                    let range = first * columns..first * columns + block.len();
                    block.copy_from_slice(&input.as_slice()[range.clone()]);
                    let hidden = &hidden.as_slice()[range];
                    connecting.take_up_and_combine(hidden, shift.as_slice(), (block, last, initial));
                });
            }
            States::Unchanged(last, initial) => {
                for_each_block(output.as_mut_slice(), columns, 4 * columns, |first, block| {
                    let range = first * columns..first * columns + block.len();
                    block.copy_from_slice(&input.as_slice()[range.clone()]);
                    let states = (&last.as_slice()[range.clone()], &initial.as_slice()[range]);
                    connecting.combine(shift.as_slice(), states, block);
                });
            }
        }
        if mixture.centering == Centering::Combined {
            column_sums(&output, &mut shift, self.pool());
            scale(&mut shift, T::from_f64(1.0 / rows as f64));
            shift_and_scale(&mut output, &shift, T::ONE);
        }
        let [old_last, old_initial] = connecting.old;
        let inputs = [input.slot, hidden.slot, old_last, old_initial];
        let slots = [self.state_slot(&inputs), self.state_slot(&inputs)];
        let combined = self.record(Arc::new(output), &inputs, || Combine {
            connecting,
            states: slots,
            centering: mixture.centering,
            input: input.slot,
            hidden: hidden.slot,
        });
        (combined, states.into_connections(slots))
    }

    /// How connections are to take up `H`, and the memory they do it in.
    pub(super) fn connecting(
        &self,
        weights: [T; 3],
        memory: Memory,
        hidden: &Variable<T>,
        connections: Option<Connections<T>>,
    ) -> (Connecting<T>, States<T>) {
        let (keep, share) = (T::from_f64(memory.keep), T::from_f64(memory.share));
        let old = connections.as_ref().map_or([None; 2], |old| [old.last.slot, old.initial.slot]);
        let vanilla = keep == T::ZERO && share == T::ZERO;
        let (history, states) = match connections {
            None => (History::Fresh, States::Unchanged(hidden.value.clone(), hidden.value.clone())),
            Some(old) if vanilla => {
                (History::Vanilla, States::Unchanged(hidden.value.clone(), old.initial.value))
            }
            Some(old) => {
                let (last, initial) = (self.reuse(old.last.value), self.reuse(old.initial.value));
                (History::Fuzzy, States::Running(last, initial))
            }
        };
        (Connecting { weights, keep, share, history, old }, states)
    }

    /// The memory of a value, with its contents: its own if nobody else holds it, else a copy.
    fn reuse(&self, value: Value<T>) -> Buffer<T> {
        let value = match value {
            Value::Computed(buffer) => match Arc::try_unwrap(buffer) {
                Ok(buffer) => return buffer,
                Err(buffer) => Value::Computed(buffer),
            },
            shared => shared,
        };
        let mut copy = self.pool().take(value.rows(), value.columns());
        copy.as_mut_slice().copy_from_slice(value.as_slice());
        copy
    }
}

vectorized! {
    /// `last = p·last + hidden`, `initial += c·hidden`, `output = α·output - 1·shift + β·last + γ·initial`, in one pass: the targets are
    /// `(output, last, initial)`.
    fn take_up_and_combine<'a, T>(
        weights: [T; 3],
        memory: (T, T),
        hidden: &'a [T],
        shift: &'a [T],
        targets: (&'a mut [T], &'a mut [T], &'a mut [T]),
    ) {
        let (keep, share) = memory;
        let width = shift.len().max(1);
        let states = targets.1.chunks_exact_mut(width).zip(targets.2.chunks_exact_mut(width));
        for ((output, (last, initial)), hidden) in
            targets.0.chunks_exact_mut(width).zip(states).zip(hidden.chunks_exact(width))
        {
            // Two short loops over a row that stays close: with all arrays in one, the compiler
            // gives up proving that they do not overlap, and does not vectorise.
            for ((last, initial), &hidden) in last.iter_mut().zip(&mut *initial).zip(hidden) {
                *last = keep * *last + hidden;
                *initial += share * hidden;
            }
            combine_row(weights, shift, (last, initial), output);
        }
    }
}

vectorized! {
    /// `output = α·output - 1·shift + β·last + γ·initial`.
    fn combine<'a, T>(weights: [T; 3], shift: &'a [T], last: &'a [T], initial: &'a [T], output: &'a mut [T]) {
        let width = shift.len().max(1);
        let states = last.chunks_exact(width).zip(initial.chunks_exact(width));
        for (output, states) in output.chunks_exact_mut(width).zip(states) {
            combine_row(weights, shift, states, output);
        }
    }
}

/// One row of [`combine`].
#[inline(always)]
fn combine_row<T: Scalar>(
    [alpha, beta, gamma]: [T; 3],
    shift: &[T],
    (last, initial): (&[T], &[T]),
    output: &mut [T],
) {
    let states = last.iter().zip(initial);
    for ((output, (&last, &initial)), &shift) in output.iter_mut().zip(states).zip(shift) {
        *output = alpha * *output - shift + (beta * last + gamma * initial);
    }
}

vectorized! {
    /// `output = input - 1·shift`.
    fn shifted_copy<'a, T>(output: &'a mut [T], input: &'a [T], shift: &'a [T]) {
        let width = shift.len().max(1);
        for (output, input) in output.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
            for ((output, &input), &shift) in output.iter_mut().zip(input).zip(shift) {
                *output = input - shift;
            }
        }
    }
}

/// What the connections of a combination are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum History {
    /// There were none: both are `H`.
    Fresh,
    /// `p = c = 0`: the residual one is `H`, the initial one stays.
    Vanilla,
    /// Running sums.
    Fuzzy,
}

struct Center {
    input: Slot,
}

impl<T: Scalar> Backward<T> for Center {
    /// `T` is symmetric: `Z̄ = T·B̄`.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let mean = column_means(&gradient, gradients);
        shift_and_scale(&mut gradient, &mean, T::ONE);
        gradients.add(self.input, gradient);
    }
}

/// The memory of connections while they take up an embedding.
pub(super) enum States<T: Scalar> {
    /// `S_last` and `S_init` are matrices that are there already.
    Unchanged(Value<T>, Value<T>),
    /// Running sums.
    Running(Buffer<T>, Buffer<T>),
}

impl<T: Scalar> States<T> {
    /// What goes on to the next layer, with the places of the gradients that come back.
    pub(super) fn into_connections(self, [last_slot, initial_slot]: [Slot; 2]) -> Connections<T> {
        let (last, initial) = match self {
            Self::Unchanged(last, initial) => (last, initial),
            Self::Running(last, initial) => {
                (Value::Computed(Arc::new(last)), Value::Computed(Arc::new(initial)))
            }
        };
        let variable = |value, slot| Variable { value, slot, facts: Facts::default() };
        Connections { last: variable(last, last_slot), initial: variable(initial, initial_slot) }
    }
}

/// How connections take up an embedding and enter the combination, there and back.
pub(super) struct Connecting<T> {
    /// `(α, β, γ)`.
    weights: [T; 3],
    keep: T,
    share: T,
    history: History,
    /// The places of the connections before.
    pub(super) old: [Slot; 2],
}

impl<T: Scalar> Connecting<T> {
    /// Turns rows of `Z` into those of `B = α·Z - 1·shift + β·S_last + γ·S_init`, with connections as they are.
    pub(super) fn combine(&self, shift: &[T], (last, initial): (&[T], &[T]), rows: &mut [T]) {
        combine(self.weights, shift, last, initial, rows);
    }

    /// The same after the connections have taken up `H`: the targets are rows of `(Z, S_last, S_init)`, the first of which turn into
    /// those of `B`.
    pub(super) fn take_up_and_combine(
        &self,
        hidden: &[T],
        shift: &[T],
        targets: (&mut [T], &mut [T], &mut [T]),
    ) {
        take_up_and_combine(self.weights, (self.keep, self.share), hidden, shift, targets);
    }

    /// Rows of the way back: `(B̄, S̄_last, S̄_init)` become `(Z̄, S̄_last, S̄_init)` of the layer before, and `hidden` is `H̄`.
    pub(super) fn spread(
        &self,
        mean: &[T],
        gradient: &mut [T],
        (last, initial): (&mut [T], &mut [T]),
        hidden: &mut [T],
    ) {
        let share = match self.history {
            History::Fresh => T::ONE,
            History::Vanilla => T::ZERO,
            History::Fuzzy => self.share,
        };
        let constants = Constants { weights: self.weights, keep: self.keep, share };
        spread(constants, mean, gradient, last, initial, hidden);
    }

    /// Hands the gradients of the connections on to the layer before.
    pub(super) fn hand_on(&self, [last, initial]: [Buffer<T>; 2], gradients: &mut Gradients<T>) {
        if self.history == History::Fuzzy {
            gradients.add(self.old[0], last);
        }
        if self.history != History::Fresh {
            gradients.add(self.old[1], initial);
        }
    }
}

/// The gradients of connections, as what follows has left them at their places: n×d each.
pub(super) fn pending_gradients<T: Scalar>(
    states: [Slot; 2],
    (rows, columns): (usize, usize),
    gradients: &mut Gradients<T>,
) -> [Buffer<T>; 2] {
    states.map(|slot| {
        let pending = slot.and_then(|slot| gradients.take_slot(slot));
        pending.unwrap_or_else(|| gradients.pool().take_zeros(rows, columns))
    })
}

struct Combine<T> {
    connecting: Connecting<T>,
    /// The connections after; what follows has left their gradients there.
    states: [Slot; 2],
    centering: Centering,
    input: Slot,
    hidden: Slot,
}

impl<T: Scalar> Backward<T> for Combine<T> {
    /// With `C̄ = B̄`, or `T·B̄` where the whole is centred, and the gradients of the connections from what follows:
    ///
    /// `S̄_last += β·C̄`, `S̄_init += γ·C̄`, `Z̄ = α·T·C̄`, `H̄ = S̄_last + c·S̄_init`, then `S̄_last ← p·S̄_last`.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (rows, columns) = gradient.shape();
        let mut mean = column_means(&gradient, gradients);
        if self.centering == Centering::Combined {
            shift_and_scale(&mut gradient, &mean, T::ONE);
            mean.as_mut_slice().fill(T::ZERO);
        }
        let connecting = &self.connecting;
        let mut states = pending_gradients(self.states, (rows, columns), gradients);
        let mut hidden = gradients.pool().take(rows, columns);
        let [last, initial] = &mut states;
        let data = [&mut gradient, last, initial, &mut hidden].map(|buffer| buffer.as_mut_slice());
        for_each_block_of(data, columns, 8 * columns, |_, [gradient, last, initial, hidden]| {
            connecting.spread(mean.as_slice(), gradient, (last, initial), hidden);
        });
        gradients.add(self.hidden, hidden);
        connecting.hand_on(states, gradients);
        gradients.add(self.input, gradient);
    }
}

/// The numbers of a backward pass, the same for every value.
#[derive(Clone, Copy)]
struct Constants<T> {
    weights: [T; 3],
    keep: T,
    share: T,
}

vectorized! {
    /// The gradients of one block; `gradient` turns from `C̄` into `Z̄`.
    fn spread<'a, T>(
        constants: Constants<T>,
        mean: &'a [T],
        gradient: &'a mut [T],
        last: &'a mut [T],
        initial: &'a mut [T],
        hidden: &'a mut [T],
    ) {
        let Constants { weights: [alpha, beta, gamma], keep, share } = constants;
        let width = mean.len().max(1);
        let outer = gradient.chunks_exact_mut(width).zip(last.chunks_exact_mut(width));
        let inner = initial.chunks_exact_mut(width).zip(hidden.chunks_exact_mut(width));
        for ((gradient, last), (initial, hidden)) in outer.zip(inner) {
            for (((hidden, last), initial), &gradient) in
                hidden.iter_mut().zip(last).zip(initial).zip(&*gradient)
            {
                let of_last = *last + beta * gradient;
                let of_initial = *initial + gamma * gradient;
                *hidden = of_last + share * of_initial;
                *last = keep * of_last;
                *initial = of_initial;
            }
            for (gradient, &mean) in gradient.iter_mut().zip(mean) {
                *gradient = alpha * (*gradient - mean);
            }
        }
    }
}

fn column_means<T: Scalar>(gradient: &Buffer<T>, gradients: &Gradients<T>) -> Buffer<T> {
    let mut mean = gradients.pool().take(1, gradient.columns());
    column_sums(gradient, &mut mean, gradients.pool());
    scale(&mut mean, T::from_f64(1.0 / gradient.rows() as f64));
    mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::check::check;
    use crate::tape::Pool;
    use crate::testing::random_matrix;

    /// Four layers' worth of combinations, so that connections begin, go on and end.
    #[test]
    fn gradients() {
        let inputs: Vec<_> = (0..8).map(|index| random_matrix(6, 3, index)).collect();
        for centering in [Centering::Aggregated, Centering::Combined] {
            for (keep, decay) in [(0.4, 0.3), (0.0, 0.0), (0.0, 0.3), (0.4, 0.0)] {
                let mixture = Mixture { aggregated: 0.5, residual: 0.3, initial: 0.2, centering };
                check("combine", &inputs, |tape, inputs| {
                    let mut connections = None;
                    let mut share = 1.0;
                    let mut output = None::<Variable<f64>>;
                    for (step, pair) in inputs.chunks(2).enumerate() {
                        // Every output enters the next embedding, so that all of them count.
                        let hidden = match &output {
                            None => pair[1].clone(),
                            Some(output) => tape.linear(output, &tape.constant(&fixed(step as u64))),
                        };
                        let memory = Memory { keep, share };
                        let both = tape.combine(&mixture, &pair[0], &hidden, memory, connections);
                        let extra = tape.combine(&mixture, &both.0, &pair[1], memory, None).0;
                        (output, connections) = (Some(extra), Some(both.1));
                        share *= decay;
                    }
                    output.unwrap()
                });
            }
        }
        check("center", &inputs[..1], |tape, inputs| tape.center(&inputs[0]));
    }

    fn fixed(seed: u64) -> Arc<crate::Matrix<f64>> {
        Arc::new(random_matrix(3, 3, 100 + seed))
    }

    #[test]
    fn centred_columns_sum_to_zero() {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let centred = tape.center(&tape.constant(&Arc::new(random_matrix(50, 4, 1))));
        let mut sums = pool.take(1, 4);
        column_sums(&centred, &mut sums, &pool);
        assert!(sums.as_slice().iter().all(|sum| sum.abs() < 1e-12));
    }
}
