//! Files of `scipy.sparse.save_npz`.

use std::io::{Read, Seek};

use abyssal_tensor::Csr;

use super::compressed::{Compressed, Lines, check_length, read_shape};
use crate::formats::FormatError;
use crate::formats::limits::check_side;
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
    let rows = read_places(npz, "row", height)?;
    for length in [height, width] {
        check_side(length, rows.len()).map_err(|error| error.in_member("shape"))?;
    }
    let columns = read_places(npz, "col", width)?;
    check_length(columns.len(), rows.len(), "row").map_err(|error| error.in_member("col"))?;
    let values = npz.vector("data", |array| {
        check_length(array.shape.iter().product(), rows.len(), "row")?;
        array.into_floats()
    })?;
    let places = rows.into_iter().zip(columns);
    let entries = places.zip(values).map(|((row, column), value)| (row, column, value)).collect();
    from_entries(height, width, entries)
}

/// The row or the column of each entry, all of them below `length`.
fn read_places<R: Read + Seek>(npz: &mut Npz<R>, name: &str, length: usize) -> Result<Vec<u32>, FormatError> {
    let places = npz.vector(name, Array::into_integers)?;
    let convert = |(entry, place): (usize, i64)| match u32::try_from(place) {
        Ok(place) if (place as usize) < length => Ok(place),
        _ => {
            let reason =
                format!("entry {entry} is {place}; with {length} of them, they run from 0 to one less");
            Err(FormatError::new(reason).in_member(name))
        }
    };
    places.into_iter().enumerate().map(convert).collect()
}

fn from_entries(rows: usize, columns: usize, entries: Vec<(u32, u32, f32)>) -> Result<Csr<f32>, FormatError> {
    Csr::from_entries(rows, columns, entries).map_err(|error| FormatError::new(error.to_string()))
}
