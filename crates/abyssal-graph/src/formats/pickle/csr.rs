//! From the parts of a scipy csr_matrix to a sparse matrix.

use abyssal_tensor::Csr;

use super::array::{Array, Shape};
use super::values::{Arena, Object, Value};
use crate::formats::FormatError;
use crate::formats::limits::check_columns;

/// The matrix whose parts (`data`, `indices`, `indptr`, `_shape`) are in a dictionary.
///
/// Scipy lets the columns of a row come in any order, and more than once. Here they are sorted, and values at the
/// same place are added in the order of the file.
pub(super) fn read(arena: &Arena<'_>, state: Value) -> Result<Csr<f32>, FormatError> {
    let part = |name| part(arena, state, name);
    let (rows, columns) = match arena.tuple(part("_shape")?) {
        Some(&[Value::Integer(rows), Value::Integer(columns)]) => {
            usize::try_from(rows).ok().zip(u32::try_from(columns).ok())
        }
        _ => None,
    }
    .ok_or_else(|| FormatError::new("two lengths, none below zero, are expected").in_member("_shape"))?;
    let array = |name| part(name).and_then(|value| vector(arena, value, name));
    let (data, indices, offsets) = (array("data")?, array("indices")?, array("indptr")?);
    let offsets = row_offsets(offsets, rows, data.count()).map_err(|error| error.in_member("indptr"))?;
    let columns_of_entries =
        column_indices(indices, columns, data.count()).map_err(|error| error.in_member("indices"))?;
    let values = (0..data.count()).map(|place| data.float(place)).collect();
    let (offsets, indices, values) = sorted(offsets, columns_of_entries, values);
    check_columns(columns as usize, values.len()).map_err(|error| error.in_member("_shape"))?;
    Csr::new(rows, columns as usize, offsets, indices, values)
        .map_err(|error| FormatError::new(error.to_string()))
}

/// A part of the matrix. Of a repeated key, the last value counts, as in Python.
fn part(arena: &Arena<'_>, state: Value, name: &str) -> Result<Value, FormatError> {
    let items = match arena.get(state) {
        Some(Object::Dictionary(items)) => items.as_slice(),
        _ => &[],
    };
    let found = items.iter().rev().find(|(key, _)| arena.bytes(*key) == Some(name.as_bytes()));
    found.map(|&(_, value)| value).ok_or_else(|| FormatError::new(format!("the csr_matrix has no `{name}`")))
}

fn vector<'v, 'a>(arena: &'v Arena<'a>, value: Value, name: &str) -> Result<&'v Array<'a>, FormatError> {
    match arena.get(value) {
        Some(Object::Array(array)) => match array.shape {
            Shape::Vector(_) => Ok(&**array),
            shape => Err(FormatError::new(format!("an array of shape {shape}; one dimension is expected"))),
        },
        _ => Err(FormatError::new(format!("{}; a numpy array is expected", arena.describe(value)))),
    }
    .map_err(|error| error.in_member(name))
}

fn integers<'v>(vector: &'v Array<'_>) -> Result<Box<dyn Iterator<Item = i64> + 'v>, FormatError> {
    vector.integers().ok_or_else(|| FormatError::new("integers (i4 or i8) are expected"))
}

/// Where each row begins, and where the last one ends: rising from 0 to the number of entries.
fn row_offsets(vector: &Array<'_>, rows: usize, entries: usize) -> Result<Vec<usize>, FormatError> {
    if vector.count().checked_sub(1) != Some(rows) {
        return Err(FormatError::new(format!(
            "{} offsets for {rows} rows; one more than rows is needed",
            vector.count()
        )));
    }
    let mut offsets = Vec::with_capacity(vector.count());
    let mut previous = 0;
    for (row, offset) in integers(vector)?.enumerate() {
        let risen = usize::try_from(offset).ok().filter(|&risen| risen >= previous && risen <= entries);
        let Some(risen) = risen.filter(|&risen| row > 0 || risen == 0) else {
            let reason = format!("row {row} begins at entry {offset}; offsets must rise from 0 to {entries}");
            return Err(FormatError::new(reason));
        };
        previous = risen;
        offsets.push(risen);
    }
    if previous != entries {
        return Err(FormatError::new(format!("the last row ends at entry {previous} of {entries}")));
    }
    Ok(offsets)
}

fn column_indices(vector: &Array<'_>, columns: u32, entries: usize) -> Result<Vec<u32>, FormatError> {
    if vector.count() != entries {
        return Err(FormatError::new(format!("{} column indices for {entries} values", vector.count())));
    }
    let mut indices = Vec::with_capacity(entries);
    for (entry, index) in integers(vector)?.enumerate() {
        let Some(index) = u32::try_from(index).ok().filter(|&index| index < columns) else {
            let reason = format!("entry {entry} is in column {index}; the matrix has {columns} columns");
            return Err(FormatError::new(reason));
        };
        indices.push(index);
    }
    Ok(indices)
}

/// The same entries with the columns of each row rising strictly. Rows that are so already cost nothing.
fn sorted(
    mut offsets: Vec<usize>,
    mut indices: Vec<u32>,
    mut values: Vec<f32>,
) -> (Vec<usize>, Vec<u32>, Vec<f32>) {
    let mut kept = 0;
    let mut begin = 0;
    let mut row: Vec<(u32, f32)> = Vec::new();
    for offset in offsets.iter_mut().skip(1) {
        let entries = begin..*offset;
        begin = *offset;
        row.clear();
        row.extend(entries.map(|entry| (indices[entry], values[entry])));
        if !row.is_sorted_by(|left, right| left.0 < right.0) {
            // A stable sort, so that sums do not depend on how it works.
            row.sort_by_key(|&(column, _)| column);
            row.dedup_by(|next, sum| {
                let same = next.0 == sum.0;
                if same {
                    sum.1 += next.1;
                }
                same
            });
        }
        for &(column, value) in &row {
            indices[kept] = column;
            values[kept] = value;
            kept += 1;
        }
        *offset = kept;
    }
    indices.truncate(kept);
    values.truncate(kept);
    (offsets, indices, values)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorting_gives_what_the_tensor_crate_gives(
            rows in prop::collection::vec(prop::collection::vec((0u32..6, -9i8..9), 0..12), 0..8),
        ) {
            let mut offsets = vec![0];
            let (mut indices, mut values, mut entries) = (Vec::new(), Vec::new(), Vec::new());
            for (row, columns) in (0..).zip(&rows) {
                for &(column, value) in columns {
                    indices.push(column);
                    values.push(f32::from(value));
                    entries.push((row, column, f32::from(value)));
                }
                offsets.push(indices.len());
            }
            let (offsets, indices, values) = sorted(offsets, indices, values);
            let matrix = Csr::new(rows.len(), 6, offsets, indices, values).unwrap();
            prop_assert_eq!(matrix, Csr::from_entries(rows.len(), 6, entries).unwrap());
        }
    }
}
