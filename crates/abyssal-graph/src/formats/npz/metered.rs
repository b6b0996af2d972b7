//! A reader on a ration.

use std::io::{self, Read, Seek, SeekFrom};

/// Gives an error once more than a number of bytes was read, wherever they were read from.
pub(super) struct Metered<R> {
    inner: R,
    left: u64,
}

impl<R> Metered<R> {
    /// A reader that gives at most `left` bytes.
    pub(super) fn new(inner: R, left: u64) -> Self {
        Self { inner, left }
    }
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
