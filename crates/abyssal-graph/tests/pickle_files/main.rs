//! Pickles and Planetoid files, good and hostile, written here byte by byte.

#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod matrices;
mod planetoid;
mod real_data;
mod writer;
