//! The text files of geom-gcn (Pei et al. 2020): Texas, Wisconsin, Cornell, Actor.
//!
//! `out1_node_feature_label.txt` has one line a node, in any order: id, features, label, separated by tabs. Ids are
//! 0 to n - 1. The features are separated by commas: either every value ([`FeatureEncoding::Dense`]), or the indices of
//! those that are 1 ([`FeatureEncoding::Indices`]). `out1_graph_edges.txt` has one directed edge a line, source and
//! target. Both files begin with a header.

use std::io::Read;
use std::path::Path;

use abyssal_tensor::Csr;

use super::limits::{LARGEST_FEATURE, check_columns};
use super::table::{Row, Table, parse_number, shown};
use super::{FormatError, Place, RawDataset};
use crate::{Features, GraphError};

const NODES: &str = "out1_node_feature_label.txt";
const EDGES: &str = "out1_graph_edges.txt";

/// How the features of a node are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureEncoding {
    /// Every value, as in Texas, Wisconsin and Cornell.
    Dense,
    /// The indices of the features that are 1, as in Actor. There are as many features as the largest index asks for;
    /// an index that is listed twice counts once.
    Indices,
}

/// What the file of the nodes says, in the order of their ids.
#[derive(Clone, Debug, PartialEq)]
pub struct Nodes {
    /// Features, one row a node.
    pub features: Csr<f32>,
    /// The label of each node.
    pub labels: Vec<u32>,
}

/// Reads the two files in a directory. Edges are directed, with loops and repetitions, as they are listed.
///
/// # Errors
/// If a file is missing or malformed.
pub fn read(directory: &Path, encoding: FeatureEncoding) -> Result<RawDataset, GraphError> {
    let path = directory.join(NODES);
    let nodes = nodes_of(Table::open(&path)?, encoding).map_err(|error| error.in_file(&path))?;
    let path = directory.join(EDGES);
    let edges = edges_of(Table::open(&path)?, nodes.labels.len()).map_err(|error| error.in_file(&path))?;
    let classes = nodes.labels.iter().max().map_or(0, |&label| label as usize + 1);
    Ok(RawDataset {
        nodes: nodes.labels.len(),
        edges,
        features: Features::Sparse(nodes.features),
        labels: nodes.labels.into_iter().map(Some).collect(),
        classes,
        class_names: Vec::new(),
        node_names: Vec::new(),
        splits: Vec::new(),
    })
}

/// Reads the file of the nodes.
///
/// # Errors
/// If a line has not three fields, ids are not 0 to n - 1 each once, or features or labels are no numbers.
pub fn parse_nodes(source: impl Read, encoding: FeatureEncoding) -> Result<Nodes, FormatError> {
    nodes_of(Table::new(source)?, encoding)
}

/// Reads the file of the edges of a graph with `nodes` nodes.
///
/// # Errors
/// If a line has not two fields, or names a node that does not exist.
pub fn parse_edges(source: impl Read, nodes: usize) -> Result<Vec<(u32, u32)>, FormatError> {
    edges_of(Table::new(source)?, nodes)
}

/// One line of the file of the nodes. Its features end where those of the next line begin.
struct Line {
    number: u64,
    id: u32,
    label: u32,
    begin: usize,
}

fn nodes_of(mut table: Table<impl Read>, encoding: FeatureEncoding) -> Result<Nodes, FormatError> {
    table.expect_width(3, "id, features, label, separated by tabs")?;
    let (mut row, mut lines) = (Row::default(), Vec::new());
    let mut entries = Entries { encoding, width: None, indices: Vec::new(), values: Vec::new() };
    while table.read_row(&mut row)? {
        let label = row.class(2)?;
        lines.push(Line { number: row.line(), id: row.integer(0)?, label, begin: entries.indices.len() });
        entries.add(&row)?;
    }
    let order = order(&lines)?;
    let width = entries.width.unwrap_or(0);
    check_columns(width, entries.indices.len())?;
    let end_of = |place: usize| lines.get(place + 1).map_or(entries.indices.len(), |next: &Line| next.begin);
    let mut offsets = vec![0];
    let mut indices = Vec::with_capacity(entries.indices.len());
    let mut values = Vec::with_capacity(entries.values.len());
    for &place in &order {
        let range = lines[place].begin..end_of(place);
        indices.extend_from_slice(&entries.indices[range.clone()]);
        values.extend_from_slice(&entries.values[range]);
        offsets.push(indices.len());
    }
    let features = Csr::new(lines.len(), width, offsets, indices, values)
        .map_err(|error| FormatError::new(error.to_string()))?;
    Ok(Nodes { features, labels: order.iter().map(|&place| lines[place].label).collect() })
}

/// Where the line of each node is.
fn order(lines: &[Line]) -> Result<Vec<usize>, FormatError> {
    let mut order = vec![usize::MAX; lines.len()];
    for (place, line) in lines.iter().enumerate() {
        let at = Place::Cell { line: line.number, column: 1 };
        match order.get_mut(line.id as usize) {
            None => {
                let last = lines.len().saturating_sub(1);
                let reason = format!(
                    "id {} is out of range; with {} nodes, ids run from 0 to {last}",
                    line.id,
                    lines.len()
                );
                return Err(FormatError::at(at, reason));
            }
            Some(&mut other) if other != usize::MAX => {
                let reason = format!(
                    "id {} is also on line {}; every node has one line",
                    line.id, lines[other].number
                );
                return Err(FormatError::at(at, reason));
            }
            Some(slot) => *slot = place,
        }
    }
    Ok(order)
}

/// The features of the lines, one after another.
struct Entries {
    encoding: FeatureEncoding,
    /// Number of columns, as far as it is known.
    width: Option<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl Entries {
    fn add(&mut self, row: &Row) -> Result<(), FormatError> {
        match self.encoding {
            FeatureEncoding::Dense => self.add_dense(row),
            FeatureEncoding::Indices => self.add_indices(row),
        }
    }

    fn add_dense(&mut self, row: &Row) -> Result<(), FormatError> {
        let mut width = 0;
        for (index, field) in (0..).zip(row.text(1).split(',')) {
            let value = parse_number(field.trim())
                .map_err(|reason| row.error(1, format!("feature {index}: {reason}")))?;
            if value != 0.0 {
                self.indices.push(index);
                self.values.push(value);
            }
            width += 1;
        }
        let expected = *self.width.get_or_insert(width);
        if width != expected {
            return Err(row.error(1, format!("{width} features where the first node has {expected}")));
        }
        Ok(())
    }

    fn add_indices(&mut self, row: &Row) -> Result<(), FormatError> {
        let begin = self.indices.len();
        // A node may have no features.
        for field in row.text(1).split(',').map(str::trim).filter(|_| !row.text(1).is_empty()) {
            let index = field.parse().ok().filter(|&index| index <= LARGEST_FEATURE).ok_or_else(|| {
                row.error(
                    1,
                    format!("{} is not the index of a feature, from 0 to {LARGEST_FEATURE}", shown(field)),
                )
            })?;
            self.indices.push(index);
        }
        let mut own = self.indices.split_off(begin);
        own.sort_unstable();
        own.dedup();
        let width = own.last().map_or(0, |&last| last as usize + 1);
        self.width = self.width.max(Some(width));
        self.values.extend(own.iter().map(|_| 1.0));
        self.indices.append(&mut own);
        Ok(())
    }
}

fn edges_of(mut table: Table<impl Read>, nodes: usize) -> Result<Vec<(u32, u32)>, FormatError> {
    table.expect_width(2, "source, target, separated by a tab")?;
    let (mut row, mut edges) = (Row::default(), Vec::new());
    while table.read_row(&mut row)? {
        edges.push((row.node(0, nodes)?, row.node(1, nodes)?));
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENSE: &str = "node_id\tfeature\tlabel\n1\t0,1,0\t2\n0\t1,0,0.5\t0\n";

    fn refused(text: &str, encoding: FeatureEncoding) -> String {
        let error = parse_nodes(text.as_bytes(), encoding).expect_err("a hostile file");
        error.in_file(Path::new(NODES)).to_string().replace("out1_node_feature_label.txt, ", "")
    }

    #[test]
    fn dense_lines_in_any_order_give_rows_in_the_order_of_ids() {
        let nodes = parse_nodes(DENSE.as_bytes(), FeatureEncoding::Dense).unwrap();
        assert_eq!(nodes.labels, [0, 2]);
        assert_eq!(nodes.features.to_dense().as_slice(), &[1.0, 0.0, 0.5, 0.0, 1.0, 0.0]);
        assert_eq!(nodes.features.stored(), 3);
    }

    #[test]
    fn indices_may_be_repeated_or_missing_and_give_the_width() {
        let text = "node_id\tfeature(feature_amount:3)\tlabel\n0\t3,1,3\t0\n1\t\t1\n";
        let nodes = parse_nodes(text.as_bytes(), FeatureEncoding::Indices).unwrap();
        assert_eq!((nodes.features.rows(), nodes.features.columns()), (2, 4));
        assert_eq!(nodes.features.row(0), (&[1, 3][..], &[1.0, 1.0][..]));
        assert_eq!(nodes.features.row(1).0, &[0u32; 0]);
    }

    #[test]
    fn edges_are_kept_as_listed() {
        let edges = parse_edges(&b"node_id\tnode_id\n1\t0\n0\t0\n1\t0\n"[..], 2).unwrap();
        assert_eq!(edges, [(1, 0), (0, 0), (1, 0)]);
    }

    #[test]
    fn a_missing_field_is_refused() {
        let expected = "line 1: 2 columns where 3 are needed: id, features, label, separated by tabs";
        assert_eq!(refused("node_id\tfeature\n0\t1,0\n", FeatureEncoding::Dense), expected);
        let expected = "line 4: 2 fields where the first row has 3";
        assert_eq!(refused(&format!("{DENSE}2\t1,0,0\n"), FeatureEncoding::Dense), expected);
    }

    #[test]
    fn an_id_out_of_range_is_refused() {
        let expected = "line 4, column 1: id 3 is out of range; with 3 nodes, ids run from 0 to 2";
        assert_eq!(refused(&format!("{DENSE}3\t1,0,0\t0\n"), FeatureEncoding::Dense), expected);
    }

    #[test]
    fn an_id_listed_twice_is_refused() {
        let expected = "line 4, column 1: id 1 is also on line 2; every node has one line";
        assert_eq!(refused(&format!("{DENSE}1\t1,0,0\t0\n"), FeatureEncoding::Dense), expected);
    }

    #[test]
    fn labels_that_are_no_classes_are_refused() {
        let expected = "line 4, column 3: `student` is not a whole number from 0 on";
        assert_eq!(refused(&format!("{DENSE}2\t1,0,0\tstudent\n"), FeatureEncoding::Dense), expected);
        let expected = "line 4, column 3: class 4294967295 is too large; classes run from 0 to 65535";
        assert_eq!(refused(&format!("{DENSE}2\t1,0,0\t4294967295\n"), FeatureEncoding::Dense), expected);
    }

    #[test]
    fn features_that_do_not_fit_are_refused() {
        let expected = "line 4, column 2: 2 features where the first node has 3";
        assert_eq!(refused(&format!("{DENSE}2\t1,0\t0\n"), FeatureEncoding::Dense), expected);
        let expected = "line 4, column 2: feature 1: `x` is not a number";
        assert_eq!(refused(&format!("{DENSE}2\t1,x,0\t0\n"), FeatureEncoding::Dense), expected);
        let expected = "line 3, column 2: `4294967294` is not the index of a feature, from 0 to 16777215";
        assert_eq!(refused("id\tf\ty\n0\t1\t0\n1\t4294967294\t0\n", FeatureEncoding::Indices), expected);
        let expected = "line 3, column 2: `` is not the index of a feature, from 0 to 16777215";
        assert_eq!(refused("id\tf\ty\n0\t1\t0\n1\t1,,2\t0\n", FeatureEncoding::Indices), expected);
    }

    #[test]
    fn an_edge_to_nowhere_is_refused() {
        let error = parse_edges(&b"node_id\tnode_id\n1\t2\n"[..], 2).unwrap_err();
        let expected = "node 2 does not exist; with 2 nodes, ids run from 0 to 1, line 2, column 2";
        assert_eq!(error.to_string(), expected);
    }
}
