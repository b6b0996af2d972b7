//! Stretches of a pass that are computed again on the way back, instead of being kept in memory.

use std::collections::BTreeMap;

use super::{Backward, Buffer, Gradients, Notes, Slot, Tape, Variable};
use crate::Scalar;

impl<'a, T: Scalar> Tape<'a, T> {
    /// Runs a stretch of the pass of which only what goes in and what comes out is kept.
    ///
    /// On the way back it is run once more, recorded, and differentiated. So a pass of `s` stretches needs the memory of one
    /// stretch and `s` sets of outputs, for one more forward pass, which is shorter for what its layers noted on the
    /// way there; the gradients have the same bits as without.
    ///
    /// `inputs` are all variables on this tape that the stretch reads. It must compute the same every time it is run. Of its
    /// outputs the first one must be used: the gradients of the others come back through it.
    ///
    /// # Errors
    /// Those of the stretch.
    pub fn stretch<E>(
        &self,
        inputs: Vec<Variable<T>>,
        run: impl Fn(&Tape<'a, T>, &[Variable<T>]) -> Result<Vec<Variable<T>>, E> + 'a,
    ) -> Result<Vec<Variable<T>>, E> {
        if !self.recording {
            return run(self, &inputs);
        }
        let detached: Vec<Variable<T>> = inputs.iter().map(Variable::detached).collect();
        let there = Tape { notes: Notes::empty(), ..Tape::inference(&self.pool) };
        let outputs = run(&there, &detached)?;
        let notes = there.notes.into_readable();
        let slots: Vec<Slot> = inputs.iter().map(|input| input.slot).collect();
        // As with the states of other operations: those of the further outputs come before the step that takes them.
        let further: Vec<Slot> = outputs.iter().skip(1).map(|_| self.state_slot(&slots)).collect();
        let differentiable = slots.iter().any(Option::is_some);
        let first = differentiable.then(|| {
            let further = further.clone();
            let run = move |tape: &Tape<'a, T>, inputs: &[Variable<T>]| run(tape, inputs).ok();
            self.push(Some(Box::new(Stretch { inputs, further, run, notes })))
        });
        let slots = std::iter::once(first).chain(further);
        Ok(outputs.into_iter().zip(slots).map(|(output, slot)| Variable { slot, ..output }).collect())
    }
}

struct Stretch<T: Scalar, R> {
    inputs: Vec<Variable<T>>,
    /// The places of all outputs' gradients but the first one's.
    further: Vec<Slot>,
    run: R,
    notes: Notes<T>,
}

impl<'a, T, R> Backward<T> for Stretch<T, R>
where
    T: Scalar,
    R: Fn(&Tape<'a, T>, &[Variable<T>]) -> Option<Vec<Variable<T>>> + 'a,
{
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let Self { inputs: outside, further, run, notes } = *self;
        let tape = Tape { notes, ..Tape::recording(gradients.pool()) };
        // By place outside: a variable that is two of the inputs has one gradient.
        let mut places = BTreeMap::new();
        for slot in outside.iter().filter_map(|input| input.slot) {
            places.entry(slot).or_insert_with(|| tape.push(None));
        }
        let inside = |slot: Slot| slot.map(|slot| places[&slot]);
        let inputs: Vec<Variable<T>> =
            outside.iter().map(|input| Variable { slot: inside(input.slot), ..input.clone() }).collect();
        let outputs = run(&tape, &inputs).expect("it succeeded on the way there");
        let mut within = Gradients::new(tape.steps.borrow().len(), gradients.pool().clone());
        // What has been gathered for the inputs goes in and comes out again, so that it is added up in the same order as
        // without stretches.
        for (&outside, &inside) in &places {
            within.put(inside, gradients.take_slot(outside));
        }
        let further = further.iter().map(|&slot| gradients.take_slot(slot?));
        for (output, gradient) in outputs.iter().zip(std::iter::once(Some(gradient)).chain(further)) {
            if let Some(gradient) = gradient {
                within.add(output.slot, gradient);
            }
        }
        drop((outside, inputs, outputs, run));
        tape.gather(&mut within);
        for (outside, inside) in places {
            gradients.put(outside, within.take_slot(inside));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;
    use std::rc::Rc;
    use std::sync::Arc;

    use super::*;
    use crate::Matrix;
    use crate::ops::Activation;
    use crate::tape::{Note, NotedWhitening, Packed, Pool};
    use crate::testing::random_matrix;

    /// Two outputs, of which the second is read by what follows in two ways, and an input that everybody reads.
    fn block<'a>(tape: &Tape<'a, f64>, inputs: &[Variable<f64>]) -> Result<Vec<Variable<f64>>, Infallible> {
        let [hidden, side, weight, everywhere] = inputs else { unreachable!("four inputs") };
        let product = tape.linear(hidden, weight);
        let hidden = tape.activate(&product, None, Activation::Elu, None);
        let side = tape.weighted_sum(&[(0.5, side), (0.25, &hidden)]);
        let hidden = tape.weighted_sum(&[(1.0, &hidden), (0.1, everywhere), (0.3, &side)]);
        Ok(vec![hidden, side])
    }

    /// Gradients of three blocks, each a stretch or not.
    fn gradients(stretches: [bool; 3]) -> Vec<Matrix<f64>> {
        let pool = Pool::new();
        let tape = Tape::recording(&pool);
        let matrices: Vec<_> = [(7, 4, 1), (4, 4, 2), (4, 4, 3), (4, 4, 4), (7, 4, 5)]
            .map(|(r, c, s)| random_matrix(r, c, s))
            .into();
        let parameters: Vec<_> = matrices.into_iter().map(|matrix| tape.parameter(&matrix.into())).collect();
        let everywhere = &parameters[4];
        let (mut hidden, mut side) = (parameters[0].clone(), everywhere.clone());
        for (stretch, weight) in stretches.into_iter().zip(&parameters[1..4]) {
            let inputs = vec![hidden, side, weight.clone(), everywhere.clone()];
            let Ok(outputs) = if stretch { tape.stretch(inputs, block) } else { block(&tape, &inputs) };
            [hidden, side] = outputs.try_into().unwrap_or_else(|_| unreachable!("two outputs"));
        }
        let mut outer = pool.take(7, 4);
        outer.as_mut_slice().copy_from_slice(random_matrix(7, 4, 6).as_slice());
        let mut gradients = tape.backward_from(&hidden, outer);
        parameters.iter().map(|variable| Matrix::clone(&gradients.take(variable).unwrap())).collect()
    }

    #[test]
    fn gradients_have_the_same_bits_as_without_stretches() {
        let whole = gradients([false; 3]);
        for stretches in [[true; 3], [true, false, true], [false, true, true]] {
            assert_eq!(gradients(stretches), whole, "{stretches:?}");
        }
    }

    /// Every layer notes something on the way there and finds it on the way back, in the order of the layers.
    #[test]
    fn what_was_noted_on_the_way_there_is_read_on_the_way_back() {
        let pool = Pool::new();
        let tape = Tape::recording(&pool);
        let input = tape.parameter(&Arc::new(random_matrix(7, 4, 1)));
        let found = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&found);
        let run = move |tape: &Tape<f64>, inputs: &[Variable<f64>]| -> Result<_, Infallible> {
            for layer in 1..=3 {
                seen.borrow_mut()
                    .push(tape.recall().and_then(|note| note.shift).map(|shift| shift.get(0, 0)));
                tape.note(|| {
                    let mut shift = tape.pool().take(1, 1);
                    shift.as_mut_slice().fill(f64::from(layer));
                    let whitening = NotedWhitening::Matrix(Arc::new(Packed::new(&shift, tape.pool())));
                    Note { shift: Some(shift), whitening }
                });
            }
            Ok(vec![tape.activate(&inputs[0], None, Activation::Elu, None)])
        };
        let Ok(outputs) = tape.stretch(vec![input.clone()], run);
        let seed = pool.take_zeros(7, 4);
        assert!(tape.backward_from(&outputs[0], seed).take(&input).is_some());
        assert_eq!(*found.borrow(), [None, None, None, Some(1.0), Some(2.0), Some(3.0)]);
    }
}
