//! The file of the masks: which nodes train, validate and test.

use std::io::{Read, Seek};

use super::super::Place;
use super::super::npz::{Npz, masks};
use super::super::table::{Row, Table, shown};
use super::FormatError;
use super::names::NodeNames;
use super::source::Source;
use crate::{Split, Subset};

/// Reads masks from a table.
///
/// # Errors
/// If the table is malformed, has not one or two columns, names a node or a set that does not exist, puts a node into
/// two sets, has another number of rows than there are nodes (one column), or leaves a set empty.
pub fn parse_masks(source: impl Read, nodes: &NodeNames) -> Result<Split, FormatError> {
    of_table(Table::new(source)?, nodes)
}

pub(super) fn read(source: Source, nodes: &NodeNames) -> Result<Split, FormatError> {
    match source {
        Source::Table(table) => of_table(*table, nodes),
        Source::Array(_) => Err(FormatError::new(
            "one array cannot hold three masks; give an npz with train_mask, val_mask and test_mask",
        )),
        Source::Archive(mut npz) => of_archive(&mut npz, nodes.nodes()),
    }
}

fn of_archive<R: Read + Seek>(npz: &mut Npz<R>, nodes: usize) -> Result<Split, FormatError> {
    let Some((entries, split)) = masks(npz)? else {
        let names: Vec<&str> = npz.names().collect();
        return Err(FormatError::new(format!(
            "the archive needs train_mask, val_mask and test_mask; it has {}",
            names.join(", ")
        )));
    };
    if entries != nodes {
        return Err(FormatError::new(format!(
            "masks of {entries} entries for {nodes} nodes; each node needs one"
        )));
    }
    Ok(split)
}

fn of_table(mut table: Table<impl Read>, nodes: &NodeNames) -> Result<Split, FormatError> {
    let by_id = table.width() != 1;
    if by_id {
        table.expect_width(2, "id and set, or one column with a set for every node")?;
    }
    // A node that is known has a set, even if it is called as a column is.
    if by_id && table.header().is_some_and(|names| nodes.find(names.text(0)).is_ok()) {
        table.keep_header_as_row();
    }
    if !by_id {
        table.keep_blank_lines();
    }
    let (mut row, mut rows) = (Row::default(), 0);
    let mut subsets: Vec<Option<Subset>> = vec![None; nodes.nodes()];
    while table.read_row(&mut row)? {
        let no_header = |error| table.suspect_header(&row, if by_id { "id" } else { "split" }, error);
        let node = if by_id { nodes.find_cell(&row, 0).map_err(no_header)? as usize } else { rows };
        let Some(place) = subsets.get_mut(node) else {
            let reason = format!("more rows than the {rows} nodes; give every node one");
            return Err(FormatError::at(Place::Line(row.line()), reason));
        };
        let column = usize::from(by_id);
        match (subset(&row, column).map_err(no_header)?, *place) {
            (Some(new), Some(old)) if new != old => {
                let id = shown(row.text(0));
                return Err(
                    row.error(column, format!("node {id} is in the {old} set already; leave it in one"))
                );
            }
            (new, old) => *place = new.or(old),
        }
        rows += 1;
    }
    if !by_id && rows != nodes.nodes() {
        let reason = format!(
            "{rows} rows for {} nodes; give every node one, `none` if it is in no set",
            nodes.nodes()
        );
        return Err(FormatError::new(reason));
    }
    let members =
        |subset| (0..).zip(&subsets).filter(|(_, own)| **own == Some(subset)).map(|(node, _)| node).collect();
    Split::new(members(Subset::Train), members(Subset::Validation), members(Subset::Test))
        .map_err(|error| FormatError::new(error.to_string()))
}

fn subset(row: &Row, column: usize) -> Result<Option<Subset>, FormatError> {
    let text = row.text(column);
    match text.to_lowercase().as_str() {
        "train" => Ok(Some(Subset::Train)),
        "val" | "valid" | "validation" => Ok(Some(Subset::Validation)),
        "test" => Ok(Some(Subset::Test)),
        "" | "none" => Ok(None),
        _ => {
            Err(row
                .error(column, format!("{} is no set; write `train`, `val`, `test` or nothing", shown(text))))
        }
    }
}
