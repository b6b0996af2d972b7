//! How large a dataset may be where nothing in its files bounds it.
//!
//! A few bytes can tell of any number of columns or classes, and models keep weights for each of them. Every reader
//! asks here, so that what one reads, another can store.

use super::FormatError;
use crate::Features;

/// The most classes.
pub(super) const MOST_CLASSES: usize = 1 << 16;
/// The largest class that has a number for its name.
pub(super) const LARGEST_CLASS: u32 = MOST_CLASSES as u32 - 1;
/// The most columns of sparse features.
pub(super) const MOST_COLUMNS: usize = 1 << 24;
/// The largest index of a feature.
pub(super) const LARGEST_FEATURE: u32 = MOST_COLUMNS as u32 - 1;
/// Rows or columns that need no entries to show for them: hashed words have so many columns, most of them empty.
pub(super) const FREE: usize = 1 << 20;

/// Refuses more classes than models have weights for.
pub(super) fn check_classes(classes: usize) -> Result<(), FormatError> {
    if classes <= MOST_CLASSES {
        return Ok(());
    }
    Err(FormatError::new(format!("{classes} classes; there can be {MOST_CLASSES}")))
}

/// Refuses sparse features with far more columns than entries. The columns of dense ones are in the file.
pub(super) fn check_features(features: &Features) -> Result<(), FormatError> {
    match features {
        Features::Dense(_) => Ok(()),
        Features::Sparse(matrix) => check_columns(matrix.columns(), matrix.stored()),
    }
}

/// Refuses far more columns of features than there are entries.
pub(super) fn check_columns(columns: usize, entries: usize) -> Result<(), FormatError> {
    let most = entries.saturating_add(FREE).min(MOST_COLUMNS);
    if columns <= most {
        return Ok(());
    }
    let reason = format!("{columns} columns of features; with {entries} entries there can be {most}");
    Err(FormatError::new(format!("{reason}, leave out the empty ones")))
}

/// Refuses a side of a matrix that no array of the file bounds, where memory for each line would be all that it
/// brings.
pub(super) fn check_side(length: usize, entries: usize) -> Result<(), FormatError> {
    if length <= entries.saturating_add(FREE) {
        return Ok(());
    }
    let reason = format!("tells of {length} rows or columns for {entries} entries; leave out the empty ones");
    Err(FormatError::new(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_need_entries_beyond_those_that_are_free() {
        assert!(check_columns(FREE, 0).is_ok());
        assert!(check_columns(FREE + 1, 0).is_err());
        assert!(check_columns(FREE + 1, 1).is_ok());
        assert!(check_columns(MOST_COLUMNS, usize::MAX).is_ok());
        assert!(check_columns(MOST_COLUMNS + 1, usize::MAX).is_err());
    }

    #[test]
    fn classes_run_to_the_largest() {
        assert!(check_classes(LARGEST_CLASS as usize + 1).is_ok());
        assert!(check_classes(LARGEST_CLASS as usize + 2).is_err());
    }
}
