//! Dense row-major matrices.

use faer::{MatMut, MatRef};

use crate::Scalar;
use crate::aligned::AlignedValues;

/// A dense matrix, row after row in one piece of memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix<T> {
    rows: usize,
    columns: usize,
    data: AlignedValues<T>,
}

impl<T: Scalar> Matrix<T> {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: AlignedValues::zeros(rows * columns) }
    }

    /// The identity matrix.
    pub fn identity(dimension: usize) -> Self {
        Self::from_fn(dimension, dimension, |row, column| if row == column { T::ONE } else { T::ZERO })
    }

    /// A matrix from a function of row and column.
    pub fn from_fn(rows: usize, columns: usize, mut value: impl FnMut(usize, usize) -> T) -> Self {
        let values = (0..rows * columns).map(|index| value(index / columns, index % columns));
        let data = AlignedValues::collected(values);
        Self { rows, columns, data }
    }

    /// A matrix of existing row-major values, which are copied.
    ///
    /// # Panics
    /// If there are not `rows · columns` values.
    pub fn from_slice(rows: usize, columns: usize, values: &[T]) -> Self {
        Self::around(rows, columns, AlignedValues::copied_from(values))
    }

    /// A matrix around existing row-major values.
    ///
    /// # Panics
    /// As for [`Matrix::from_slice`].
    pub(crate) fn around(rows: usize, columns: usize, data: AlignedValues<T>) -> Self {
        assert_eq!(data.len(), rows * columns, "a {rows}×{columns} matrix needs {} values", rows * columns);
        Self { rows, columns, data }
    }

    /// A matrix from rows of equal length.
    ///
    /// # Panics
    /// If the rows differ in length.
    pub fn from_rows<R: AsRef<[T]>>(rows: &[R]) -> Self {
        let columns = rows.first().map_or(0, |row| row.as_ref().len());
        let mut matrix = Self::zeros(rows.len(), columns);
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row.as_ref().len(), columns, "rows of one matrix have equal length");
            matrix.row_mut(index).copy_from_slice(row.as_ref());
        }
        matrix
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// All values, row after row.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// All values, row after row, to write.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The memory, given up by the matrix.
    pub(crate) fn into_values(self) -> AlignedValues<T> {
        self.data
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[T] {
        &self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// One row, to write.
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        &mut self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// Some rows, in the order given.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn select_rows(&self, rows: &[u32]) -> Self {
        let mut selected = Self::zeros(rows.len(), self.columns);
        for (index, &row) in rows.iter().enumerate() {
            selected.row_mut(index).copy_from_slice(self.row(row as usize));
        }
        selected
    }

    /// One value.
    pub fn get(&self, row: usize, column: usize) -> T {
        self.row(row)[column]
    }

    /// Sets one value.
    pub fn set(&mut self, row: usize, column: usize, value: T) {
        self.row_mut(row)[column] = value;
    }

    /// The transposed matrix, as a copy.
    pub fn transposed(&self) -> Self {
        Self::from_fn(self.columns, self.rows, |row, column| self.get(column, row))
    }

    /// The same values in another precision.
    pub fn cast<U: Scalar>(&self) -> Matrix<U> {
        let values = self.data.iter().map(|value| U::from_f64(value.to_f64()));
        Matrix { rows: self.rows, columns: self.columns, data: AlignedValues::collected(values) }
    }

    /// Whether every value is finite.
    pub fn is_finite(&self) -> bool {
        self.data.iter().all(|value| value.is_finite())
    }

    /// The largest absolute difference to another matrix of the same shape; NaN if any difference is NaN, so that
    /// nothing that is no number passes for close.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn max_difference(&self, other: &Self) -> f64 {
        assert_eq!(self.shape(), other.shape());
        let pairs = self.data.iter().zip(&*other.data);
        let differences = pairs.map(|(left, right)| (left.to_f64() - right.to_f64()).abs());
        // `f64::max` would drop a NaN, whichever side it is on.
        differences.fold(0.0, |largest: f64, difference| match largest.is_nan() || difference <= largest {
            true => largest,
            false => difference,
        })
    }

    /// A view for faer.
    pub fn as_faer(&self) -> MatRef<'_, T> {
        MatRef::from_row_major_slice(&self.data, self.rows, self.columns)
    }

    /// A view for faer, to write.
    pub fn as_faer_mut(&mut self) -> MatMut<'_, T> {
        MatMut::from_row_major_slice_mut(&mut self.data, self.rows, self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_where_they_should_be() {
        let matrix = Matrix::from_rows(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        assert_eq!(matrix.shape(), (2, 3));
        assert_eq!(matrix.get(1, 0), 4.0);
        assert_eq!(matrix.transposed().row(2), &[3.0, 6.0]);
        assert_eq!(matrix.cast::<f32>().row(1), &[4.0f32, 5.0, 6.0]);
        let selected = matrix.select_rows(&[1, 1, 0]);
        assert_eq!(selected, Matrix::from_rows(&[[4.0, 5.0, 6.0], [4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]));
    }

    #[test]
    fn the_largest_difference_is_that_of_any_place() {
        let zeros = Matrix::zeros(1, 3);
        for row in [[-2.0, 1.0, 0.0], [1.0, -2.0, 0.5], [0.0, 0.5, 2.0]] {
            assert_eq!(Matrix::from_rows(&[row]).max_difference(&zeros), 2.0);
        }
        assert_eq!(zeros.max_difference(&zeros), 0.0);
    }

    #[test]
    fn no_difference_hides_a_nan() {
        let zeros = Matrix::zeros(1, 3);
        for row in [[f64::NAN, 0.0, 1.0], [1.0, f64::NAN, 2.0], [1.0, 0.0, f64::NAN], [f64::NAN; 3]] {
            let matrix = Matrix::from_rows(&[row]);
            assert!(matrix.max_difference(&zeros).is_nan(), "{row:?}");
            assert!(zeros.max_difference(&matrix).is_nan(), "{row:?}");
        }
        let infinite = Matrix::from_rows(&[[f64::INFINITY]]);
        assert!(infinite.max_difference(&infinite).is_nan());
    }

    #[test]
    #[should_panic(expected = "needs 4 values")]
    fn wrong_length_panics() {
        Matrix::from_slice(2, 2, &[1.0]);
    }
}
