//! Random datasets for tests.

use abyssal_tensor::{Csr, Matrix};
use proptest::prelude::*;

use crate::formats::RawDataset;
use crate::{Features, Split};

/// Any small dataset: directed edges with loops and repetitions, dense or sparse features, nodes without label.
pub fn raw_dataset() -> impl Strategy<Value = RawDataset> {
    (3usize..20, 1usize..6, 2usize..4).prop_flat_map(|(nodes, columns, classes)| {
        let edges = prop::collection::vec((0..nodes as u32, 0..nodes as u32), 0..40);
        let values = prop::collection::vec(prop_oneof![Just(0f32), -9f32..9.0], nodes * columns);
        let labels = prop::collection::vec(prop::option::weighted(0.8, 0..classes as u32), nodes);
        (edges, values, labels, any::<[bool; 4]>()).prop_map(move |(edges, values, labels, choices)| {
            let [sparse, class_names, node_names, split] = choices;
            let matrix = Matrix::from_slice(nodes, columns, &values);
            let names = |chosen: bool, kind: &str, count: usize| {
                (0..if chosen { count } else { 0 }).map(|number| format!("{kind} {number}")).collect()
            };
            let given = Split::new(vec![1], vec![0], vec![2]).expect("three different nodes");
            RawDataset {
                nodes,
                edges,
                features: match sparse {
                    true => Features::Sparse(Csr::from_dense(&matrix)),
                    false => Features::Dense(matrix),
                },
                labels,
                classes,
                class_names: names(class_names, "class", classes),
                node_names: names(node_names, "node", nodes),
                splits: split.then(|| given.with_name("given")).into_iter().collect(),
            }
        })
    })
}
