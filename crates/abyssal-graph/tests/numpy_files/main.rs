//! Files of numpy and scipy: those written here, those the libraries wrote, and those of real datasets.

#[path = "../common/mod.rs"]
mod common;
mod golden;
mod real_data;
mod round_trips;
mod writer;
