//! Which column holds ids and which line is a header: what is unclear is refused, and nothing is joined by mistake.

use abyssal_graph::formats::RawDataset;

use crate::hostile_tables::files;
use crate::read;

fn read_three(features: &str, edges: &str, labels: &str) -> Result<RawDataset, String> {
    let mut files = files(features, edges, labels, "");
    files[3].0 = "";
    read(files).map_err(|error| error.to_string())
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
}
