//! Tables in Markdown.

use std::fmt;

/// A table; its first column is text, the others are numbers.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(header: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row, as wide as the header.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.header.len());
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "| {} |", self.header.join(" | "))?;
        writeln!(formatter, "| --- |{}", " ---: |".repeat(self.header.len() - 1))?;
        self.rows.iter().try_for_each(|row| writeln!(formatter, "| {} |", row.join(" | ")))
    }
}
