//! Any bytes as a table: rows have one width, rising lines, and cells that can be asked for.
#![no_main]

use abyssal_graph::formats::table::{Row, Table};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(mut table) = Table::new(data) else { return };
    let mut line = table.header().map_or(0, Row::line);
    let mut row = Row::default();
    while let Ok(true) = table.read_row(&mut row) {
        assert_eq!(row.width(), table.width());
        assert!(row.line() > line || data.contains(&b'\r'), "line {} after {line}", row.line());
        line = row.line();
        for column in 0..row.width() {
            let _ = (
                row.text(column),
                row.number(column),
                row.integer(column),
                row.class(column),
                row.node(column, 3),
            );
        }
    }
});
