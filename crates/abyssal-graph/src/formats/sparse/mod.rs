//! Sparse matrices stored as a few arrays of an npz archive.
//!
//! A matrix in compressed-sparse-row form is four arrays: `data` with the values and `indices` with their columns,
//! row after row; `indptr` with the place where each row begins, and the end of the last one; `shape`.

mod compressed;
mod scipy;
#[cfg(test)]
mod tests;

use std::io::{Read, Seek};

use abyssal_tensor::Csr;

use super::npz::Npz;
use crate::formats::FormatError;
use compressed::{Compressed, Lines};

pub use scipy::read_scipy;

/// Where a sparse matrix has entries, whatever their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// `(row, column)` of each stored entry in the order of the file, repetitions included.
    pub entries: Vec<(u32, u32)>,
}

/// Reads the matrix in the arrays `{prefix}data`, `{prefix}indices`, `{prefix}indptr` and `{prefix}shape`. Columns
/// may come in any order within a row; entries at the same place are added.
///
/// # Errors
/// If one of the arrays is missing, or they do not fit together.
pub fn csr<R: Read + Seek>(npz: &mut Npz<R>, prefix: &str) -> Result<Csr<f32>, FormatError> {
    Compressed::read(npz, prefix, Lines::Rows)?.into_csr()
}

/// Reads the places of the entries of a matrix stored as for [`csr`].
///
/// # Errors
/// As for [`csr`].
pub fn pattern<R: Read + Seek>(npz: &mut Npz<R>, prefix: &str) -> Result<Pattern, FormatError> {
    let matrix = Compressed::read(npz, prefix, Lines::Rows)?;
    let entries = matrix.entries().map(|(row, column, _)| (row, column)).collect();
    Ok(Pattern { rows: matrix.lines, columns: matrix.width, entries })
}
