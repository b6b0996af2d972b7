//! What a stretch notes on its way there, so that running it once more takes less.

use std::cell::RefCell;
use std::sync::Arc;
use std::vec::IntoIter;

use super::{Buffer, Packed, PooledSpectrum};
use crate::Scalar;

/// What a layer found out from all nodes together: small, and dear to find out again.
pub(crate) struct Note<T: Scalar> {
    /// What centring subtracts from every row, if it is not found out by another operation.
    pub shift: Option<Buffer<T>>,
    pub whitening: NotedWhitening<T>,
}

/// A whitening matrix `M`, d×d, as the way back needs it.
pub(crate) enum NotedWhitening<T: Scalar> {
    /// Itself, where it counts as constant.
    Matrix(Arc<Packed<T>>),
    /// What it is made of, where gradients flow through it.
    Spectrum(PooledSpectrum<T>),
}

/// The notes of a tape, in the order of its operations.
pub(super) enum Notes<T: Scalar> {
    /// Neither made nor read.
    None,
    Made(RefCell<Vec<Note<T>>>),
    Read(RefCell<IntoIter<Note<T>>>),
}

impl<T: Scalar> Notes<T> {
    /// Notes that are to be made.
    pub(super) fn empty() -> Self {
        Self::Made(RefCell::default())
    }

    /// Notes that were made, to be read.
    pub(super) fn into_readable(self) -> Self {
        match self {
            Self::Made(notes) => Self::Read(RefCell::new(notes.into_inner().into_iter())),
            other => other,
        }
    }

    /// Makes a note, if notes are made.
    pub(super) fn make(&self, note: impl FnOnce() -> Note<T>) {
        if let Self::Made(notes) = self {
            notes.borrow_mut().push(note());
        }
    }

    /// The next note, if notes are read.
    pub(super) fn read(&self) -> Option<Note<T>> {
        match self {
            Self::Read(notes) => notes.borrow_mut().next(),
            _ => None,
        }
    }
}
