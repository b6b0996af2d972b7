//! Who computes: threads that share blocks, stay awake, or leave one alone.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At most this many threads are kept awake: many idle ones would only be in each other's way.
const AWAKE_THREADS: usize = 4;
/// How long a wait for other threads is spent without giving way to other programs. An operation starts without threads that
/// have not woken up by then.
const PATIENCE: Duration = Duration::from_micros(100);

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
/// matrix product. In here an idle thread keeps looking for work, and gives way to other programs in between. Nobody waits for it
/// at the end: where other programs keep the processor busy, its turn may come milliseconds later.
pub fn with_awake_threads<R: Send>(operation: impl FnOnce() -> R + Send) -> R {
    // On one of the threads, wherever this was called from.
    rayon::scope(|_| {
        let watch = Arc::new(Watch::default());
        let watchers = threads().min(AWAKE_THREADS) - 1;
        for _ in 0..watchers {
            let watch = Arc::clone(&watch);
            rayon::spawn(move || watch.keep());
        }
        watch.assemble(watchers);
        // Ended when the operation panics, too: the others would never end.
        let _end = EndOf(&watch);
        operation()
    })
}

/// Threads that look for work until an operation has ended.
#[derive(Default)]
struct Watch {
    /// How many threads keep watch.
    begun: AtomicUsize,
    /// Set when the operation starts. Who comes later may have work of the operation under way already and be about
    /// to wait for a part of it: looking for work on top of that until the operation ends, it would never end.
    closed: AtomicBool,
    ended: AtomicBool,
}

impl Watch {
    /// Gives the other threads the time to wake up, and starts without those that are busy.
    fn assemble(&self, watchers: usize) {
        let waiting = Waiting::default();
        while self.begun.load(Ordering::Acquire) < watchers && waiting.is_patient() {
            std::hint::spin_loop();
        }
        self.closed.store(true, Ordering::Release);
    }

    /// Looks for work until the operation has ended.
    fn keep(&self) {
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        self.begun.fetch_add(1, Ordering::AcqRel);
        while !self.ended.load(Ordering::Acquire) {
            if !find_work() {
                std::thread::yield_now();
            }
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
        let waiting = Waiting::default();
        while helping.load(Ordering::Acquire) > 0 {
            waiting.go_on();
        }
    });
}

/// Does some work that is waiting, if there is some.
fn find_work() -> bool {
    rayon::yield_now() == Some(rayon::Yield::Executed)
}

/// A wait for other threads.
struct Waiting(Instant);

impl Default for Waiting {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Waiting {
    /// Whether it has not lasted long yet.
    fn is_patient(&self) -> bool {
        self.0.elapsed() < PATIENCE
    }

    /// Does some work meanwhile, or nothing; gives way to other programs if it lasts. Not before: they would keep the processor for
    /// longer than most waits last.
    fn go_on(&self) {
        if find_work() {
            return;
        }
        if self.is_patient() {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
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

#[cfg(test)]
mod tests {
    use std::ops::Range;

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

    /// One that waited for them took milliseconds longer wherever another program had the processor.
    #[test]
    fn an_operation_starts_and_ends_without_threads_that_are_busy() {
        with_threads(2, || {
            let [begun, released] = [const { AtomicBool::new(false) }; 2];
            rayon::in_place_scope(|scope| {
                scope.spawn(|_| {
                    begun.store(true, Ordering::Release);
                    wait_for(&released);
                });
                wait_for(&begun);
                assert_eq!(with_awake_threads(|| 3), 3);
                released.store(true, Ordering::Release);
            });
        })
        .unwrap();
    }

    fn wait_for(signal: &AtomicBool) {
        while !signal.load(Ordering::Acquire) {
            std::thread::yield_now();
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
}
