//! The file of the edges.

use std::io::{Read, Seek};

use super::super::npy::{Array, Values};
use super::super::npz::Npz;
use super::super::sparse::read_scipy;
use super::super::table::{Row, Table, is_number};
use super::FormatError;
use super::names::NodeNames;
use super::source::{Source, only_array};

const NO_WEIGHTS: &str = "weights of edges are not supported";

/// Edges as they are listed, `(source, target)`.
type Edges = Vec<(u32, u32)>;

/// Reads edges from a table.
///
/// # Errors
/// If the table is malformed, has not two columns, or names a node that does not exist.
pub fn parse_edges(source: impl Read, nodes: &NodeNames) -> Result<Edges, FormatError> {
    of_table(Table::new(source)?, nodes)
}

pub(super) fn read(source: Source, nodes: &NodeNames) -> Result<Edges, FormatError> {
    match source {
        Source::Table(table) => of_table(*table, nodes),
        Source::Array(array) => of_array(array, nodes),
        Source::Archive(mut npz) => of_archive(&mut npz, nodes),
    }
}

fn of_table(mut table: Table<impl Read>, nodes: &NodeNames) -> Result<Edges, FormatError> {
    // Two nodes that are known make an edge, even if they are called as columns are.
    if table.header().is_some_and(|names| (0..2).all(|column| nodes.find(names.text(column)).is_ok())) {
        table.keep_header_as_row();
    }
    let (mut row, mut edges) = (Row::default(), Vec::new());
    if table.width() == 3 && table.read_row(&mut row)? && is_number(row.text(2)) {
        return Err(row.error(2, format!("{NO_WEIGHTS}; remove the third column")));
    }
    table.expect_width(2, "source, target")?;
    while table.read_row(&mut row)? {
        let find = |column| {
            let found = nodes.find_cell(&row, column);
            found.map_err(|error| table.suspect_header(&row, "source", error))
        };
        edges.push((find(0)?, find(1)?));
    }
    Ok(edges)
}

fn of_archive<R: Read + Seek>(npz: &mut Npz<R>, nodes: &NodeNames) -> Result<Edges, FormatError> {
    if !npz.contains("format") {
        let (name, array) =
            only_array(npz, "one of shape m×2 or 2×m, or a matrix saved by scipy.sparse.save_npz")?;
        return of_array(array, nodes).map_err(|error| error.in_member(&name));
    }
    let matrix = read_scipy(npz)?;
    let (rows, columns, count) = (matrix.rows(), matrix.columns(), nodes.nodes());
    if rows != count || columns != count {
        return Err(FormatError::new(format!(
            "a matrix of {rows}×{columns} where the features have {count} rows"
        )));
    }
    let mut edges = Vec::with_capacity(matrix.stored());
    for source in 0..rows {
        let (targets, values) = matrix.row(source);
        for (&target, &value) in targets.iter().zip(values) {
            if value != 0.0 && value != 1.0 {
                return Err(FormatError::new(format!(
                    "{value} in row {source}, column {target}, but {NO_WEIGHTS}; make every entry 1"
                )));
            }
            if value == 1.0 {
                edges.push((source as u32, target));
            }
        }
    }
    Ok(edges)
}

fn of_array(array: Array, nodes: &NodeNames) -> Result<Edges, FormatError> {
    let (edges, step) = match *array.dimensions(2)? {
        [edges, 2] => (edges, None),
        [2, edges] => (edges, Some(edges)),
        _ => {
            return Err(FormatError::new(format!(
                "an array of shape {:?} where m×2 or 2×m is needed",
                array.shape
            )));
        }
    };
    let places = (0..edges).map(|edge| match step {
        None => (2 * edge, 2 * edge + 1),
        Some(step) => (edge, step + edge),
    });
    let named = |edge: usize, found: Result<u32, String>| {
        found.map_err(|reason| FormatError::new(format!("edge {edge}: {reason}")))
    };
    if let Values::Text(ids) = &array.values {
        let find = |edge: usize, place: usize| named(edge, nodes.find(ids[place].trim()));
        return places
            .enumerate()
            .map(|(edge, (from, to))| Ok((find(edge, from)?, find(edge, to)?)))
            .collect();
    }
    let ids = array.into_integers()?;
    let find = |edge: usize, place: usize| named(edge, nodes.find_number(ids[place]));
    places.enumerate().map(|(edge, (from, to))| Ok((find(edge, from)?, find(edge, to)?))).collect()
}
