//! Fingerprints: SHA-256 over numbers, the same on every platform.

use std::fmt::Write;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// A SHA-256 sum in the making.
///
/// Numbers go in as little-endian bytes. Lists are preceded by their length, so that no two different sequences of
/// lists give the same bytes.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// The fingerprint of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(bytes);
        self
    }

    /// Takes in one number, as 64 bits.
    pub fn number(&mut self, number: usize) -> &mut Self {
        self.bytes(&(number as u64).to_le_bytes())
    }

    /// Takes in a list of 32-bit numbers: its length, then the numbers.
    pub fn numbers(&mut self, numbers: &[u32]) -> &mut Self {
        self.number(numbers.len());
        for number in numbers {
            self.bytes(&number.to_le_bytes());
        }
        self
    }

    /// The sum of all that can be read, in fixed memory.
    ///
    /// # Errors
    /// If reading fails.
    pub fn of_reader(contents: &mut impl Read) -> io::Result<String> {
        let mut fingerprint = Self::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            match contents.read(&mut buffer) {
                Ok(0) => return Ok(fingerprint.finish()),
                Ok(count) => fingerprint.bytes(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
        }
    }

    /// The sum as 64 hexadecimal digits.
    pub fn finish(self) -> String {
        self.0.finalize().iter().fold(String::with_capacity(64), |mut digits, byte| {
            // Writing to a string cannot fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of FIPS 180-2, appendix B.1.
    #[test]
    fn the_sum_is_sha_256() {
        let mut fingerprint = Fingerprint::new();
        fingerprint.bytes(b"abc");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(fingerprint.finish(), expected);
    }

    #[test]
    fn where_a_list_ends_matters() {
        let sum = |lists: [&[u32]; 2]| {
            let mut fingerprint = Fingerprint::new();
            fingerprint.numbers(lists[0]).numbers(lists[1]);
            fingerprint.finish()
        };
        assert_ne!(sum([&[1, 2], &[3]]), sum([&[1], &[2, 3]]));
    }
}
