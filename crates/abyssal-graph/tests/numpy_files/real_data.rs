//! The benchmarks themselves, in the directory `ABYSSAL_DATA`.

use std::fs::File;
use std::io::BufReader;

use abyssal_graph::formats::gnn_benchmark;
use abyssal_graph::formats::npz::{Npz, masks};
use abyssal_graph::{Features, Graph};

use crate::common::data;

/// What is known about a dataset.
struct Known {
    file: &'static str,
    nodes: usize,
    edges: usize,
    loops: usize,
    listed: usize,
    features: usize,
    non_zeros: usize,
    class_sizes: &'static [usize],
}

#[test]
fn the_benchmarks_have_the_statistics_they_are_known_for() {
    let Some(directory) = data() else { return };
    for known in [
        Known {
            file: "coauthor-cs/ms_academic_cs.npz",
            nodes: 18333,
            edges: 81894,
            loops: 0,
            listed: 163788,
            features: 6805,
            non_zeros: 1092079,
            class_sizes: &[708, 462, 2050, 429, 1394, 2193, 371, 924, 775, 118, 1444, 2033, 420, 4136, 876],
        },
        Known {
            file: "coauthor-physics/ms_academic_phy.npz",
            nodes: 34493,
            edges: 247962,
            loops: 0,
            listed: 495924,
            features: 8415,
            non_zeros: 1137311,
            class_sizes: &[5750, 5045, 17426, 2753, 3519],
        },
        Known {
            file: "amazon-computers/amazon_electronics_computers.npz",
            nodes: 13752,
            edges: 245861,
            loops: 0,
            listed: 287209,
            features: 767,
            non_zeros: 3675081,
            class_sizes: &[436, 2142, 1414, 542, 5158, 308, 487, 818, 2156, 291],
        },
        Known {
            file: "amazon-photo/amazon_electronics_photo.npz",
            nodes: 7650,
            edges: 119081,
            loops: 1,
            listed: 143663,
            features: 745,
            non_zeros: 1979909,
            class_sizes: &[369, 1686, 703, 915, 882, 823, 1941, 331],
        },
    ] {
        let dataset = gnn_benchmark::read(&directory.join(known.file)).unwrap();
        assert_eq!(dataset.nodes, known.nodes, "{}", known.file);
        assert_eq!(dataset.edges.len(), known.listed, "{}", known.file);
        let loops = dataset.edges.iter().filter(|(source, target)| source == target).count();
        assert_eq!(loops, known.loops, "{}", known.file);
        let graph = Graph::from_edges(dataset.nodes, dataset.edges.iter().copied()).unwrap();
        assert_eq!(graph.edges(), known.edges, "{}", known.file);
        let Features::Sparse(features) = &dataset.features else { panic!("features are stored sparse") };
        assert_eq!((features.rows(), features.columns()), (known.nodes, known.features), "{}", known.file);
        assert_eq!(features.values().iter().filter(|&&value| value != 0.0).count(), known.non_zeros);
        assert_eq!(
            (dataset.classes, dataset.class_names.len()),
            (known.class_sizes.len(), known.class_sizes.len())
        );
        let mut sizes = vec![0; dataset.classes];
        dataset.labels.iter().flatten().for_each(|&label| sizes[label as usize] += 1);
        assert_eq!(sizes, known.class_sizes, "{}", known.file);
        assert!(dataset.node_names.is_empty() && dataset.splits.is_empty());
    }
}

/// The name of a directory, its number of nodes, and training, validation and test nodes of each of its splits.
type KnownSplits = (&'static str, usize, [[usize; 3]; 10]);

#[test]
fn the_splits_have_the_sizes_they_are_known_for() {
    let Some(directory) = data() else { return };
    let (whole, component) = ([1596, 1065, 666], [1017, 679, 424]);
    let citeseer = [whole, whole, whole, whole, component, component, whole, whole, whole, whole];
    let every = |sizes| [sizes; 10];
    let known: [KnownSplits; 7] = [
        ("cora/splits/cora", 2708, every([1192, 796, 497])),
        ("citeseer/splits/citeseer", 3327, citeseer),
        ("pubmed/splits/pubmed", 19717, every([9463, 6310, 3944])),
        ("texas/splits/texas", 183, every([87, 59, 37])),
        ("cornell/splits/cornell", 183, every([87, 59, 37])),
        ("wisconsin/splits/wisconsin", 251, every([120, 80, 51])),
        ("actor/splits/film", 7600, every([3648, 2432, 1520])),
    ];
    let mut expected = Vec::new();
    for (name, nodes, sizes) in known {
        for (index, sizes) in sizes.into_iter().enumerate() {
            expected.push((format!("{name}_split_0.6_0.2_{index}.npz"), nodes, sizes));
        }
    }
    // 20 nodes of each class to train, 30 for validation, the rest (of the largest component) to test.
    for (name, nodes, classes, drawn) in [
        ("coauthor-cs", 18333, 15, 18333),
        ("coauthor-physics", 34493, 5, 34493),
        ("amazon-computers", 13752, 10, 13381),
        ("amazon-photo", 7650, 8, 7487),
    ] {
        let sizes = [20 * classes, 30 * classes, drawn - 50 * classes];
        expected.push((format!("{name}/splits/paper_seed_1.npz"), nodes, sizes));
    }
    for (name, nodes, sizes) in expected {
        let file = File::open(directory.join(&name)).unwrap();
        let mut npz = Npz::open(BufReader::new(file)).unwrap();
        let (masked, split) = masks(&mut npz).unwrap().unwrap();
        assert_eq!(masked, nodes, "{name}");
        assert_eq!([split.train().len(), split.validation().len(), split.test().len()], sizes, "{name}");
    }
}
