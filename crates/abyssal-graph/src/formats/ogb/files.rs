//! Where the files of an OGB dataset lie: in a directory, or in the archive it is published as.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use zip::ZipArchive;
use zip::result::ZipError;

use super::super::table::decompressed;
use super::super::{FormatError, Place};
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

/// Bytes that may be read to find the members of an archive.
const LONGEST_LIST: usize = 8 << 20;

/// Most members an archive may have; OGB's have about twenty.
const MOST_MEMBERS: usize = 10_000;

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
    pub(super) fn new(mut source: R, path: PathBuf) -> Result<Self, GraphError> {
        let length = source.seek(SeekFrom::End(0)).map_err(GraphError::io("read", &path))?;
        let unreadable = |error: ZipError| {
            let reason = format!("not a zip archive that can be read ({error}); get it again");
            FormatError::new(reason).in_file(&path)
        };
        // Each line of the list of members takes memory, so it is read with a limit first.
        ZipArchive::new(Limited { source: &mut source, left: LONGEST_LIST }).map_err(unreadable)?;
        let zip = ZipArchive::new(source).map_err(unreadable)?;
        let mut archive = Self { zip, length, path, prefix: String::new() };
        archive.check_names().map_err(|error| error.in_file(&archive.path))?;
        let prefix = archive.names().find_map(|name| {
            let prefix = REQUIRED.iter().find_map(|required| name.strip_suffix(required))?;
            (prefix.is_empty() || prefix.ends_with('/')).then(|| prefix.to_owned())
        });
        archive.prefix = prefix.unwrap_or_default();
        Ok(archive)
    }

    /// An honest archive of data has a few members, each with a name of its own below one directory.
    fn check_names(&self) -> Result<(), FormatError> {
        if self.zip.len() > MOST_MEMBERS {
            let reason = format!("{} members are too many; OGB's archives have about twenty", self.zip.len());
            return Err(FormatError::new(reason));
        }
        if self.zip.has_duplicate_names() {
            return Err(FormatError::new("two members have the same name; get the archive again"));
        }
        for name in self.zip.file_names() {
            let name =
                name.map_err(|error| FormatError::new(format!("a member has an unreadable name ({error})")))?;
            if name.starts_with('/') || name.contains(['\\', ':']) || name.split('/').any(|part| part == "..")
            {
                let reason = "a member with this name wants to be written elsewhere; get the archive again";
                return Err(FormatError::at(Place::Member(name.into_owned()), reason));
            }
        }
        Ok(())
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.zip.file_names().filter_map(|name| name.ok().map(|name| name.into_owned()))
    }
}

/// A reader that gives up after some bytes.
struct Limited<R> {
    source: R,
    left: usize,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        let left = self.left.checked_sub(count);
        self.left = left.ok_or_else(|| io::Error::other("the list of its members is too long"))?;
        Ok(count)
    }
}

impl<R: Seek> Seek for Limited<R> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.source.seek(position)
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
