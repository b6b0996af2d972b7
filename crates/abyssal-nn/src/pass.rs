//! One pass through a model: the tape, the weights on it, and whether it is for training.

use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::rc::Rc;

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::{Activation, Dropout};
use abyssal_tensor::random::{Purpose, Stream};
use abyssal_tensor::tape::{Tape, Variable};

use crate::{NnError, Parameters};

/// What a pass is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Dropout is on, with masks that depend on seed, pass, place in the model and element.
    Training {
        /// The run's seed.
        seed: u64,
        /// The number of the pass, counted from 0: the epoch, where an epoch has one pass.
        pass: u32,
    },
    /// Dropout is off.
    Evaluation,
}

/// Where in a model something is random. Every place has random numbers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The features.
    Features,
    /// What a layer gives, counted from 0.
    Layer(usize),
    /// The attention of a layer.
    Attention(usize),
    /// What a layer of the classifier gives.
    Head(usize),
    /// The nodes that a layer reads.
    Nodes(usize),
    /// The edges of the graph.
    Edges,
    /// The class scores, on their way to the loss.
    Scores,
}

impl Place {
    /// The number of its random numbers: no two places of a model share one.
    fn number(self) -> u32 {
        match self {
            Self::Features => 0,
            Self::Layer(layer) => 1 + layer as u32,
            Self::Attention(layer) => (1 << 30) + layer as u32,
            Self::Head(layer) => (2 << 30) + layer as u32,
            Self::Nodes(layer) => (3 << 30) + layer as u32,
            Self::Edges => u32::MAX - 1,
            Self::Scores => u32::MAX,
        }
    }
}

/// Looks at the embedding of a layer.
type Look<'m, T> = dyn Fn(&Variable<T>) + 'm;

/// One pass through a model that lives for `'m`.
pub struct Pass<'t, 'm, T: Scalar> {
    /// Where operations go.
    pub tape: &'t Tape<'m, T>,
    /// The model's parameters, in its order.
    pub parameters: Vec<Variable<T>>,
    mode: Mode,
    /// How many layers are kept at a time; the others are computed again on the way back. `None` if all are kept.
    kept_layers: Option<NonZeroUsize>,
    /// Who looks at the embeddings of the layers.
    observer: Option<Rc<Look<'m, T>>>,
}

impl<'t, 'm, T: Scalar> Pass<'t, 'm, T> {
    /// Puts the weights on a tape.
    pub fn new(tape: &'t Tape<'m, T>, parameters: &Parameters<T>, mode: Mode) -> Self {
        let parameters = parameters.iter().map(|(_, value)| tape.parameter(value)).collect();
        Self { tape, parameters, mode, kept_layers: None, observer: None }
    }

    /// Another pass with the same weights on the same tape, which nobody looks at.
    pub fn again(&self, mode: Mode) -> Self {
        let (tape, parameters) = (self.tape, self.parameters.clone());
        Self { tape, parameters, mode, kept_layers: self.kept_layers, observer: None }
    }

    /// The same pass, which on a recording tape keeps the last so many layers, and of those before them what every so many
    /// give: what lies between is computed again on the way back. Models without
    /// [`Model::recomputes`](crate::models::Model::recomputes) keep all.
    pub fn keeping(self, layers: Option<NonZeroUsize>) -> Self {
        Self { kept_layers: layers, ..self }
    }

    /// The same pass, in which somebody looks at the embedding of every layer, counted from 0, once.
    pub fn observing(self, look: impl Fn(usize, &Variable<T>) + 'm) -> Self {
        let seen = Cell::new(0);
        let observer = move |embedding: &Variable<T>| look(seen.replace(seen.get() + 1), embedding);
        Self { observer: Some(Rc::new(observer)), ..self }
    }

    /// Whether somebody looks, for models whose fastest way shows nothing.
    pub fn is_observing(&self) -> bool {
        self.observer.is_some()
    }

    /// A part of this pass through which no gradient flows and in which nothing is dropped, with the given weights. What
    /// it shows to [`Pass::observe`] is shown by this one too.
    pub(crate) fn stopped(&self, parameters: &[Variable<T>]) -> Self {
        let parameters = parameters.iter().map(Variable::detached).collect();
        let observer = self.observer.clone();
        Self { tape: self.tape, parameters, mode: Mode::Evaluation, kept_layers: None, observer }
    }

    /// Takes a state through layers, as many of them at once as are kept at a time. The last ones are where the way back
    /// begins, so they need not be computed again.
    ///
    /// `weights` are those of all layers, as many for each. `run` takes the state through some layers, of which it gets the
    /// range, on a pass with their weights alone. What it gives first must be what later layers and the classifier read.
    pub(crate) fn through_layers(
        &self,
        layers: usize,
        weights: &[Variable<T>],
        state: Vec<Variable<T>>,
        run: impl Fn(&Pass<'_, 'm, T>, Range<usize>, &[Variable<T>]) -> Result<Vec<Variable<T>>, NnError>
        + Copy
        + 'm,
    ) -> Result<Vec<Variable<T>>, NnError> {
        let together = self.kept_layers.map_or(layers, NonZeroUsize::get).max(1);
        let each = weights.len() / layers.max(1);
        let mut state = state;
        for range in stretches(layers, together) {
            let is_last = range.end == layers;
            let own = &weights[range.start * each..range.end * each];
            let inputs: Vec<Variable<T>> = state.iter().chain(own).cloned().collect();
            let (mode, count) = (self.mode, state.len());
            // Layers are shown when they are computed first, not again on the way back.
            let observer = RefCell::new(self.observer.clone());
            let run = move |tape: &Tape<'m, T>, inputs: &[Variable<T>]| {
                let (state, own) = inputs.split_at(count);
                let (parameters, observer) = (own.to_vec(), observer.take());
                run(&Pass { tape, parameters, mode, kept_layers: None, observer }, range.clone(), state)
            };
            state = if is_last { run(self.tape, &inputs)? } else { self.tape.stretch(inputs, run)? };
        }
        Ok(state)
    }

    /// Shows the output of a layer. Models call it once a layer, in order; it costs nothing if nobody looks.
    pub fn observe(&self, embedding: &Variable<T>) {
        if let Some(observer) = &self.observer {
            observer(embedding);
        }
    }

    /// The dropout of one place in the model; `None` when nothing is dropped.
    pub fn dropout(&self, rate: f64, place: Place) -> Option<Dropout> {
        Dropout::new(rate, self.stream(place)?)
    }

    /// What is left of class scores for the loss, given a model's [`score_dropout`](crate::models::Model::score_dropout).
    pub fn drop_scores(&self, scores: &Variable<T>, rate: f64) -> Variable<T> {
        match self.dropout(rate, Place::Scores) {
            None => scores.clone(),
            dropout => self.tape.activate(scores, None, Activation::Identity, dropout),
        }
    }

    /// The random numbers of one place in the model; `None` in evaluation.
    pub fn stream(&self, place: Place) -> Option<Stream> {
        match self.mode {
            Mode::Training { seed, pass } => Some(Stream::new(seed, Purpose::Dropout, pass, place.number())),
            Mode::Evaluation => None,
        }
    }
}

/// Layers in stretches of so many, of which only the first may be shorter: the last one costs nothing to keep.
fn stretches(layers: usize, together: usize) -> impl Iterator<Item = Range<usize>> {
    (0..layers.div_ceil(together)).rev().map(move |after| {
        let end = layers - after * together;
        end.saturating_sub(together)..end
    })
}

#[cfg(test)]
mod tests {
    use abyssal_tensor::Matrix;
    use abyssal_tensor::tape::Pool;

    use super::*;

    #[test]
    fn no_two_places_share_their_random_numbers() {
        let layers = 0..100_000;
        let of_layers = layers.flat_map(|layer| {
            [Place::Layer(layer), Place::Attention(layer), Place::Head(layer), Place::Nodes(layer)]
        });
        let places = of_layers.chain([Place::Features, Place::Edges, Place::Scores]);
        let mut numbers: Vec<u32> = places.map(Place::number).collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
    }

    #[test]
    fn only_the_first_stretch_may_be_shorter() {
        let ranges = |layers, together| -> Vec<(usize, usize)> {
            stretches(layers, together).map(|range| (range.start, range.end)).collect()
        };
        assert_eq!(ranges(7, 3), [(0, 1), (1, 4), (4, 7)]);
        assert_eq!(ranges(6, 3), [(0, 3), (3, 6)]);
        assert_eq!(ranges(7, 5), [(0, 2), (2, 7)]);
        for together in [7, 8, 100] {
            assert_eq!(ranges(7, together), [(0, 7)], "{together}");
        }
        assert!(ranges(0, 3).is_empty());
    }

    /// Stretches that double a number.
    #[test]
    fn the_last_layers_are_computed_once_and_the_others_twice() {
        let counts: Vec<Cell<usize>> = (0..7).map(|_| Cell::new(0)).collect();
        let pool = Pool::<f64>::new();
        let tape = Tape::recording(&pool);
        let kept_layers = NonZeroUsize::new(3);
        let pass =
            Pass { tape: &tape, parameters: Vec::new(), mode: Mode::Evaluation, kept_layers, observer: None };
        let input = tape.parameter(&Matrix::from_rows(&[[1.0]]).into());
        let counted = &counts;
        let state = pass
            .through_layers(7, &[], vec![input.clone()], move |pass, range, state| {
                counted[range].iter().for_each(|count| count.set(count.get() + 1));
                Ok(vec![pass.tape.weighted_sum(&[(2.0, &state[0])])])
            })
            .unwrap();
        let mut gradients = tape.backward(&state[0]);
        assert_eq!(gradients.take(&input).unwrap().as_slice(), [8.0]);
        assert_eq!(Vec::from_iter(counts.iter().map(Cell::get)), [2, 2, 2, 2, 1, 1, 1]);
    }
}
