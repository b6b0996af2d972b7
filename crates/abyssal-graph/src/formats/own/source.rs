//! A file in one of the formats that parts of a graph may have.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use super::super::npy::{self, Array};
use super::super::npz::Npz;
use super::super::table::Table;
use super::FormatError;
use crate::GraphError;

/// An opened file.
pub(super) enum Source {
    /// Text.
    Table(Box<Table<Box<dyn Read>>>),
    /// One array of numpy.
    Array(Array),
    /// Several arrays of numpy.
    Archive(Npz<BufReader<File>>),
}

/// Bytes that an array may take in memory: numbers of one byte become eight, texts become strings.
const ALLOWANCE: u64 = 64 << 20;
const LARGEST_RATIO: u64 = 32;

enum Format {
    Table,
    Array,
    Archive,
}

impl Source {
    /// Opens a file; the extension tells its format, or else its first bytes.
    pub(super) fn open(path: &Path) -> Result<Self, GraphError> {
        let in_file = |error: FormatError| error.in_file(path);
        let mut file = File::open(path).map_err(GraphError::io("open", path))?;
        let length = file.metadata().map_err(GraphError::io("read", path))?.len();
        match format(path, &mut file).map_err(GraphError::io("read", path))? {
            Format::Table => Ok(Self::Table(Box::new(Table::open(path)?))),
            Format::Array => {
                let limit = ALLOWANCE.saturating_add(length.saturating_mul(LARGEST_RATIO));
                npy::read(BufReader::new(file), limit).map(Self::Array).map_err(in_file)
            }
            Format::Archive => Npz::open(BufReader::new(file)).map(Self::Archive).map_err(in_file),
        }
    }

    /// What a table of several columns calls the first of them, that of the ids.
    pub(super) fn id_column(&self) -> Option<String> {
        let Self::Table(table) = self else { return None };
        let name = table.header().filter(|header| header.width() > 1)?.text(0);
        Some(name.to_owned()).filter(|name| !name.is_empty())
    }
}

fn format(path: &Path, file: &mut File) -> std::io::Result<Format> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let mut begin = Vec::new();
    file.take(6).read_to_end(&mut begin)?;
    file.rewind()?;
    Ok(match extension.as_str() {
        "npy" => Format::Array,
        "npz" => Format::Archive,
        _ if begin == b"\x93NUMPY" => Format::Array,
        _ if begin.starts_with(b"PK\x03\x04") => Format::Archive,
        _ => Format::Table,
    })
}

/// The array of an archive that has only one, and its name.
pub(super) fn only_array<R: Read + Seek>(
    npz: &mut Npz<R>,
    wanted: &str,
) -> Result<(String, Array), FormatError> {
    let names: Vec<String> = npz.names().map(str::to_owned).collect();
    match names.as_slice() {
        [name] => Ok((name.clone(), npz.array(name)?)),
        _ => Err(FormatError::new(format!(
            "the archive has {} arrays ({}); it needs {wanted}",
            names.len(),
            names.join(", ")
        ))),
    }
}
