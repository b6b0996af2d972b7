//! Factors of products, put in order once for all rows they are multiplied with.

use super::{Buffer, Pool};
use crate::gemm::Panels;
use crate::{Matrix, Scalar};

/// The right factor of a product as [`Panels`], whose memory goes back to the pool when it is dropped.
pub(crate) struct Packed<T: Scalar> {
    values: Buffer<T>,
    depth: usize,
    columns: usize,
}

impl<T: Scalar> Packed<T> {
    /// A matrix.
    pub fn new(matrix: &Matrix<T>, pool: &Pool<T>) -> Self {
        let mut packed = Self::room(matrix.shape(), pool);
        Panels::new(matrix, packed.values.as_mut_slice());
        packed
    }

    /// The transpose of a matrix.
    pub fn transposed(matrix: &Matrix<T>, pool: &Pool<T>) -> Self {
        let mut packed = Self::room((matrix.columns(), matrix.rows()), pool);
        Panels::transposed(matrix, packed.values.as_mut_slice());
        packed
    }

    fn room((depth, columns): (usize, usize), pool: &Pool<T>) -> Self {
        Self { values: pool.take(1, Panels::<T>::length(depth, columns)), depth, columns }
    }

    /// How many columns the matrix has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// What products take.
    pub fn panels(&self) -> Panels<'_, T> {
        Panels::around(self.depth, self.columns, self.values.as_slice())
    }
}
