use super::*;

/// All rows with their lines.
fn rows(text: &[u8]) -> Result<Vec<(u64, Vec<String>)>, FormatError> {
    let mut table = Table::new(text)?;
    table.keep_header_as_row();
    let (mut row, mut rows) = (Row::default(), Vec::new());
    while table.read_row(&mut row)? {
        rows.push((row.line(), (0..row.width()).map(|column| row.text(column).to_owned()).collect()));
    }
    Ok(rows)
}

fn refused(text: &[u8]) -> String {
    rows(text).expect_err("a hostile table").in_file(Path::new("t")).to_string()
}

fn row(line: u64, fields: &[&str]) -> (u64, Vec<String>) {
    (line, fields.iter().map(|&field| field.to_owned()).collect())
}

#[test]
fn separators_comments_and_line_ends_of_all_kinds() {
    let expected = [row(1, &["a", "b"]), row(2, &["1", "2"])];
    for text in ["a,b\n1,2\n", "a\tb\r\n1\t2\r\n", "a;b\n1;2", "a , b\n 1,2 \n", "\u{feff}a,b\n1,2\n"] {
        assert_eq!(rows(text.as_bytes()).unwrap(), expected, "{text:?}");
    }
    let expected = [row(3, &["0", "1"]), row(4, &["10", "2"]), row(6, &["3", "4"])];
    assert_eq!(rows(b"# a graph\n% of somebody\n0 1\n  10   2 \n\n3 4\n").unwrap(), expected);
}

#[test]
fn lines_are_counted_across_blank_ones_line_ends_and_quotes() {
    for end in ["\n", "\r\n"] {
        let text = ["id,name", "", "0,\"two", "lines\"", "  ", "1,x", "", ""].join(end);
        let quoted = format!("two{end}lines");
        let expected = [row(1, &["id", "name"]), row(3, &["0", &quoted]), row(6, &["1", "x"])];
        assert_eq!(rows(text.as_bytes()).unwrap(), expected);
    }
}

#[test]
fn a_first_row_over_several_lines_tells_its_separator() {
    let expected = [row(2, &["a\nb,c", "d"]), row(5, &["e", "f"])];
    assert_eq!(rows(b"\n\"a\nb,c\"\td\n\ne\tf\n").unwrap(), expected);
}

#[test]
fn a_quote_inside_a_field_is_a_letter() {
    assert_eq!(
        rows(b"5\" disk,1\n8\" disk,2\n").unwrap(),
        [row(1, &["5\" disk", "1"]), row(2, &["8\" disk", "2"])]
    );
}

#[test]
fn lines_are_counted_where_a_first_row_only_seems_to_go_on() {
    // Found by fuzzing.
    let expected = [row(1, &["sx\"\""]), row(3, &["1"]), row(4, &["?aeb"])];
    assert_eq!(rows(b"sx\"\"\n\n1\n?aeb\n").unwrap(), expected);
    // The comma separates, so the semicolon does not begin a field, and the quote is a letter.
    let expected = [row(1, &["a", "x;\"b", "c"]), row(2, &["1", "2", "3"])];
    assert_eq!(rows(b"a,x;\"b,c\n1,2,3\n").unwrap(), expected);
}

#[test]
fn quotes_hold_separators_and_quotes() {
    let expected = [row(1, &["a, b", "say \"hello\""]), row(2, &["å 漢字", ""])];
    assert_eq!(rows("\"a, b\",\"say \"\"hello\"\"\"\nå 漢字,\n".as_bytes()).unwrap(), expected);
}

#[test]
fn a_quoted_nothing_is_an_empty_field_and_no_blank_line() {
    assert_eq!(rows(b"a\n\"\"\n\nb\n").unwrap(), [row(1, &["a"]), row(2, &[""]), row(4, &["b"])]);
}

#[test]
fn blank_lines_are_rows_where_they_are_asked_for() {
    let rows = |text: &str| {
        let mut table = Table::new(text.as_bytes()).unwrap();
        table.keep_blank_lines();
        let (mut row, mut rows) = (Row::default(), Vec::new());
        while table.read_row(&mut row).unwrap() {
            rows.push((row.line(), row.text(0).to_owned()));
        }
        (rows, table.ends_with_blank_lines())
    };
    for end in ["\n", "\r\n"] {
        let text = |lines: &[&str]| lines.join(end);
        let expected =
            [(2, ""), (3, "a"), (4, ""), (5, ""), (6, "b")].map(|(line, text)| (line, text.to_owned()));
        assert_eq!(rows(&text(&["# c", "", "a", " ", "", "b"])), (expected.to_vec(), false));
        assert_eq!(rows(&text(&["# c", "", "a", " ", "", "b", ""])), (expected.to_vec(), false));
        assert_eq!(rows(&text(&["# c", "", "a", " ", "", "b", "", " ", ""])), (expected.to_vec(), true));
        // Those before a header are nothing, those after it are rows.
        let expected = [(3, ""), (4, "a\nb"), (6, ""), (7, "c")];
        let expected = expected.map(|(line, text)| (line, text.replace('\n', end)));
        assert_eq!(rows(&text(&["", "label", "", "\"a", "b\"", "", "c", ""])), (expected.to_vec(), false));
    }
}

#[test]
fn a_header_can_be_a_row_after_all() {
    let mut table = Table::new(&b"id,label\n0,1\n"[..]).unwrap();
    assert_eq!(table.header().unwrap().text(1), "label");
    table.keep_header_as_row();
    assert!(table.header().is_none());
    let mut row = Row::default();
    assert!(table.read_row(&mut row).unwrap());
    assert_eq!((row.text(0), row.line()), ("id", 1));
}

#[test]
fn cells_that_are_no_numbers_name_line_and_column() {
    let mut table = Table::new(&b"a,b,c,d,e\n1,,nan,1e39,-7\n"[..]).unwrap();
    let mut row = Row::default();
    assert!(table.read_row(&mut row).unwrap());
    assert_eq!((row.number(0), row.integer(0)), (Ok(1.0), Ok(1)));
    for (column, expected) in [
        (1, "the cell is empty where a number is needed, line 2, column 2"),
        (2, "`nan` is not a finite number of 32 bits; replace it, line 2, column 3"),
        (3, "`1e39` is not a finite number of 32 bits; replace it, line 2, column 4"),
    ] {
        assert_eq!(row.number(column).unwrap_err().to_string(), expected);
    }
    assert_eq!(row.integer(4).unwrap_err().reason, "`-7` is not a whole number from 0 on");
}

#[test]
fn an_empty_file_is_refused() {
    for text in [&b""[..], b"\n\r\n\n", b"\xEF\xBB\xBF", b"# only\n# comments\n"] {
        assert_eq!(refused(text), "t: the file holds no rows");
    }
}

#[test]
fn a_ragged_row_is_refused_with_both_counts() {
    assert_eq!(refused(b"a,b\n\n1,2\n1,2,3\n"), "t, line 4: 3 fields where the first row has 2");
    assert_eq!(refused(b"1 2\n3 4 \n5\n"), "t, line 3: 1 fields where the first row has 2");
}

#[test]
fn a_quote_never_closed_is_suspected() {
    let expected = "t, line 2: 2 fields where the first row has 3; is a quote never closed?";
    assert_eq!(refused(b"a,b,c\n1,\"2,3\n4,5,6\n7,8,9\n"), expected);
}

#[test]
fn invalid_utf_8_is_refused_with_line_and_column() {
    let expected = "t, line 3, column 2: not valid UTF-8; save the file as UTF-8";
    assert_eq!(refused(b"a,b\n1,2\n3,\xFF\n"), expected);
    // Halves of a character in two fields do not make a whole one.
    assert_eq!(refused(b"a,b\n1,2\n\xC3,\xA9\n"), expected.replace("column 2", "column 1"));
}

#[test]
fn a_row_of_millions_of_empty_fields_is_refused() {
    let expected = "t, line 2: a row has more than 1048576 fields; is a quote never closed?";
    assert_eq!(refused(&[b"a,b\n", vec![b','; 2 << 20].as_slice()].concat()), expected);
    assert_eq!(refused(&vec![b'\t'; 2 << 20]), "t: the file holds no rows");
    let expected = "t: a row has more than 1048576 fields; is a quote never closed?";
    assert_eq!(refused(&[b"a", vec![b'\t'; 2 << 20].as_slice()].concat()), expected);
    assert_eq!(refused(&b"1 ".repeat(2 << 20)), expected);
}

#[test]
fn a_web_page_is_refused() {
    let expected = "t: this is an HTML page, not data; download it again";
    assert_eq!(refused(b"<!DOCTYPE html>\n<html>\n"), expected);
}

#[test]
fn long_text_is_shortened_in_messages() {
    assert_eq!(shown(&"ä".repeat(61)), format!("`{}…`", "ä".repeat(60)));
    assert_eq!(shown("abc"), "`abc`");
}
