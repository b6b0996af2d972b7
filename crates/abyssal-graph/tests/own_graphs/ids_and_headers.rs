//! Which column holds ids and which line is a header: what is unclear is refused, and nothing is joined by mistake.

use abyssal_graph::formats::RawDataset;

use crate::hostile_tables::files;
use crate::read;

/// Six nodes in another order than that of their ids; node 10·k has the feature k.
const IDS: [u32; 6] = [30, 10, 50, 20, 60, 40];

fn table(header: &str, row: impl Fn(u32) -> String) -> String {
    IDS.iter().fold(format!("{header}\n"), |text, &id| text + &row(id) + "\n")
}

fn read_three(features: &str, edges: &str, labels: &str) -> Result<RawDataset, String> {
    let mut files = files(features, edges, labels, "");
    files[3].0 = "";
    read(files).map_err(|error| error.to_string())
}

#[test]
fn columns_that_are_called_as_ids_are_hold_ids() {
    for name in ["user_id", "nodeId", "uid", "key", "Paper ID", "Unnamed: 0", "index", ""] {
        let features = table(&format!("{name},x"), |id| format!("{id},{}", id / 10));
        let labels = table(&format!("{name},job"), |id| format!("{id},{}", ["a", "b"][id as usize / 40]));
        let read = read_three(&features, "10,60\n", &labels).unwrap();
        assert_eq!((read.features.columns(), read.edges), (1, vec![(1, 4)]), "{name}");
        assert_eq!(read.node_names[0], "30");
    }
}

#[test]
fn a_column_is_one_of_ids_if_another_file_calls_its_ids_the_same() {
    let features = table("Person,x", |id| format!("{id},{}", id / 10));
    let labels = table("person,job", |id| format!("{id},a"));
    let read = read_three(&features, "10,60\n", &labels).unwrap();
    assert_eq!((read.features.columns(), read.edges), (1, vec![(1, 4)]));
    let masks = "person,split\n10,train\n20,val\n30,test\n";
    let read = crate::read(files(&features, "10,60\n", "a\nb\na\nb\na\nb\n", masks)).unwrap();
    assert_eq!((read.features.columns(), read.splits[0].train()), (1, &[1][..]));
}

#[test]
fn features_that_are_called_nearly_as_ids_are_features() {
    for name in ["paid", "grid", "Valid", "age", "x"] {
        let features = table(&format!("{name},y"), |id| format!("{id},1"));
        let read = read_three(&features, "0,5\n", "a\nb\na\nb\na\nb\n").unwrap();
        assert_eq!((read.features.columns(), read.node_names.len()), (2, 0), "{name}");
    }
}

#[test]
fn a_feature_called_as_ids_are_is_told_the_way_out() {
    let error = read_three("key,x\n5,1\n7,2\n5,3\n", "0,1\n", "a\nb\na\n").unwrap_err();
    let expected = "features.csv, line 4, column 1: node `5` has a row already; the header `key` says that the \
                    column holds ids, so if it is a feature, move it behind another one";
    assert_eq!(error, expected);
}

#[test]
fn a_first_column_that_may_number_the_nodes_is_refused() {
    let labels = "a\nb\na\nb\na\nb\n";
    for begin in [0, 1] {
        let number = |id: u32| id / 10 - 1 + begin;
        let error =
            read_three(&table("rank,x", |id| format!("{},0.5", number(id))), "0,1\n", labels).unwrap_err();
        let expected = format!(
            "features.csv, line 1, column 1: the first column, `rank`, has each number from {begin} to {} once; if they \
             are the ids of the nodes, call it `id`, and if they are a feature, move it behind another one",
            begin + 5
        );
        assert_eq!(error, expected);
        let floats = table("rank,x", |id| format!("{}.0,0.5", number(id)));
        assert_eq!(read_three(&floats, "0,1\n", labels).unwrap_err(), expected);
        let nameless = table("", |id| format!("{},0.5", number(id)));
        let error = read_three(nameless.trim_start(), "0,1\n", labels).unwrap_err();
        assert!(error.contains("give the table a header that begins with `id`"), "{error}");
        let behind = table("x,rank", |id| format!("0.5,{}", number(id)));
        assert_eq!(read_three(&behind, "0,1\n", labels).unwrap().features.columns(), 2);
    }
    // From 1 on, ids are not places; from 0 on, they are.
    let counted =
        |begin: u32| (begin..begin + 6).fold("t,x\n".to_owned(), |text, row| format!("{text}{row},0.5\n"));
    assert!(read_three(&counted(1), "0,1\n", labels).unwrap_err().contains("each number from 1 to 6 once"));
    assert_eq!(read_three(&counted(0), "0,1\n", labels).unwrap().features.columns(), 2);
    assert_eq!(read_three(&counted(2), "0,1\n", labels).unwrap().features.columns(), 2);
}

const FOUR: &str = "width\n0.5\n1.5\n2.5\n3.5\n";

fn labels_of_four(labels: &str) -> Result<Vec<Option<u32>>, String> {
    read_three(FOUR, "0,1\n", labels).map(|read| read.labels)
}

#[test]
fn a_blank_line_among_labels_is_a_label_that_is_missing() {
    let expected = [Some(0), None, Some(1), Some(0)];
    for labels in ["label\na\n\nb\na\n", "a\n\nb\na\n", "a\r\n  \r\nb\r\na\r\n\r\n\r\n", "a\n\"\"\nb\na"] {
        assert_eq!(labels_of_four(labels).unwrap(), expected, "{labels:?}");
    }
    for labels in ["\na\nb\na\n", "label\n\na\nb\na\n"] {
        assert_eq!(labels_of_four(labels).unwrap(), [None, Some(0), Some(1), Some(0)], "{labels:?}");
    }
    // At the end, nobody can tell.
    assert!(labels_of_four("label\na\nb\na\n\n").unwrap_err().contains("3 labels below the header `label`"));
}

#[test]
fn a_blank_line_among_masks_is_a_node_in_no_set() {
    let read = read(files(FOUR, "0,1\n", "a\nb\na\nb\n", "train\n\nval\ntest\n")).unwrap();
    assert_eq!((read.splits[0].validation(), read.splits[0].test()), (&[2][..], &[3][..]));
}

#[test]
fn an_unusual_header_of_labels_is_one_if_nothing_else_can_be_meant() {
    let read = read_three(FOUR, "0,1\n", "job\nb\na\nb\na\n").unwrap();
    assert_eq!((read.labels, read.classes), (vec![Some(1), Some(0), Some(1), Some(0)], 2));
    assert_eq!(labels_of_four("job\na\n\"\"\na\n?\n").unwrap(), [Some(0), None, Some(0), None]);
}

#[test]
fn labels_never_move_to_other_nodes() {
    for labels in ["job\na\n\nb\na\n", "job\na\na\nb\na\n", "job\na\nb\nb\n\n"] {
        let error = labels_of_four(labels).unwrap_err();
        assert!(
            error.starts_with("labels.csv, line 1: `job` may be a header or the label of the first node"),
            "{error}"
        );
        assert!(error.contains("write `label` instead") && error.contains("write `?`"), "{error}");
    }
    let expected = "labels.csv, line 5: more labels than the 4 nodes; give every node one";
    assert_eq!(labels_of_four("a\nb\na\nb\nb\n").unwrap_err(), expected);
    assert_eq!(labels_of_four("a\n\na\nb\nb\nb\n").unwrap_err(), expected);
    // A class of one node is not refused where every line is a label.
    assert_eq!(labels_of_four("job\na\nb\nb\n").unwrap(), [Some(2), Some(0), Some(1), Some(1)]);
}

#[test]
fn a_first_line_that_may_be_a_header_is_told_which_words_make_one() {
    let features = "person,x\nalice,1\nbob,2\n";
    let error = read_three(features, "person,friend\nalice,bob\n", "alice,a\nbob,b\n").unwrap_err();
    let expected = "edges.csv, line 1, column 1: there is no node `person` in the features; if this line is a header, \
                    let it begin with `source`";
    assert_eq!(error, expected);
    let error = read_three(features, "alice,bob\n", "person,job\nalice,a\nbob,b\n").unwrap_err();
    assert!(
        error.starts_with("labels.csv, line 1, column 1: ") && error.ends_with("begin with `id`"),
        "{error}"
    );
    let masks = "person,set\nalice,train\n";
    let error = read(files(features, "alice,bob\n", "alice,a\nbob,b\n", masks)).unwrap_err().to_string();
    assert!(
        error.starts_with("masks.csv, line 1, column 1: ") && error.ends_with("begin with `id`"),
        "{error}"
    );
    // Other lines are no headers.
    let error = read_three(features, "alice,bob\nbob,friend\n", "alice,a\nbob,b\n").unwrap_err();
    assert_eq!(error, "edges.csv, line 2, column 2: there is no node `friend` in the features");
    // And these words are recognised.
    let read =
        read_three(features, "user_id,friend_id\nalice,bob\n", "user_id,job\nalice,a\nbob,b\n").unwrap();
    assert_eq!((read.edges, read.labels), (vec![(0, 1)], vec![Some(0), Some(1)]));
}
