//! What can be wrong with a graph, its features, its labels, its files or a request for a synthetic one.

use std::path::{Path, PathBuf};

use crate::Subset;
use crate::fetch::FetchError;
use crate::formats::Place;

/// An error in data or in the configuration of a generator. It names the offender and says what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// A graph without nodes.
    #[error("the graph has no nodes; give it at least one")]
    EmptyGraph,
    /// More nodes than 32-bit node ids can name.
    #[error("{nodes} nodes are too many; node ids are 32-bit numbers, so {} is the limit", u32::MAX)]
    TooManyNodes {
        /// Nodes asked for.
        nodes: usize,
    },
    /// An edge to a node that does not exist.
    #[error(
        "edge ({first}, {second}) leaves the graph; with {nodes} nodes, ids run from 0 to {}",
        nodes.saturating_sub(1)
    )]
    EdgeOutOfRange {
        /// One end of the edge.
        first: u32,
        /// Its other end.
        second: u32,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// A feature that is infinite or NaN.
    #[error("the feature in row {row}, column {column} is {value}; replace it by a finite number")]
    FeatureNotFinite {
        /// Row of the feature: its node.
        row: usize,
        /// Column of the feature.
        column: usize,
        /// What stands there.
        value: f32,
    },
    /// A feature matrix with another number of rows than the graph has nodes.
    #[error("{rows} rows of features for {nodes} nodes; give every node one row")]
    FeatureRows {
        /// Rows of the features.
        rows: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// A feature matrix without columns.
    #[error("the features have no columns; give every node at least one number")]
    NoFeatures,
    /// A number of nearest neighbours that no node can have.
    #[error("k = {k} is out of range: k nearest neighbours of {nodes} nodes need 1 ≤ k < {nodes}")]
    NeighbourCount {
        /// Neighbours asked of every node.
        k: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// More nearest neighbours than the memory holds.
    #[error("{k} nearest neighbours of each of {nodes} nodes do not fit into memory; ask for fewer")]
    TooManyNeighbours {
        /// Neighbours asked of every node.
        k: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// An exponent of edge weights outside its range.
    #[error("power = {power} is out of range: edge weights need a finite power of at least 0")]
    InvalidPower {
        /// The exponent.
        power: f64,
    },
    /// An edge weight beyond the largest single-precision number.
    #[error("the weight of edge ({first}, {second}) is {weight:e}, too large; scale the embeddings down")]
    WeightTooLarge {
        /// One end of the edge.
        first: u32,
        /// Its other end.
        second: u32,
        /// The weight.
        weight: f64,
    },
    /// A list of labels with another length than the graph has nodes.
    #[error("{labels} labels for {nodes} nodes; give every node one, or mark it as unlabelled")]
    LabelCount {
        /// Length of the list.
        labels: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// A list of names with another length than there are things to name.
    #[error("{names} names for {count} {what}; give each a name, or none")]
    NameCount {
        /// Length of the list.
        names: usize,
        /// How many things there are.
        count: usize,
        /// What they are: `classes` or `nodes`.
        what: &'static str,
    },
    /// Nothing to tell apart.
    #[error(
        "{classes} class{} nothing to learn; at least 2 are needed",
        if *classes == 1 { " leaves" } else { "es leave" }
    )]
    TooFewClasses {
        /// Classes asked for.
        classes: usize,
    },
    /// A label that names no class.
    #[error(
        "node {node} has label {label}; with {classes} classes, labels run from 0 to {}",
        classes.saturating_sub(1)
    )]
    LabelOutOfRange {
        /// The node.
        node: usize,
        /// Its label.
        label: u32,
        /// Number of classes.
        classes: usize,
    },
    /// Masks of different length.
    #[error(
        "the masks cover {train}, {validation} and {test} nodes (train, validation, test); \
         each needs one entry a node"
    )]
    MaskLength {
        /// Length of the training mask.
        train: usize,
        /// Length of the validation mask.
        validation: usize,
        /// Length of the test mask.
        test: usize,
    },
    /// A set of a split of which no node is in the largest component.
    #[error(
        "no labelled node of the {subset} set of the split {split} is in the largest component; set \
         data.largest_component=false, or choose another split"
    )]
    SubsetLost {
        /// The split.
        split: String,
        /// The set.
        subset: Subset,
    },
    /// A set of a split without nodes.
    #[error("the {subset} set is empty; give it at least one node")]
    EmptySubset {
        /// The empty set.
        subset: Subset,
    },
    /// A rehearsal of a split with a single validation node.
    #[error(
        "a rehearsal cannot halve a single validation node; take a split with more, or set data.rehearsal=off"
    )]
    NothingToHalve,
    /// A node in two sets of a split.
    #[error("node {node} is in the {first} set and in the {second} set; leave it in one of them")]
    OverlappingSubsets {
        /// The first such node.
        node: u32,
        /// One of its sets.
        first: Subset,
        /// The other one.
        second: Subset,
    },
    /// A split that names a node the graph does not have.
    #[error(
        "the {subset} set names node {node}; with {nodes} nodes, ids run from 0 to {}",
        nodes.saturating_sub(1)
    )]
    SubsetOutOfRange {
        /// The set.
        subset: Subset,
        /// The node.
        node: u32,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// A node to learn from or to be measured on, without a label.
    #[error("node {node} of the {subset} set has no label; label it or take it out of the set")]
    Unlabelled {
        /// The set.
        subset: Subset,
        /// The node.
        node: u32,
    },
    /// A class too small for the split asked for.
    #[error(
        "class {} has {available} labelled node{} where {needed} are asked for; ask for fewer per class, \
         or for shares, such as fractions:0.6,0.2",
        name.as_ref().map_or(class.to_string(), |name| format!("`{name}`")),
        if *available == 1 { "" } else { "s" }
    )]
    ClassTooSmall {
        /// The class.
        class: usize,
        /// Its name, if it has one.
        name: Option<String>,
        /// Labelled nodes it has.
        available: usize,
        /// Nodes asked of each class.
        needed: usize,
    },
    /// Too few nodes left after training and validation.
    #[error(
        "{remaining} labelled nodes remain beside the training set; \
         with {validation} of them for validation, none is left to test"
    )]
    NothingToTest {
        /// Labelled nodes that are not in the training set.
        remaining: usize,
        /// Validation nodes asked for.
        validation: usize,
    },
    /// A field of a generator's configuration outside its range.
    #[error("data.{field} = {value} is out of range: it must be {range}")]
    InvalidConfig {
        /// Name of the field.
        field: &'static str,
        /// Its value.
        value: String,
        /// The values it may have.
        range: String,
    },
    /// A dataset nobody knows.
    #[error("there is no dataset `{name}`; did you mean `{nearest}`? there are {known}, and what you import")]
    UnknownDataset {
        /// The name asked for.
        name: String,
        /// The known name most like it.
        nearest: String,
        /// All known names.
        known: String,
    },
    /// A benchmark whose files are not here.
    #[error(
        "{name} is not in {} ({missing} is missing); get it with: abyssal datasets fetch {name}, or give a directory \
         that has it with --data-dir or ABYSSAL_DATA",
        directory.display()
    )]
    NotFetched {
        /// The benchmark.
        name: String,
        /// The data directory.
        directory: PathBuf,
        /// The first file that is missing.
        missing: String,
    },
    /// A file of a benchmark that is another one than was published.
    #[error(
        "{} is not the file {name} was published with: {what} is {found} where that file has {expected}. It may have \
         been copied in part or edited: get it again with abyssal datasets fetch {name} --force, or keep files that were \
         changed on purpose as a graph of their own with abyssal datasets import",
        path.display()
    )]
    AlteredFile {
        /// The benchmark.
        name: String,
        /// The file.
        path: PathBuf,
        /// What was compared.
        what: &'static str,
        /// What the file has.
        found: String,
        /// What the published one has.
        expected: String,
    },
    /// A name that cannot be given to an imported graph.
    #[error("`{name}` cannot be the name of a dataset; use letters, digits, `-`, `_` and `.`")]
    InvalidName {
        /// The name.
        name: String,
    },
    /// A name that is used already.
    #[error(
        "there is a dataset `{name}` already; choose another name{}",
        if *replaceable { ", or replace it with --force" } else { "" }
    )]
    NameTaken {
        /// The name.
        name: String,
        /// Whether it is an imported graph, which may be replaced.
        replaceable: bool,
    },
    /// A split a dataset does not have.
    #[error("{dataset} has no split `{split}`; it has {}", split_list(available))]
    NoSuchSplit {
        /// The dataset.
        dataset: String,
        /// The split asked for.
        split: String,
        /// The splits that came with it.
        available: Vec<String>,
    },
    /// A part of a user's own graph that was not given.
    #[error(
        "the graph has no {role}; give a file with --{role} FILE, or one npz with everything (adj_data, attr_data, \
         labels, …) as --edges alone"
    )]
    MissingFile {
        /// What is missing: `features` or `labels`.
        role: &'static str,
    },
    /// A file whose contents cannot be read.
    #[error("{}{place}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: Place,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A file or directory the system does not let us use.
    #[error("cannot {action} {}: {reason}", path.display())]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A file that could not be fetched, or another file in its place.
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

impl GraphError {
    /// The same error with the name of the class, if classes have names.
    pub(crate) fn with_class_name(mut self, names: &[String]) -> Self {
        if let Self::ClassTooSmall { class, name, .. } = &mut self {
            *name = names.get(*class).cloned();
        }
        self
    }

    /// Turns an error of the system into one that names the file and what was tried with it.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |error| Self::Io { action, path, reason: error.to_string() }
    }
}

/// The splits to choose from, ten of geom-gcn as one.
fn split_list(available: &[String]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in available {
        let name = if name.starts_with("geom-gcn:") { "geom-gcn:0 to geom-gcn:9" } else { name };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.extend(["per-class:20,30", "fractions:0.6,0.2", "file:PATH"]);
    names.join(", ")
}
