//! A sparse matrix that is multiplied with, forward and back.

use super::Csr;
use crate::Scalar;
use crate::parallel::for_each_block;

/// A sparse matrix together with its transpose, ready for forward and backward products.
#[derive(Clone, Debug)]
pub struct SparseOperator<T> {
    matrix: Csr<T>,
    /// `None` where the matrix is symmetric, and so its own transpose.
    transpose: Option<Csr<T>>,
    /// For each entry of the transpose the position of the entry it came from.
    sources: Vec<u32>,
    column_sums: Vec<T>,
}

impl<T: Scalar> SparseOperator<T> {
    /// Prepares an operator; a symmetric matrix is recognised and stored once.
    pub fn new(matrix: Csr<T>) -> Self {
        let (transpose, sources) = matrix.transposed();
        let column_sums =
            (0..transpose.rows).map(|row| transpose.row(row).1.iter().copied().sum::<T>()).collect();
        let transpose = if transpose == matrix { None } else { Some(transpose) };
        Self { matrix, transpose, sources, column_sums }
    }

    /// The matrix itself.
    pub fn matrix(&self) -> &Csr<T> {
        &self.matrix
    }

    /// Its transpose.
    pub fn transpose(&self) -> &Csr<T> {
        self.transpose.as_ref().unwrap_or(&self.matrix)
    }

    /// `1ᵀA`, the sum of every column of the matrix.
    pub fn column_sums(&self) -> &[T] {
        &self.column_sums
    }

    /// For each entry of the transpose the position of the entry it came from.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// Rearranges values given in the order of the matrix into the order of its transpose.
    pub fn transpose_values(&self, values: &[T], transposed: &mut [T]) {
        for_each_block(transposed, 1, 2, |first, block| {
            for (target, &source) in block.iter_mut().zip(&self.sources[first..]) {
                *target = values[source as usize];
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symmetric_operator_is_its_own_transpose_and_permutes_values() {
        let entries = vec![(0, 1, 2.0), (1, 0, 2.0), (1, 1, 3.0)];
        let operator = SparseOperator::new(Csr::from_entries(2, 2, entries).unwrap());
        assert!(operator.transpose.is_none());
        let mut transposed = [0.0; 3];
        operator.transpose_values(&[7.0, 8.0, 9.0], &mut transposed);
        assert_eq!(transposed, [8.0, 7.0, 9.0]);
    }
}
