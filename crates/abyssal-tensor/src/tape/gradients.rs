//! The gradients of a backward pass while they are being gathered.

use super::{Buffer, Pool, Slot, Variable};
use crate::Scalar;
use crate::elementwise::add;

/// Gradients by variable.
pub struct Gradients<T: Scalar> {
    slots: Vec<Option<Buffer<T>>>,
    pool: Pool<T>,
}

impl<T: Scalar> Gradients<T> {
    pub(super) fn new(slots: usize, pool: Pool<T>) -> Self {
        Self { slots: (0..slots).map(|_| None).collect(), pool }
    }

    /// The gradient with respect to a variable; `None` if the output does not depend on it.
    pub fn take(&mut self, variable: &Variable<T>) -> Option<Buffer<T>> {
        self.take_slot(variable.slot?)
    }

    pub(crate) fn take_slot(&mut self, slot: usize) -> Option<Buffer<T>> {
        self.slots[slot].take()
    }

    /// Puts back what [`Gradients::take_slot`] took, or what has become of it.
    pub(super) fn put(&mut self, slot: usize, gradient: Option<Buffer<T>>) {
        self.slots[slot] = gradient;
    }

    /// The store of buffers, for operations that need room on their way back.
    pub(crate) fn pool(&self) -> &Pool<T> {
        &self.pool
    }

    /// Adds a gradient that nobody else needs.
    pub(crate) fn add(&mut self, slot: Slot, gradient: Buffer<T>) {
        let Some(slot) = slot else { return };
        match &mut self.slots[slot] {
            Some(sum) => add(sum, &gradient),
            empty => *empty = Some(gradient),
        }
    }

    /// The gradient gathered so far, for operations that can add to it in place.
    pub(crate) fn gathered(&mut self, slot: Slot) -> Option<&mut Buffer<T>> {
        self.slots[slot?].as_mut()
    }
}
