//! Splits stored as masks.

use std::io::{Read, Seek};

use super::Npz;
use crate::Split;
use crate::formats::FormatError;
use crate::formats::npy::Array;

/// Reads the split in `train_mask`, `val_mask` and `test_mask`, each with one entry a node, true or 1 for the nodes
/// of the set. Gives the number of nodes and the split, or nothing if there is none of the three arrays.
///
/// # Errors
/// If some of the three are missing, have more than one dimension or different lengths, or do not form a split.
pub fn masks<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Option<(usize, Split)>, FormatError> {
    let names = ["train_mask", "val_mask", "test_mask"];
    if !names.iter().any(|name| npz.contains(name)) {
        return Ok(None);
    }
    let [train, validation, test] = names.map(|name| npz.vector(name, Array::into_bools));
    let (train, validation, test) = (train?, validation?, test?);
    let split = Split::from_masks(&train, &validation, &test);
    Ok(Some((train.len(), split.map_err(|error| FormatError::new(error.to_string()))?)))
}
