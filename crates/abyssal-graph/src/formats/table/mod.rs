//! Tables in text files: csv, tsv and their relatives.

mod gzip;
mod header;
mod lines;
mod row;

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use self::lines::{Lines, Separator};
use super::{FormatError, Place};
use crate::GraphError;

pub(in crate::formats) use self::gzip::decompressed;
pub(in crate::formats) use self::header::{is_number, names_ids};
pub use self::row::Row;
pub(in crate::formats) use self::row::{parse_number, shown};

/// A table in a text file, read row by row.
///
/// **Separator.** A tab if the first row has one, else a comma, else a semicolon (all outside quotes). If it has none
/// of them but consists of several numbers, as in `0 1`, fields are separated by blanks. Otherwise there is one column.
///
/// **Rows.** Fields may be quoted as usual, and are taken without the blanks around them. Lines end with LF or CRLF. A
/// byte order mark, blank lines, and lines before the first row that begin with `#` or `%` are skipped. All rows have
/// the same number of fields, are valid UTF-8, and are at most 16 MiB long.
///
/// **Header.** The first row is a header if none of its fields is a number, and
/// - its first field is a usual name such as `id`, `node`, `source`, `label` or `split`, in any case, or
/// - others follow, and its first field is empty, as pandas writes it, or a usual name of ids such as `user_id`, or
/// - some column has a number in the second row, where the first row has neither nothing nor a mark of a missing value.
///
/// Fields after the first may count 0, 1, 2, … in a header of three or more.
pub struct Table<R> {
    reader: csv::Reader<Lines<R>>,
    header: Option<Row>,
    /// Rows that were read to recognise the header.
    waiting: VecDeque<Row>,
    width: usize,
    /// The line of the first row, be it a header or not.
    begin: u64,
    /// The line that the last row ended on.
    end: u64,
    /// Whether a blank line is a row.
    keeps_blank_lines: bool,
}

impl<R: Read> Table<R> {
    /// Finds the separator and the header.
    ///
    /// # Errors
    /// If there is no row at all, or as for [`Table::read_row`].
    pub fn new(source: R) -> Result<Self, FormatError> {
        let lines = Lines::new(source)?;
        let separator = lines.separator();
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator.byte())
            .quoting(separator != Separator::Blanks)
            .buffer_capacity(1 << 16)
            .from_reader(lines);
        let mut table = Self {
            reader,
            header: None,
            waiting: VecDeque::new(),
            width: 0,
            begin: 0,
            end: 0,
            keeps_blank_lines: false,
        };
        let mut first = Row::default();
        if !table.parse_row(&mut first)? {
            return Err(FormatError::new("the file holds no rows"));
        }
        (table.width, table.begin) = (first.width(), first.line());
        let mut second = Row::default();
        let second = table.parse_row(&mut second)?.then_some(second);
        if header::is_header(&first, second.as_ref()) {
            table.header = Some(first);
        } else {
            table.waiting.push_back(first);
        }
        table.waiting.extend(second);
        Ok(table)
    }

    /// The names of the columns, if there are any.
    pub fn header(&self) -> Option<&Row> {
        self.header.as_ref()
    }

    /// The line of the first row, be it a header or not.
    pub fn begin(&self) -> u64 {
        self.begin
    }

    /// Makes the header, if there is one, the first row: for readers who know better.
    pub fn keep_header_as_row(&mut self) {
        if let Some(header) = self.header.take() {
            self.waiting.push_front(header);
        }
    }

    /// From now on, a blank line is a row without fields, but for those at the end of the file and those before a
    /// header: where a table has one column, a blank line may be an empty cell.
    pub fn keep_blank_lines(&mut self) {
        self.keeps_blank_lines = true;
    }

    /// Once all rows have been read: whether blank lines follow them.
    pub fn ends_with_blank_lines(&self) -> bool {
        self.reader.get_ref().line() > self.end
    }

    /// Adds to an error about the first row that it may be a header nobody recognised; `name` would have made it one.
    pub fn suspect_header(&self, row: &Row, name: &str, mut error: FormatError) -> FormatError {
        if self.header.is_none() && row.line == self.begin && header::is_number_free(row) {
            error.reason.push_str(&format!("; if this line is a header, let it begin with `{name}`"));
        }
        error
    }

    /// Fields of each row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Checks the number of columns.
    ///
    /// # Errors
    /// If it is not `expected`, with `columns` telling what they are.
    pub fn expect_width(&self, expected: usize, columns: &str) -> Result<(), FormatError> {
        if self.width == expected {
            return Ok(());
        }
        let reason = format!("{} columns where {expected} are needed: {columns}", self.width);
        Err(FormatError::at(Place::Line(self.begin), reason))
    }

    /// Reads the next row into `row`; false at the end of the file.
    ///
    /// # Errors
    /// If the row has another number of fields than the first, is not UTF-8, is too long, or the file cannot be read.
    pub fn read_row(&mut self, row: &mut Row) -> Result<bool, FormatError> {
        match self.waiting.pop_front() {
            Some(waiting) => *row = waiting,
            None if !self.parse_row(row)? => return Ok(false),
            None => {}
        }
        if self.keeps_blank_lines && row.blank_lines > 0 {
            let line = row.line - row.blank_lines;
            row.blank_lines -= 1;
            self.waiting.push_front(std::mem::replace(row, Row { line, ..Row::default() }));
        }
        Ok(true)
    }

    fn parse_row(&mut self, row: &mut Row) -> Result<bool, FormatError> {
        loop {
            self.reader.get_mut().begin_row();
            let read = self.reader.read_record(&mut row.record);
            let lines = self.reader.get_ref();
            row.line = lines.start();
            match read {
                Ok(true) if row.is_blank() => {}
                Ok(true) => {
                    // Before the first row there may be comments.
                    row.blank_lines = match self.end {
                        0 => lines.skipped(),
                        end => row.line.saturating_sub(end + 1),
                    };
                    self.end = lines.line();
                    return self.check_width(row).map(|()| true);
                }
                Ok(false) => return Ok(false),
                Err(error) => return Err(explained(error, lines.start(), lines.line())),
            }
        }
    }

    fn check_width(&self, row: &Row) -> Result<(), FormatError> {
        if self.width == 0 || row.width() == self.width {
            return Ok(());
        }
        let spans_lines = row.record.iter().any(|field| field.contains('\n'));
        let hint = if spans_lines { "; is a quote never closed?" } else { "" };
        let reason = format!("{} fields where the first row has {}{hint}", row.width(), self.width);
        Err(FormatError::at(Place::Line(row.line), reason))
    }
}

impl Table<Box<dyn Read>> {
    /// Opens a file; one that begins as gzip does is decompressed on the way, but never to more than 32 MiB and 200
    /// times its size.
    ///
    /// # Errors
    /// If the file cannot be read, or as for [`Table::new`].
    pub fn open(path: &Path) -> Result<Self, GraphError> {
        let file = File::open(path).map_err(GraphError::io("open", path))?;
        let length = file.metadata().map_err(GraphError::io("read", path))?.len();
        let source = decompressed(file, length, gzip::USUAL_RATIO).map_err(GraphError::io("read", path))?;
        Self::new(source).map_err(|error| error.in_file(path))
    }
}

/// What the csv parser has to say, in our words: it reports invalid UTF-8 and errors of its source, nothing else.
fn explained(error: csv::Error, start: u64, line: u64) -> FormatError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => FormatError::at(Place::Line(line), error.to_string()),
        csv::ErrorKind::Utf8 { err, .. } => {
            let column = err.field() as u64 + 1;
            FormatError::at(Place::Cell { line: start, column }, "not valid UTF-8; save the file as UTF-8")
        }
        other => FormatError::at(Place::Line(line), format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests;
