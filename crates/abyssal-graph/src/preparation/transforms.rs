//! Changes to a whole dataset.

use abyssal_tensor::Matrix;
use abyssal_tensor::random::{Purpose, Stream};

use crate::formats::RawDataset;
use crate::{Features, Graph, GraphError, Split};

/// The nodes of the largest connected component, renumbered in their order; splits keep what is left of them, and
/// those of which a set is lost are left out.
pub(super) fn largest_component(raw: RawDataset) -> Result<RawDataset, GraphError> {
    const GONE: u32 = u32::MAX;
    let kept = Graph::from_edges(raw.nodes, raw.edges.iter().copied())?.components().largest();
    let mut places = vec![GONE; raw.nodes];
    for (place, &node) in (0..).zip(&kept) {
        places[node as usize] = place;
    }
    let place = |node: u32| Some(places[node as usize]).filter(|&place| place != GONE);
    let nodes = |nodes: &[u32]| nodes.iter().filter_map(|&node| place(node)).collect::<Vec<u32>>();
    let split = |split: &Split| {
        let name = split.name().to_string();
        let split = Split::new(nodes(split.train()), nodes(split.validation()), nodes(split.test()));
        split.ok().map(|split| split.with_name(name))
    };
    let edge = |&(source, target): &(u32, u32)| Some((place(source)?, place(target)?));
    Ok(RawDataset {
        nodes: kept.len(),
        edges: raw.edges.iter().filter_map(edge).collect(),
        features: raw.features.select_rows(&kept),
        labels: kept.iter().map(|&node| raw.labels[node as usize]).collect(),
        classes: raw.classes,
        class_names: raw.class_names,
        node_names: match raw.node_names.is_empty() {
            true => Vec::new(),
            false => kept.iter().map(|&node| raw.node_names[node as usize].clone()).collect(),
        },
        splits: raw.splits.iter().filter_map(split).collect(),
    })
}

/// Features that say nothing: independent numbers from N(0, 1).
pub(super) fn noise(rows: usize, columns: usize, seed: u64) -> Features {
    let stream = Stream::new(seed, Purpose::NoiseFeatures, 0, 0);
    Features::Dense(Matrix::from_fn(rows, columns, |row, column| {
        stream.normal((row * columns + column) as u64) as f32
    }))
}
