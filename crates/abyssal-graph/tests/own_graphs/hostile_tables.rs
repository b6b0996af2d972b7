//! Tables that make no sense, each refused with file, line and column.

use abyssal_graph::Features;
use abyssal_graph::formats::own::{self, OwnFiles};
use abyssal_tensor::Matrix;

use crate::read;

const FEATURES: &str = "id,width,height\nalice,1,2\nbob,3,4\nkarl,5,6\n";
const EDGES: &str = "source,target\nalice,bob\nbob,karl\n";
const LABELS: &str = "id,label\nalice,red\nbob,blue\n";
const MASKS: &str = "id,split\nalice,train\nbob,val\nkarl,test\n";

pub(crate) fn files<'a>(
    features: &'a str,
    edges: &'a str,
    labels: &'a str,
    masks: &'a str,
) -> crate::Contents<'a> {
    let names = ["features.csv", "edges.csv", "labels.csv", "masks.csv"];
    let contents = [features, edges, labels, masks].map(str::as_bytes);
    [0, 1, 2, 3].map(|file| (names[file], contents[file]))
}

fn refused(features: &str, edges: &str, labels: &str, masks: &str) -> String {
    read(files(features, edges, labels, masks)).expect_err("a hostile graph").to_string()
}

fn refused_features(features: &str) -> String {
    refused(features, EDGES, LABELS, MASKS)
}

fn refused_edges(edges: &str) -> String {
    refused(FEATURES, edges, LABELS, MASKS)
}

fn refused_labels(labels: &str) -> String {
    refused(FEATURES, EDGES, labels, MASKS)
}

fn refused_masks(masks: &str) -> String {
    refused(FEATURES, EDGES, LABELS, masks)
}

#[test]
fn the_graph_without_faults_is_read() {
    let read = read(files(FEATURES, EDGES, LABELS, MASKS)).unwrap();
    assert_eq!(read.node_names, ["alice", "bob", "karl"]);
    assert_eq!((read.edges, read.labels), (vec![(0, 1), (1, 2)], vec![Some(1), Some(0), None]));
    assert_eq!(read.class_names, ["blue", "red"]);
    assert_eq!(read.splits.len(), 1);
}

#[test]
fn masks_may_be_left_out() {
    let mut files = files(FEATURES, EDGES, LABELS, "");
    files[3].0 = "";
    assert_eq!(read(files).unwrap().splits, []);
}

#[test]
fn a_graph_of_snap_with_numbers_is_read() {
    let edges = "# Directed graph\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n";
    let read = read(files("1 2\n3 4\n5 6\n", edges, "-1\n7\n3\n", "train\nval\ntest\n")).unwrap();
    assert_eq!((read.edges, read.labels), (vec![(0, 1), (1, 2)], vec![None, Some(1), Some(0)]));
    assert_eq!((read.class_names, read.node_names.len()), (vec!["3".to_owned(), "7".to_owned()], 0));
}

#[test]
fn empty_files_and_lone_headers_are_refused_but_for_edges() {
    assert_eq!(refused_features(""), "features.csv: the file holds no rows");
    assert_eq!(refused_edges("\n\n"), "edges.csv: the file holds no rows");
    assert_eq!(refused_labels(""), "labels.csv: the file holds no rows");
    assert_eq!(refused_masks(""), "masks.csv: the file holds no rows");
    assert_eq!(refused_features("id,width\n"), "features.csv: a header and no rows; every node needs one");
    assert_eq!(refused_labels("id,label\n"), "labels.csv: no node has a label; give some of them one");
    assert_eq!(refused_masks("id,split\n"), "masks.csv: the train set is empty; give it at least one node");
    assert_eq!(read(files(FEATURES, "source,target\n", LABELS, MASKS)).unwrap().edges, []);
}

#[test]
fn ragged_rows_are_refused() {
    let expected = "features.csv, line 3: 2 fields where the first row has 3";
    assert_eq!(refused_features("id,a,b\nalice,1,2\nbob,3\n"), expected);
}

#[test]
fn features_that_are_no_numbers_are_refused() {
    for (cell, reason) in [
        (
            "",
            "the cell is empty where a number is needed; fill it in, for example with the mean of its column",
        ),
        ("x", "`x` is not a number; give each category a column of its own with 0 and 1"),
        ("nan", "`nan` is not a finite number of 32 bits; replace it"),
        ("-inf", "`-inf` is not a finite number of 32 bits; replace it"),
        ("1e60", "`1e60` is not a finite number of 32 bits; replace it"),
    ] {
        let features = format!("id,a,b\nalice,1,2\nbob,3,{cell}\nkarl,5,6\n");
        assert_eq!(refused_features(&features), format!("features.csv, line 3, column 3: {reason}"));
        let features = format!("0.5,{cell}\n1,2\n");
        assert_eq!(refused_features(&features), format!("features.csv, line 1, column 2: {reason}"));
    }
}

#[test]
fn truth_values_are_one_and_zero() {
    for (features, edges, labels) in [
        ("id,flag,x\nalice,True,0.5\nbob,FALSE,0\nkarl,true,2\n", EDGES, LABELS),
        ("True,0.5\nFalse,0\nTrue,2\n", "0,1\n1,2\n", "0,red\n1,blue\n"),
    ] {
        let mut files = files(features, edges, labels, "");
        files[3].0 = "";
        let read = read(files).unwrap().features.to_dense();
        assert_eq!(read, Matrix::from_rows(&[[1.0f32, 0.5], [0.0, 0.0], [1.0, 2.0]]), "{features}");
    }
}

#[test]
fn a_node_with_two_rows_is_refused() {
    let expected = "features.csv, line 5, column 1: node `bob` has a row already";
    assert_eq!(refused_features(&format!("{FEATURES}bob,7,8\n")), expected);
}

#[test]
fn a_node_without_a_name_is_refused() {
    let expected = "features.csv, line 5, column 1: the cell is empty where the id of a node is needed";
    assert_eq!(refused_features(&format!("{FEATURES},7,8\n")), expected);
}

#[test]
fn ids_without_features_are_refused() {
    let expected = "features.csv, line 2, column 1: only ids; every node needs at least one feature";
    assert_eq!(refused_features("id\nalice\nbob\n"), expected);
}

#[test]
fn a_column_that_only_counts_rows_is_not_taken_for_a_feature() {
    let rows: String = (0..12).map(|row| format!("{row},0.5\n")).collect();
    let expected = "features.csv, line 1, column 1: the first column only counts the rows; if it holds the ids of \
                    the nodes, give the table a header that begins with `id`, and if not, any other header";
    assert_eq!(refused_features(&rows), expected);
    for (header, columns) in [("id,a\n", 1), ("time,a\n", 2)] {
        let read =
            read(files(&format!("{header}{rows}"), "0,1\n", "0,x\n", "0,train\n1,val\n2,test\n")).unwrap();
        assert_eq!(read.features.columns(), columns);
    }
}

/// pandas writes such a header for columns without names. It was taken for the first node, and all others moved by one.
#[test]
fn a_header_that_counts_columns_is_not_taken_for_a_node() {
    let expected = "0, 1 and so on look like a header that counts the columns";
    let rows = |row: &str| row.repeat(6);
    for features in [
        "0,1,2\n".to_string() + &rows("1,0,1\n"),
        "0,1\n".to_string() + &rows("0.5,1\n"),
        "0\n".to_string() + &rows("0.25\n"),
    ] {
        let error = refused(&features, "0,1\n", &rows("red\n"), "");
        assert!(error.starts_with("features.csv, line 1: ") && error.contains(expected), "{error}");
    }
    for features in ["0,1\n".to_string() + &rows("0,1\n"), "x,y,z\n0,1,2\n".to_string() + &rows("1,0,1\n")] {
        let mut files = files(&features, "0,1\n", "red\nred\nred\nblue\nblue\nblue\nblue\n", "");
        files[3].0 = "";
        assert_eq!(read(files).unwrap().features.rows(), 7, "{features}");
    }
}

#[test]
fn an_edge_to_an_unknown_node_is_refused() {
    let expected = "edges.csv, line 3, column 2: there is no node `eve` in the features";
    assert_eq!(refused_edges("source,target\nalice,bob\nbob,eve\n"), expected);
    let expected =
        "edges.csv, line 1, column 1: `3` is no node; the features have no ids, so nodes are numbered 0 to 2";
    assert_eq!(refused("1\n2\n3\n", "3,0\n", "x\ny\nz\n", "train\nval\ntest\n"), expected);
    assert!(refused("1\n2\n3\n", "0,-1\n", "x\ny\nz\n", "train\nval\ntest\n").contains("`-1` is no node"));
}

#[test]
fn weights_of_edges_are_refused() {
    let expected = "edges.csv, line 2, column 3: weights of edges are not supported; remove the third column";
    assert_eq!(refused_edges("source,target,weight\nalice,bob,0.5\n"), expected);
    let expected = "edges.csv, line 1: 3 columns where 2 are needed: source, target";
    assert_eq!(refused_edges("source,target,kind\nalice,bob,friend\n"), expected);
    assert_eq!(refused_edges("alice\nbob\n"), expected.replace('3', "1"));
}

#[test]
fn edges_between_nodes_called_like_columns_are_no_header() {
    let features = "id,a\nsource,1\ntarget,2\n7,3\n";
    let masks = "source,train\ntarget,val\n7,test\n";
    let read = read(files(features, "source,target\n7,7\n", "source,x\ntarget,3\n", masks)).unwrap();
    assert_eq!(read.edges, [(0, 1), (2, 2)]);
    assert_eq!(read.labels, [Some(1), Some(0), None]);
}

#[test]
fn a_label_of_an_unknown_node_is_refused() {
    let expected = "labels.csv, line 4, column 1: there is no node `eve` in the features";
    assert_eq!(refused_labels(&format!("{LABELS}eve,red\n")), expected);
}

#[test]
fn labels_that_contradict_each_other_are_refused() {
    let expected = "labels.csv, line 4, column 2: node `alice` has another label already, `red`; leave one";
    assert_eq!(refused_labels(&format!("{LABELS}alice,blue\n")), expected);
    assert_eq!(refused_labels(&format!("{LABELS}alice,?\n")), expected);
    assert!(read(files(FEATURES, EDGES, &format!("{LABELS}alice,red\n"), MASKS)).is_ok());
}

#[test]
fn labels_that_are_not_one_a_node_are_refused() {
    let expected = "labels.csv: 2 labels below the header `label` for 3 nodes; give every node one, or `?`, or use \
                    two columns, id and label";
    assert_eq!(refused_labels("label\nred\nblue\n"), expected);
    let expected = "labels.csv, line 4: more labels than the 3 nodes; give every node one";
    assert_eq!(refused_labels("red\nblue\nred\nred\n"), expected);
    let expected = "labels.csv, line 1: 3 columns where 2 are needed: id and label, or one column with a label for every node";
    assert_eq!(refused_labels("id,label,more\nalice,red,1\n"), expected);
}

#[test]
fn marks_of_missing_labels_are_no_classes_whatever_the_others_are() {
    for missing in ["-1", "-1.0", "?", "NA", "N/A", "<NA>", "nan", "None", "null"] {
        for (one, other) in [("blue", "red"), ("0", "1"), ("0.0", "1.0")] {
            let labels = format!("id,label\nalice,{other}\nbob,{one}\nkarl,{missing}\n");
            let read = read(files(FEATURES, EDGES, &labels, MASKS)).unwrap();
            assert_eq!(read.class_names, [one, other], "{missing}");
            assert_eq!(read.labels, [Some(1), Some(0), None], "{missing}");
        }
    }
}

#[test]
fn labels_nobody_knows_are_refused() {
    assert_eq!(refused_labels("-1\n?\n-1\n"), "labels.csv: no node has a label; give some of them one");
}

#[test]
fn a_set_nobody_knows_is_refused() {
    let expected =
        "masks.csv, line 3, column 2: `evaluate` is no set; write `train`, `val`, `test` or nothing";
    assert_eq!(refused_masks("id,split\nalice,train\nbob,evaluate\n"), expected);
}

#[test]
fn a_node_in_two_sets_is_refused() {
    let expected = "masks.csv, line 5, column 2: node `alice` is in the train set already; leave it in one";
    assert_eq!(refused_masks(&format!("{MASKS}alice,test\n")), expected);
    assert!(read(files(FEATURES, EDGES, LABELS, &format!("{MASKS}alice,train\nbob,\n"))).is_ok());
}

#[test]
fn masks_of_the_wrong_size_are_refused() {
    let expected = "masks.csv: 2 rows for 3 nodes; give every node one, `none` if it is in no set";
    assert_eq!(refused_masks("train\nval\n"), expected);
    let expected = "masks.csv, line 4: more rows than the 3 nodes; give every node one";
    assert_eq!(refused_masks("train\nval\ntest\ntest\n"), expected);
    assert_eq!(
        refused_masks("train\nval\nnone\n"),
        "masks.csv: the test set is empty; give it at least one node"
    );
}

#[test]
fn invalid_utf_8_is_refused() {
    let mut files = files(FEATURES, EDGES, LABELS, MASKS);
    files[1].1 = b"source,target\nalice,b\xFFb\n";
    let expected = "edges.csv, line 2, column 2: not valid UTF-8; save the file as UTF-8";
    assert_eq!(read(files).unwrap_err().to_string(), expected);
}

#[test]
fn a_missing_file_is_named() {
    let [edges, features, labels] =
        ["edges", "features", "labels"].map(|name| format!("nowhere/{name}.csv").into());
    let error = own::read(&OwnFiles { edges, features: Some(features), labels: Some(labels), masks: None })
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("cannot open nowhere/features.csv: "), "{error}");
}

#[test]
fn features_are_stored_in_the_smaller_way() {
    let stored = |features: &str| {
        let labels: String = (0..features.lines().count()).map(|node| format!("c{node}\n")).collect();
        let mut files = files(features, "0,1\n", &labels, "");
        files[3].0 = "";
        read(files).expect("an honest graph").features
    };
    // The first row decides nothing for those that follow.
    let rows = ["1,1,1,1\n", &"0,0,0,0\n".repeat(9)].concat();
    assert!(matches!(stored(&rows), Features::Sparse(matrix) if matrix.stored() == 4));
    assert!(matches!(stored("0,0,0,1\n0,0,0,1\n"), Features::Dense(_)));
    assert!(matches!(stored("0,0,0,1\n0,0,0,0\n"), Features::Sparse(_)));
}
