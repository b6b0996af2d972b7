//! Node classification datasets of the Open Graph Benchmark (Hu et al. 2020), such as ogbn-arxiv.
//!
//! A dataset is a directory, or the zip archive of it, of tables without headers, compressed with gzip:
//!
//! | file | row |
//! | --- | --- |
//! | `raw/num-node-list.csv.gz`, `raw/num-edge-list.csv.gz` | how many there are; one row |
//! | `raw/edge.csv.gz` | source, target; directed |
//! | `raw/node-feat.csv.gz` | the features of a node |
//! | `raw/node-label.csv.gz` | the class of a node; `nan` where it is unknown |
//! | `split/time/{train,valid,test}.csv.gz` | a node of the set; `time` may have any other name |
//! | `mapping/labelidx2arxivcategeory.csv.gz` | class, its name; with a header; only arxiv has it |

mod files;

use std::fs::{self, File};
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use abyssal_tensor::Matrix;

use self::files::{Archive, Directory, Files};
use super::table::{Row, Table, shown};
use super::{FormatError, Place, RawDataset};
use crate::{Features, GraphError, Split};

const NODE_COUNT: &str = "raw/num-node-list.csv.gz";
const EDGE_COUNT: &str = "raw/num-edge-list.csv.gz";
const EDGES: &str = "raw/edge.csv.gz";
const FEATURES: &str = "raw/node-feat.csv.gz";
const LABELS: &str = "raw/node-label.csv.gz";
const CLASS_NAMES: &str = "mapping/labelidx2arxivcategeory.csv.gz";

/// The files without which there is no dataset, beside a split.
const REQUIRED: [&str; 5] = [NODE_COUNT, EDGE_COUNT, EDGES, FEATURES, LABELS];

/// Reads a dataset from its directory, the one that holds `raw/` and `split/`, or from its zip archive.
///
/// # Errors
/// If a file is missing or malformed, or they contradict each other.
pub fn read(path: &Path) -> Result<RawDataset, GraphError> {
    if fs::metadata(path).map_err(GraphError::io("read", path))?.is_dir() {
        return read_files(&mut Directory(path.to_path_buf()));
    }
    let file = File::open(path).map_err(GraphError::io("open", path))?;
    read_archive(BufReader::new(file), path)
}

/// Reads a dataset from its zip archive; `path` is its name in errors.
///
/// # Errors
/// As for [`read`].
pub fn read_archive(archive: impl Read + Seek, path: &Path) -> Result<RawDataset, GraphError> {
    read_files(&mut Archive::new(archive, path.to_path_buf())?)
}

fn read_files(files: &mut impl Files) -> Result<RawDataset, GraphError> {
    let nodes = required(files, NODE_COUNT, count)?;
    let edge_count = required(files, EDGE_COUNT, count)?;
    let labels = required(files, LABELS, |table| labels(table, nodes))?;
    let edges = required(files, EDGES, |table| edges(table, nodes, edge_count))?;
    let features = required(files, FEATURES, |table| features(table, nodes))?;
    let split = split(files, nodes)?;
    let class_names = optional(files, CLASS_NAMES, class_names)?.unwrap_or_default();
    let highest = labels.iter().flatten().max().map_or(0, |&label| label as usize + 1);
    if !class_names.is_empty() && class_names.len() < highest {
        let reason = format!("{} classes have names, but labels go up to {}", class_names.len(), highest - 1);
        return Err(files.error(CLASS_NAMES, FormatError::new(reason)));
    }
    Ok(RawDataset {
        nodes,
        edges,
        features: Features::Dense(features),
        labels,
        classes: highest.max(class_names.len()),
        class_names,
        node_names: Vec::new(),
        splits: vec![split],
    })
}

/// A table of the dataset.
type Rows<'a> = Table<Box<dyn Read + 'a>>;

/// Reads a file if it is there.
fn optional<T>(
    files: &mut impl Files,
    name: &str,
    parse: impl FnOnce(Rows) -> Result<T, FormatError>,
) -> Result<Option<T>, GraphError> {
    let parsed = match files.open(name)? {
        None => return Ok(None),
        Some(source) => Table::new(source).and_then(parse),
    };
    parsed.map(Some).map_err(|error| files.error(name, error))
}

/// Reads a file that must be there and has no header.
fn required<T>(
    files: &mut impl Files,
    name: &str,
    parse: impl FnOnce(Rows) -> Result<T, FormatError>,
) -> Result<T, GraphError> {
    let headless = |table: Rows| match table.header() {
        Some(header) => Err(header.error(0, format!("{} is not a number", shown(header.text(0))))),
        None => parse(table),
    };
    optional(files, name, headless)?.ok_or_else(|| {
        let reason = format!("the file is missing; an OGB dataset has {}, and a split", REQUIRED.join(", "));
        files.error(name, FormatError::new(reason))
    })
}

fn count(mut table: Rows) -> Result<usize, FormatError> {
    table.expect_width(1, "the number")?;
    let mut row = Row::default();
    table.read_row(&mut row)?;
    let count = row.integer(0)? as usize;
    if table.read_row(&mut row)? {
        return Err(row.error(0, "a second row; datasets of several graphs are not supported"));
    }
    Ok(count)
}

/// An error where the rows of a file are not as many as another file says.
fn check_count(found: usize, expected: usize, source: &str) -> Result<(), FormatError> {
    if found == expected {
        return Ok(());
    }
    Err(FormatError::new(format!("{found} rows, but {source} says {expected}; get the dataset again")))
}

/// Errors at the first row that is too many, so that a wrong file is not read to its end.
fn check_room(row: &Row, rows: usize, expected: usize, source: &str) -> Result<(), FormatError> {
    if rows < expected {
        return Ok(());
    }
    let reason = format!("more than {expected} rows, as {source} says; get the dataset again");
    Err(FormatError::at(Place::Line(row.line()), reason))
}

fn edges(mut table: Rows, nodes: usize, count: usize) -> Result<Vec<(u32, u32)>, FormatError> {
    table.expect_width(2, "source, target")?;
    let (mut row, mut edges) = (Row::default(), Vec::new());
    while table.read_row(&mut row)? {
        check_room(&row, edges.len(), count, EDGE_COUNT)?;
        edges.push((row.node(0, nodes)?, row.node(1, nodes)?));
    }
    check_count(edges.len(), count, EDGE_COUNT)?;
    Ok(edges)
}

fn features(mut table: Rows, nodes: usize) -> Result<Matrix<f32>, FormatError> {
    let width = table.width();
    let (mut row, mut rows, mut values) = (Row::default(), 0, Vec::new());
    while table.read_row(&mut row)? {
        check_room(&row, rows, nodes, NODE_COUNT)?;
        for column in 0..width {
            values.push(row.number(column)?);
        }
        rows += 1;
    }
    check_count(rows, nodes, NODE_COUNT)?;
    Ok(Matrix::from_slice(rows, width, &values))
}

fn labels(mut table: Rows, nodes: usize) -> Result<Vec<Option<u32>>, FormatError> {
    table.expect_width(1, "the class of a node")?;
    let (mut row, mut labels) = (Row::default(), Vec::new());
    while table.read_row(&mut row)? {
        check_room(&row, labels.len(), nodes, NODE_COUNT)?;
        let unknown = row.text(0).eq_ignore_ascii_case("nan");
        labels.push(if unknown { None } else { Some(row.class(0)?) });
    }
    check_count(labels.len(), nodes, NODE_COUNT)?;
    Ok(labels)
}

fn split(files: &mut impl Files, nodes: usize) -> Result<Split, GraphError> {
    let schemes = files.schemes()?;
    let [scheme] = schemes.as_slice() else {
        let reason =
            format!("one directory is needed here, but there are {}: {}", schemes.len(), schemes.join(", "));
        return Err(files.error("split", FormatError::new(reason)));
    };
    let mut set =
        |name: &str| required(files, &format!("split/{scheme}/{name}.csv.gz"), |table| set(table, nodes));
    let (train, validation, test) = (set("train")?, set("valid")?, set("test")?);
    let split = Split::new(train, validation, test)
        .map_err(|error| files.error(&format!("split/{scheme}"), FormatError::new(error.to_string())))?;
    Ok(split.with_name("official"))
}

fn set(mut table: Rows, nodes: usize) -> Result<Vec<u32>, FormatError> {
    table.expect_width(1, "a node")?;
    let (mut row, mut set) = (Row::default(), Vec::new());
    while table.read_row(&mut row)? {
        set.push(row.node(0, nodes)?);
    }
    Ok(set)
}

fn class_names(mut table: Rows) -> Result<Vec<String>, FormatError> {
    table.expect_width(2, "class, its name")?;
    let (mut row, mut names) = (Row::default(), Vec::new());
    while table.read_row(&mut row)? {
        if row.integer(0)? as usize != names.len() {
            return Err(row.error(0, format!("class {} where {} comes next", row.text(0), names.len())));
        }
        names.push(row.text(1).to_owned());
    }
    Ok(names)
}
