//! Compressed-sparse-row matrices and their products with dense ones.

use crate::parallel::{block_rows, for_each_block, for_each_block_with, partial_count, sum_over_rows};
use crate::vectorized::vectorized;
use crate::{Matrix, Scalar, TensorError};

/// A block of rows of a product has about this many multiply-adds at most, or a single row.
const BLOCK_WORK: usize = 1 << 17;
/// Sums of at most this many values are collected where the entries come from, so that they stay in a core's own cache.
const COLLECTED_VALUES: usize = 1 << 16;
/// A partial sum must collect so many entries for each of its rows to be worth adding up.
const ENTRIES_COLLECTED: usize = 4;

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
        if offsets.len() != rows + 1 {
            return invalid(format!("{rows} rows need {} offsets, not {}", rows + 1, offsets.len()));
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

    /// `output = self · dense`. Shapes: self is m×n, `dense` n×d, `output` m×d.
    ///
    /// Every row of the output belongs to one thread and sums its entries in storage order.
    pub fn multiply_into(&self, dense: &Matrix<T>, output: &mut Matrix<T>) {
        self.multiply_values_into(&self.values, dense, output);
    }

    /// As [`Csr::multiply_into`], with other values at the same places.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn multiply_values_into(&self, values: &[T], dense: &Matrix<T>, output: &mut Matrix<T>) {
        assert_eq!(values.len(), self.stored());
        assert_eq!(dense.rows(), self.columns, "sparse product: inner dimensions");
        assert_eq!(output.shape(), (self.rows, dense.columns()), "sparse product: output shape");
        let width = dense.columns();
        let work = width * (1 + self.stored() / self.rows.max(1));
        // Few rows with many entries, such as those of transposed features, are work for many threads too.
        let rows = (BLOCK_WORK / work.max(1)).clamp(1, block_rows(self.rows, width));
        for_each_block_with(rows, output.as_mut_slice(), width, work, |first, block| {
            multiply_rows(&self.offsets[first..], &self.indices, values, dense.as_slice(), width, block);
        });
    }

    /// The rows of [`Csr::multiply_into`] from `first` on, as many as `block` has room for, on the calling thread.
    pub(crate) fn multiply_rows_into(&self, first: usize, dense: &Matrix<T>, block: &mut [T]) {
        let (offsets, dense, width) = (&self.offsets[first..], dense.as_slice(), dense.columns());
        multiply_rows(offsets, &self.indices, &self.values, dense, width, block);
    }

    /// Whether [`Csr::collect_transposed_into`] is worth it: if the output is small, and there are many entries for each of its rows.
    pub fn collects_transposed(&self, width: usize) -> bool {
        let partial_rows = self.columns * partial_count(self.rows);
        self.columns * width <= COLLECTED_VALUES && partial_rows * ENTRIES_COLLECTED <= self.stored()
    }

    /// How many values [`Csr::collect_transposed_into`] needs as scratch.
    pub fn collect_scratch(&self, width: usize) -> usize {
        partial_count(self.rows) * self.columns * width
    }

    /// `output = selfᵀ · dense` with other values at the same places, without a transpose to read: every entry adds its share of a row
    /// of `dense` to a row of the output. Shapes: self is m×n, `dense` m×d, `output` n×d.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn collect_transposed_into(
        &self,
        values: &[T],
        dense: &Matrix<T>,
        output: &mut Matrix<T>,
        partials: &mut [T],
    ) {
        assert_eq!(values.len(), self.stored());
        assert_eq!(dense.rows(), self.rows, "transposed sparse product: inner dimensions");
        assert_eq!(
            output.shape(),
            (self.columns, dense.columns()),
            "transposed sparse product: output shape"
        );
        let width = dense.columns();
        let work = width * (1 + self.stored() / self.rows.max(1));
        sum_over_rows(self.rows, work, output.as_mut_slice(), partials, |range, partial| {
            partial.fill(T::ZERO);
            let dense = &dense.as_slice()[range.start * width..range.end * width];
            collect_rows(
                &self.offsets[range.start..=range.end],
                &self.indices,
                values,
                dense,
                width,
                partial,
            );
        });
    }
}

vectorized! {
    /// `output[indices[e], :] += values[e] · dense[row, :]` for all entries of the rows between `offsets`.
    fn collect_rows<'a, T>(
        offsets: &'a [usize],
        indices: &'a [u32],
        values: &'a [T],
        dense: &'a [T],
        width: usize,
        output: &'a mut [T],
    ) {
        for (row, bounds) in dense.chunks_exact(width.max(1)).zip(offsets.windows(2)) {
            let range = bounds[0]..bounds[1];
            let entries = (&indices[range.clone()], &values[range]);
            match width {
                64 => collect_row::<T, 64>(entries, row, output),
                32 => collect_row::<T, 32>(entries, row, output),
                16 => collect_row::<T, 16>(entries, row, output),
                _ => {
                    for (&index, &value) in entries.0.iter().zip(entries.1) {
                        let target = &mut output[index as usize * width..][..width];
                        for (sum, &entry) in target.iter_mut().zip(row) {
                            *sum += value * entry;
                        }
                    }
                }
            }
        }
    }
}

/// One row of `W` columns of [`collect_rows`], which is kept in registers.
#[inline(always)]
fn collect_row<T: Scalar, const W: usize>((indices, values): (&[u32], &[T]), row: &[T], output: &mut [T]) {
    let mut source = [T::ZERO; W];
    source.copy_from_slice(row);
    for (&index, &value) in indices.iter().zip(values) {
        let begin = index as usize * W;
        let target = &mut output[begin..begin + W];
        for (sum, &entry) in target.iter_mut().zip(&source) {
            *sum += value * entry;
        }
    }
}

vectorized! {
    /// The rows of a sparse product from the first of `offsets` on, as many as `output` has room for.
    fn multiply_rows<'a, T>(
        offsets: &'a [usize],
        indices: &'a [u32],
        values: &'a [T],
        dense: &'a [T],
        width: usize,
        output: &'a mut [T],
    ) {
        for (row, bounds) in output.chunks_exact_mut(width.max(1)).zip(offsets.windows(2)) {
            let range = bounds[0]..bounds[1];
            multiply_row(&indices[range.clone()], &values[range], dense, row);
        }
    }
}

/// `row = Σ values[e] · dense[indices[e], :]`, with the sums of a stretch of columns kept in registers.
#[inline(always)]
fn multiply_row<T: Scalar>(indices: &[u32], values: &[T], dense: &[T], row: &mut [T]) {
    let width = row.len();
    let mut rest = row;
    while !rest.is_empty() {
        let start = width - rest.len();
        let (stretch, later) = rest.split_at_mut(stretch_of(rest.len()));
        let sources = (indices, values, dense, width, start);
        match stretch.len() {
            128 => multiply_stretch::<T, 128>(sources, stretch),
            64 => multiply_stretch::<T, 64>(sources, stretch),
            32 => multiply_stretch::<T, 32>(sources, stretch),
            16 => multiply_stretch::<T, 16>(sources, stretch),
            9.. => multiply_rest::<T, 16>(sources, stretch),
            5.. => multiply_rest::<T, 8>(sources, stretch),
            3.. => multiply_rest::<T, 4>(sources, stretch),
            _ => multiply_rest::<T, 2>(sources, stretch),
        }
        rest = later;
    }
}

/// How many of so many columns to compute together: whole registers, then what is left.
#[inline(always)]
fn stretch_of(columns: usize) -> usize {
    [128, 64, 32, 16].into_iter().find(|&stretch| stretch <= columns).unwrap_or(columns)
}

/// What the stretches of a row are computed from: indices, values, the dense matrix, its width, and the first column.
type Sources<'a, T> = (&'a [u32], &'a [T], &'a [T], usize, usize);

/// `W` columns from `start` on.
#[inline(always)]
fn multiply_stretch<T: Scalar, const W: usize>(
    (indices, values, dense, width, start): Sources<T>,
    output: &mut [T],
) {
    let mut sums = [T::ZERO; W];
    for (&index, &value) in indices.iter().zip(values) {
        let begin = index as usize * width + start;
        let source = &dense[begin..begin + W];
        for (sum, &entry) in sums.iter_mut().zip(source) {
            *sum += value * entry;
        }
    }
    output.copy_from_slice(&sums);
}

/// The last columns, up to `W`. All `W` are computed: what lies behind the end of a row is read, too, and forgotten. Whole stretches do not
/// take this way: asking for the end of the matrix made an epoch on Cora a fifth slower.
#[inline(always)]
fn multiply_rest<T: Scalar, const W: usize>(
    (indices, values, dense, width, start): Sources<T>,
    output: &mut [T],
) {
    let mut sums = [T::ZERO; W];
    for (&index, &value) in indices.iter().zip(values) {
        let source = &dense[index as usize * width + start..];
        let source = source.first_chunk::<W>().copied().unwrap_or_else(|| {
            // Nothing lies behind the last row.
            let mut padded = [T::ZERO; W];
            padded[..source.len()].copy_from_slice(source);
            padded
        });
        for (sum, entry) in sums.iter_mut().zip(source) {
            *sum += value * entry;
        }
    }
    output.copy_from_slice(&sums[..output.len()]);
}

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
    use proptest::prelude::*;

    use super::*;
    use crate::gemm::product;

    fn entries() -> impl Strategy<Value = (usize, usize, Vec<(u32, u32, f64)>)> {
        (1usize..20, 1usize..20).prop_flat_map(|(rows, columns)| {
            let entry = (0..rows as u32, 0..columns as u32, -2.0..2.0f64);
            (Just(rows), Just(columns), prop::collection::vec(entry, 0..60))
        })
    }

    proptest! {
        #[test]
        fn products_equal_dense_ones((rows, columns, entries) in entries(), width in 1usize..90) {
            let sparse = Csr::from_entries(rows, columns, entries).unwrap();
            let dense = Matrix::from_fn(columns, width, |row, column| (row * 31 + column * 17 % 7) as f64 - 3.0);
            let mut output = Matrix::zeros(rows, width);
            sparse.multiply_into(&dense, &mut output);
            prop_assert!(output.max_difference(&product(&sparse.to_dense(), &dense)) < 1e-9);
        }

        /// Widths with code of their own and others.
        #[test]
        fn transposed_products_equal_dense_ones(
            (rows, columns, entries) in entries(),
            width in prop::sample::select(vec![1usize, 7, 16, 32, 64, 65]),
        ) {
            let sparse = Csr::from_entries(rows, columns, entries).unwrap();
            let dense = Matrix::from_fn(rows, width, |row, column| (row * 31 + column * 17 % 7) as f64 - 3.0);
            let mut output = Matrix::zeros(columns, width);
            let mut partials = vec![f64::NAN; sparse.collect_scratch(width)];
            sparse.collect_transposed_into(sparse.values(), &dense, &mut output, &mut partials);
            prop_assert!(output.max_difference(&product(&sparse.to_dense().transposed(), &dense)) < 1e-9);
        }

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
    fn a_symmetric_operator_is_its_own_transpose_and_permutes_values() {
        let entries = vec![(0, 1, 2.0), (1, 0, 2.0), (1, 1, 3.0)];
        let operator = SparseOperator::new(Csr::from_entries(2, 2, entries).unwrap());
        assert!(operator.transpose.is_none());
        let mut transposed = [0.0; 3];
        operator.transpose_values(&[7.0, 8.0, 9.0], &mut transposed);
        assert_eq!(transposed, [8.0, 7.0, 9.0]);
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
}
