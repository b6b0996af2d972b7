//! Compressed rows or columns, checked.

use std::io::{Read, Seek};

use abyssal_tensor::Csr;

use crate::formats::FormatError;
use crate::formats::limits::check_side;
use crate::formats::npy::Array;
use crate::formats::npz::Npz;

/// What is stored one after another.
#[derive(Clone, Copy)]
pub(super) enum Lines {
    Rows,
    Columns,
}

/// A matrix in compressed form: every line has a range of `offsets`, every index is below `width`. Indices within a
/// line are as the file had them.
pub(super) struct Compressed {
    pub(super) lines: usize,
    pub(super) width: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl Compressed {
    /// Reads and checks the arrays `{prefix}data`, `{prefix}indices`, `{prefix}indptr` and `{prefix}shape`.
    pub(super) fn read<R: Read + Seek>(
        npz: &mut Npz<R>,
        prefix: &str,
        kind: Lines,
    ) -> Result<Self, FormatError> {
        let [data, indices, indptr, shape] =
            ["data", "indices", "indptr", "shape"].map(|part| format!("{prefix}{part}"));
        let (rows, columns) = read_shape(npz, &shape)?;
        let (lines, width, line) = match kind {
            Lines::Rows => (rows, columns, "row"),
            Lines::Columns => (columns, rows, "column"),
        };
        // Each array is checked before the next is read, so that a wrong one costs as little memory as possible.
        let offsets = npz.vector(&indptr, Array::into_integers)?;
        let offsets = check_offsets(offsets, lines, line)
            .map_err(|reason| FormatError::new(reason).in_member(&indptr))?;
        let entries = offsets.last().copied().unwrap_or(0);
        let targets = npz.vector(&indices, Array::into_integers)?;
        check_length(targets.len(), entries, &indptr).map_err(|error| error.in_member(&indices))?;
        let targets = check_indices(&targets, &offsets, width, line)
            .map_err(|reason| FormatError::new(reason).in_member(&indices))?;
        let values = npz.vector(&data, |array| {
            check_length(array.shape.iter().product(), entries, &indptr)?;
            array.into_floats()
        })?;
        // As many as lines are no more than the offsets bring: adjacency matrices are square.
        if width > lines {
            check_side(width, entries).map_err(|error| error.in_member(&shape))?;
        }
        Ok(Self { lines, width, offsets, indices: targets, values })
    }

    /// `(line, index, value)` of each entry, in the order of the file.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u32, u32, f32)> + '_ {
        let lines = self.offsets.windows(2).zip(0u32..);
        lines.flat_map(|(range, line)| {
            let range = range[0]..range[1];
            let entries = self.indices[range.clone()].iter().zip(&self.values[range]);
            entries.map(move |(&index, &value)| (line, index, value))
        })
    }

    /// The matrix whose rows are the lines, its columns ascending, entries at the same place added.
    pub(super) fn into_csr(self) -> Result<Csr<f32>, FormatError> {
        let rises = |line: &[usize]| self.indices[line[0]..line[1]].is_sorted_by(|left, right| left < right);
        let built = if self.offsets.windows(2).all(rises) {
            Csr::new(self.lines, self.width, self.offsets, self.indices, self.values)
        } else {
            let (offsets, indices, values) = self.sorted();
            Csr::new(self.lines, self.width, offsets, indices, values)
        };
        built.map_err(|error| FormatError::new(error.to_string()))
    }

    /// The three arrays with rising indices in every line. The sort is stable, so sums do not depend on it.
    fn sorted(&self) -> (Vec<usize>, Vec<u32>, Vec<f32>) {
        let mut offsets = Vec::with_capacity(self.offsets.len());
        let mut indices: Vec<u32> = Vec::with_capacity(self.indices.len());
        let mut values: Vec<f32> = Vec::with_capacity(self.values.len());
        let mut entries: Vec<(u32, f32)> = Vec::new();
        offsets.push(0);
        for range in self.offsets.windows(2) {
            let begin = indices.len();
            let range = range[0]..range[1];
            entries.clear();
            entries
                .extend(self.indices[range.clone()].iter().copied().zip(self.values[range].iter().copied()));
            entries.sort_by_key(|&(index, _)| index);
            for &(index, value) in &entries {
                match values.last_mut() {
                    Some(last) if indices.len() > begin && indices.last() == Some(&index) => *last += value,
                    _ => {
                        indices.push(index);
                        values.push(value);
                    }
                }
            }
            offsets.push(indices.len());
        }
        (offsets, indices, values)
    }
}

/// Rows and columns; node ids and columns have 32 bits.
pub(super) fn read_shape<R: Read + Seek>(
    npz: &mut Npz<R>,
    name: &str,
) -> Result<(usize, usize), FormatError> {
    let shape = npz.vector(name, Array::into_integers)?;
    let dimension = |length: i64| u32::try_from(length).ok().map(|length| length as usize);
    if let [rows, columns] = shape[..]
        && let (Some(rows), Some(columns)) = (dimension(rows), dimension(columns))
    {
        return Ok((rows, columns));
    }
    let shown = &shape[..shape.len().min(4)];
    let reason = format!("is {shown:?}, where the numbers of rows and columns are needed, each below 2³²");
    Err(FormatError::new(reason).in_member(name))
}

pub(super) fn check_length(length: usize, entries: usize, told_by: &str) -> Result<(), FormatError> {
    if length != entries {
        return Err(FormatError::new(format!("has {length} elements, where {told_by} tells of {entries}")));
    }
    Ok(())
}

fn check_offsets(offsets: Vec<i64>, lines: usize, line: &str) -> Result<Vec<usize>, String> {
    if offsets.len() != lines + 1 {
        return Err(format!("has {} elements; {lines} {line}s need {}", offsets.len(), lines + 1));
    }
    if offsets[0] != 0 {
        return Err(format!("begins with {}; it has to begin with 0", offsets[0]));
    }
    if let Some(place) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        let (begin, end) = (offsets[place], offsets[place + 1]);
        return Err(format!("{line} {place} begins at {begin} and ends at {end}; it must not fall"));
    }
    // They rise from 0, so none of them is negative.
    Ok(offsets.into_iter().map(|offset| offset as usize).collect())
}

fn check_indices(indices: &[i64], offsets: &[usize], width: usize, line: &str) -> Result<Vec<u32>, String> {
    let checked = |index: i64| u32::try_from(index).ok().filter(|&index| (index as usize) < width);
    let converted: Option<Vec<u32>> = indices.iter().map(|&index| checked(index)).collect();
    converted.ok_or_else(|| {
        let place = indices.iter().position(|&index| checked(index).is_none()).unwrap_or_default();
        let (row, index) = (offsets.partition_point(|&offset| offset <= place) - 1, indices[place]);
        format!(
            "{line} {row} has an entry at {index}; with a width of {width}, indices run from 0 to one less"
        )
    })
}
