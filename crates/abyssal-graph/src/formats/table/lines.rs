//! The lines of a text file, handed to the csv parser one at a time, so that we know which line a row is on and can
//! stop before a row fills the memory.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use super::super::web_page;

/// The largest row, in bytes. Whoever needs more has left a quote open, or holds a file that is no table.
const LONGEST_ROW: u64 = 16 << 20;

/// The largest number of separators in a row: each field costs memory, even an empty one.
const MOST_SEPARATORS: u64 = 1 << 20;

/// Bytes to look through for the end of a first row that has a quote open.
const FARTHEST_LOOK: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What stands between two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// This byte.
    Byte(u8),
    /// Any number of spaces.
    Blanks,
}

impl Separator {
    /// The byte between fields of a line that was tidied.
    pub(super) fn byte(self) -> u8 {
        match self {
            Self::Byte(byte) => byte,
            Self::Blanks => b' ',
        }
    }
}

/// The lines of a file from its first row on.
pub(super) struct Lines<R> {
    source: BufReader<R>,
    /// Lines that were read to see where the first row ends.
    ahead: Cursor<Vec<u8>>,
    separator: Separator,
    current: Vec<u8>,
    /// How much of the current line has been handed out.
    position: usize,
    /// Number of the current line, from 1.
    line: u64,
    /// Blank lines before the first row.
    skipped: u64,
    /// The first line of the current row that is not blank.
    start: Option<u64>,
    /// Bytes and separators read for the current row.
    bytes: u64,
    separators: u64,
}

impl<R: Read> Lines<R> {
    /// Skips a byte order mark, blank lines and comments, and finds out what separates the fields of the first row.
    pub(super) fn new(source: R) -> io::Result<Self> {
        let mut lines = Self {
            source: BufReader::with_capacity(1 << 16, source),
            ahead: Cursor::default(),
            separator: Separator::Byte(b','),
            current: Vec::new(),
            position: 0,
            line: 0,
            skipped: 0,
            start: None,
            bytes: 0,
            separators: 0,
        };
        loop {
            lines.advance()?;
            lines.separators = 0;
            if lines.line == 1 && lines.current.starts_with(BYTE_ORDER_MARK) {
                lines.current.drain(..BYTE_ORDER_MARK.len());
            }
            let text = lines.current.trim_ascii();
            let skipped = text.is_empty() || text.starts_with(b"#") || text.starts_with(b"%");
            if !skipped || lines.current.is_empty() {
                break;
            }
            lines.skipped += u64::from(text.is_empty());
        }
        web_page::refuse(&lines.current).map_err(|error| io::Error::other(error.reason))?;
        let row = lines.look_ahead()?;
        lines.separator = separator(&row);
        lines.start = Some(lines.line);
        lines.tidy();
        lines.separators = 0;
        lines.count_separators()?;
        Ok(lines)
    }

    /// The first row, over several lines if it has a quote open: only the whole row can tell its separator. The lines
    /// will be read again, one at a time.
    fn look_ahead(&mut self) -> io::Result<Vec<u8>> {
        let mut row = self.current.clone();
        let (mut quotes, mut passed) = (Quotes::default(), 0);
        loop {
            row[passed..].iter().for_each(|&byte| quotes.pass(byte));
            passed = row.len();
            let wanted = if quotes.open { FARTHEST_LOOK.saturating_sub(passed) } else { 0 };
            if self.source.by_ref().take(wanted as u64).read_until(b'\n', &mut row)? == 0 {
                break;
            }
        }
        self.ahead = Cursor::new(row[self.current.len()..].to_vec());
        Ok(row)
    }

    pub(super) fn separator(&self) -> Separator {
        self.separator
    }

    /// Number of blank lines before the first row.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Number of the line that was read last.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The line on which the current row begins.
    pub(super) fn start(&self) -> u64 {
        self.start.unwrap_or(self.line)
    }

    /// The next line belongs to another row.
    pub(super) fn begin_row(&mut self) {
        if self.position > 0 {
            self.start = None;
        }
        (self.bytes, self.separators) = (0, 0);
    }

    /// Reads the next line, with its end; an empty one at the end of the file.
    fn advance(&mut self) -> io::Result<()> {
        self.current.clear();
        self.position = 0;
        let rest = self.ahead.by_ref().chain(&mut self.source);
        let read = rest.take(LONGEST_ROW + 1).read_until(b'\n', &mut self.current)?;
        if read == 0 {
            return Ok(());
        }
        self.line += 1;
        self.bytes += read as u64;
        self.tidy();
        if self.bytes > LONGEST_ROW {
            return Err(io::Error::other(format!(
                "no row ends within {} MiB; is a quote never closed, or is this not a table?",
                LONGEST_ROW >> 20
            )));
        }
        self.count_separators()?;
        if self.start.is_none() && !self.current.trim_ascii().is_empty() {
            self.start = Some(self.line);
        }
        Ok(())
    }

    fn count_separators(&mut self) -> io::Result<()> {
        let separator = self.separator.byte();
        self.separators += self.current.iter().filter(|&&byte| byte == separator).count() as u64;
        if self.separators > MOST_SEPARATORS {
            let reason = format!("a row has more than {MOST_SEPARATORS} fields; is a quote never closed?");
            return Err(io::Error::other(reason));
        }
        Ok(())
    }

    /// Makes the blanks between fields single ones.
    fn tidy(&mut self) {
        if self.separator == Separator::Blanks {
            let (mut end, mut gap) = (0, false);
            for place in 0..self.current.len() {
                let byte = self.current[place];
                if byte.is_ascii_whitespace() {
                    gap = end > 0;
                    continue;
                }
                if gap {
                    self.current[end] = b' ';
                    end += 1;
                }
                self.current[end] = byte;
                end += 1;
                gap = false;
            }
            self.current.truncate(end);
            self.current.push(b'\n');
        }
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position == self.current.len() {
            self.advance()?;
        }
        let rest = self.current.get(self.position..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.position += count;
        Ok(count)
    }
}

/// Whether a quote is open, byte by byte, before the separator is known. A quote opens at the beginning of a field, and
/// again right after it closed, for then the two mean one letter. Elsewhere it is a letter like others.
struct Quotes {
    open: bool,
    may_open: bool,
}

impl Default for Quotes {
    fn default() -> Self {
        Self { open: false, may_open: true }
    }
}

impl Quotes {
    fn pass(&mut self, byte: u8) {
        (self.open, self.may_open) = match (byte, self.open) {
            (b'"', true) => (false, true),
            (b'"', false) => (self.may_open, false),
            (_, true) => (true, false),
            (b'\t' | b',' | b';', false) => (false, true),
            (_, false) => (false, false),
        };
    }
}

/// A tab if there is one, else a comma, else a semicolon, all outside quotes; blanks if the row consists of several
/// numbers; else a comma, of a table with one column.
fn separator(line: &[u8]) -> Separator {
    let mut quotes = Quotes::default();
    let mut outside = line.to_vec();
    outside.retain(|&byte| {
        quotes.pass(byte);
        !quotes.open
    });
    if let Some(byte) = [b'\t', b',', b';'].into_iter().find(|byte| outside.contains(byte)) {
        return Separator::Byte(byte);
    }
    let numbers = |text: &str| text.split_whitespace().all(|field| field.parse::<f64>().is_ok());
    let text = line.trim_ascii();
    if text.contains(&b' ') && std::str::from_utf8(text).is_ok_and(numbers) {
        return Separator::Blanks;
    }
    Separator::Byte(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_tells_the_separator() {
        for (line, expected) in [
            ("a,b;c\td", Separator::Byte(b'\t')),
            ("a;b,c", Separator::Byte(b',')),
            ("a;b c", Separator::Byte(b';')),
            ("\"a,b\tc\";d", Separator::Byte(b';')),
            ("\"a,\"\"b\tc\";d", Separator::Byte(b';')),
            ("5\" disk;a,b", Separator::Byte(b',')),
            ("0 1", Separator::Blanks),
            (" 0.5  1e3 \r\n", Separator::Blanks),
            ("machine learning", Separator::Byte(b',')),
            ("7", Separator::Byte(b',')),
            ("", Separator::Byte(b',')),
        ] {
            assert_eq!(separator(line.as_bytes()), expected, "{line:?}");
        }
    }

    #[test]
    fn lines_are_handed_out_one_at_a_time_whatever_the_buffer() {
        for size in [1, 2, 3, 100] {
            let mut lines = Lines::new(&b"\xEF\xBB\xBF# comment\n\n  1   2 \r\n3 4"[..]).unwrap();
            let (mut text, mut buffer) = (Vec::new(), vec![0; size]);
            loop {
                match lines.read(&mut buffer).unwrap() {
                    0 => break,
                    count => text.extend_from_slice(&buffer[..count]),
                }
            }
            assert_eq!(text, b"1 2\n3 4\n");
            assert_eq!(lines.line(), 4);
        }
    }
}
