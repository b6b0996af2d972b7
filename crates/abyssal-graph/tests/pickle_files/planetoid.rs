//! Datasets written as eight Planetoid files and read back.

use std::collections::BTreeMap;

use abyssal_graph::formats::{RawDataset, planetoid};
use abyssal_graph::{Features, Split};
use abyssal_tensor::{Csr, Matrix};
use proptest::prelude::*;

use crate::writer::{self, Array, Sparse};

/// The parts of a dataset by their names.
type Files = BTreeMap<&'static str, Vec<u8>>;

/// A node with features and perhaps a label.
#[derive(Clone, Debug)]
struct Node {
    features: Vec<i8>,
    label: Option<u32>,
}

/// A dataset before it is written.
#[derive(Clone, Debug)]
struct Small {
    features: usize,
    classes: usize,
    /// How many of the known nodes are to train.
    train: usize,
    /// The nodes before the test nodes.
    known: Vec<Node>,
    /// The nodes from the first test node on; some are in no file.
    tested: Vec<Option<Node>>,
    /// The test nodes in the order of `test.index`.
    order: Vec<usize>,
    adjacency: Vec<(i32, Vec<i32>)>,
}

impl Small {
    /// The eight files. Columns of sparse rows are written backwards, as scipy may do.
    fn files(&self) -> Files {
        let tested: Vec<Node> = self
            .order
            .iter()
            .map(|&node| self.tested[node - self.known.len()].clone().expect("test nodes are in the files"))
            .collect();
        let lines: Vec<String> = self.order.iter().map(|node| format!("{node}\n")).collect();
        let train = &self.known[..self.train];
        BTreeMap::from([
            ("x", self.written_features(train)),
            ("tx", self.written_features(&tested)),
            ("allx", self.written_features(&self.known)),
            ("y", self.written_labels(train)),
            ("ty", self.written_labels(&tested)),
            ("ally", self.written_labels(&self.known)),
            ("graph", writer::adjacency(&self.adjacency)),
            ("test.index", lines.concat().into_bytes()),
        ])
    }

    fn written_features(&self, nodes: &[Node]) -> Vec<u8> {
        let (mut indptr, mut indices, mut data) = (vec![0], Vec::new(), Vec::new());
        for node in nodes {
            for (column, &value) in node.features.iter().enumerate().rev().filter(|(_, value)| **value != 0) {
                indices.push(column as i32);
                data.push(f32::from(value));
            }
            indptr.push(indices.len() as i32);
        }
        writer::csr(&Sparse {
            shape: (nodes.len() as i32, self.features as i32),
            indptr: Array::integers(&indptr),
            indices: Array::integers(&indices),
            data: Array::floats(&data),
        })
    }

    fn written_labels(&self, nodes: &[Node]) -> Vec<u8> {
        let classes = self.classes as u32;
        let one_hot = |node: &Node| {
            let label = node.label;
            (0..classes).map(move |class| i32::from(label == Some(class)))
        };
        let values: Vec<i32> = nodes.iter().flat_map(one_hot).collect();
        writer::array(&Array::integers(&values).shaped(&[nodes.len() as i32, classes as i32]))
    }

    /// What a reader must make of the files.
    fn expected(&self) -> RawDataset {
        let nodes: Vec<Option<Node>> =
            self.known.iter().cloned().map(Some).chain(self.tested.iter().cloned()).collect();
        let zeros = vec![0; self.features];
        let row = |node: usize| nodes[node].as_ref().map_or(&zeros, |node| &node.features);
        let matrix = Matrix::from_fn(nodes.len(), self.features, |node, column| f32::from(row(node)[column]));
        let lists = self.adjacency.iter();
        let ids = |range: std::ops::Range<usize>| range.map(|node| node as u32).collect::<Vec<_>>();
        let tested = self.order.iter().map(|&node| node as u32).collect();
        let validation = ids(self.train..self.known.len().min(self.train + 500));
        RawDataset {
            nodes: nodes.len(),
            edges: lists
                .flat_map(|(node, list)| list.iter().map(|&other| (*node as u32, other as u32)))
                .collect(),
            features: Features::Sparse(Csr::from_dense(&matrix)),
            labels: nodes.iter().map(|node| node.as_ref().and_then(|node| node.label)).collect(),
            classes: self.classes,
            class_names: vec![],
            node_names: vec![],
            splits: vec![
                Split::new(ids(0..self.train), validation, tested)
                    .expect("the sets are disjoint and not empty")
                    .with_name("public"),
            ],
        }
    }
}

/// Writes the files into a directory of their own and reads them.
fn read(files: &Files) -> Result<RawDataset, String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (part, bytes) in files {
        std::fs::write(directory.path().join(format!("ind.small.{part}")), bytes)
            .expect("a writable directory");
    }
    planetoid::read(directory.path(), "small").map_err(|error| {
        let message = error.to_string();
        let path = format!("{}/", directory.path().display());
        message.strip_prefix(&path).unwrap_or(&message).to_owned()
    })
}

prop_compose! {
    fn node(features: usize, classes: usize)(
        features in prop::collection::vec(prop_oneof![3 => Just(0i8), 1 => any::<i8>()], features),
        label in prop::option::weighted(0.9, 0..classes as u32),
    ) -> Node {
        Node { features, label }
    }
}

fn small() -> impl Strategy<Value = Small> {
    let sizes = (1usize..5, 1usize..4, 2usize..9, 1usize..6);
    sizes.prop_flat_map(|(features, classes, known, tested)| {
        let nodes = (known + tested) as i32;
        let of_nodes = move || prop::collection::vec(0..nodes, 0..7);
        let all = (0..nodes).collect::<Vec<_>>();
        (
            prop::collection::vec(node(features, classes), known),
            prop::collection::vec(prop::option::weighted(0.7, node(features, classes)), tested - 1),
            [node(features, classes), node(features, classes)],
            1..known,
            prop::sample::subsequence(all, 0..=nodes as usize).prop_shuffle(),
            prop::collection::vec(of_nodes(), nodes as usize),
        )
            .prop_flat_map(move |(known, mut tested, [first, last], train, keys, lists)| {
                // The first and the last test node are in the files: they tell where the range ends.
                let place = tested.len();
                tested.insert(place, Some(last));
                tested[0] = Some(first);
                let places = (0..tested.len()).filter(|&place| tested[place].is_some());
                let order: Vec<usize> = places.map(|place| known.len() + place).collect();
                let adjacency: Vec<_> = keys.into_iter().zip(lists).collect();
                Just(order).prop_shuffle().prop_map(move |order| Small {
                    features,
                    classes,
                    train,
                    known: known.clone(),
                    tested: tested.clone(),
                    order,
                    adjacency: adjacency.clone(),
                })
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_written_is_read_back(small in small()) {
        prop_assert_eq!(read(&small.files()), Ok(small.expected()));
    }
}

/// Three known nodes, of which two train; test nodes 3 and 5, and node 4 in no file.
fn example() -> Small {
    let node = |features: [i8; 2], label| Node { features: features.to_vec(), label };
    Small {
        features: 2,
        classes: 2,
        train: 2,
        known: vec![node([1, 0], Some(0)), node([0, 2], Some(1)), node([0, 0], Some(1))],
        tested: vec![Some(node([5, 6], Some(1))), None, Some(node([7, 0], Some(0)))],
        order: vec![5, 3],
        adjacency: vec![(0, vec![1, 1]), (4, vec![4]), (5, vec![3, 0])],
    }
}

fn error_with(part: &'static str, bytes: &[u8]) -> String {
    let mut files = example().files();
    files.insert(part, bytes.to_vec());
    read(&files).expect_err("one file is bad")
}

#[test]
fn nodes_without_a_row_have_no_label_and_no_features() {
    let dataset = read(&example().files()).unwrap();
    assert_eq!(dataset.labels, vec![Some(0), Some(1), Some(1), Some(1), None, Some(0)]);
    assert_eq!(dataset.edges, vec![(0, 1), (0, 1), (4, 4), (5, 3), (5, 0)]);
    let Features::Sparse(features) = dataset.features else { panic!("features are sparse") };
    let rows = [[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [5.0, 6.0], [0.0, 0.0], [7.0, 0.0]];
    assert_eq!(features.to_dense(), Matrix::from_rows(&rows));
    let split = &dataset.splits[0];
    let sets = (split.train(), split.validation(), split.test());
    assert_eq!((split.name(), sets), ("public", (&[0, 1][..], &[2][..], &[3, 5][..])));
}

#[test]
fn validation_is_five_hundred_nodes_where_there_are_more() {
    let mut many = example();
    many.known = vec![many.known[0].clone(); 600];
    many.order = vec![602, 600];
    let dataset = read(&many.files()).unwrap();
    assert_eq!(dataset.splits[0].validation(), (2..502).collect::<Vec<u32>>());
}

#[test]
fn a_missing_file_is_named() {
    let mut files = example().files();
    files.remove("ally");
    let error = read(&files).unwrap_err();
    assert!(error.starts_with("cannot read ") && error.contains("ind.small.ally: "), "{error}");
}

#[test]
fn a_page_in_place_of_a_file() {
    for part in ["allx", "graph", "test.index"] {
        let error = error_with(part, b"\n<!DOCTYPE HTML><title>Not found</title>");
        assert_eq!(error, format!("ind.small.{part}: this is an HTML page, not data; download it again"));
    }
}

#[test]
fn a_file_larger_than_any_planetoid_file() {
    let error = error_with("allx", &vec![b'('; 25 << 20]);
    let expected = "ind.small.allx: the file has more than 25165824 bytes; Planetoid files are smaller";
    assert_eq!(error, expected);
}

#[test]
fn an_error_in_a_pickle_names_file_and_byte() {
    let error = error_with("graph", &writer::raw(b"cposix\nsystem\n"));
    assert!(error.starts_with("ind.small.graph, byte 2: the pickle asks for `posix system`"), "{error}");
    let error = error_with("allx", &writer::raw(b"]"));
    assert_eq!(error, "ind.small.allx: the file holds a list; a csr_matrix is expected");
}

#[test]
fn a_test_index_that_does_not_fit() {
    for (text, expected) in [
        ("5\nx\n", ", line 2: `x` is not a node; nodes are numbers from 0 to 4294967295"),
        ("5\n-3\n", ", line 2: `-3` is not a node; nodes are numbers from 0 to 4294967295"),
        ("3\n3\n", ", line 2: node 3 was listed on line 1 already"),
        (
            "3\n1000000000000000000\n",
            ", line 2: `1000000000000000000` is not a node; nodes are numbers from 0 to 4294967295",
        ),
        ("", ": 0 nodes, but tx rows: 2; take both files from one dataset"),
        ("3\n4\n5\n", ": 3 nodes, but tx rows: 2; take both files from one dataset"),
        ("2\n3\n", ": the first test node is 2, but allx has 3 rows before it"),
        ("4\n5\n", ": the first test node is 4, but allx has 3 rows before it"),
        (
            "3\n4294967295\n",
            ": the last test node is 4294967295, so 4294967291 nodes would have no features, more than the 5 that have",
        ),
    ] {
        assert_eq!(error_with("test.index", text.as_bytes()), format!("ind.small.test.index{expected}"));
    }
}

#[test]
fn files_of_different_datasets() {
    let small = example();
    let wide = Small { features: 3, ..small.clone() };
    let wide_nodes =
        [Node { features: vec![1, 0, 0], label: None }, Node { features: vec![0; 3], label: None }];
    for part in ["tx", "x"] {
        let expected = format!("ind.small.{part}: 3 columns, but allx: 2; take both files from one dataset");
        assert_eq!(error_with(part, &wide.written_features(&wide_nodes)), expected);
    }
    let more = Small { classes: 3, ..small.clone() };
    for part in ["ty", "y"] {
        let expected = format!("ind.small.{part}: 3 columns, but ally: 2; take both files from one dataset");
        assert_eq!(error_with(part, &more.written_labels(&small.known[..2])), expected);
    }
    for (part, other) in [("ty", "tx: 2"), ("y", "x: 2"), ("ally", "allx: 3")] {
        let expected = format!("ind.small.{part}: 1 rows, but {other}; take both files from one dataset");
        assert_eq!(error_with(part, &small.written_labels(&small.known[..1])), expected);
    }
    let mut files = small.files();
    let four: Vec<Node> = small.known.iter().cloned().cycle().take(4).collect();
    files.insert("x", small.written_features(&four));
    files.insert("y", small.written_labels(&four));
    let expected = "ind.small.x: 4 rows, but allx, whose first rows they are, has 3";
    assert_eq!(read(&files).unwrap_err(), expected);
}

#[test]
fn labels_that_are_not_one_hot() {
    let labels = |values: [i32; 4]| writer::array(&Array::integers(&values).shaped(&[2, 2]));
    let end = "; a row has one 1, the rest 0";
    assert_eq!(error_with("ty", &labels([1, 1, 0, 1])), format!("ind.small.ty: row 0 has 1 at class 1{end}"));
    assert_eq!(
        error_with("ty", &labels([1, 0, -1, 0])),
        format!("ind.small.ty: row 1 has -1 at class 0{end}")
    );
}

#[test]
fn a_graph_with_nodes_that_do_not_exist() {
    for (adjacency, expected) in
        [((0, vec![1, 6]), "node 0 names node 6"), ((6, vec![]), "node 6 names node 6")]
    {
        let error = error_with("graph", &writer::adjacency(&[adjacency]));
        assert_eq!(error, format!("ind.small.graph: the list of {expected}, but there are 6 nodes"));
    }
}

#[test]
fn a_dataset_without_nodes_to_validate_or_train() {
    let small = example();
    assert!(
        read(&Small { train: 3, ..small.clone() }.files())
            .unwrap_err()
            .contains("the validation set is empty")
    );
    assert!(read(&Small { train: 0, ..small }.files()).unwrap_err().contains("the train set is empty"));
}
