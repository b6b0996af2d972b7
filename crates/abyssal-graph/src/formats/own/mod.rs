//! A graph of your own: a file of edges, one of features, one of labels and, if you like, one of masks.
//!
//! Each may be a table (csv, tsv and the like, see [`Table`](super::table::Table), also compressed with gzip), or numpy's npy
//! or npz; the extension tells, or else the first bytes.
//!
//! - **Features** say which nodes there are. A table has one row a node; its first column holds ids if a header calls it
//!   `id`, `node`, `name`, `index`, `key`, `uid`, `user` or nothing, or something that ends as `user_id`, `user id` or
//!   `userId` do; or if the file of the labels or masks calls its first of two columns the same; or if it begins with
//!   something that is no number. A column of another name that has every number from 0, or from 1, once is refused,
//!   unless it merely counts from 0: nobody can tell whether it holds ids. Arrays have two dimensions; a scipy matrix
//!   stays sparse. Other features are stored sparse if fewer than a quarter of the values are not zero. Truth values are 1
//!   and 0; a first row that counts the columns is a header somebody forgot, and refused.
//! - **Ids** may be any text. Without them, nodes are numbered from 0 in the order of the features, and the other files
//!   name nodes by these numbers.
//! - **Edges** are two columns, source and target; an array of shape m×2 or 2×m; or a scipy adjacency matrix of ones. They
//!   have no weights.
//! - **Labels** are one column, a label for each node in order, or two: id and label. Text or numbers; nodes without a
//!   label have an empty cell (in one column a blank line, but for those at the end of the file), `?`, `-1`, `-1.0`, `NA`,
//!   `N/A`, `<NA>`, `nan`, `NaN`, `None`, `null`, `NULL`, or no row.
//! - **Masks** are one column or two as well, with `train`, `val` (or `valid`, `validation`), `test`, or nothing (or
//!   `none`); or an npz with `train_mask`, `val_mask` and `test_mask`.

mod edges;
mod features;
mod labels;
mod masks;
mod names;
mod source;

use std::path::{Path, PathBuf};

use self::source::Source;
use super::{FormatError, RawDataset, gnn_benchmark};
use crate::{GraphError, Split};

pub use self::edges::parse_edges;
pub use self::features::{NodeFeatures, parse_features};
pub use self::labels::{NodeLabels, parse_labels};
pub use self::masks::parse_masks;
pub use self::names::NodeNames;

/// Where the parts of a graph are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFiles {
    /// The file of the edges, or one npz with everything.
    pub edges: PathBuf,
    /// The file of the features.
    pub features: Option<PathBuf>,
    /// The file of the labels.
    pub labels: Option<PathBuf>,
    /// The file that says which nodes train, validate and test.
    pub masks: Option<PathBuf>,
}

impl OwnFiles {
    /// Each file that is given, with the part it plays.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [Some(&self.edges), self.features.as_ref(), self.labels.as_ref(), self.masks.as_ref()];
        let roles = ["edges", "features", "labels", "masks"];
        roles.into_iter().zip(files).filter_map(|(role, path)| Some((role, path?.as_path())))
    }
}

/// Reads a graph. Without features and labels, the file of the edges must be an npz that holds them too
/// ([`gnn_benchmark`]). Classes are the distinct labels in ascending order: of numbers if all are whole, else of text.
///
/// # Errors
/// If a file cannot be read, is malformed, or names a node that the features do not know.
pub fn read(files: &OwnFiles) -> Result<RawDataset, GraphError> {
    let (features, labels) = match (&files.features, &files.labels) {
        (Some(features), Some(labels)) => (features, labels),
        (None, None) => return read_archive(files),
        (features, _) => {
            let missing = if features.is_none() { "features" } else { "labels" };
            return Err(GraphError::MissingFile { role: missing });
        }
    };
    let (NodeFeatures { nodes, features, .. }, edges) = read_nodes(files, features)?;
    let NodeLabels { labels, class_names } = read_file(labels, |source| labels::read(source, &nodes))?;
    let split = files.masks.as_ref().map(|path| read_masks(path, &nodes)).transpose()?;
    Ok(RawDataset {
        nodes: nodes.nodes(),
        edges,
        features,
        labels,
        classes: class_names.len(),
        class_names,
        node_names: nodes.into_names(),
        splits: split.into_iter().collect(),
    })
}

/// Reads a graph whose nodes are to be predicted: features and edges, no labels and no masks. The classes are known from
/// elsewhere.
///
/// # Errors
/// As for [`read`], of those two.
pub fn read_unlabelled(files: &OwnFiles, class_names: &[String]) -> Result<RawDataset, GraphError> {
    let unlabelled = |raw: RawDataset| RawDataset {
        labels: vec![None; raw.nodes],
        classes: class_names.len(),
        class_names: class_names.to_vec(),
        splits: Vec::new(),
        ..raw
    };
    let Some(features) = &files.features else {
        return Ok(unlabelled(read_archive(&OwnFiles { masks: None, ..files.clone() })?));
    };
    let (NodeFeatures { nodes, features, .. }, edges) = read_nodes(files, features)?;
    Ok(unlabelled(RawDataset {
        nodes: nodes.nodes(),
        edges,
        features,
        labels: Vec::new(),
        classes: 0,
        class_names: Vec::new(),
        node_names: nodes.into_names(),
        splits: Vec::new(),
    }))
}

/// Reads the nodes with their features, and the edges between them. Of the other files the names of their columns may tell
/// which one holds ids; one that cannot be opened is told when its turn comes.
fn read_nodes(files: &OwnFiles, features: &Path) -> Result<(NodeFeatures, Vec<(u32, u32)>), GraphError> {
    let id_column = |path: &PathBuf| Source::open(path).ok()?.id_column();
    let others = [&files.labels, &files.masks].into_iter().flatten();
    let id_columns: Vec<String> = others.filter_map(id_column).collect();
    let read = read_file(features, |source| features::read(source, &id_columns))?;
    let edges = read_file(&files.edges, |source| edges::read(source, &read.nodes))?;
    Ok((read, edges))
}

/// Reads one file with everything; masks in a file of their own take the place of those in it.
fn read_archive(files: &OwnFiles) -> Result<RawDataset, GraphError> {
    if files.edges.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("npz")) {
        return Err(GraphError::MissingFile { role: "features" });
    }
    let mut raw = gnn_benchmark::read(&files.edges)?;
    if let Some(path) = &files.masks {
        raw.splits =
            vec![read_masks(path, &NodeNames::of(&raw).map_err(|error| error.in_file(&files.edges))?)?];
    }
    Ok(raw)
}

/// Reads one row of numbers a node: a table, or an array of numpy.
///
/// # Errors
/// If the file cannot be read or is malformed, a number is not finite, or a node has two rows.
pub fn read_features(path: &Path) -> Result<NodeFeatures, GraphError> {
    read_file(path, |source| features::read(source, &[]))
}

/// Reads a file of masks as a split named `given`.
///
/// # Errors
/// If the file cannot be read or is malformed, a set is empty, or a node is unknown or in two sets.
pub fn read_masks(path: &Path, nodes: &NodeNames) -> Result<Split, GraphError> {
    read_file(path, |source| masks::read(source, nodes))
}

fn read_file<T>(path: &Path, parse: impl FnOnce(Source) -> Result<T, FormatError>) -> Result<T, GraphError> {
    parse(Source::open(path)?).map_err(|error| error.in_file(path))
}
