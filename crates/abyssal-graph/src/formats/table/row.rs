//! One row of a table.

use csv::StringRecord;

use super::super::limits::LARGEST_CLASS;
use super::super::{FormatError, Place};

/// One row of a table, and the line it begins on.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub(super) record: StringRecord,
    pub(super) line: u64,
    /// Blank lines between the row before and this one.
    pub(super) blank_lines: u64,
}

impl Row {
    /// The line the row begins on, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Number of fields.
    pub fn width(&self) -> usize {
        self.record.len()
    }

    /// A field as text, without the blanks around it. Columns are counted from 0; those beyond the row are empty.
    pub fn text(&self, column: usize) -> &str {
        self.record.get(column).unwrap_or_default().trim()
    }

    /// A field as a finite number.
    ///
    /// # Errors
    /// If it is empty, no number, infinite, NaN, or too large for 32 bits.
    pub fn number(&self, column: usize) -> Result<f32, FormatError> {
        parse_number(self.text(column)).map_err(|reason| self.error(column, reason))
    }

    /// A field as a whole number from 0 on.
    ///
    /// # Errors
    /// If it is anything else, or above 2³² - 1.
    pub fn integer(&self, column: usize) -> Result<u32, FormatError> {
        let text = self.text(column);
        text.parse()
            .map_err(|_| self.error(column, format!("{} is not a whole number from 0 on", shown(text))))
    }

    /// A field as a node of a graph that numbers its nodes from 0.
    ///
    /// # Errors
    /// If it is no whole number, or there are not so many nodes.
    pub fn node(&self, column: usize, nodes: usize) -> Result<u32, FormatError> {
        let id = self.integer(column)?;
        if (id as usize) < nodes {
            return Ok(id);
        }
        let last = nodes.saturating_sub(1);
        Err(self
            .error(column, format!("node {id} does not exist; with {nodes} nodes, ids run from 0 to {last}")))
    }

    /// A field as a class that has a number for its name.
    ///
    /// # Errors
    /// If it is no whole number, or above 65,535.
    pub fn class(&self, column: usize) -> Result<u32, FormatError> {
        let class = self.integer(column)?;
        if class <= LARGEST_CLASS {
            return Ok(class);
        }
        Err(self.error(column, format!("class {class} is too large; classes run from 0 to {LARGEST_CLASS}")))
    }

    /// An error about a field; columns are counted from 0 here.
    pub fn error(&self, column: usize, reason: impl Into<String>) -> FormatError {
        FormatError::at(Place::Cell { line: self.line, column: column as u64 + 1 }, reason)
    }

    /// Whether the row consists of blanks only. A quoted nothing is an empty field, not a blank row.
    pub(super) fn is_blank(&self) -> bool {
        self.record.len() == 1
            && self.record.get(0).is_some_and(|field| !field.is_empty() && field.trim().is_empty())
    }
}

/// A finite number, or what is wrong with it.
pub(in crate::formats) fn parse_number(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err(format!("{} is not a finite number of 32 bits; replace it", shown(text))),
        Err(_) if text.is_empty() => Err("the cell is empty where a number is needed".to_owned()),
        Err(_) => Err(format!("{} is not a number", shown(text))),
    }
}

/// Text in a message: in quotes, and not longer than a message can bear.
pub(in crate::formats) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}
