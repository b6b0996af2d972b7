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
    /// Dropout is on, with masks that depend on seed, epoch, place in the model and element.
    Training {
        /// The run's seed.
        seed: u64,
        /// The epoch, counted from 0.
        epoch: u32,
    },
    /// Dropout is off.
    Evaluation,
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
    /// How many layers are computed again together on the way back; `None` if all is kept.
    recomputed: Option<NonZeroUsize>,
    /// Who looks at the embeddings of the layers.
    observer: Option<Rc<Look<'m, T>>>,
}

impl<'t, 'm, T: Scalar> Pass<'t, 'm, T> {
    /// Puts the weights on a tape.
    pub fn new(tape: &'t Tape<'m, T>, parameters: &Parameters<T>, mode: Mode) -> Self {
        let parameters = parameters.iter().map(|(_, value)| tape.parameter(value)).collect();
        Self { tape, parameters, mode, recomputed: None, observer: None }
    }

    /// The same pass, which on a recording tape keeps what every so many layers give and computes what lies between again
    /// on the way back. Models without [`Model::recomputes`](crate::models::Model::recomputes) keep all.
    pub fn recomputing(self, layers: Option<NonZeroUsize>) -> Self {
        Self { recomputed: layers, ..self }
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
        Self { tape: self.tape, parameters, mode: Mode::Evaluation, recomputed: None, observer }
    }

    /// Takes a state through layers, as many of them at once as are computed again together.
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
        let together = self.recomputed.map_or(layers, NonZeroUsize::get).max(1);
        let each = weights.len() / layers.max(1);
        let mut state = state;
        for first in (0..layers).step_by(together) {
            let range = first..layers.min(first + together);
            let own = &weights[range.start * each..range.end * each];
            let inputs: Vec<Variable<T>> = state.iter().chain(own).cloned().collect();
            let (mode, count) = (self.mode, state.len());
            // Layers are shown when they are computed first, not again on the way back.
            let observer = RefCell::new(self.observer.clone());
            let run = move |tape: &Tape<'m, T>, inputs: &[Variable<T>]| {
                let (state, own) = inputs.split_at(count);
                let (parameters, observer) = (own.to_vec(), observer.take());
                run(&Pass { tape, parameters, mode, recomputed: None, observer }, range.clone(), state)
            };
            state = match self.recomputed {
                None => run(self.tape, &inputs)?,
                Some(_) => self.tape.stretch(inputs, run)?,
            };
        }
        Ok(state)
    }

    /// Shows the output of a layer. Models call it once a layer, in order; it costs nothing if nobody looks.
    pub fn observe(&self, embedding: &Variable<T>) {
        if let Some(observer) = &self.observer {
            observer(embedding);
        }
    }

    /// The dropout of one place in the model, numbered by the model; `None` when nothing is dropped.
    pub fn dropout(&self, rate: f64, place: u32) -> Option<Dropout> {
        Dropout::new(rate, self.stream(place)?)
    }

    /// What is left of class scores for the loss, given a model's [`score_dropout`](crate::models::Model::score_dropout).
    pub fn drop_scores(&self, scores: &Variable<T>, rate: f64) -> Variable<T> {
        match self.dropout(rate, u32::MAX) {
            None => scores.clone(),
            dropout => self.tape.activate(scores, None, Activation::Identity, dropout),
        }
    }

    /// The random numbers of one place in the model, numbered by the model; `None` in evaluation.
    pub fn stream(&self, place: u32) -> Option<Stream> {
        match self.mode {
            Mode::Training { seed, epoch } => Some(Stream::new(seed, Purpose::Dropout, epoch, place)),
            Mode::Evaluation => None,
        }
    }
}
