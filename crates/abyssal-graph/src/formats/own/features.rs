//! The file of the features, which also says which nodes there are.

use std::io::{Read, Seek};

use abyssal_tensor::{Csr, Matrix};

use super::super::Place;
use super::super::limits::check_features;
use super::super::npy::Array;
use super::super::npz::Npz;
use super::super::sparse::read_scipy;
use super::super::table::{Row, Table, is_number, names_ids, shown};
use super::FormatError;
use super::names::NodeNames;
use super::source::{Source, only_array};
use crate::Features;

/// Rows from which on a first column that numbers them is hardly chance.
const SUSPICIOUS_ROWS: usize = 5;

/// Columns from which on a row of their numbers, 0, 1, 2 and so on, is hardly chance.
const COUNTED_COLUMNS: usize = 3;

const COUNTING_HEADER: &str = "0, 1 and so on look like a header that counts the columns, as pandas writes one for columns \
    without names; leave it out of all files (header=False, index=False), or give the columns names; if this is the first \
    node, put a header before it";

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
    of_table(Table::new(source)?, &[])
}

/// Reads features; `id_columns` are what the other files of the graph call their columns of ids.
pub(super) fn read(source: Source, id_columns: &[String]) -> Result<NodeFeatures, FormatError> {
    let features = match source {
        Source::Table(table) => return of_table(*table, id_columns),
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

fn of_table(mut table: Table<impl Read>, id_columns: &[String]) -> Result<NodeFeatures, FormatError> {
    let header = table.header().map(|header| header.text(0).to_owned());
    let named_by_header = header.as_ref().is_some_and(|name| {
        names_ids(name) || id_columns.iter().any(|column| column.to_lowercase() == name.to_lowercase())
    });
    let (mut row, mut nodes, mut rows) = (Row::default(), NodeNames::default(), 0);
    let (mut first, mut values) = (0, Vec::new());
    let mut collected = Collected::Sparse { offsets: vec![0], indices: Vec::new(), values: Vec::new() };
    let mut numbering = Some(Vec::new()).filter(|_| table.width() > 1);
    let mut suspect = None;
    while table.read_row(&mut row)? {
        let begin = row.text(0);
        if rows == 0 {
            let is_value = is_number(begin) || truth(begin).is_some();
            let named = named_by_header || (!begin.is_empty() && !is_value);
            first = usize::from(named);
            if first == table.width() {
                return Err(row.error(0, "only ids; every node needs at least one feature"));
            }
            suspect = Some(row.line()).filter(|_| header.is_none() && counts_columns(&row));
        }
        numbering = numbering.filter(|_| first == 0).and_then(|numbers| continued(numbers, begin));
        if first == 1 && begin.is_empty() {
            return Err(row.error(0, "the cell is empty where the id of a node is needed"));
        }
        if first == 1 && !nodes.add(begin) {
            let name = header.as_deref().filter(|_| named_by_header);
            return Err(row.error(0, second_row(begin, name)));
        }
        if rows == u32::MAX as usize {
            return Err(row.error(0, format!("more than {rows} rows, the most nodes a graph can have")));
        }
        values.clear();
        for column in first..row.width() {
            values.push(feature(&row, column)?);
        }
        rows += 1;
        // Rows of few columns may well be 0, or 0 and 1, where others are whole numbers too.
        if rows > 1 && values.len() < COUNTED_COLUMNS && values.iter().all(|value| value.fract() == 0.0) {
            suspect = None;
        }
        collected.add(&values, rows);
    }
    let columns = table.width() - first;
    if rows == 0 {
        return Err(FormatError::new("a header and no rows; every node needs one"));
    }
    if let Some(line) = suspect.filter(|_| rows > 1) {
        return Err(FormatError::at(Place::Line(line), COUNTING_HEADER));
    }
    if rows >= SUSPICIOUS_ROWS {
        refuse_numbering(&numbering.unwrap_or_default(), header.as_deref())
            .map_err(|reason| FormatError::at(Place::Cell { line: table.begin(), column: 1 }, reason))?;
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

/// A cell as a number; a truth value is 1 or 0.
fn feature(row: &Row, column: usize) -> Result<f32, FormatError> {
    let text = row.text(column);
    if let Some(truth) = truth(text) {
        return Ok(f32::from(truth));
    }
    row.number(column).map_err(|mut error| {
        error.reason.push_str(match text {
            "" => "; fill it in, for example with the mean of its column",
            text if !is_number(text) => "; give each category a column of its own with 0 and 1",
            _ => "",
        });
        error
    })
}

/// What pandas, R or JSON write for true and false.
fn truth(text: &str) -> Option<bool> {
    match text {
        "True" | "TRUE" | "true" => Some(true),
        "False" | "FALSE" | "false" => Some(false),
        _ => None,
    }
}

/// What to say about a node that has a row already. Whoever writes `id` means ids; other names of columns may be those
/// of features.
fn second_row(id: &str, column: Option<&str>) -> String {
    let way_out = match column.filter(|name| !name.eq_ignore_ascii_case("id") && is_number(id)) {
        Some(name) => format!(
            "; the header {} says that the column holds ids, so if it is a feature, move it behind another one",
            shown(name)
        ),
        None => String::new(),
    };
    format!("node {} has a row already{way_out}", shown(id))
}

/// Whether a row is 0, 1, 2 and so on.
fn counts_columns(row: &Row) -> bool {
    (0..row.width()).all(|column| row.text(column) == column.to_string())
}

/// The numbers of a column with one more, as long as all of them are whole.
fn continued(mut numbers: Vec<u32>, text: &str) -> Option<Vec<u32>> {
    let number = text.parse::<f64>().ok()?;
    let whole = number as u32;
    numbers.push(Some(whole).filter(|&whole| f64::from(whole) == number)?);
    Some(numbers)
}

/// Refuses a first column that would be a feature if it has every number from 0, or from 1, once, as ids have. The
/// other files would then name nodes by the places of their rows, and nobody would see that these are others.
fn refuse_numbering(numbers: &[u32], header: Option<&str>) -> Result<(), String> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let begin = match sorted.first() {
        Some(&begin @ (0 | 1)) if (begin..).zip(&sorted).all(|(number, &other)| number == other) => begin,
        _ => return Ok(()),
    };
    let counts = begin == 0 && numbers.is_sorted();
    let reason = match header {
        // Places and ids are the same.
        Some(_) if counts => return Ok(()),
        None if counts => "the first column only counts the rows; if it holds the ids of the nodes, \
                           give the table a header that begins with `id`, and if not, any other header"
            .to_owned(),
        _ => {
            let last = sorted.len() as u32 - 1 + begin;
            let named = header.map_or(String::new(), |name| format!(", {},", shown(name)));
            let call = if header.is_some() { "call it" } else { "give the table a header that begins with" };
            format!(
                "the first column{named} has each number from {begin} to {last} once; if they are the ids of the nodes, \
                 {call} `id`, and if they are a feature, move it behind another one"
            )
        }
    };
    Err(reason)
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
