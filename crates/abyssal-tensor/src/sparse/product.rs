//! Products of sparse matrices with dense ones.

use prefetch_index::prefetch_index;

use super::Csr;
use crate::aligned::LINE;
use crate::parallel::{block_rows, for_each_block_with, partial_count, sum_over_rows};
use crate::vectorized::vectorized;
use crate::{Matrix, Scalar};

/// A block of rows of a product has about this many multiply-adds at most, or a single row.
const BLOCK_WORK: usize = 1 << 17;
/// Sums of at most this many values are collected where the entries come from, so that they stay in a core's own cache.
const COLLECTED_VALUES: usize = 1 << 16;
/// A partial sum must collect so many entries for each of its rows to be worth adding up.
const ENTRIES_COLLECTED: usize = 4;
/// Rows of larger matrices are fetched ahead of their use. Smaller ones are in a cache, or nearly.
const CACHED_BYTES: usize = 256 << 10;
/// So many entries ahead: far enough for memory, near enough that what was fetched is still there.
const ENTRIES_AHEAD: usize = 16;

impl<T: Scalar> Csr<T> {
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
        let fetches = size_of_val(dense) > CACHED_BYTES;
        for (row, bounds) in output.chunks_exact_mut(width.max(1)).zip(offsets.windows(2)) {
            let range = bounds[0]..bounds[1];
            let later = if fetches { range.start + ENTRIES_AHEAD..range.end + ENTRIES_AHEAD } else { 0..0 };
            let later = indices.get(later).unwrap_or_default();
            multiply_row((&indices[range.clone()], &values[range]), later, dense, row);
        }
    }
}

/// `row = Σ values[e] · dense[indices[e], :]`, with the sums of a stretch of columns kept in registers. Meanwhile the rows at the indices
/// `later` are fetched from memory.
#[inline(always)]
fn multiply_row<T: Scalar>((indices, values): (&[u32], &[T]), later: &[u32], dense: &[T], row: &mut [T]) {
    let width = row.len();
    let mut rest = row;
    while !rest.is_empty() {
        let start = width - rest.len();
        let (stretch, others) = rest.split_at_mut(stretch_of(rest.len()));
        let sources = Sources { indices, values, later, dense, width, start };
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
        rest = others;
    }
}

/// How many of so many columns to compute together: whole registers, then what is left.
#[inline(always)]
fn stretch_of(columns: usize) -> usize {
    [128, 64, 32, 16].into_iter().find(|&stretch| stretch <= columns).unwrap_or(columns)
}

/// What a stretch of a row is computed from.
struct Sources<'a, T> {
    indices: &'a [u32],
    values: &'a [T],
    /// Indices of entries to come, whose rows are wanted soon; at most as many as there are values.
    later: &'a [u32],
    dense: &'a [T],
    width: usize,
    /// The first column.
    start: usize,
}

/// `W` columns from `start` on.
#[inline(always)]
fn multiply_stretch<T: Scalar, const W: usize>(sources: Sources<T>, output: &mut [T]) {
    let Sources { indices, values, later, dense, width, start } = sources;
    let mut sums = [T::ZERO; W];
    let mut later = later.iter();
    for (&index, &value) in indices.iter().zip(values) {
        if let Some(&index) = later.next() {
            let begin = index as usize * width + start;
            for column in (0..W).step_by(LINE / size_of::<T>()) {
                prefetch_index(dense, begin + column);
            }
        }
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
fn multiply_rest<T: Scalar, const W: usize>(sources: Sources<T>, output: &mut [T]) {
    let Sources { indices, values, dense, width, start, .. } = sources;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::entries;
    use super::*;
    use crate::gemm::product;

    /// Rows are fetched ahead up to the last ones, which nothing follows; empty rows and long ones among them.
    #[test]
    fn products_with_large_matrices_fetch_ahead_and_are_the_same() {
        let (rows, width) = (20_000, 64);
        assert!(rows * width * size_of::<f32>() > CACHED_BYTES);
        let entry = |row: u32, step: u32| (row, (row * 7919 + step * 104_729) % rows as u32, 0.5);
        let entries = (0..rows as u32).flat_map(|row| (0..row % 23 % 12).map(move |step| entry(row, step)));
        let sparse = Csr::from_entries(rows, rows, entries.collect()).unwrap();
        let dense = Matrix::from_fn(rows, width, |row, column| ((row * 31 + column * 17) % 7) as f32);
        let mut output = Matrix::zeros(rows, width);
        sparse.multiply_into(&dense, &mut output);
        for row in 0..rows {
            let (indices, values) = sparse.row(row);
            for (column, &value) in output.row(row).iter().enumerate() {
                let terms = indices
                    .iter()
                    .zip(values)
                    .map(|(&index, value)| value * dense.get(index as usize, column));
                assert_eq!(value, terms.sum(), "row {row}, column {column}");
            }
        }
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
    }
}
