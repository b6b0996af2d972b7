//! Any small graph, and what reading it has to give.

use std::collections::BTreeSet;

use abyssal_graph::formats::RawDataset;
use abyssal_graph::{Features, Split};
use abyssal_tensor::{Csr, Matrix};
use proptest::prelude::*;

/// A graph with awkward ids; labels are texts or numbers, unknown for some; the set of a node is 0 (none) to 3 (test).
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) ids: Vec<String>,
    pub(crate) features: Matrix<f32>,
    pub(crate) edges: Vec<(u32, u32)>,
    pub(crate) labels: Vec<Option<String>>,
    pub(crate) sets: Vec<usize>,
}

pub(crate) fn made() -> impl Strategy<Value = Made> {
    let shape = (3usize..9, 1usize..6, prop::sample::select(vec![0.1, 0.9]));
    shape.prop_flat_map(|(nodes, columns, density)| {
        let value = prop_oneof![
            Just(0.0f32),
            prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL | prop::num::f32::ZERO,
        ];
        let value =
            (prop::bool::weighted(density), value).prop_map(|(there, value)| if there { value } else { 0.0 });
        let node = 0..nodes as u32;
        let label = prop_oneof![
            Just(
                prop::collection::vec(
                    prop::option::of((-3i64..12).prop_map(|label| label.to_string())),
                    nodes
                )
                .boxed()
            ),
            Just(prop::collection::vec(prop::option::of("[a-c é,\"]{0,3}[a-c]"), nodes).boxed()),
        ];
        (
            prop::collection::vec("[a-c ,;\t\"'#%\né漢_.-]{0,5}", nodes),
            prop::collection::vec(value, nodes * columns),
            prop::collection::vec((node.clone(), node), 1..12),
            label.prop_flat_map(|labels| labels),
            prop::collection::vec(0usize..4, nodes - 3),
            Just((0..nodes).collect::<Vec<_>>()).prop_shuffle(),
        )
            .prop_map(move |(ids, values, edges, labels, others, order)| {
                let mut sets = vec![0; nodes];
                for (&node, set) in order.iter().zip([1, 2, 3].into_iter().chain(others)) {
                    sets[node] = set;
                }
                // Different from each other, no numbers, and without blanks around them.
                let ids = ids.iter().enumerate().map(|(node, id)| format!("{id}x{node}").trim().to_owned());
                let mut labels: Vec<Option<String>> =
                    labels.into_iter().map(|label| label.map(|label| label.trim().to_owned())).collect();
                if labels.iter().flatten().all(|label| label == "-1") {
                    labels[0] = Some("7".to_owned());
                }
                Made {
                    ids: ids.collect(),
                    features: Matrix::from_slice(nodes, columns, &values),
                    edges,
                    labels,
                    sets,
                }
            })
    })
}

impl Made {
    pub(crate) fn nodes(&self) -> usize {
        self.ids.len()
    }

    /// What reading has to give, with names of nodes or without.
    pub(crate) fn expected(&self, named: bool) -> RawDataset {
        let (labels, class_names) = self.classes();
        let set =
            |wanted| (0..).zip(&self.sets).filter(|(_, set)| **set == wanted).map(|(node, _)| node).collect();
        let nonzero = self.features.as_slice().iter().filter(|&&value| value != 0.0).count();
        let features = match nonzero * 4 < self.features.as_slice().len() {
            true => Features::Sparse(Csr::from_dense(&self.features)),
            false => Features::Dense(self.features.clone()),
        };
        RawDataset {
            nodes: self.nodes(),
            edges: self.edges.clone(),
            features,
            labels,
            classes: class_names.len(),
            class_names,
            node_names: if named { self.ids.clone() } else { Vec::new() },
            splits: vec![Split::new(set(1), set(2), set(3)).expect("no set is empty")],
        }
    }

    fn classes(&self) -> (Vec<Option<u32>>, Vec<String>) {
        let known: Vec<&String> = self.labels.iter().flatten().collect();
        let names: Vec<String> =
            match known.iter().map(|label| label.parse::<i64>().ok()).collect::<Option<BTreeSet<_>>>() {
                Some(numbers) => numbers.iter().filter(|&&number| number != -1).map(i64::to_string).collect(),
                None => known.into_iter().collect::<BTreeSet<_>>().into_iter().cloned().collect(),
            };
        let class = |label: &String| names.iter().position(|name| name == label).map(|class| class as u32);
        (self.labels.iter().map(|label| label.as_ref().and_then(class)).collect(), names)
    }
}
