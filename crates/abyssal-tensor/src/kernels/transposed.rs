//! Products of transposed tall matrices with tall ones.

use std::ops::Range;

use prefetch_index::prefetch_index;
use pulp::{Simd, WithSimd};

use super::Accumulate;
use super::lanes::Lanes;
use super::tile::{FEWER_ROWS, ROWS, add_step, load, most_registers, store, zeros};
use crate::aligned::LINE;

/// Rows that are multiplied together hold so many values of a factor, so that both factors stay in the first-level cache.
const BLOCK_VALUES: usize = 4096;
/// Fewer rows than this are not worth reading and writing the product for.
const LEAST_ROWS: usize = 32;

/// Which part of a product is wanted.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Part {
    All,
    /// What is not above the diagonal; what is above it is arbitrary.
    Lower,
}

/// `C = Xᵀ·Y` or `C += Xᵀ·Y`, for a range of the columns of X. Shapes: X is n×d, Y n×e, C as many rows as the range has × e.
pub(super) struct TransposedProduct<'a, T> {
    pub output: &'a mut [T],
    pub accumulate: Accumulate,
    /// X, d, and which of its columns.
    pub left: (&'a [T], usize, Range<usize>),
    /// Y and e.
    pub right: (&'a [T], usize),
    pub part: Part,
}

impl<T: Lanes> TransposedProduct<'_, T> {
    pub(super) fn run(self) {
        let ((left, left_columns, range), (right, columns)) = (&self.left, self.right);
        assert!(range.end <= *left_columns, "transposed product: columns");
        assert_eq!(self.output.len(), range.len() * columns, "transposed product: output shape");
        if self.output.is_empty() {
            return;
        }
        let rows = right.len() / columns;
        assert_eq!(
            (left.len(), right.len()),
            (rows * left_columns, rows * columns),
            "transposed product: rows"
        );
        if rows > 0 {
            pulp::Arch::new().dispatch(self);
        } else if self.accumulate == Accumulate::Replace {
            self.output.fill(T::default());
        }
    }
}

impl<T: Lanes> WithSimd for TransposedProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { output, accumulate, left: (left, left_columns, range), right: (right, columns), part } =
            self;
        let rows = (BLOCK_VALUES / columns).max(LEAST_ROWS);
        let mut blocks = left.chunks(rows * left_columns).zip(right.chunks(rows * columns)).peekable();
        let mut accumulate = accumulate;
        while let Some((left, right)) = blocks.next() {
            let mut block = Block {
                left,
                left_columns,
                right,
                columns,
                output: &mut *output,
                accumulate,
                part,
                first: range.start,
                ahead: blocks.peek().copied().unwrap_or_default(),
                fetched: 0,
            };
            accumulate = Accumulate::Add;
            let mut row = range.start;
            while range.end - row >= ROWS {
                block.rows::<S, ROWS>(simd, row);
                row += ROWS;
            }
            if range.end - row >= FEWER_ROWS {
                block.rows::<S, FEWER_ROWS>(simd, row);
                row += FEWER_ROWS;
            }
            while row < range.end {
                block.rows::<S, 1>(simd, row);
                row += 1;
            }
        }
    }
}

/// Some rows of both factors, and the product that they are a part of.
struct Block<'a, T> {
    left: &'a [T],
    left_columns: usize,
    right: &'a [T],
    columns: usize,
    output: &'a mut [T],
    accumulate: Accumulate,
    part: Part,
    /// The row of the product with which the output begins.
    first: usize,
    /// What comes next of both factors, which is fetched from memory meanwhile, and how much of it was.
    ahead: (&'a [T], &'a [T]),
    fetched: usize,
}

impl<T: Lanes> Block<'_, T> {
    /// `R` rows of the product.
    #[inline(always)]
    fn rows<S: Simd, const R: usize>(&mut self, simd: S, row: usize) {
        let lanes = T::lanes::<S>();
        let end = match self.part {
            Part::All => self.columns,
            Part::Lower => self.columns.min((row + R).next_multiple_of(lanes)),
        };
        let mut column = 0;
        while column < end {
            let registers = ((end - column) / lanes).min(most_registers::<S>());
            match registers {
                0 => {
                    let load = |right: &[T]| [T::load_part(simd, &right[column..end])];
                    self.tile::<S, R, 1>(simd, row, column..end, load);
                }
                1 => self.whole_tile::<S, R, 1>(simd, row, column),
                2 => self.whole_tile::<S, R, 2>(simd, row, column),
                3 => self.whole_tile::<S, R, 3>(simd, row, column),
                _ => self.whole_tile::<S, R, 4>(simd, row, column),
            }
            column += registers.max(1) * lanes;
        }
    }

    /// `N` registers of columns of the product from `column` on.
    #[inline(always)]
    fn whole_tile<S: Simd, const R: usize, const N: usize>(&mut self, simd: S, row: usize, column: usize) {
        let columns = column..column + N * T::lanes::<S>();
        self.tile::<S, R, N>(simd, row, columns, |right| load(&right[column..]));
    }

    /// Some columns of the product, given how to load them from a row of the right factor.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const N: usize>(
        &mut self,
        simd: S,
        row: usize,
        columns: Range<usize>,
        load: impl Fn(&[T]) -> [T::Vector<S>; N],
    ) {
        let pairs = self.left.chunks_exact(self.left_columns).zip(self.right.chunks_exact(self.columns));
        let mut tile = zeros::<T, S, R, N>(simd);
        for (left, right) in pairs {
            let values = &left[row..row + R];
            let mut left = [&values[0]; R];
            for index in 0..R {
                left[index] = &values[index];
            }
            if self.fetched < self.ahead.1.len() {
                prefetch_index(self.ahead.0, self.fetched);
                prefetch_index(self.ahead.1, self.fetched);
                self.fetched += LINE / size_of::<T>();
            }
            add_step(simd, &mut tile, left, load(right));
        }
        let output = &mut self.output[(row - self.first) * self.columns + columns.start..];
        store(simd, tile, self.accumulate, (output, self.columns), columns.len());
    }
}
