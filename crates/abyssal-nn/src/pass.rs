//! One pass through a model: the tape, the weights on it, and whether it is for training.

use std::cell::RefCell;
use std::rc::Rc;

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::{Activation, Dropout};
use abyssal_tensor::random::{Purpose, Stream};
use abyssal_tensor::tape::{Tape, Variable};

use crate::Parameters;

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

/// One pass through a model.
pub struct Pass<'a, T: Scalar> {
    /// Where operations go.
    pub tape: &'a Tape<T>,
    /// The model's parameters, in its order.
    pub parameters: Vec<Variable<T>>,
    mode: Mode,
    /// The embeddings of the layers, if somebody wants to look at them.
    observed: Option<Rc<RefCell<Vec<Variable<T>>>>>,
}

impl<'a, T: Scalar> Pass<'a, T> {
    /// Puts the weights on a tape.
    pub fn new(tape: &'a Tape<T>, parameters: &Parameters<T>, mode: Mode) -> Self {
        let parameters = parameters.iter().map(|(_, value)| tape.parameter(value)).collect();
        Self { tape, parameters, mode, observed: None }
    }

    /// The same pass, keeping the embeddings that layers show with [`Pass::observe`].
    pub fn observing(self) -> Self {
        Self { observed: Some(Rc::default()), ..self }
    }

    /// Whether somebody looks, for models whose fastest way shows nothing.
    pub fn is_observing(&self) -> bool {
        self.observed.is_some()
    }

    /// A part of this pass through which no gradient flows and in which nothing is dropped, with the given weights. What
    /// it shows to [`Pass::observe`] is shown by this one too.
    pub(crate) fn stopped(&self, parameters: &[Variable<T>]) -> Self {
        let parameters = parameters.iter().map(Variable::detached).collect();
        Self { tape: self.tape, parameters, mode: Mode::Evaluation, observed: self.observed.clone() }
    }

    /// Shows the output of a layer. Models call it once a layer, in order; it costs nothing if nobody looks.
    pub fn observe(&self, embedding: &Variable<T>) {
        if let Some(observed) = &self.observed {
            observed.borrow_mut().push(embedding.clone());
        }
    }

    /// The embeddings that layers have shown, in order; nothing unless the pass is [observing](Pass::observing).
    pub fn observed(&self) -> Vec<Variable<T>> {
        self.observed.as_ref().map(|observed| observed.borrow().clone()).unwrap_or_default()
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
