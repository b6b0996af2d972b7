//! The Planetoid files of Cora, Citeseer and PubMed (Yang, Cohen, Salakhutdinov 2016).
//!
//! A dataset is eight files `ind.{name}.{part}`. Features are csr_matrices, labels one-hot arrays, both pickled:
//!
//! | part | what it is |
//! | --- | --- |
//! | `allx`, `ally` | features and labels of the nodes before the test nodes, from node 0 on |
//! | `x`, `y` | the first rows of those two: the training nodes |
//! | `tx`, `ty` | features and labels of the test nodes |
//! | `test.index` | text: the node of each row of `tx`, one a line, in any order |
//! | `graph` | pickled: a dictionary from each node to the list of its neighbours |
//!
//! Nodes in the range of `test.index` that have no line there (15 of Citeseer's) have no features and no label.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use abyssal_tensor::{Csr, Matrix};

use super::limits::check_classes;
use super::pickle::Pickle;
use super::{FormatError, Place, RawDataset, web_page};
use crate::{Features, GraphError, Split};

/// The most bytes a file may have. The largest one of the three datasets has 7.6 million.
const MOST_BYTES: u64 = 24 << 20;

/// The size of the validation set of the public split.
const VALIDATION: usize = 500;

/// One file: its name for messages, and its contents.
#[derive(Clone, Debug)]
pub struct Part {
    /// Where it came from.
    pub path: PathBuf,
    /// What it says.
    pub bytes: Vec<u8>,
}

/// The eight files of a dataset.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Features of the training nodes.
    pub x: Part,
    /// Features of the test nodes.
    pub tx: Part,
    /// Features of all nodes before the test nodes.
    pub allx: Part,
    /// Labels of the training nodes.
    pub y: Part,
    /// Labels of the test nodes.
    pub ty: Part,
    /// Labels of all nodes before the test nodes.
    pub ally: Part,
    /// Lists of neighbours.
    pub graph: Part,
    /// The test nodes.
    pub test_index: Part,
}

/// Reads the dataset `name` from the files `ind.{name}.{part}` in a directory, as [`parse`] understands them.
///
/// # Errors
/// If a file is missing or larger than 24 MiB, and as for [`parse`].
pub fn read(directory: &Path, name: &str) -> Result<RawDataset, GraphError> {
    let part = |part: &str| Part::read(directory.join(format!("ind.{name}.{part}")));
    parse(&Parts {
        x: part("x")?,
        tx: part("tx")?,
        allx: part("allx")?,
        y: part("y")?,
        ty: part("ty")?,
        ally: part("ally")?,
        graph: part("graph")?,
        test_index: part("test.index")?,
    })
}

/// The dataset that eight files tell.
///
/// Features are sparse. Edges are as listed, from each node to its neighbours. The one split is called `public`: the
/// nodes of `x` to train, the next 500 (or as many as `allx` has) for validation, those of `test.index` to test.
///
/// # Errors
/// With the file that cannot be read, that does not fit the others, or that names a node which does not exist; if a
/// row of labels has more than one class; or if a set of the split is empty.
pub fn parse(parts: &Parts) -> Result<RawDataset, GraphError> {
    let known = parts.allx.pickled(Pickle::csr)?;
    let known_labels = parts.ally.pickled(Pickle::matrix)?;
    let tested = parts.tx.pickled(Pickle::csr)?;
    let tested_labels = parts.ty.pickled(Pickle::matrix)?;
    let train_features = parts.x.pickled(Pickle::csr)?;
    let train_labels = parts.y.pickled(Pickle::matrix)?;
    let test_nodes = parts.test_index.parsed(test_index)?;

    parts.tx.expect_shape("columns", tested.columns(), "allx", known.columns())?;
    parts.x.expect_shape("columns", train_features.columns(), "allx", known.columns())?;
    parts.ty.expect_shape("columns", tested_labels.columns(), "ally", known_labels.columns())?;
    parts.y.expect_shape("columns", train_labels.columns(), "ally", known_labels.columns())?;
    parts.ally.expect_shape("rows", known_labels.rows(), "allx", known.rows())?;
    parts.ty.expect_shape("rows", tested_labels.rows(), "tx", tested.rows())?;
    parts.y.expect_shape("rows", train_labels.rows(), "x", train_features.rows())?;
    parts.test_index.expect_shape("nodes", test_nodes.len(), "tx rows", tested.rows())?;
    check_classes(known_labels.columns()).map_err(|error| error.in_file(&parts.ally.path))?;
    let train = train_features.rows();
    if train > known.rows() {
        let reason = format!("{train} rows, but allx, whose first rows they are, has {}", known.rows());
        return Err(FormatError::new(reason).in_file(&parts.x.path));
    }

    let rows =
        RowOfNode::new(&test_nodes, known.rows()).map_err(|error| error.in_file(&parts.test_index.path))?;
    let mut labels = parts.ally.one_hot(&known_labels)?;
    let tested_labels = parts.ty.one_hot(&tested_labels)?;
    labels.extend(rows.0.iter().map(|row| row.and_then(|row| tested_labels[row])));
    let nodes = labels.len();

    let adjacency = parts.graph.pickled(Pickle::adjacency)?;
    let edges = edges(&adjacency, nodes).map_err(|error| error.in_file(&parts.graph.path))?;

    let ids = |range: std::ops::Range<usize>| range.map(|node| node as u32).collect();
    let validation = train..train.saturating_add(VALIDATION).min(known.rows());
    let split = Split::new(ids(0..train), ids(validation), test_nodes)?.with_name("public");
    Ok(RawDataset {
        nodes,
        edges,
        features: Features::Sparse(rows.stacked(&known, &tested)),
        labels,
        classes: known_labels.columns(),
        class_names: Vec::new(),
        node_names: Vec::new(),
        splits: vec![split],
    })
}

/// The nodes in a `test.index` file, in its order: one number a line. Empty lines are passed over.
///
/// # Errors
/// With the first line that is not a node, or the first node that comes a second time.
pub fn test_index(bytes: &[u8]) -> Result<Vec<u32>, FormatError> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let node = str::from_utf8(line).ok().and_then(|line| line.parse::<u32>().ok()).ok_or_else(|| {
            let shown = line[..line.len().min(40)].escape_ascii();
            let reason = format!("`{shown}` is not a node; nodes are numbers from 0 to {}", u32::MAX);
            FormatError::at(Place::Line(number), reason)
        })?;
        lines.push((node, number));
    }
    let mut sorted = lines.clone();
    sorted.sort_unstable();
    let repeated = sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0).min_by_key(|pair| pair[1].1);
    if let Some(&[(node, first), (_, second)]) = repeated.and_then(<[_]>::as_array) {
        let reason = format!("node {node} was listed on line {first} already");
        return Err(FormatError::at(Place::Line(second), reason));
    }
    Ok(lines.into_iter().map(|(node, _)| node).collect())
}

impl Part {
    fn read(path: PathBuf) -> Result<Self, GraphError> {
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
            .map_err(GraphError::io("read", &path))?;
        if bytes.len() as u64 > MOST_BYTES {
            let reason = format!("the file has more than {MOST_BYTES} bytes; Planetoid files are smaller");
            return Err(FormatError::new(reason).in_file(&path));
        }
        Ok(Self { path, bytes })
    }

    /// What a reader of bytes makes of the file.
    fn parsed<'a, T>(
        &'a self,
        reader: impl FnOnce(&'a [u8]) -> Result<T, FormatError>,
    ) -> Result<T, GraphError> {
        web_page::refuse(&self.bytes)
            .and_then(|()| reader(&self.bytes))
            .map_err(|error| error.in_file(&self.path))
    }

    /// What the file holds as a pickle.
    fn pickled<'a, T>(
        &'a self,
        content: impl FnOnce(&Pickle<'a>) -> Result<T, FormatError>,
    ) -> Result<T, GraphError> {
        self.parsed(|bytes| content(&Pickle::read(bytes)?))
    }

    fn expect_shape(&self, what: &str, found: usize, other: &str, expected: usize) -> Result<(), GraphError> {
        if found == expected {
            return Ok(());
        }
        let reason = format!("{found} {what}, but {other}: {expected}; take both files from one dataset");
        Err(FormatError::new(reason).in_file(&self.path))
    }

    /// The class of each row: the place of its one; `None` for rows of zeros.
    fn one_hot(&self, matrix: &Matrix<f32>) -> Result<Vec<Option<u32>>, GraphError> {
        let mut labels = Vec::with_capacity(matrix.rows());
        for row in 0..matrix.rows() {
            let mut label = None;
            for (class, &value) in (0..).zip(matrix.row(row)).filter(|(_, value)| **value != 0.0) {
                if label.is_some() || value != 1.0 {
                    let reason =
                        format!("row {row} has {value} at class {class}; a row has one 1, the rest 0");
                    return Err(FormatError::new(reason).in_file(&self.path));
                }
                label = Some(class);
            }
            labels.push(label);
        }
        Ok(labels)
    }
}

/// For each node from the first test node on, its row in `tx`, if it has one.
struct RowOfNode(Vec<Option<usize>>);

impl RowOfNode {
    /// `known` is the number of nodes before the first test node.
    fn new(test_nodes: &[u32], known: usize) -> Result<Self, FormatError> {
        let (Some(&first), Some(&last)) = (test_nodes.iter().min(), test_nodes.iter().max()) else {
            return Err(FormatError::new("no test nodes; give one a line"));
        };
        if first as usize != known {
            let reason = format!("the first test node is {first}, but allx has {known} rows before it");
            return Err(FormatError::new(reason));
        }
        // A few nodes without a row are Citeseer's way. This keeps one number from asking for billions of nodes.
        let missing = (last - first) as usize + 1 - test_nodes.len();
        let present = known + test_nodes.len();
        if missing > present {
            let reason = format!(
                "the last test node is {last}, so {missing} nodes would have no features, more than the {present} that have"
            );
            return Err(FormatError::new(reason));
        }
        let mut rows = vec![None; missing + test_nodes.len()];
        for (row, &node) in test_nodes.iter().enumerate() {
            rows[(node - first) as usize] = Some(row);
        }
        Ok(Self(rows))
    }

    /// The rows of the known nodes, then those of the test nodes in order of node, empty where there is none.
    fn stacked(&self, known: &Csr<f32>, tested: &Csr<f32>) -> Csr<f32> {
        let mut offsets = known.offsets().to_vec();
        let mut indices = known.indices().to_vec();
        let mut values = known.values().to_vec();
        for row in &self.0 {
            if let Some(row) = *row {
                let (row_indices, row_values) = tested.row(row);
                indices.extend_from_slice(row_indices);
                values.extend_from_slice(row_values);
            }
            offsets.push(values.len());
        }
        let stacked = Csr::new(offsets.len() - 1, known.columns(), offsets, indices, values);
        stacked.expect("rows of valid matrices with equally many columns")
    }
}

fn edges(adjacency: &[(u32, Vec<u32>)], nodes: usize) -> Result<Vec<(u32, u32)>, FormatError> {
    let mut edges = Vec::with_capacity(adjacency.iter().map(|(_, neighbours)| neighbours.len()).sum());
    for (node, neighbours) in adjacency {
        if let Some(outside) = [node].into_iter().chain(neighbours).find(|id| **id as usize >= nodes) {
            let reason = format!("the list of node {node} names node {outside}, but there are {nodes} nodes");
            return Err(FormatError::new(reason));
        }
        edges.extend(neighbours.iter().map(|&neighbour| (*node, neighbour)));
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> (Place, String) {
        let error = test_index(text.as_bytes()).expect_err("the file is bad");
        (error.place, error.reason)
    }

    #[test]
    fn a_test_index_is_one_node_a_line_in_any_order() {
        assert_eq!(test_index(b"12\n7\n9\n"), Ok(vec![12, 7, 9]));
        assert_eq!(test_index(b"12\r\n 7\r\n\r\n9"), Ok(vec![12, 7, 9]));
        assert_eq!(test_index(b""), Ok(vec![]));
    }

    #[test]
    fn text_in_a_test_index_is_named_with_its_line() {
        let (place, reason) = error_of("1\nseven\n3\n");
        assert_eq!(place, Place::Line(2));
        assert_eq!(reason, "`seven` is not a node; nodes are numbers from 0 to 4294967295");
        assert_eq!(test_index(b"1\n\xff\xfe\n").unwrap_err().place, Place::Line(2));
        assert!(error_of(&"7".repeat(1 << 20)).1.len() < 200);
    }

    #[test]
    fn negative_and_huge_nodes_in_a_test_index_are_refused() {
        for text in ["-1", "1000000000000000000", "4294967296", "1.5", "1 2"] {
            let (place, reason) = error_of(&format!("0\n2\n{text}\n"));
            assert_eq!(place, Place::Line(3));
            assert!(reason.starts_with(&format!("`{text}` is not a node")), "{reason}");
        }
    }

    #[test]
    fn a_node_listed_twice_in_a_test_index_is_named_with_both_lines() {
        assert_eq!(
            error_of("5\n9\n4\n9\n5\n"),
            (Place::Line(4), "node 9 was listed on line 2 already".to_owned())
        );
    }

    #[test]
    fn one_far_test_node_does_not_make_billions_of_nodes() {
        let error = RowOfNode::new(&[3, u32::MAX], 3).map(|_| ()).unwrap_err();
        assert!(error.reason.contains("4294967291 nodes would have no features"), "{error}");
        assert_eq!(RowOfNode::new(&[5, 3], 3).map(|rows| rows.0), Ok(vec![Some(1), None, Some(0)]));
    }
}
