//! The gradients of a backward pass while they are being gathered.

use super::{Buffer, Pool, Slot, Variable};
use crate::Scalar;
use crate::elementwise::{add_scaled, scaled_copy};

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

    pub(super) fn take_slot(&mut self, slot: usize) -> Option<Buffer<T>> {
        self.slots[slot].take()
    }

    /// The store of buffers, for operations that need room on their way back.
    pub(crate) fn pool(&self) -> &Pool<T> {
        &self.pool
    }

    /// Adds a gradient that nobody else needs.
    pub(crate) fn add(&mut self, slot: Slot, gradient: Buffer<T>) {
        let Some(slot) = slot else { return };
        match &mut self.slots[slot] {
            Some(sum) => add_scaled(sum, T::ONE, &gradient),
            empty => *empty = Some(gradient),
        }
    }

    /// Adds `scale · gradient`.
    pub(crate) fn add_scaled(&mut self, slot: Slot, scale: T, gradient: &Buffer<T>) {
        let Some(slot) = slot else { return };
        match &mut self.slots[slot] {
            Some(sum) => add_scaled(sum, scale, gradient),
            empty => {
                let mut copy = self.pool.take(gradient.rows(), gradient.columns());
                scaled_copy(&mut copy, scale, gradient);
                *empty = Some(copy);
            }
        }
    }
}
