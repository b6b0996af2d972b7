//! Files of `scipy.sparse.save_npz`.

use std::io::{Read, Seek};

use abyssal_tensor::Csr;

use super::compressed::{Compressed, Lines, check_dimension, read_shape};
use crate::formats::FormatError;
use crate::formats::npy::Array;
use crate::formats::npz::Npz;

/// Reads a matrix saved by `scipy.sparse.save_npz` in one of the formats csr, csc (both as the arrays of the
/// module, with `indptr` for rows or columns) and coo (`row`, `col`, `data`). Entries at the same place are added.
///
/// # Errors
/// If it has another format, one of the arrays is missing, or they do not fit together.
pub fn read_scipy<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Csr<f32>, FormatError> {
    let format = npz.array("format")?.into_text().map(|text| text.concat())?;
    match format.as_str() {
        "csr" => Compressed::read(npz, "", Lines::Rows)?.into_csr(),
        "csc" => {
            let matrix = Compressed::read(npz, "", Lines::Columns)?;
            let entries = matrix.entries().map(|(column, row, value)| (row, column, value)).collect();
            from_entries(matrix.width, matrix.lines, entries)
        }
        "coo" => read_entries(npz),
        _ => {
            let format: String = format.chars().take(10).collect();
            let reason = format!(
                "a sparse matrix in the format {format:?}; call `.tocsr()` on it before `scipy.sparse.save_npz`"
            );
            Err(FormatError::new(reason).in_member("format"))
        }
    }
}

/// Reads a matrix stored entry by entry.
fn read_entries<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Csr<f32>, FormatError> {
    let (height, width) = read_shape(npz, "shape")?;
    let rows = npz.vector("row", Array::into_integers)?;
    let columns = npz.vector("col", Array::into_integers)?;
    let values = npz.vector("data", Array::into_floats)?;
    for (name, length) in [("row", rows.len()), ("col", columns.len())] {
        if length != values.len() {
            let reason = format!("holds {length} numbers for the {} values of data", values.len());
            return Err(FormatError::new(reason).in_member(name));
        }
    }
    for (name, indices, length) in [("row", &rows, height), ("col", &columns, width)] {
        let inside = |&index: &i64| usize::try_from(index).is_ok_and(|index| index < length);
        if let Some(entry) = indices.iter().position(|index| !inside(index)) {
            let index = indices[entry];
            let reason =
                format!("entry {entry} is {index}; with {length} of them, they run from 0 to one less");
            return Err(FormatError::new(reason).in_member(name));
        }
        check_dimension(length, values.len()).map_err(|error| error.in_member("shape"))?;
    }
    let places = rows.into_iter().zip(columns).map(|(row, column)| (row as u32, column as u32));
    let entries = places.zip(values).map(|((row, column), value)| (row, column, value)).collect();
    from_entries(height, width, entries)
}

fn from_entries(rows: usize, columns: usize, entries: Vec<(u32, u32, f32)>) -> Result<Csr<f32>, FormatError> {
    Csr::from_entries(rows, columns, entries).map_err(|error| FormatError::new(error.to_string()))
}
