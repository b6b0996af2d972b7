//! Pickles and Planetoid files, good and hostile, written here byte by byte.

mod hostile;
mod matrices;
mod planetoid;
mod real_data;
mod writer;
