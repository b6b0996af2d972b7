//! Files of numpy and scipy: those written here, those the libraries wrote, and those of real datasets.

mod golden;
mod real_data;
mod round_trips;
mod writer;
