//! Parallel work over blocks of rows, with results that do not depend on the number of threads.
//!
//! Work is cut into blocks by the *shape* of the data alone. Threads only decide who computes a block; what is
//! computed, and the order in which partial sums are added, is the same for one thread and for many.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

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
/// At most this many threads are kept awake: many idle ones would only be in each other's way.
const AWAKE_THREADS: usize = 4;
/// How long an operation waits for other threads to wake up: it starts without those that have work to do.
const PATIENCE: Duration = Duration::from_micros(500);

/// Runs `operation` with a fixed number of threads; 0 means one for each core.
///
/// # Errors
/// If the threads cannot be started.
pub fn with_threads<R: Send>(
    threads: usize,
    operation: impl FnOnce() -> R + Send,
) -> Result<R, rayon::ThreadPoolBuildError> {
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?.install(operation))
}

thread_local! {
    /// Whether computations of this thread are to stay with it.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `operation` on this thread alone.
///
/// Where matrices are so small that a product takes microseconds, handing half of it to another core and back can take longer than
/// computing it, most of all where the two share no cache.
pub fn alone<R>(operation: impl FnOnce() -> R) -> R {
    let _before = Restore(ALONE.replace(true));
    operation()
}

/// Puts back what [`ALONE`] was, also when an operation panics.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        ALONE.set(self.0);
    }
}

/// Runs two computations side by side, where there is a thread to spare.
///
/// What one of them leaves of the processor (waiting for an eigen-decomposition, say) the other can use.
pub fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
    match threads() {
        1 => (first(), second()),
        _ => rayon::join(first, second),
    }
}

/// Runs `operation` while the other threads stay awake.
///
/// A thread without work goes to sleep within microseconds and takes tens of them to wake up, as long as a small
/// matrix product. In here an idle thread keeps looking for work, and gives way to other programs in between.
pub fn with_awake_threads<R: Send>(operation: impl FnOnce() -> R + Send) -> R {
    let watch = &Watch::default();
    rayon::scope(|scope| {
        let owner = rayon::current_thread_index();
        let watchers = threads().min(AWAKE_THREADS) - 1;
        scope.spawn_broadcast(move |_, context| {
            if Some(context.index()) != owner && watch.begins(watchers) {
                watch.keep();
            }
        });
        watch.assemble(watchers);
        // Ended when the operation panics, too: the others would never end.
        let _end = EndOf(watch);
        operation()
    })
}

/// Threads that look for work until an operation has ended.
#[derive(Default)]
struct Watch {
    /// How many threads began, or tried to.
    begun: AtomicUsize,
    /// Set when the operation starts. Who comes later may have work of the operation under way already and be about
    /// to wait for a part of it: looking for work on top of that until the operation ends, it would never end.
    closed: AtomicBool,
    ended: AtomicBool,
}

impl Watch {
    /// Whether a thread may keep watch: the first so many may that come before the operation starts.
    fn begins(&self, watchers: usize) -> bool {
        !self.closed.load(Ordering::Acquire) && self.begun.fetch_add(1, Ordering::AcqRel) < watchers
    }

    /// Gives the other threads the time to wake up, and starts without those that are busy.
    fn assemble(&self, watchers: usize) {
        let start = Instant::now();
        while self.begun.load(Ordering::Acquire) < watchers && start.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
        self.closed.store(true, Ordering::Release);
    }

    fn keep(&self) {
        while !self.ended.load(Ordering::Acquire) {
            look_for_work();
        }
    }
}

/// Ends a watch when it goes.
struct EndOf<'a>(&'a Watch);

impl Drop for EndOf<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
    }
}

/// Runs an operation on every block, whoever is free.
///
/// This thread takes blocks from the front and the others take them from the back, so that with two threads each of them has mostly the
/// same rows from one operation to the next, and in its own cache. Waiting for the last blocks, this thread does not go to
/// sleep, as it would in a parallel loop of rayon's: waking up takes as long as a block.
pub(crate) fn share<B: Send>(
    blocks: impl DoubleEndedIterator<Item = B> + ExactSizeIterator + Send,
    operation: impl Fn(B) + Sync,
) {
    let helpers = threads().min(blocks.len()).saturating_sub(1);
    if helpers == 0 {
        return blocks.for_each(operation);
    }
    let helping = AtomicUsize::new(helpers);
    let blocks = Mutex::new(blocks);
    // Nobody panics while holding the queue.
    let queue = || blocks.lock().unwrap_or_else(PoisonError::into_inner);
    let (from_front, from_back) = (|| queue().next(), || queue().next_back());
    rayon::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|_| {
                let _end = OneLess(&helping);
                while let Some(block) = from_back() {
                    operation(block);
                }
            });
        }
        while let Some(block) = from_front() {
            operation(block);
        }
        while helping.load(Ordering::Acquire) > 0 {
            look_for_work();
        }
    });
}

/// Does some work that is waiting, or gives way to other programs.
fn look_for_work() {
    if rayon::yield_now() != Some(rayon::Yield::Executed) {
        std::thread::yield_now();
    }
}

/// Counts down when it goes, also when an operation panics.
struct OneLess<'a>(&'a AtomicUsize);

impl Drop for OneLess<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// How many threads computations started here will use.
pub fn threads() -> usize {
    if ALONE.get() { 1 } else { rayon::current_num_threads() }
}

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
    use rayon::prelude::*;

    use super::*;

    /// Also when one of them panics, here or on another thread: then so does the whole, and nobody waits for ever.
    #[test]
    fn every_block_is_taken_once() {
        for threads in [1, 2, 5] {
            let taken = with_threads(threads, || {
                for bad in [0, 1, 15, 29] {
                    let operation = |block| assert_ne!(block, bad, "on purpose");
                    let failed =
                        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| share(0..30, operation)));
                    assert!(failed.is_err(), "block {bad}");
                }
                let taken = [const { AtomicUsize::new(0) }; 1000];
                for count in [0, 1, 2, 1000] {
                    share(taken[..count].iter(), |block| {
                        block.fetch_add(1, Ordering::Relaxed);
                    });
                }
                taken.map(AtomicUsize::into_inner)
            });
            let taken = taken.unwrap();
            assert_eq!((taken[0], taken[1]), (3, 2));
            assert!(taken[2..].iter().all(|&times| times == 1), "{threads} threads");
        }
    }

    #[test]
    fn alone_is_one_thread_until_the_operation_has_ended() {
        with_threads(3, || {
            let here = std::thread::current().id();
            alone(|| {
                assert_eq!(threads(), 1);
                alone(|| ());
                share(0..30, |_| assert_eq!(std::thread::current().id(), here));
                join(|| (), || assert_eq!(std::thread::current().id(), here));
            });
            let failed = std::panic::catch_unwind(|| alone(|| panic!("on purpose")));
            assert!(failed.is_err());
            assert_eq!(threads(), 3);
        })
        .unwrap();
    }

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

    /// Also when two of them share the threads, and when one panics: nobody is left looking for work.
    #[test]
    fn threads_stay_awake_no_longer_than_needed() {
        for threads in [1, 2, 5] {
            let sum = with_threads(threads, || {
                let failed = std::panic::catch_unwind(|| with_awake_threads(|| panic!("on purpose")));
                assert!(failed.is_err());
                let part = |range: Range<u64>| with_awake_threads(|| range.into_par_iter().sum::<u64>());
                let (first, second) = join(|| part(0..5000), || part(5000..10_000));
                first + second
            });
            assert_eq!(sum.unwrap(), 49_995_000);
        }
    }

    /// A thread may steal work of the operation before it gets to keeping watch: then it must not.
    #[test]
    fn threads_that_wake_up_late_do_not_wait_for_themselves() {
        /// A lopsided tree of joins: the threads steal from each other, and wait for each other.
        fn split(leaves: usize) -> usize {
            if leaves == 1 {
                (0..500).for_each(|_| std::hint::spin_loop());
                return 1;
            }
            let (left, right) = rayon::join(|| split(leaves / 3 + 1), || split(leaves - leaves / 3 - 1));
            left + right
        }
        for threads in [2, 3] {
            let leaves =
                with_threads(threads, || (0..2000).map(|_| with_awake_threads(|| split(16))).sum::<usize>());
            assert_eq!(leaves.unwrap(), 2000 * 16);
        }
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
