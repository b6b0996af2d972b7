//! What is wrong with a file, and where.

use std::fmt;
use std::path::Path;

use crate::GraphError;

/// Where in a file something is wrong. Lines and columns are counted from 1; a column is a field of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// A byte of a binary file, counted from 0.
    Byte(u64),
    /// A line of a text file.
    Line(u64),
    /// A field of a line.
    Cell {
        /// The line.
        line: u64,
        /// The field.
        column: u64,
    },
    /// A file or an array inside an archive.
    Member(String),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Byte(byte) => write!(formatter, ", byte {byte}"),
            Self::Line(line) => write!(formatter, ", line {line}"),
            Self::Cell { line, column } => write!(formatter, ", line {line}, column {column}"),
            Self::Member(name) => write!(formatter, ", {name}"),
        }
    }
}

/// Contents that cannot be read, without the name of the file: readers do not know it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{place}")]
pub struct FormatError {
    /// Where.
    pub place: Place,
    /// What is wrong and what to do, in lower case.
    pub reason: String,
}

impl FormatError {
    /// An error about the file as a whole.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { place: Place::Whole, reason: reason.into() }
    }

    /// An error at a place.
    pub fn at(place: Place, reason: impl Into<String>) -> Self {
        Self { place, reason: reason.into() }
    }

    /// The same error, inside a member of an archive.
    pub fn in_member(self, name: &str) -> Self {
        Self { place: Place::Member(format!("{name}{}", self.place)), reason: self.reason }
    }

    /// The same error with the name of the file.
    pub fn in_file(self, path: &Path) -> GraphError {
        GraphError::Malformed { path: path.to_path_buf(), place: self.place, reason: self.reason }
    }
}

impl From<std::io::Error> for FormatError {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_file_line_and_column() {
        let error = FormatError::at(Place::Cell { line: 3, column: 2 }, "`x` is not a number");
        let error = error.in_file(Path::new("features.csv"));
        assert_eq!(error.to_string(), "features.csv, line 3, column 2: `x` is not a number");
        let error = FormatError::at(Place::Byte(7), "the header ends here").in_member("labels.npy");
        let error = error.in_file(Path::new("graph.npz"));
        assert_eq!(error.to_string(), "graph.npz, labels.npy, byte 7: the header ends here");
    }
}
