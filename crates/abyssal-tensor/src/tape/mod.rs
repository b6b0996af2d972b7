//! Reverse-mode differentiation over matrices.
//!
//! A [`Tape`] is one pass through a model. Operations (in [`crate::ops`], each with its backward beside it) read
//! [`Variable`]s and give new ones; a recording tape also remembers how to go back. A value lives as long as
//! somebody holds the variable or an operation needs it for its backward, then its memory returns to the
//! [`Pool`], so that a pass after the first one allocates no matrices.

mod flags;
mod gradients;
mod kept;
mod notes;
mod packed;
mod pool;
mod stretch;

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;

pub(crate) use flags::Flags;
pub use gradients::Gradients;
pub(crate) use kept::{Kept, Recipe};
use notes::Notes;
pub(crate) use notes::{Note, NotedWhitening};
pub(crate) use packed::Packed;
pub(crate) use pool::PooledSpectrum;
pub use pool::{Buffer, Pool};

use crate::{Matrix, Scalar, SparseOperator};

/// The place of a variable's gradient; `None` for constants.
pub(crate) type Slot = Option<usize>;

/// How an operation goes back: given the gradient of its output, add to the gradients of its inputs.
pub(crate) trait Backward<T: Scalar> {
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>);
}

/// A matrix that operations read: computed on a tape, or shared from outside.
#[derive(Clone)]
pub(crate) enum Value<T: Scalar> {
    Computed(Arc<Buffer<T>>),
    Shared(Arc<Matrix<T>>),
}

impl<T: Scalar> Deref for Value<T> {
    type Target = Matrix<T>;
    fn deref(&self) -> &Matrix<T> {
        match self {
            Value::Computed(buffer) => buffer,
            Value::Shared(matrix) => matrix,
        }
    }
}

/// A matrix on a tape.
#[derive(Clone)]
pub struct Variable<T: Scalar> {
    pub(crate) value: Value<T>,
    pub(crate) slot: Slot,
    pub(crate) facts: Facts<T>,
}

/// What operations may know about a matrix besides its values.
#[derive(Clone)]
pub(crate) struct Facts<T: Scalar> {
    /// How to compute it again from what is kept anyway, where the [pool is sparing](Pool::sparing).
    pub recipe: Option<Arc<dyn Recipe<T>>>,
    /// Whether it is the plain output of a ReLU: its gradient counts only where it is positive. Who has both at hand on the way back
    /// can leave out the rest at once, and [say so](Gradients::add_rectified).
    pub rectified: bool,
    /// The column sums of a propagation of it, where somebody has taken them.
    pub propagated_sums: Option<PropagatedSums<T>>,
}

/// `1ᵀA·H`: the column sums of `A·H`, 1×d.
#[derive(Clone)]
pub(crate) struct PropagatedSums<T: Scalar> {
    /// `A`.
    pub operator: Arc<SparseOperator<T>>,
    pub sums: Arc<Buffer<T>>,
}

impl<T: Scalar> Default for Facts<T> {
    fn default() -> Self {
        Self { recipe: None, rectified: false, propagated_sums: None }
    }
}

impl<T: Scalar> Variable<T> {
    /// The same matrix, through which no gradient flows.
    pub fn detached(&self) -> Self {
        Self { slot: None, ..self.clone() }
    }
}

impl<T: Scalar> Deref for Variable<T> {
    type Target = Matrix<T>;
    fn deref(&self) -> &Matrix<T> {
        &self.value
    }
}

/// One pass of computation, recorded or not. What it records may borrow for `'a`.
pub struct Tape<'a, T: Scalar> {
    pool: Pool<T>,
    recording: bool,
    /// One entry a slot; `None` for parameters, which have no way further back.
    steps: RefCell<Vec<Option<Box<dyn Backward<T> + 'a>>>>,
    /// Slots of second outputs, whose gradients the step right after them takes.
    states: RefCell<Vec<usize>>,
    notes: Notes<T>,
}

impl<'a, T: Scalar> Tape<'a, T> {
    /// A tape that can go back.
    pub fn recording(pool: &Pool<T>) -> Self {
        Self { recording: true, ..Self::inference(pool) }
    }

    /// A tape for evaluation: nothing is remembered.
    pub fn inference(pool: &Pool<T>) -> Self {
        Self {
            pool: pool.clone(),
            recording: false,
            steps: RefCell::default(),
            states: RefCell::default(),
            notes: Notes::None,
        }
    }

    /// Whether an output should come with a [`Recipe`], if there is one.
    pub(crate) fn wants_recipes(&self) -> bool {
        self.recording && self.pool.sparing
    }

    /// Notes what an operation found out, if it will be run once more.
    pub(crate) fn note(&self, note: impl FnOnce() -> Note<T>) {
        self.notes.make(note);
    }

    /// What the operation noted when it was run before, if it was.
    pub(crate) fn recall(&self) -> Option<Note<T>> {
        self.notes.read()
    }

    /// The store of buffers this tape takes from.
    pub fn pool(&self) -> &Pool<T> {
        &self.pool
    }

    /// A matrix without a gradient.
    pub fn constant(&self, matrix: &Arc<Matrix<T>>) -> Variable<T> {
        Variable { value: Value::Shared(Arc::clone(matrix)), slot: None, facts: Facts::default() }
    }

    /// A matrix whose gradient is wanted.
    pub fn parameter(&self, matrix: &Arc<Matrix<T>>) -> Variable<T> {
        let slot = self.recording.then(|| self.push(None));
        Variable { value: Value::Shared(Arc::clone(matrix)), slot, facts: Facts::default() }
    }

    /// Goes back from a 1×1 variable, say a loss.
    ///
    /// # Panics
    /// If the variable is not 1×1.
    pub fn backward(self, loss: &Variable<T>) -> Gradients<T> {
        assert_eq!(loss.shape(), (1, 1), "backward starts at a 1×1 loss");
        let mut one = self.pool.take(1, 1);
        one.as_mut_slice()[0] = T::ONE;
        self.backward_from(loss, one)
    }

    /// Goes back from any variable, given the gradient with respect to it.
    ///
    /// # Panics
    /// If the shapes of variable and gradient differ.
    pub fn backward_from(self, output: &Variable<T>, gradient: Buffer<T>) -> Gradients<T> {
        assert_eq!(output.shape(), gradient.shape(), "backward: shape of the gradient");
        let mut gradients = Gradients::new(self.steps.borrow().len(), self.pool.clone());
        gradients.add(output.slot, gradient);
        self.gather(&mut gradients);
        gradients
    }

    /// Goes back from the gradients that are there to all others.
    fn gather(self, gradients: &mut Gradients<T>) {
        let mut steps = self.steps.into_inner();
        while let Some(step) = steps.pop() {
            if let Some(step) = step
                && let Some(gradient) = gradients.take_for_step(steps.len())
            {
                step.backward(gradient, gradients);
            }
        }
        for state in self.states.into_inner() {
            let lost = gradients.take_slot(state).is_some();
            assert!(!lost, "connections were used, but not the embedding they were combined into");
        }
    }

    /// Wraps the output of an operation; `step` is recorded if a gradient can flow through it.
    pub(crate) fn record<S: Backward<T> + 'a>(
        &self,
        output: Arc<Buffer<T>>,
        inputs: &[Slot],
        step: impl FnOnce() -> S,
    ) -> Variable<T> {
        let differentiable = inputs.iter().any(Option::is_some);
        let slot = differentiable.then(|| self.push(Some(Box::new(step()))));
        Variable { value: Value::Computed(output), slot, facts: Facts::default() }
    }

    /// A place for the gradient of a second output of the operation that is recorded next.
    pub(crate) fn state_slot(&self, inputs: &[Slot]) -> Slot {
        let differentiable = inputs.iter().any(Option::is_some);
        let slot = differentiable.then(|| self.push(None));
        self.states.borrow_mut().extend(slot);
        slot
    }

    fn push(&self, step: Option<Box<dyn Backward<T> + 'a>>) -> usize {
        let mut steps = self.steps.borrow_mut();
        steps.push(step);
        steps.len() - 1
    }
}
