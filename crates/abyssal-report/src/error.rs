//! What can go wrong between records and a page.

use std::path::PathBuf;

use abyssal_train::TrainError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A directory of results that cannot be listed.
    #[error("cannot read the records in {path}: {source}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A record that cannot be read.
    #[error(transparent)]
    Record(#[from] TrainError),
    /// A file whose name is not that of the record in it.
    #[error("{path} holds the record that belongs in {expected}; rename it, or compute it anew")]
    Misplaced {
        /// The file.
        path: PathBuf,
        /// The name it should have, in the directory of results.
        expected: PathBuf,
    },
    /// A page without a marker it needs.
    #[error("the page has no `{marker}`")]
    MissingMarker {
        /// The marker.
        marker: String,
    },
    /// A page that has a marker twice.
    #[error("the page has `{marker}` more than once")]
    DoubledMarker {
        /// The marker.
        marker: String,
    },
    /// A place that ends before it begins.
    #[error("the page has `{end}` before `{begin}`")]
    ReversedMarkers {
        /// The marker that should be first.
        begin: String,
        /// The marker that is.
        end: String,
    },
    /// A place no table belongs in.
    #[error("the page has `<!-- begin {name} -->`, and there is no such table; there are {known}")]
    UnknownPlace {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
}
