//! Any bytes as the two files of geom-gcn, in both encodings.
#![no_main]

use abyssal_graph::formats::geom_gcn::{FeatureEncoding, parse_edges, parse_nodes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for encoding in [FeatureEncoding::Dense, FeatureEncoding::Indices] {
        if let Ok(nodes) = parse_nodes(data, encoding) {
            assert_eq!(nodes.features.rows(), nodes.labels.len());
        }
    }
    if let Ok(edges) = parse_edges(data, 10) {
        assert!(edges.iter().all(|&(source, target)| source.max(target) < 10));
    }
});
