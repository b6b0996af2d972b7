//! Any bytes as the tables of a graph of one's own, separated by zeros: features, edges, labels, masks.
#![no_main]

use abyssal_graph::formats::own::{parse_edges, parse_features, parse_labels, parse_masks};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut tables = data.splitn(4, |&byte| byte == 0);
    let Ok(features) = parse_features(tables.next().unwrap_or_default()) else { return };
    let nodes = features.nodes;
    assert_eq!(features.features.rows(), nodes.nodes());
    assert!(features.features.check_finite().is_ok());
    let inside = |node: u32| (node as usize) < nodes.nodes();
    if let Ok(edges) = parse_edges(tables.next().unwrap_or_default(), &nodes) {
        assert!(edges.iter().all(|&(source, target)| inside(source) && inside(target)));
    }
    if let Ok(labels) = parse_labels(tables.next().unwrap_or_default(), &nodes) {
        assert_eq!(labels.labels.len(), nodes.nodes());
        assert!(labels.labels.iter().flatten().all(|&label| (label as usize) < labels.class_names.len()));
    }
    if let Ok(split) = parse_masks(tables.next().unwrap_or_default(), &nodes) {
        assert!(split.test().iter().all(|&node| inside(node)));
    }
});
