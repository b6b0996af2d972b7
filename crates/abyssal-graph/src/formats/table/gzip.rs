//! Transparent decompression.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;

const MAGIC: [u8; 2] = [0x1F, 0x8B];

/// Decompressed bytes that any file may have, beside some for each compressed byte.
const ALLOWANCE: u64 = 32 << 20;

/// Decompressed bytes for each compressed one that a table may have. Text compresses well, and tables of zeros very well;
/// what goes beyond that was made to fill the memory.
pub(super) const USUAL_RATIO: u64 = 200;

/// The contents of a file of `length` bytes: decompressed if it begins as gzip does, else as they are. There may be
/// `ratio` times as many bytes as there were compressed ones, and 32 MiB more.
pub(in crate::formats) fn decompressed<'a>(
    mut source: impl Read + 'a,
    length: u64,
    ratio: u64,
) -> io::Result<Box<dyn Read + 'a>> {
    let mut begin = Vec::with_capacity(MAGIC.len());
    source.by_ref().take(MAGIC.len() as u64).read_to_end(&mut begin)?;
    let compressed = begin == MAGIC;
    let whole = Cursor::new(begin).chain(source);
    if !compressed {
        return Ok(Box::new(whole));
    }
    let limit = ALLOWANCE.saturating_add(length.saturating_mul(ratio));
    Ok(Box::new(Guarded { source: MultiGzDecoder::new(whole), limit, left: limit }))
}

/// A decompressor that does not go on for ever.
struct Guarded<R> {
    source: R,
    limit: u64,
    left: u64,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer).map_err(|error| {
            io::Error::new(error.kind(), format!("the gzip data is damaged ({error}); get the file again"))
        })?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::other(format!(
                "the file decompresses to more than {} bytes, far more than its size suggests; \
                 if that is right, decompress it yourself and give the result",
                self.limit
            ))
        })?;
        Ok(count)
    }
}
