//! What an operation keeps of its input for the way back.

use std::ops::Range;
use std::sync::Arc;

use super::{Value, Variable};
use crate::Scalar;
use crate::gemm::rows_of;

/// Computes rows of a matrix again.
pub(crate) trait Recipe<T: Scalar>: Send + Sync {
    /// Writes whole rows, from row `first` on, with the bits they had.
    fn write_rows(&self, first: usize, rows: &mut [T]);
}

/// A matrix for the way back: it, or how to compute it.
pub(crate) enum Kept<T: Scalar> {
    Matrix(Value<T>),
    Recipe(Arc<dyn Recipe<T>>),
}

impl<T: Scalar> Kept<T> {
    /// Keeps as little of a variable as there is to keep.
    pub fn of(variable: &Variable<T>) -> Self {
        match &variable.facts.recipe {
            Some(recipe) => Self::Recipe(Arc::clone(recipe)),
            None => Self::Matrix(variable.value.clone()),
        }
    }

    /// Some rows of the matrix, for which there is `room`.
    pub fn rows<'a>(&'a self, range: Range<usize>, room: &'a mut [T]) -> &'a [T] {
        match self {
            Self::Matrix(matrix) => rows_of(matrix, range.start, range.len()),
            Self::Recipe(recipe) => {
                recipe.write_rows(range.start, room);
                room
            }
        }
    }
}
