//! Readers of the files graphs come in.
//!
//! A reader takes bytes from anywhere and trusts none of them: every length is checked against what is there before
//! memory is asked for, nothing is executed, and what does not fit is a [`FormatError`] that says where and why.
//! Readers give a [`RawDataset`], the data exactly as the files tell it; what is done to it before a model sees it
//! is decided by the transforms of its configuration.

pub mod container;
pub mod geom_gcn;
pub mod gnn_benchmark;
pub mod npy;
pub mod npz;
pub mod ogb;
pub mod own;
pub mod pickle;
pub mod planetoid;
pub mod sparse;
pub mod table;

mod archive;
mod error;
mod limits;
mod raw;
mod web_page;

pub use error::{FormatError, Place};
pub use raw::RawDataset;
pub(crate) use web_page::is_web_page;
