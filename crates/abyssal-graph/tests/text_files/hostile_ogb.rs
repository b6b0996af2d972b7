//! OGB datasets with something wrong.

use std::io::{Cursor, Write};
use std::path::Path;

use abyssal_graph::formats::ogb;
use abyssal_tensor::Matrix;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::datasets::{Made, write_ogb, zipped};
use crate::{directory, gzip, short, write};

type Dataset = Vec<(&'static str, String)>;

fn dataset() -> Dataset {
    let features = Matrix::from_rows(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]);
    let (labels, edges) = (vec![0, 1, 2, 3], vec![(0, 1), (2, 3), (3, 3)]);
    Made { features, labels, edges, order: vec![0, 1, 2, 3] }.ogb()
}

/// The error of a dataset whose file `name` has other contents; the same, but for the place, in an archive.
fn refused_with(name: &'static str, contents: &str) -> String {
    let mut files = dataset();
    files.retain(|(other, _)| *other != name);
    files.push((name, contents.to_owned()));
    refused(&files)
}

fn refused(files: &[(&str, String)]) -> String {
    let directory = directory();
    write_ogb(directory.path(), files);
    let error = short(&ogb::read(directory.path()).expect_err("a broken dataset"), directory.path());
    let archived = refused_archive(zipped(files)).replace("arxiv.zip, arxiv/", "");
    assert_eq!(archived, error);
    error
}

fn refused_archive(archive: Vec<u8>) -> String {
    ogb::read_archive(Cursor::new(archive), Path::new("arxiv.zip")).expect_err("a broken archive").to_string()
}

fn stored(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, contents) in members {
        writer.start_file(*name, SimpleFileOptions::default()).expect("room in memory");
        writer.write_all(contents).expect("room in memory");
    }
    writer.finish().expect("room in memory").into_inner()
}

#[test]
fn counts_that_contradict_the_files_are_refused() {
    for (name, contents, expected) in [
        (
            "raw/num-node-list.csv.gz",
            "5\n",
            "raw/node-label.csv.gz: 4 rows, but raw/num-node-list.csv.gz says 5",
        ),
        (
            "raw/num-node-list.csv.gz",
            "3\n",
            "raw/node-label.csv.gz, line 4: more than 3 rows, as raw/num-node-list",
        ),
        ("raw/num-edge-list.csv.gz", "4\n", "raw/edge.csv.gz: 3 rows, but raw/num-edge-list.csv.gz says 4"),
        (
            "raw/num-edge-list.csv.gz",
            "2\n",
            "raw/edge.csv.gz, line 3: more than 2 rows, as raw/num-edge-list",
        ),
        ("raw/num-edge-list.csv.gz", "3\n1\n", "raw/num-edge-list.csv.gz, line 2, column 1: a second row"),
        (
            "raw/num-node-list.csv.gz",
            "x\n",
            "raw/num-node-list.csv.gz, line 1, column 1: `x` is not a whole number",
        ),
        (
            "raw/node-feat.csv.gz",
            "1,2\n3,4\n5,6\n",
            "raw/node-feat.csv.gz: 3 rows, but raw/num-node-list.csv.gz says 4",
        ),
    ] {
        let error = refused_with(name, contents);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_label_file_that_is_too_short_is_refused() {
    let expected =
        "raw/node-label.csv.gz: 3 rows, but raw/num-node-list.csv.gz says 4; get the dataset again";
    assert_eq!(refused_with("raw/node-label.csv.gz", "0\n1\n2\n"), expected);
}

#[test]
fn every_missing_file_is_named_but_the_names_of_classes() {
    for place in 0..dataset().len() {
        let mut files = dataset();
        let (name, _) = files.remove(place);
        if name.starts_with("mapping") {
            let directory = directory();
            write_ogb(directory.path(), &files);
            let read = ogb::read(directory.path()).unwrap();
            assert_eq!((read.classes, read.class_names.len()), (3, 0));
            continue;
        }
        let error = refused(&files);
        assert!(
            error.starts_with(&format!("{name}: the file is missing; an OGB dataset has raw/num-node")),
            "{error}"
        );
    }
}

#[test]
fn cells_that_make_no_sense_are_refused_with_their_place() {
    for (name, contents, expected) in [
        ("raw/edge.csv.gz", "0,1\n2,4\n3,3\n", "line 2, column 2: node 4 does not exist; with 4 nodes"),
        ("raw/edge.csv.gz", "0,1,1\n2,3,1\n3,3,1\n", "line 1: 3 columns where 2 are needed: source, target"),
        ("raw/edge.csv.gz", "source,target\n2,3\n3,3\n", "line 1, column 1: `source` is not a number"),
        ("raw/node-feat.csv.gz", "1,2\n3\n5,6\n7,8\n", "line 2: 1 fields where the first row has 2"),
        ("raw/node-feat.csv.gz", "1,2\n3,4\n5,\n7,8\n", "line 3, column 2: the cell is empty"),
        ("raw/node-feat.csv.gz", "1,2\n3,4\n5,inf\n7,8\n", "line 3, column 2: `inf` is not a finite number"),
        ("raw/node-label.csv.gz", "0\n1\n-1\n2\n", "line 3, column 1: `-1` is not a whole number from 0 on"),
        ("raw/node-label.csv.gz", "0\n1\n99999\n2\n", "line 3, column 1: class 99999 is too large"),
        ("split/time/test.csv.gz", "1\n7\n", "line 2, column 1: node 7 does not exist; with 4 nodes"),
        (
            "mapping/labelidx2arxivcategeory.csv.gz",
            "label idx,c\n0,a\n2,b\n",
            "line 3, column 1: class 2 where 1",
        ),
    ] {
        let error = refused_with(name, contents);
        assert!(error.starts_with(&format!("{name}, {expected}")), "{error}");
    }
    let error = refused_with("mapping/labelidx2arxivcategeory.csv.gz", "label idx,c\n0,a\n1,b\n");
    assert!(error.ends_with(": 2 classes have names, but labels go up to 2"), "{error}");
}

#[test]
fn splits_that_are_none_are_refused() {
    let expected =
        "split/time: node 0 is in the train set and in the validation set; leave it in one of them";
    assert_eq!(refused_with("split/time/train.csv.gz", "0\n2\n"), expected);
    let mut files = dataset();
    files.push(("split/space/train.csv.gz", "1\n".to_owned()));
    let error = refused(&files);
    assert!(error.starts_with("split: one directory is needed here, but there are 2: "), "{error}");
}

#[test]
fn something_that_is_no_archive_is_refused() {
    let whole = zipped(&dataset());
    assert!(refused_archive(b"<html>".to_vec()).starts_with("arxiv.zip: this is an HTML page"));
    for length in (0..whole.len()).step_by(7) {
        let error = refused_archive(whole[..length].to_vec());
        assert!(
            error.starts_with("arxiv.zip: not a zip archive, or one that is damaged or cut short"),
            "{error}"
        );
    }
}

#[test]
fn a_flipped_byte_is_noticed() {
    let whole = zipped(&dataset());
    let expected = ogb::read_archive(Cursor::new(whole.clone()), Path::new("arxiv.zip")).unwrap();
    for place in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[place] ^= 0x10;
        // Dates and the like may change without harm.
        if let Ok(read) = ogb::read_archive(Cursor::new(flipped), Path::new("arxiv.zip")) {
            let same_data = (read.edges == expected.edges) && (read.labels == expected.labels);
            assert!(same_data && read.features == expected.features, "byte {place}");
        }
    }
}

#[test]
fn members_that_want_to_be_elsewhere_are_refused() {
    for name in ["../raw/edge.csv.gz", "/raw/edge.csv.gz", "raw\\edge.csv.gz", "C:/raw/edge.csv.gz"] {
        let error = refused_archive(stored(&[(name, b"")]));
        assert!(error.ends_with("as no honest archive has; do not trust it"), "{error}");
    }
}

#[test]
fn a_zip_bomb_is_refused() {
    // Zeros pack to a thousandth.
    let error = refused_archive(stored(&[("raw/num-node-list.csv.gz", &vec![0; 64 << 20])]));
    assert!(error.contains("bytes, which no honest file of OGB does"), "{error}");
}

#[test]
fn a_gzip_bomb_in_an_archive_is_refused() {
    let bomb = gzip(&b"1\n".repeat(32 << 20));
    let error = refused_archive(stored(&[
        ("raw/num-node-list.csv.gz", b"4000000000"),
        ("raw/num-edge-list.csv.gz", b"3"),
        ("raw/node-label.csv.gz", &bomb),
    ]));
    assert!(error.contains("far more than its size suggests"), "{error}");
}

#[test]
fn a_list_of_millions_of_members_is_refused() {
    let names: Vec<String> = (0..150_000).map(|member| format!("{member:010}")).collect();
    let members: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    assert!(refused_archive(stored(&members)).contains("its list of members is too long"));
    assert!(
        refused_archive(stored(&members[..10_001]))
            .contains("an archive of 10001 members; there can be 10000")
    );
}

#[test]
fn a_path_that_does_not_exist_is_named() {
    let error = ogb::read(Path::new("nowhere/arxiv.zip")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read nowhere/arxiv.zip: "), "{error}");
    let directory = directory();
    let path = write(directory.path(), "arxiv.zip", b"");
    assert!(ogb::read(&path).is_err());
}
