//! The gradients of a backward pass while they are being gathered.

use super::{Buffer, Pool, Slot, Variable};
use crate::Scalar;
use crate::elementwise::add;

/// Gradients by variable.
pub struct Gradients<T: Scalar> {
    slots: Vec<Option<Gathered<T>>>,
    pool: Pool<T>,
    /// Whether that of the step under way was.
    rectified: bool,
}

/// A sum of gradients.
struct Gathered<T: Scalar> {
    sum: Buffer<T>,
    /// Whether it is zero wherever the variable is not positive.
    rectified: bool,
}

impl<T: Scalar> Gradients<T> {
    pub(super) fn new(slots: usize, pool: Pool<T>) -> Self {
        Self { slots: (0..slots).map(|_| None).collect(), pool, rectified: false }
    }

    /// The gradient with respect to a variable; `None` if the output does not depend on it.
    pub fn take(&mut self, variable: &Variable<T>) -> Option<Buffer<T>> {
        self.take_slot(variable.slot?)
    }

    pub(crate) fn take_slot(&mut self, slot: usize) -> Option<Buffer<T>> {
        Some(self.slots[slot].take()?.sum)
    }

    /// As [`Gradients::take_slot`], for the step that computed the variable.
    pub(super) fn take_for_step(&mut self, slot: usize) -> Option<Buffer<T>> {
        let Gathered { sum, rectified } = self.slots[slot].take()?;
        self.rectified = rectified;
        Some(sum)
    }

    /// Whether the gradient that the step under way was given is zero already wherever its output is not positive.
    pub(crate) fn is_rectified(&self) -> bool {
        self.rectified
    }

    /// Puts back what [`Gradients::take_slot`] took, or what has become of it.
    pub(super) fn put(&mut self, slot: usize, gradient: Option<Buffer<T>>) {
        self.slots[slot] = gradient.map(|sum| Gathered { sum, rectified: false });
    }

    /// The store of buffers, for operations that need room on their way back.
    pub(crate) fn pool(&self) -> &Pool<T> {
        &self.pool
    }

    /// Adds a gradient that nobody else needs.
    pub(crate) fn add(&mut self, slot: Slot, gradient: Buffer<T>) {
        self.gather(slot, Gathered { sum: gradient, rectified: false });
    }

    /// As [`Gradients::add`], of a [rectified](super::Facts::rectified) variable, where the gradient is zero already wherever that is not
    /// positive.
    pub(crate) fn add_rectified(&mut self, slot: Slot, gradient: Buffer<T>) {
        self.gather(slot, Gathered { sum: gradient, rectified: true });
    }

    fn gather(&mut self, slot: Slot, gradient: Gathered<T>) {
        let Some(slot) = slot else { return };
        match &mut self.slots[slot] {
            Some(gathered) => {
                add(&mut gathered.sum, &gradient.sum);
                gathered.rectified &= gradient.rectified;
            }
            empty => *empty = Some(gradient),
        }
    }

    /// The gradient gathered so far, for operations that can add to it in place.
    pub(crate) fn gathered(&mut self, slot: Slot) -> Option<&mut Buffer<T>> {
        let gathered = self.slots[slot?].as_mut()?;
        gathered.rectified = false;
        Some(&mut gathered.sum)
    }
}
