//! Where the files of an OGB dataset lie: in a directory, or in the archive it is published as.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek};
use std::path::PathBuf;

use zip::ZipArchive;

use super::super::table::decompressed;
use super::super::{FormatError, Place, archive};
use super::REQUIRED;
use crate::GraphError;

/// Decompressed bytes for each compressed one. Random numbers compress to a third or a fourth.
const TEXT_RATIO: u64 = 20;

/// Files by their names, which are paths from the directory of the dataset, with slashes.
pub(super) trait Files {
    /// The decompressed contents of a file; nothing if it does not exist.
    fn open(&mut self, name: &str) -> Result<Option<Box<dyn Read + '_>>, GraphError>;

    /// The directories in `split/`.
    fn schemes(&self) -> Result<Vec<String>, GraphError>;

    /// An error in a file.
    fn error(&self, name: &str, error: FormatError) -> GraphError;
}

/// A directory that holds `raw/`, `split/` and `mapping/`.
pub(super) struct Directory(pub(super) PathBuf);

impl Files for Directory {
    fn open(&mut self, name: &str) -> Result<Option<Box<dyn Read + '_>>, GraphError> {
        let path = self.0.join(name);
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(GraphError::io("open", &path))?,
        };
        let length = file.metadata().map_err(GraphError::io("read", &path))?.len();
        decompressed(file, length, TEXT_RATIO).map(Some).map_err(GraphError::io("read", &path))
    }

    fn schemes(&self) -> Result<Vec<String>, GraphError> {
        let path = self.0.join("split");
        let mut schemes = Vec::new();
        for entry in fs::read_dir(&path).map_err(GraphError::io("list", &path))? {
            let entry = entry.map_err(GraphError::io("list", &path))?;
            if entry.path().is_dir() {
                schemes.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(schemes)
    }

    fn error(&self, name: &str, error: FormatError) -> GraphError {
        error.in_file(&self.0.join(name))
    }
}

/// Unpacked bytes that any member may have, and how many more for each packed byte. The members are compressed
/// themselves, so packing them hardly makes them smaller.
const ALLOWANCE: u64 = 16 << 20;
const LARGEST_RATIO: u64 = 16;

/// A zip archive that holds these directories, usually in one of its own. Nothing is extracted.
pub(super) struct Archive<R> {
    zip: ZipArchive<R>,
    length: u64,
    path: PathBuf,
    /// The directory inside the archive, with a slash at its end.
    prefix: String,
}

impl<R: Read + Seek> Archive<R> {
    /// Opens an archive; `path` is its name in errors.
    pub(super) fn new(source: R, path: PathBuf) -> Result<Self, GraphError> {
        let (zip, length) = archive::open(source).map_err(|error| error.in_file(&path))?;
        let mut archive = Self { zip, length, path, prefix: String::new() };
        let prefix = archive.names().find_map(|name| {
            let prefix = REQUIRED.iter().find_map(|required| name.strip_suffix(required))?;
            (prefix.is_empty() || prefix.ends_with('/')).then(|| prefix.to_owned())
        });
        archive.prefix = prefix.unwrap_or_default();
        Ok(archive)
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.zip.file_names().filter_map(|name| name.ok().map(|name| name.into_owned()))
    }
}

impl<R: Read + Seek> Files for Archive<R> {
    fn open(&mut self, name: &str) -> Result<Option<Box<dyn Read + '_>>, GraphError> {
        let full = format!("{}{name}", self.prefix);
        let Some(index) = self.zip.index_for_name(&full) else { return Ok(None) };
        let path = &self.path;
        let fail = |reason: String| FormatError::at(Place::Member(full), reason).in_file(path);
        let member = match self.zip.by_index(index) {
            Err(error) => return Err(fail(format!("cannot be unpacked ({error}); get the archive again"))),
            Ok(member) => member,
        };
        let packed = member.compressed_size().min(self.length);
        let limit = ALLOWANCE.saturating_add(packed.saturating_mul(LARGEST_RATIO));
        if member.size() > limit {
            let reason =
                format!("unpacks from {packed} to {} bytes, which no honest file of OGB does", member.size());
            return Err(fail(reason));
        }
        // The size that is declared may be a lie.
        decompressed(member.take(limit), packed, TEXT_RATIO)
            .map(Some)
            .map_err(|error| fail(error.to_string()))
    }

    fn schemes(&self) -> Result<Vec<String>, GraphError> {
        let directory = format!("{}split/", self.prefix);
        let inside = |name: String| Some(name.strip_prefix(&directory)?.split_once('/')?.0.to_owned());
        let mut schemes: Vec<String> = self.names().filter_map(inside).collect();
        schemes.sort_unstable();
        schemes.dedup();
        Ok(schemes)
    }

    fn error(&self, name: &str, error: FormatError) -> GraphError {
        error.in_member(&format!("{}{name}", self.prefix)).in_file(&self.path)
    }
}
