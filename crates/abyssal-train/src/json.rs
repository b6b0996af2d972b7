//! JSON from files, with errors that name them.

use std::fs;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::TrainError;

/// What a file says.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, TrainError> {
    parse(&fs::read_to_string(path).map_err(TrainError::io("read", path))?, path)
}

/// What a text, or a line, of a file says.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T, TrainError> {
    serde_json::from_str(text).map_err(|error| TrainError::io("read", path)(io::Error::other(error)))
}
