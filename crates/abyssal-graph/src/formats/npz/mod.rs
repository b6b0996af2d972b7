//! Archives of arrays as numpy saves them.

mod masks;
#[cfg(test)]
pub(in crate::formats) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek};

use zip::{CompressionMethod, ZipArchive};

use super::archive::{self, damaged};
use super::npy::{self, Array};
use crate::formats::FormatError;

pub use masks::masks;

/// What a member may always take, however small the archive.
const FREE_BYTES: u64 = 64 << 20;
/// How many times the size of the archive it may take on top of that.
const RATIO: u64 = 16;
/// How many times of what one member may take, all of them may take together.
const TOGETHER: u64 = 2;
/// How many names an error lists.
const LISTED: usize = 20;
/// What stands before the elements of an array, generously.
const HEADER_BYTES: u64 = 1 << 14;

/// An npz archive: a zip file whose members `name.npy` are arrays, stored or deflated.
///
/// Arrays are read when they are asked for, so one that cannot be read does no harm to the others.
#[derive(Debug)]
pub struct Npz<R> {
    archive: ZipArchive<R>,
    /// Where in the archive each array is.
    members: BTreeMap<String, usize>,
    /// What a member may take once it is decompressed.
    limit: u64,
    /// What all members that are not counted yet may take together.
    left: u64,
    /// Members that were read.
    counted: BTreeSet<usize>,
}

impl<R: Read + Seek> Npz<R> {
    /// Reads the list of members.
    ///
    /// # Errors
    /// If this is no zip archive or a damaged one, if it has more than 10,000 members or two of one name, or if the
    /// name of a member would lead out of a directory.
    pub fn open(reader: R) -> Result<Self, FormatError> {
        let (archive, size) = archive::open(reader)?;
        let mut members = BTreeMap::new();
        for (index, name) in archive.file_names().enumerate() {
            if let Some(name) = name.map_err(damaged)?.strip_suffix(".npy") {
                members.insert(name.to_owned(), index);
            }
        }
        let limit = FREE_BYTES.saturating_add(size.saturating_mul(RATIO));
        Ok(Self { archive, members, limit, left: limit.saturating_mul(TOGETHER), counted: BTreeSet::new() })
    }

    /// The names of the arrays, ascending.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Whether there is an array of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// Reads one array. Errors tell its name as their place.
    ///
    /// # Errors
    /// If there is none of this name, if it is encrypted or damaged, if it takes more than 64 MiB and 16 times the
    /// size of the archive (or more than twice as much together with those read before), or as for [`npy::read`].
    pub fn array(&mut self, name: &str) -> Result<Array, FormatError> {
        let Some(&index) = self.members.get(name) else {
            let there: Vec<String> =
                self.names().take(LISTED).map(|name| name.escape_debug().to_string()).collect();
            let there = match self.members.len() {
                0 => "no array at all".to_owned(),
                count if count > LISTED => format!("{} and {} more", there.join(", "), count - LISTED),
                _ => there.join(", "),
            };
            return Err(FormatError::new(format!("the archive has no array `{name}`, but {there}")));
        };
        let array = self.read(index).map_err(|error| error.in_member(name))?;
        if self.counted.insert(index) {
            self.left = self.left.saturating_sub(array.memory());
        }
        Ok(array)
    }

    /// Reads an array of one dimension as what `convert` makes of it, say [`Array::into_integers`].
    ///
    /// # Errors
    /// As for [`Npz::array`], if the array has another number of dimensions, or as for `convert`.
    pub fn vector<T>(
        &mut self,
        name: &str,
        convert: impl FnOnce(Array) -> Result<Vec<T>, FormatError>,
    ) -> Result<Vec<T>, FormatError> {
        let array = self.array(name)?;
        let vector = array.dimensions(1).map(drop).and_then(|()| convert(array));
        vector.map_err(|error| error.in_member(name))
    }

    /// Reads a member of the archive.
    fn read(&mut self, index: usize) -> Result<Array, FormatError> {
        let limit = if self.counted.contains(&index) { self.limit } else { self.limit.min(self.left) };
        let entry = self.archive.by_index_data(index).map_err(damaged)?;
        if entry.encrypted() {
            return Err(FormatError::new("is encrypted; save it again without a password"));
        }
        let method = entry.compression();
        if !matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated) {
            let reason = format!("is compressed as {method}; save it again with `numpy.savez_compressed`");
            return Err(FormatError::new(reason));
        }
        let size = entry.size();
        if size > limit.saturating_add(HEADER_BYTES) {
            let reason = format!(
                "takes {size} bytes, where an archive of this size may take {limit} more; it may be a zip bomb"
            );
            return Err(FormatError::new(reason));
        }
        let mut member = self.archive.by_index(index).map_err(damaged)?;
        // The size was only told. The reader of the member gives an error where it was a lie.
        let array = npy::read(&mut member, limit);
        // The checksum is compared at the end, and explains whatever was wrong before.
        io::copy(&mut member, &mut io::sink()).map_err(|error| damaged(error.into()))?;
        array
    }
}
