//! Parallel work over blocks of rows, with results that do not depend on the number of threads.
//!
//! Work is cut into blocks by the *shape* of the data alone. Threads only decide who computes a block; what is
//! computed, and the order in which partial sums are added, is the same for one thread and for many.

mod blocks;
mod threads;

pub use blocks::{
    block_rows, for_each_block, for_each_block_of, for_each_ragged_block, partial_count, sum_over_rows,
    sum_while_writing,
};
pub(crate) use blocks::{even_share, for_each_block_with};
pub(crate) use threads::share;
pub use threads::{alone, join, threads, with_awake_threads, with_threads};
