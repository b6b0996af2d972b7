//! Archives of arrays as numpy saves them.

mod masks;
mod metered;
#[cfg(test)]
pub(in crate::formats) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek, SeekFrom};

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::npy::{self, Array};
use crate::formats::FormatError;
use metered::Metered;

pub use masks::masks;

/// What a member may always take, however small the archive.
const FREE_BYTES: u64 = 64 << 20;
/// How many times the size of the archive it may take on top of that.
const RATIO: u64 = 16;
/// How many times of what one member may take, all of them may take together.
const TOGETHER: u64 = 2;
const MOST_MEMBERS: usize = 10_000;
/// How many names an error lists.
const LISTED: usize = 20;
/// What stands before the elements of an array, generously.
const HEADER_BYTES: u64 = 1 << 14;
/// What may be read to find the list of members. Ten thousand of them, with names of hundreds of letters, fit.
const DIRECTORY_BYTES: u64 = 8 << 20;

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
    pub fn open(mut reader: R) -> Result<Self, FormatError> {
        let size = reader.seek(SeekFrom::End(0))?;
        refuse_html(&mut reader)?;
        // The list is as long as it says, and each line of it takes memory. So it is read on a ration first.
        ZipArchive::new(Metered::new(&mut reader, DIRECTORY_BYTES)).map_err(not_an_archive)?;
        let archive = ZipArchive::new(reader).map_err(not_an_archive)?;
        if archive.len() > MOST_MEMBERS {
            let reason = format!("an archive of {} members; there can be {MOST_MEMBERS}", archive.len());
            return Err(FormatError::new(reason));
        }
        if archive.has_duplicate_names() {
            return Err(FormatError::new("two members of the archive have the same name; save it again"));
        }
        let mut members = BTreeMap::new();
        for (index, name) in archive.file_names().enumerate() {
            let name = name.map_err(damaged)?;
            if leads_out(&name) {
                let reason =
                    format!("the archive has a member named {name:?}, as no honest npz has; do not trust it");
                return Err(FormatError::new(reason));
            }
            if let Some(name) = name.strip_suffix(".npy") {
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

/// A download that failed often leaves the page that says so.
fn refuse_html(reader: &mut (impl Read + Seek)) -> Result<(), FormatError> {
    let mut beginning = Vec::new();
    reader.seek(SeekFrom::Start(0))?;
    reader.take(256).read_to_end(&mut beginning)?;
    let beginning = beginning.trim_ascii_start().to_ascii_lowercase();
    if beginning.starts_with(b"<!doctype html") || beginning.starts_with(b"<html") {
        return Err(FormatError::new("this is an HTML page, not data; download it again"));
    }
    Ok(())
}

/// Whether a path may point to somewhere outside of the directory it is unpacked into, on any system.
fn leads_out(name: &str) -> bool {
    let drive =
        name.as_bytes().get(1) == Some(&b':') && name.starts_with(|first: char| first.is_ascii_alphabetic());
    name.starts_with('/') || name.contains('\\') || drive || name.split('/').any(|part| part == "..")
}

fn not_an_archive(error: ZipError) -> FormatError {
    FormatError::new(format!("not a zip archive, or one that is damaged or cut short: {error}"))
}

fn damaged(error: ZipError) -> FormatError {
    FormatError::new(format!("the archive is damaged: {error}; download or save it again"))
}
