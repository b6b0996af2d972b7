//! The real files have the statistics that are published of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use abyssal_graph::formats::geom_gcn::{self, FeatureEncoding};
use abyssal_graph::formats::ogb;
use abyssal_graph::{Features, Graph};

use crate::common::data;
use crate::{directory, gzip, write};

/// Nodes, undirected edges, loops, lines, distinct lines, features, and those that are not zero.
type Statistics = (usize, usize, usize, usize, usize, usize, usize);

fn check(
    directory: &Path,
    encoding: FeatureEncoding,
    expected: Statistics,
    classes: &[usize],
    homophily: f64,
) {
    let raw = geom_gcn::read(directory, encoding).expect("a file as it was published");
    let graph = Graph::from_edges(raw.nodes, raw.edges.iter().copied()).expect("edges among the nodes");
    let loops: BTreeSet<u32> =
        raw.edges.iter().filter(|(from, to)| from == to).map(|&(node, _)| node).collect();
    let distinct = raw.edges.iter().collect::<BTreeSet<_>>().len();
    let Features::Sparse(features) = &raw.features else { panic!("bags of words are sparse") };
    let found = (
        raw.nodes,
        graph.edges(),
        loops.len(),
        raw.edges.len(),
        distinct,
        features.columns(),
        features.stored(),
    );
    assert_eq!(found, expected, "{}", directory.display());
    let size = |class: usize| raw.labels.iter().filter(|label| **label == Some(class as u32)).count();
    assert_eq!((0..raw.classes).map(size).collect::<Vec<_>>(), classes);
    let measured = graph.edge_homophily(&raw.labels).expect("labelled edges");
    assert_eq!(format!("{measured:.4}"), format!("{homophily:.4}"));
}

#[test]
fn geom_gcn_has_its_published_statistics() {
    let Some(data) = data() else { return };
    let (dense, indices) = (FeatureEncoding::Dense, FeatureEncoding::Indices);
    let texas = [33, 1, 18, 101, 30];
    check(&data.join("texas"), dense, (183, 279, 16, 325, 325, 1703, 15266), &texas, 0.0609);
    check(
        &data.join("wisconsin"),
        dense,
        (251, 450, 16, 515, 515, 1703, 24057),
        &[10, 70, 118, 32, 21],
        0.1778,
    );
    check(&data.join("cornell"), dense, (183, 277, 3, 298, 298, 1703, 17240), &[38, 16, 30, 82, 17], 0.1227);
    check(&data.join("cornell/legacy-2020"), dense, (183, 277, 3, 298, 298, 1703, 15266), &texas, 0.2960);
    let actor = (7600, 26659, 93, 33391, 30019, 932, 40977);
    check(&data.join("actor"), indices, actor, &[853, 1337, 1630, 1815, 1965], 0.2167);
}

/// Edges and features of ogbn-arxiv are too large to be kept beside the tests, so they are made up.
#[test]
fn arxiv_has_its_published_labels_and_split() {
    let Some(data) = data() else { return };
    let directory = directory();
    for name in [
        "raw/node-label.csv.gz",
        "raw/num-node-list.csv.gz",
        "split/time/train.csv.gz",
        "split/time/valid.csv.gz",
        "split/time/test.csv.gz",
        "mapping/labelidx2arxivcategeory.csv.gz",
    ] {
        write(
            directory.path(),
            name,
            &fs::read(data.join("ogbn-arxiv").join(name)).expect("a file of arxiv"),
        );
    }
    write(directory.path(), "raw/num-edge-list.csv.gz", &gzip(b"2\n"));
    write(directory.path(), "raw/edge.csv.gz", &gzip(b"0,169342\n169342,1\n"));
    let rows: String = (0..169_343).map(|node| format!("{node},-0.{node}\n")).collect();
    write(directory.path(), "raw/node-feat.csv.gz", &gzip(rows.as_bytes()));

    let raw = ogb::read(directory.path()).unwrap();
    assert_eq!((raw.nodes, raw.classes, raw.features.columns()), (169_343, 40, 2));
    assert!(raw.labels.iter().all(Option::is_some));
    assert_eq!(raw.labels[..3], [Some(4), Some(5), Some(28)]);
    assert_eq!((raw.class_names[0].as_str(), raw.class_names.len()), ("arxiv cs na", 40));
    let [split] = raw.splits.as_slice() else { panic!("one split") };
    let sizes = (split.train().len(), split.validation().len(), split.test().len());
    assert_eq!((split.name(), sizes), ("official", (90_941, 29_799, 48_603)));
    assert!(split.check_labels(&raw.labels).is_ok());
}
