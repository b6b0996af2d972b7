//! Compressed-sparse-row matrices.

mod operator;
mod product;

use crate::{Matrix, Scalar, TensorError};

pub use operator::SparseOperator;

/// A sparse matrix in compressed-sparse-row form, columns ascending within each row.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<T> {
    rows: usize,
    columns: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Csr<T> {
    /// A matrix from its three arrays: row offsets (`rows + 1` of them), column indices, values.
    ///
    /// # Errors
    /// If the offsets do not rise from 0 to the number of values, or columns within a row do not rise strictly
    /// or lie outside the matrix.
    pub fn new(
        rows: usize,
        columns: usize,
        offsets: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, TensorError> {
        let invalid = |message: String| Err(TensorError::InvalidSparse(message));
        // The number of rows may come from a file: one more may be none.
        if offsets.len().checked_sub(1) != Some(rows) {
            let needed = rows.saturating_add(1);
            return invalid(format!("{rows} rows need {needed} offsets, not {}", offsets.len()));
        }
        if indices.len() != values.len() {
            return invalid(format!("{} column indices for {} values", indices.len(), values.len()));
        }
        if offsets[0] != 0 || offsets[rows] != values.len() {
            return invalid(format!("row offsets must run from 0 to {}", values.len()));
        }
        if let Some(row) = (0..rows).find(|&row| offsets[row] > offsets[row + 1]) {
            return invalid(format!("the offsets of row {row} fall"));
        }
        for row in 0..rows {
            let columns_of_row = &indices[offsets[row]..offsets[row + 1]];
            if columns_of_row.windows(2).any(|pair| pair[0] >= pair[1]) {
                return invalid(format!("the columns of row {row} do not rise strictly"));
            }
            if columns_of_row.last().is_some_and(|&last| last as usize >= columns) {
                return invalid(format!("row {row} has an entry beyond the {columns} columns"));
            }
        }
        Ok(Self { rows, columns, offsets, indices, values })
    }

    /// A matrix from `(row, column, value)` entries in any order; entries at the same place are added.
    ///
    /// # Errors
    /// If an entry lies outside the matrix.
    pub fn from_entries(
        rows: usize,
        columns: usize,
        mut entries: Vec<(u32, u32, T)>,
    ) -> Result<Self, TensorError> {
        let outside =
            entries.iter().find(|(row, column, _)| *row as usize >= rows || *column as usize >= columns);
        if let Some((row, column, _)) = outside {
            let message = format!("entry ({row}, {column}) is outside a {rows}×{columns} matrix");
            return Err(TensorError::InvalidSparse(message));
        }
        // A stable sort: duplicates are added in the order they were given, so sums are reproducible.
        entries.sort_by_key(|&(row, column, _)| (row, column));
        let mut offsets = vec![0; rows + 1];
        let mut indices = Vec::with_capacity(entries.len());
        let mut values: Vec<T> = Vec::with_capacity(entries.len());
        let mut previous = None;
        for (row, column, value) in entries {
            if previous == Some((row, column)) {
                if let Some(last) = values.last_mut() {
                    *last += value;
                }
                continue;
            }
            previous = Some((row, column));
            offsets[row as usize + 1] += 1;
            indices.push(column);
            values.push(value);
        }
        for row in 0..rows {
            offsets[row + 1] += offsets[row];
        }
        Ok(Self { rows, columns, offsets, indices, values })
    }

    /// The non-zero values of a dense matrix.
    pub fn from_dense(matrix: &Matrix<T>) -> Self {
        let mut offsets = vec![0];
        let mut indices = Vec::new();
        let mut values = Vec::new();
        for row in 0..matrix.rows() {
            for (column, &value) in matrix.row(row).iter().enumerate() {
                if value != T::ZERO {
                    indices.push(column as u32);
                    values.push(value);
                }
            }
            offsets.push(values.len());
        }
        Self { rows: matrix.rows(), columns: matrix.columns(), offsets, indices, values }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored entries.
    pub fn stored(&self) -> usize {
        self.values.len()
    }

    /// Where each row begins in [`Csr::indices`] and [`Csr::values`], and where the last one ends.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The column of each stored entry.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The stored values.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The columns and values of one row.
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// The same pattern with every value changed.
    pub fn map<U: Scalar>(&self, value: impl Fn(T) -> U) -> Csr<U> {
        Csr {
            rows: self.rows,
            columns: self.columns,
            offsets: self.offsets.clone(),
            indices: self.indices.clone(),
            values: self.values.iter().map(|&old| value(old)).collect(),
        }
    }

    /// The same values in another precision.
    pub fn cast<U: Scalar>(&self) -> Csr<U> {
        self.map(|value| U::from_f64(value.to_f64()))
    }

    /// The same matrix, zeros written out.
    pub fn to_dense(&self) -> Matrix<T> {
        let mut dense = Matrix::zeros(self.rows, self.columns);
        for row in 0..self.rows {
            let (indices, values) = self.row(row);
            for (&column, &value) in indices.iter().zip(values) {
                dense.set(row, column as usize, value);
            }
        }
        dense
    }

    /// The transposed matrix, and for each of its entries the position of the entry it came from.
    pub fn transposed(&self) -> (Self, Vec<u32>) {
        let mut offsets = vec![0; self.columns + 1];
        for &column in &self.indices {
            offsets[column as usize + 1] += 1;
        }
        for column in 0..self.columns {
            offsets[column + 1] += offsets[column];
        }
        let mut next = offsets.clone();
        let mut indices = vec![0; self.stored()];
        let mut sources = vec![0; self.stored()];
        for row in 0..self.rows {
            for source in self.offsets[row]..self.offsets[row + 1] {
                let place = &mut next[self.indices[source] as usize];
                indices[*place] = row as u32;
                sources[*place] = source as u32;
                *place += 1;
            }
        }
        let values = sources.iter().map(|&source| self.values[source as usize]).collect();
        (Self { rows: self.columns, columns: self.rows, offsets, indices, values }, sources)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers of rows and columns, and entries.
    pub(super) fn entries() -> impl Strategy<Value = (usize, usize, Vec<(u32, u32, f64)>)> {
        (1usize..20, 1usize..20).prop_flat_map(|(rows, columns)| {
            let entry = (0..rows as u32, 0..columns as u32, -2.0..2.0f64);
            (Just(rows), Just(columns), prop::collection::vec(entry, 0..60))
        })
    }

    proptest! {
        #[test]
        fn transposing_twice_gives_the_matrix_back((rows, columns, entries) in entries()) {
            let sparse = Csr::from_entries(rows, columns, entries).unwrap();
            let (transpose, sources) = sparse.transposed();
            prop_assert_eq!(transpose.to_dense(), sparse.to_dense().transposed());
            prop_assert_eq!(&transpose.transposed().0, &sparse);
            for (place, &source) in sources.iter().enumerate() {
                prop_assert_eq!(transpose.values()[place], sparse.values()[source as usize]);
            }
        }

        #[test]
        fn dense_and_back((rows, columns, entries) in entries()) {
            let dense = Csr::from_entries(rows, columns, entries).unwrap().to_dense();
            prop_assert_eq!(Csr::from_dense(&dense).to_dense(), dense);
        }
    }

    #[test]
    fn duplicates_are_added() {
        let sparse = Csr::from_entries(1, 3, vec![(0, 2, 1.0), (0, 0, 5.0), (0, 2, 2.0)]).unwrap();
        assert_eq!(sparse.to_dense().row(0), &[5.0, 0.0, 3.0]);
        assert_eq!(sparse.stored(), 2);
    }

    #[test]
    fn broken_parts_are_refused() {
        let new = |offsets: Vec<usize>, indices: Vec<u32>| {
            let values = vec![1.0f64; indices.len()];
            Csr::new(2, 2, offsets, indices, values).unwrap_err().to_string()
        };
        assert!(new(vec![0, 1], vec![0]).contains("3 offsets"));
        assert!(new(vec![0, 2, 1], vec![0]).contains("fall"));
        assert!(new(vec![0, 1, 1], vec![2]).contains("beyond"));
        assert!(new(vec![0, 2, 2], vec![1, 1]).contains("strictly"));
        assert!(new(vec![0, 1, 3], vec![0, 1]).contains("0 to 2"));
        assert!(Csr::from_entries(1, 1, vec![(0, 1, 1.0f32)]).is_err());
    }

    #[test]
    fn rows_without_end_are_refused() {
        for offsets in [vec![], vec![0]] {
            let error = Csr::<f32>::new(usize::MAX, 1, offsets, vec![], vec![]).unwrap_err().to_string();
            assert!(error.contains(&format!("{} rows", usize::MAX)), "{error}");
        }
    }
}
