//! The file of the features, which also says which nodes there are.

use std::io::{Read, Seek};

use abyssal_tensor::{Csr, Matrix};

use super::super::Place;
use super::super::limits::check_features;
use super::super::npy::Array;
use super::super::npz::Npz;
use super::super::sparse::read_scipy;
use super::super::table::{Row, Table, is_number, shown};
use super::FormatError;
use super::names::NodeNames;
use super::source::{Source, only_array};
use crate::Features;

/// What a header calls a column of ids. pandas calls it nothing.
const ID_NAMES: [&str; 6] = ["id", "node", "node_id", "name", "index", ""];

/// Rows from which on a first column that counts them cannot be chance.
const SUSPICIOUS_ROWS: usize = 10;

/// What the file of the features says.
#[derive(Clone, Debug)]
pub struct NodeFeatures {
    /// The nodes, in the order of their rows.
    pub nodes: NodeNames,
    /// Their features, one row a node.
    pub features: Features,
    /// What a header calls the features.
    pub names: Option<Vec<String>>,
}

/// Reads features from a table.
///
/// # Errors
/// If the table is malformed, a cell is no finite number, or a node has two rows.
pub fn parse_features(source: impl Read) -> Result<NodeFeatures, FormatError> {
    of_table(Table::new(source)?)
}

pub(super) fn read(source: Source) -> Result<NodeFeatures, FormatError> {
    let features = match source {
        Source::Table(table) => return of_table(*table),
        Source::Array(array) => of_array(array)?,
        Source::Archive(mut npz) => of_archive(&mut npz)?,
    };
    if features.rows() == 0 || features.columns() == 0 {
        let shape = format!("{}×{}", features.rows(), features.columns());
        return Err(FormatError::new(format!(
            "features of shape {shape}; every node needs at least one number"
        )));
    }
    if features.rows() > u32::MAX as usize {
        return Err(FormatError::new(format!(
            "{} rows are more than nodes can have numbers",
            features.rows()
        )));
    }
    check_features(&features)?;
    features.check_finite().map_err(|error| FormatError::new(error.to_string()))?;
    Ok(NodeFeatures { nodes: NodeNames::numbered(features.rows()), features, names: None })
}

fn of_archive<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Features, FormatError> {
    if npz.contains("format") {
        return read_scipy(npz).map(Features::Sparse);
    }
    let (name, array) =
        only_array(npz, "one with two dimensions, or a matrix saved by scipy.sparse.save_npz")?;
    of_array(array).map_err(|error| error.in_member(&name))
}

fn of_array(array: Array) -> Result<Features, FormatError> {
    let &[rows, columns] = array.dimensions(2)? else {
        return Err(FormatError::new("two dimensions are needed"));
    };
    Ok(economical(Matrix::from_slice(rows, columns, &array.into_floats()?)))
}

fn of_table(mut table: Table<impl Read>) -> Result<NodeFeatures, FormatError> {
    let named_by_header =
        table.header().map(|header| ID_NAMES.contains(&header.text(0).to_lowercase().as_str()));
    let (mut row, mut nodes, mut rows) = (Row::default(), NodeNames::default(), 0);
    let (mut first, mut values) = (0, Vec::new());
    let mut collected = Collected::Sparse { offsets: vec![0], indices: Vec::new(), values: Vec::new() };
    let mut counting = table.header().is_none() && table.width() > 1;
    while table.read_row(&mut row)? {
        let begin = row.text(0);
        if rows == 0 {
            let named = named_by_header == Some(true) || (!begin.is_empty() && !is_number(begin));
            first = usize::from(named);
            if first == table.width() {
                return Err(row.error(0, "only ids; every node needs at least one feature"));
            }
        }
        counting &= first == 0 && begin.parse() == Ok(rows);
        if first == 1 && begin.is_empty() {
            return Err(row.error(0, "the cell is empty where the id of a node is needed"));
        }
        if first == 1 && !nodes.add(begin) {
            return Err(row.error(0, format!("node {} has a row already", shown(begin))));
        }
        if rows == u32::MAX as usize {
            return Err(row.error(0, format!("more than {rows} rows, the most nodes a graph can have")));
        }
        values.clear();
        for column in first..row.width() {
            values.push(row.number(column)?);
        }
        rows += 1;
        collected.add(&values, rows);
    }
    let columns = table.width() - first;
    if rows == 0 {
        return Err(FormatError::new("a header and no rows; every node needs one"));
    }
    if counting && rows >= SUSPICIOUS_ROWS {
        let reason = "the first column only counts the rows; if it holds the ids of the nodes, \
                      give the table a header that begins with `id`, and if not, any other header";
        return Err(FormatError::at(Place::Cell { line: 1, column: 1 }, reason));
    }
    if first == 0 {
        nodes = NodeNames::numbered(rows);
    }
    let features = collected.finish(rows, columns)?;
    check_features(&features)?;
    let name = |header: &Row| (first..header.width()).map(|column| header.text(column).to_owned()).collect();
    let names = table.header().map(name);
    Ok(NodeFeatures { nodes, features, names })
}

/// Sparse if fewer than a quarter of the values are not zero.
fn economical(matrix: Matrix<f32>) -> Features {
    let nonzero = matrix.as_slice().iter().filter(|&&value| value != 0.0).count();
    match is_sparse(nonzero, matrix.as_slice().len()) {
        true => Features::Sparse(Csr::from_dense(&matrix)),
        false => Features::Dense(matrix),
    }
}

fn is_sparse(nonzero: usize, all: usize) -> bool {
    nonzero.saturating_mul(4) < all
}

/// Rows of a table: sparse until storing every value takes less memory.
enum Collected {
    Sparse { offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f32> },
    Dense(Vec<f32>),
}

impl Collected {
    /// Adds a row, the last one of `rows`.
    fn add(&mut self, row: &[f32], rows: usize) {
        let (offsets, indices, values) = match self {
            Self::Dense(values) => return values.extend_from_slice(row),
            Self::Sparse { offsets, indices, values } => (offsets, indices, values),
        };
        for (index, &value) in (0..).zip(row) {
            if value != 0.0 {
                indices.push(index);
                values.push(value);
            }
        }
        offsets.push(indices.len());
        // An entry takes a value and an index, and a row an offset: each twice as much as a value.
        let cells = rows.saturating_mul(row.len());
        if indices.len().saturating_add(rows).saturating_mul(2) > cells {
            let mut dense = vec![0.0; cells];
            for (line, range) in dense.chunks_exact_mut(row.len()).zip(offsets.windows(2)) {
                for entry in range[0]..range[1] {
                    line[indices[entry] as usize] = values[entry];
                }
            }
            *self = Self::Dense(dense);
        }
    }

    fn finish(self, rows: usize, columns: usize) -> Result<Features, FormatError> {
        match self {
            Self::Dense(values) => Ok(economical(Matrix::from_slice(rows, columns, &values))),
            Self::Sparse { offsets, indices, values } => {
                let matrix = Csr::new(rows, columns, offsets, indices, values)
                    .map_err(|error| FormatError::new(error.to_string()))?;
                match is_sparse(matrix.stored(), rows.saturating_mul(columns)) {
                    true => Ok(Features::Sparse(matrix)),
                    false => Ok(Features::Dense(matrix.to_dense())),
                }
            }
        }
    }
}
