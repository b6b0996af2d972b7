//! A bit for every value of a matrix.

use crate::parallel::for_each_block;
use crate::vectorized::vectorized;
use crate::{Matrix, Scalar};

use super::Pool;

/// Tells where the values of a matrix are positive, in a thirty-second of its memory, which goes back to the pool when it is dropped.
pub(crate) struct Flags<T: Scalar> {
    /// Rows of whole bytes, the first column in the lowest bit.
    bytes: Vec<u8>,
    columns: usize,
    pool: Pool<T>,
}

impl<T: Scalar> Flags<T> {
    /// Looks at a matrix.
    pub fn of_positive(matrix: &Matrix<T>, pool: &Pool<T>) -> Self {
        let columns = matrix.columns();
        let row_bytes = columns.div_ceil(8);
        let mut bytes = pool.take_bytes(matrix.rows() * row_bytes);
        for_each_block(&mut bytes, row_bytes, columns, |first, block| {
            let rows = block.len() / row_bytes;
            note_positive(block, &matrix.as_slice()[first * columns..(first + rows) * columns], columns);
        });
        Self { bytes, columns, pool: pool.clone() }
    }

    /// Scales the values of whole rows, from row `first` on, where the flag is set, and zeroes them elsewhere.
    pub fn keep(&self, first: usize, rows: &mut [T], scale: T) {
        let row_bytes = self.columns.div_ceil(8);
        keep_flagged(rows, &self.bytes[first * row_bytes..], self.columns, scale);
    }

    /// How many columns the matrix had.
    pub fn columns(&self) -> usize {
        self.columns
    }
}

impl<T: Scalar> Drop for Flags<T> {
    fn drop(&mut self) {
        self.pool.give_bytes(std::mem::take(&mut self.bytes));
    }
}

vectorized! {
    fn note_positive<'a, T>(flags: &'a mut [u8], values: &'a [T], columns: usize) {
        for (flags, row) in flags.chunks_exact_mut(columns.div_ceil(8)).zip(values.chunks_exact(columns.max(1))) {
            let (eights, rest) = row.as_chunks::<8>();
            for (flag, values) in flags.iter_mut().zip(eights) {
                *flag = bits_of(values);
            }
            if !rest.is_empty() {
                flags[eights.len()] = bits_of(rest);
            }
        }
    }
}

/// A bit for each of up to eight values, set where it is positive.
#[inline(always)]
fn bits_of<T: Scalar>(values: &[T]) -> u8 {
    let mut bits = 0;
    for (place, &value) in values.iter().enumerate() {
        bits |= u8::from(value > T::ZERO) << place;
    }
    bits
}

vectorized! {
    fn keep_flagged<'a, T>(values: &'a mut [T], flags: &'a [u8], columns: usize, scale: T) {
        for (row, flags) in values.chunks_exact_mut(columns.max(1)).zip(flags.chunks_exact(columns.div_ceil(8))) {
            let (eights, rest) = row.as_chunks_mut::<8>();
            let whole = eights.len();
            for (values, &flag) in eights.iter_mut().zip(flags) {
                keep_bits(values, flag, scale);
            }
            if !rest.is_empty() {
                keep_bits(rest, flags[whole], scale);
            }
        }
    }
}

#[inline(always)]
fn keep_bits<T: Scalar>(values: &mut [T], flag: u8, scale: T) {
    for (place, value) in values.iter_mut().enumerate() {
        let scaled = scale * *value;
        *value = if flag & (1 << place) != 0 { scaled } else { T::ZERO };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_matrix;

    #[test]
    fn what_is_positive_passes_and_nothing_else() {
        for columns in [1, 7, 8, 9, 64, 67] {
            let pool = Pool::new();
            let matrix = random_matrix(300, columns, columns as u64);
            let flags = Flags::of_positive(&matrix, &pool);
            let mut values = vec![3.0; 299 * columns];
            flags.keep(1, &mut values, 2.0);
            let expected =
                matrix.as_slice()[columns..].iter().map(|&value| if value > 0.0 { 6.0 } else { 0.0 });
            assert!(values.into_iter().eq(expected), "{columns} columns");
        }
    }

    #[test]
    fn their_memory_is_used_again() {
        let pool = Pool::new();
        let matrix = random_matrix(30, 9, 1);
        drop([Flags::of_positive(&matrix, &pool), Flags::of_positive(&matrix, &pool)]);
        drop(Flags::of_positive(&matrix, &pool));
        assert_eq!(pool.byte_lengths(), [(60, 2)]);
    }
}
