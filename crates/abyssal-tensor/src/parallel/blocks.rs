//! What is computed: blocks of rows, and sums over them.

use std::ops::Range;

use super::share;
use crate::Scalar;
use crate::vectorized::vectorized;

/// Rows of a block hold about this many values: small enough for a core's own cache.
const BLOCK_VALUES: usize = 8192;
/// At most this many partial sums are kept in a reduction.
const PARTIAL_SUMS: usize = 60;
/// Partial sums come in multiples of this, so that 2, 3, 4 or 6 threads have equal shares.
const EVEN_SHARES: usize = 12;
/// A partial sum over fewer rows than this is not worth adding up, but for the second one, which another thread can compute.
const PARTIAL_ROWS: usize = 192;
/// Fewer rows than this are not divided.
const FEW_ROWS: usize = 128;
/// Less work than this (in touched values or multiply-adds) is not worth waking another thread.
const SERIAL_WORK: usize = 1 << 15;

/// How many rows a block has, at most, for matrices of this shape: all blocks are of about the same size.
pub fn block_rows(rows: usize, columns: usize) -> usize {
    even_share(rows, (BLOCK_VALUES / columns.max(1)).clamp(64, 1024))
}

/// How large parts of at most `most` are that share `total` evenly.
pub(crate) fn even_share(total: usize, most: usize) -> usize {
    total.div_ceil(total.div_ceil(most).max(1)).max(1)
}

/// Calls `operation(first_row, block)` for every block of rows of row-major `data`.
///
/// `work_per_row` (values touched or multiply-adds) decides whether other threads are worth waking.
pub fn for_each_block<T: Send>(
    data: &mut [T],
    columns: usize,
    work_per_row: usize,
    operation: impl Fn(usize, &mut [T]) + Sync + Send,
) {
    let rows = block_rows(data.len() / columns.max(1), columns);
    for_each_block_with(rows, data, columns, work_per_row, operation);
}

/// As [`for_each_block`], with blocks of so many rows.
pub(crate) fn for_each_block_with<T: Send>(
    rows: usize,
    data: &mut [T],
    columns: usize,
    work_per_row: usize,
    operation: impl Fn(usize, &mut [T]) + Sync + Send,
) {
    let chunk = (rows * columns).max(1);
    let work = Work { rows: data.len() / columns.max(1), per_row: work_per_row };
    work.share(data.chunks_mut(chunk).enumerate(), |(index, block)| operation(index * rows, block));
}

/// As [`for_each_block`], over several matrices of the same shape.
pub fn for_each_block_of<T: Send, const N: usize>(
    data: [&mut [T]; N],
    columns: usize,
    work_per_row: usize,
    operation: impl Fn(usize, [&mut [T]; N]) + Sync + Send,
) {
    let values = data.first().map_or(0, |first| first.len());
    let rows = block_rows(values / columns.max(1), columns);
    let blocks = blocks_of(data, rows * columns);
    let work = Work { rows: values / columns.max(1), per_row: work_per_row };
    work.share(blocks.into_iter().enumerate(), |(index, block)| operation(index * rows, block));
}

/// As [`for_each_block`], where row i of `data` has the values `offsets[i]·width..offsets[i + 1]·width`.
pub fn for_each_ragged_block<T: Send>(
    data: &mut [T],
    offsets: &[usize],
    width: usize,
    work_per_row: usize,
    operation: impl Fn(usize, &mut [T]) + Sync + Send,
) {
    let total = offsets.len().saturating_sub(1);
    let rows = block_rows(total, work_per_row);
    let mut rest = data;
    let blocks: Vec<(usize, &mut [T])> = (0..total)
        .step_by(rows)
        .map(|first| {
            let values = (offsets[(first + rows).min(total)] - offsets[first]) * width;
            let (block, later) = std::mem::take(&mut rest).split_at_mut(values);
            rest = later;
            (first, block)
        })
        .collect();
    let work = Work { rows: total, per_row: work_per_row };
    work.share(blocks.into_iter(), |(first, block)| operation(first, block));
}

/// How many partial sums a reduction over `rows` rows needs.
pub fn partial_count(rows: usize) -> usize {
    rows.div_ceil(partial_rows(rows)).max(1)
}

/// How many rows go into one partial sum.
fn partial_rows(rows: usize) -> usize {
    let least = if rows < FEW_ROWS { 1 } else { 2 };
    let count = (rows / PARTIAL_ROWS).clamp(least, PARTIAL_SUMS);
    let count = if count > EVEN_SHARES { count - count % EVEN_SHARES } else { count };
    rows.div_ceil(count).max(1)
}

/// Sums `operation(rows, partial)` over ranges of rows into `total`.
///
/// `partials` is scratch of [`partial_count`]`(rows) · total.len()` values. The operation writes every value of its
/// partial sum; they are added in the order of the rows, whoever computed them.
pub fn sum_over_rows<T: Scalar>(
    rows: usize,
    work_per_row: usize,
    total: &mut [T],
    partials: &mut [T],
    operation: impl Fn(Range<usize>, &mut [T]) + Sync + Send,
) {
    let step = partial_rows(rows);
    let width = total.len().max(1);
    let run = |(index, partial): (usize, &mut [T])| {
        operation(index * step..((index + 1) * step).min(rows), partial);
    };
    Work { rows, per_row: work_per_row }.share(partials.chunks_mut(width).enumerate(), run);
    add_partials(total, partials);
}

/// As [`sum_over_rows`], while also writing the rows of several matrices of the same shape:
/// `operation(rows, blocks, partial)`.
pub fn sum_while_writing<T: Scalar, const N: usize>(
    (data, columns): ([&mut [T]; N], usize),
    work_per_row: usize,
    total: &mut [T],
    partials: &mut [T],
    operation: impl Fn(Range<usize>, [&mut [T]; N], &mut [T]) + Sync + Send,
) {
    let values = data.first().map_or(0, |first| first.len());
    let rows = values / columns.max(1);
    let step = partial_rows(rows);
    let width = total.len().max(1);
    let blocks = blocks_of(data, step * columns);
    let run = |(index, (partial, blocks)): (usize, (&mut [T], [&mut [T]; N]))| {
        operation(index * step..((index + 1) * step).min(rows), blocks, partial);
    };
    Work { rows, per_row: work_per_row }.share(partials.chunks_mut(width).zip(blocks).enumerate(), run);
    add_partials(total, partials);
}

/// The same blocks of several arrays of the same length, so many values each.
fn blocks_of<T, const N: usize>(data: [&mut [T]; N], values: usize) -> Vec<[&mut [T]; N]> {
    let length = data.first().map_or(0, |first| first.len());
    let values = values.max(1);
    let mut parts = data.map(|data| data.chunks_mut(values));
    (0..length.div_ceil(values))
        .map(|_| parts.each_mut().map(|part| part.next().expect("arrays of the same length")))
        .collect()
}

/// `total = Σ partials`, one after the other.
fn add_partials<T: Scalar>(total: &mut [T], partials: &[T]) {
    let width = total.len().max(1);
    for_each_block(total, 1, partials.len() / width, |first, block| {
        add_partials_from(first, block, partials, width);
    });
}

vectorized! {
    /// A block of the total from value `first` on; each partial sum has `width` values.
    fn add_partials_from<'a, T>(first: usize, total: &'a mut [T], partials: &'a [T], width: usize) {
        total.fill(T::ZERO);
        for partial in partials.chunks(width) {
            for (sum, &value) in total.iter_mut().zip(&partial[first..]) {
                *sum += value;
            }
        }
    }
}

/// How much there is to do, in touched values or multiply-adds.
struct Work {
    rows: usize,
    per_row: usize,
}

impl Work {
    /// As [`share`], where there is enough of it.
    fn share<B: Send>(
        &self,
        blocks: impl DoubleEndedIterator<Item = B> + ExactSizeIterator + Send,
        operation: impl Fn(B) + Sync,
    ) {
        if self.rows.saturating_mul(self.per_row) < SERIAL_WORK {
            blocks.for_each(operation);
        } else {
            share(blocks, operation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::with_threads;
    use super::*;

    /// Sums of numbers of very different size: any other order of additions would show in the bits.
    #[test]
    fn sums_have_the_same_bits_for_any_thread_count() {
        let rows = 5000;
        let values: Vec<f32> = (0..rows).map(|row| ((row * 7919) % 1000) as f32 * 1.37e-3 + 1e4).collect();
        let sum = |threads| {
            with_threads(threads, || {
                let mut total = [0.0f32];
                let mut partials = vec![0.0; partial_count(rows)];
                sum_over_rows(rows, 1000, &mut total, &mut partials, |range, partial| {
                    partial[0] = values[range].iter().sum();
                });
                total[0].to_bits()
            })
            .unwrap()
        };
        assert_eq!(sum(1), sum(2));
        assert_eq!(sum(1), sum(3));
    }

    #[test]
    fn every_row_is_visited_once() {
        for rows in [0, 1, 63, 64, 1000] {
            let mut data = vec![0usize; rows * 3];
            for_each_block(&mut data, 3, 1 << 20, |first, block| {
                for (index, value) in block.iter_mut().enumerate() {
                    *value += first * 3 + index + 1;
                }
            });
            assert!(data.iter().enumerate().all(|(index, &value)| value == index + 1), "{rows} rows");
            // Rows of 0, 1, 2, 0, 1, 2, … entries, two values each.
            let offsets: Vec<usize> = (0..=rows).map(|row| row / 3 * 3 + [0, 0, 1][row % 3]).collect();
            let mut ragged = vec![0usize; offsets[rows] * 2];
            for_each_ragged_block(&mut ragged, &offsets, 2, 1 << 20, |first, block| {
                for (index, value) in block.iter_mut().enumerate() {
                    *value += offsets[first] * 2 + index + 1;
                }
            });
            assert!(ragged.iter().enumerate().all(|(index, &value)| value == index + 1), "{rows} rows");
        }
    }
}
