//! Hostile tables, and any table read back.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use abyssal_graph::formats::FormatError;
use abyssal_graph::formats::table::{Row, Table};
use proptest::prelude::*;

use crate::{directory, gzip, short, write};

/// Far more than a reader may hold, far less than it would read if it went on.
const SOME: usize = 64 << 20;

/// A beginning, then the same bytes for ever, and how many were read.
struct Endless<'a> {
    begin: &'a [u8],
    pattern: &'a [u8],
    read: &'a mut usize,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for byte in buffer.iter_mut() {
            let repeated = self.read.saturating_sub(self.begin.len()) % self.pattern.len();
            *byte = *self.begin.get(*self.read).unwrap_or(&self.pattern[repeated]);
            *self.read += 1;
        }
        assert!(*self.read < SOME, "the reader does not stop");
        Ok(buffer.len())
    }
}

fn read_all(source: impl Read) -> Result<Vec<Vec<String>>, FormatError> {
    let mut table = Table::new(source)?;
    table.keep_header_as_row();
    let (mut row, mut rows) = (Row::default(), Vec::new());
    while table.read_row(&mut row)? {
        rows.push((0..row.width()).map(|column| row.text(column).to_owned()).collect());
    }
    Ok(rows)
}

fn refused_endless(begin: &str, pattern: &str) -> String {
    let source = Endless { begin: begin.as_bytes(), pattern: pattern.as_bytes(), read: &mut 0 };
    read_all(source).expect_err("an endless file").to_string()
}

/// The error of an open table, without the name of the directory.
fn refused_file(path: &Path) -> String {
    let mut table = match Table::open(path) {
        Ok(table) => table,
        Err(error) => return short(&error, path.parent().expect("a directory")),
    };
    let mut row = Row::default();
    loop {
        match table.read_row(&mut row) {
            Ok(more) => assert!(more, "the file was read to its end"),
            Err(error) => return error.reason,
        }
    }
}

#[test]
fn a_line_without_end_is_refused_after_16_mib() {
    let expected = "no row ends within 16 MiB; is a quote never closed, or is this not a table?, line ";
    assert_eq!(refused_endless("", "a"), expected.split(',').take(2).collect::<Vec<_>>().join(","));
    assert_eq!(refused_endless("a,b\n1,2\n", "a"), format!("{expected}3"));
}

#[test]
fn a_file_of_a_gigabyte_without_a_line_is_refused() {
    let directory = directory();
    let path = directory.path().join("zeros.csv");
    File::create(&path).unwrap().set_len(1 << 30).unwrap();
    let expected = "zeros.csv: no row ends within 16 MiB; is a quote never closed, or is this not a table?";
    assert_eq!(refused_file(&path), expected);
}

#[test]
fn a_quote_never_closed_in_a_large_file_is_refused() {
    assert!(refused_endless("a,b\n1,\"2\n", "12\n").starts_with("no row ends within 16 MiB"));
    assert!(refused_endless("\"a,b\n", "12\n").starts_with("no row ends within 16 MiB"));
    let expected = "a row has more than 1048576 fields; is a quote never closed?, line ";
    assert!(refused_endless("a,b\n1,\"2\n", "1,2\n").starts_with(expected));
}

#[test]
fn blank_lines_and_comments_without_end_are_refused() {
    assert!(refused_endless("", "\n").starts_with("no row ends within 16 MiB"));
    assert!(refused_endless("", "# comment\n").starts_with("no row ends within 16 MiB"));
    assert!(refused_endless("a,b\n1,2\n", "\r\n").starts_with("no row ends within 16 MiB"));
}

#[test]
fn fields_without_end_are_refused() {
    // The line is too long before its fields are counted.
    assert!(refused_endless("a,b\n", ",").starts_with("no row ends within 16 MiB"));
    assert!(refused_endless("1 2\n", " 3").starts_with("no row ends within 16 MiB"));
}

#[test]
fn a_gzip_bomb_is_refused() {
    let directory = directory();
    // Blanks around fields do not count, but they compress to a thousandth.
    let row = format!("1{},2\n", " ".repeat(100_000));
    let path = write(directory.path(), "bomb.csv.gz", &gzip(row.repeat(800).as_bytes()));
    let error = refused_file(&path);
    assert!(error.contains("far more than its size suggests"), "{error}");
}

#[test]
fn a_truncated_gzip_file_is_refused() {
    let directory = directory();
    let whole = gzip(&(0..200).map(|row| format!("{row},{}\n", row * row)).collect::<String>().into_bytes());
    for length in 2..whole.len() {
        let path = write(directory.path(), "cut.csv.gz", &whole[..length]);
        let error = refused_file(&path);
        assert!(error.contains("the gzip data is damaged"), "{length}: {error}");
    }
}

#[test]
fn gzip_files_in_several_pieces_are_read_to_the_end() {
    let directory = directory();
    let path = write(directory.path(), "pieces.csv", &[gzip(b"a,b\n1,"), gzip(b"2\n")].concat());
    let mut table = Table::open(&path).unwrap();
    let mut row = Row::default();
    assert!(table.read_row(&mut row).unwrap());
    assert_eq!((row.number(0), row.number(1)), (Ok(1.0), Ok(2.0)));
}

#[test]
fn a_missing_file_is_named() {
    let error = Table::open(Path::new("nowhere/edges.csv")).err().unwrap().to_string();
    assert!(error.starts_with("cannot open nowhere/edges.csv: "), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_table_is_read_as_it_was_written(
        rows in (2usize..5).prop_flat_map(|width| {
            prop::collection::vec(prop::collection::vec("[a-c0-9 ,;\t\"'#\n\r\\.é漢-]{0,6}", width), 1..6)
        }),
        separator in prop::sample::select(vec![b',', b'\t', b';']),
        windows: bool,
        mark: bool,
    ) {
        let mut text = if mark { b"\xEF\xBB\xBF".to_vec() } else { Vec::new() };
        let end = if windows { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
        let mut writer = csv::WriterBuilder::new()
            .delimiter(separator)
            .terminator(end)
            .quote_style(csv::QuoteStyle::Always)
            .from_writer(&mut text);
        for row in &rows {
            writer.write_record(row).unwrap();
        }
        drop(writer);
        let expected: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|field| field.trim().to_owned()).collect()).collect();
        prop_assert_eq!(read_all(&text[..]).unwrap(), expected.clone());
        let directory = directory();
        let path = write(directory.path(), "table.csv.gz", &gzip(&text));
        prop_assert_eq!(read_all(File::open(&path).unwrap()).is_err(), true);
        let table = Table::open(&path).unwrap();
        prop_assert_eq!(table.width(), expected[0].len());
    }
}
