//! Zip archives that nobody vouches for.

use std::io::{self, Read, Seek, SeekFrom};

use zip::ZipArchive;
use zip::result::ZipError;

use super::{FormatError, web_page};

/// More members than any archive of data has.
pub(super) const MOST_MEMBERS: usize = 10_000;
/// What may be read to find the list of members. Ten thousand of them, with names of hundreds of letters, fit.
const DIRECTORY_BYTES: u64 = 8 << 20;

/// Opens an archive and checks its list of members; gives its size too. Nothing is unpacked.
///
/// # Errors
/// If this is no zip archive or a damaged one, if it has more than 10,000 members or two of one name, or if the name of
/// a member would lead out of a directory.
pub(super) fn open<R: Read + Seek>(mut reader: R) -> Result<(ZipArchive<R>, u64), FormatError> {
    let size = reader.seek(SeekFrom::End(0))?;
    let mut beginning = Vec::new();
    reader.seek(SeekFrom::Start(0))?;
    reader.by_ref().take(256).read_to_end(&mut beginning)?;
    web_page::refuse(&beginning)?;
    // The list is as long as it says, and each line of it takes memory. So it is read on a ration first.
    ZipArchive::new(Metered { inner: &mut reader, left: DIRECTORY_BYTES }).map_err(not_an_archive)?;
    let archive = ZipArchive::new(reader).map_err(not_an_archive)?;
    if archive.len() > MOST_MEMBERS {
        let reason = format!("an archive of {} members; there can be {MOST_MEMBERS}", archive.len());
        return Err(FormatError::new(reason));
    }
    if archive.has_duplicate_names() {
        return Err(FormatError::new("two members of the archive have the same name; get or save it again"));
    }
    for name in archive.file_names() {
        let name = name.map_err(damaged)?;
        if leads_out(&name) {
            let reason =
                format!("the archive has a member named {name:?}, as no honest archive has; do not trust it");
            return Err(FormatError::new(reason));
        }
    }
    Ok((archive, size))
}

/// The error for an archive that can be opened but not read.
pub(super) fn damaged(error: ZipError) -> FormatError {
    FormatError::new(format!("the archive is damaged: {error}; download or save it again"))
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

/// A reader on a ration: an error once more than a number of bytes was read, wherever they were read from.
struct Metered<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::other("its list of members is too long")),
        }
        Ok(read)
    }
}

impl<R: Seek> Seek for Metered<R> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}
