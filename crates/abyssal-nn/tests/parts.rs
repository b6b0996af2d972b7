//! Normalisations, connections and random dropping: how they relate to other models, and what leaving out parts of a
//! graph means.

mod common;

use std::collections::BTreeSet;

use abyssal_graph::{Graph, normalized_adjacency};
use abyssal_nn::aggregation::Backbone;
use abyssal_nn::models::{GcnConfig, Head, ModelConfig, ModularConfig, RSoftGraphAinConfig};
use abyssal_nn::{ConnectionKind, Dropping, GraphInput, Mode, NormalizationKind, Parameters, Pass, Rank};
use abyssal_tensor::Matrix;
use abyssal_tensor::ops::Centering;
use abyssal_tensor::tape::{Pool, Tape};
use abyssal_tensor::testing::assert_gradient;

use common::{Problem, connected_graph, random_features};

const TRAINING: Mode = Mode::Training { seed: 11, pass: 3 };

/// `Â` of one training pass with DropEdge, dense.
fn dropped(input: &GraphInput<f64>, share: f64, mode: Mode) -> Option<Matrix<f64>> {
    let pool = Pool::new();
    let tape = Tape::inference(&pool);
    let pass = Pass::new(&tape, &Parameters::from_named([]), mode);
    let thinned = Dropping { edges: share, nodes: 0.0 }.thinned(&pass, input)?;
    Some(thinned.adjacency().matrix().to_dense())
}

/// What is left is `Â` of a graph without the asked share of edges, in both directions, to the last bit.
#[test]
fn drop_edge_renormalizes_the_graph_that_is_left() {
    let nodes = 400;
    let graph = connected_graph(nodes, 2000, 1);
    let input = GraphInput::<f64>::new(&graph, &random_features(nodes, 2, 2));
    for share in [0.2, 0.7] {
        let dense = dropped(&input, share, TRAINING).unwrap();
        let kept = (0..nodes as u32).flat_map(|row| (0..row).map(move |column| (row, column)));
        let kept: BTreeSet<_> =
            kept.filter(|&(row, column)| dense.get(row as usize, column as usize) != 0.0).collect();
        let rest = Graph::from_edges(nodes, kept.iter().copied()).unwrap();
        assert_eq!(dense, normalized_adjacency::<f64>(&rest).to_dense(), "share {share}");
        let left = kept.len() as f64 / graph.edges() as f64;
        assert!((left - (1.0 - share)).abs() < 0.04, "{left} of the edges left, share {share}");
        // Other epochs and seeds leave out other edges.
        for other in [Mode::Training { seed: 11, pass: 4 }, Mode::Training { seed: 12, pass: 3 }] {
            assert_ne!(dropped(&input, share, other).unwrap(), dense);
        }
    }
}

/// In a directed graph the values of the transpose follow.
#[test]
fn drop_edge_works_on_directed_graphs() {
    let edges = (0..30u32).flat_map(|node| [(node, (node + 1) % 30), (node, (node * 7 + 3) % 30)]);
    let graph = Graph::from_directed_edges(30, edges).unwrap();
    let problem = Problem::new(graph, random_features(30, 5, 2), 3);
    let config =
        ModularConfig { layers: 2, hidden: 4, drop_edge: 0.5, input_dropout: 0.0, ..Default::default() };
    let mut setup = problem.setup::<f64>(&ModelConfig::Modular(config), 5);
    setup.mode = TRAINING;
    let outcome = setup.train();
    let point = Matrix::clone(setup.parameters.iter().next().unwrap().1);
    assert_gradient("first weight", &point, &outcome.gradients[0].1, |probe| {
        let mut moved = setup.parameters.clone();
        *moved.value_mut(0) = probe.clone();
        setup.evaluate(&moved).1
    });
}

/// Evaluation sees the whole graph: the scores of a model that drops are those of one that does not.
#[test]
fn evaluation_drops_nothing() {
    let problem = Problem::new(connected_graph(50, 60, 1), random_features(50, 5, 2), 3);
    let plain = ModularConfig { layers: 3, hidden: 6, ..Default::default() };
    let dropping = ModularConfig { drop_edge: 0.5, drop_node: 0.5, ..plain.clone() };
    let [plain, dropping] = [plain, dropping].map(|config| {
        let setup = problem.setup::<f32>(&ModelConfig::Modular(config), 5);
        assert!(setup.model.has_dropout());
        setup.train()
    });
    assert_eq!(plain, dropping);
    let input = GraphInput::new(&problem.graph, &problem.features);
    assert!(dropped(&input, 0.5, Mode::Evaluation).is_none());
    let only =
        ModularConfig { drop_edge: 0.1, input_dropout: 0.0, hidden_dropout: 0.0, ..Default::default() };
    assert!(problem.setup::<f32>(&ModelConfig::Modular(only), 5).model.has_dropout());
}

/// Without parts, on its first backbone, the network is a GCN: the same bits, dropout included.
#[test]
fn nothing_added_is_a_gcn() {
    let problem = Problem::new(connected_graph(50, 60, 1), random_features(50, 5, 2), 3);
    let plain = ModelConfig::Modular(ModularConfig { layers: 4, hidden: 6, ..Default::default() });
    let gcn = ModelConfig::Gcn(GcnConfig { layers: 4, hidden: 6, ..Default::default() });
    let [plain, gcn] = [plain, gcn].map(|config| {
        let mut setup = problem.setup::<f32>(&config, 5);
        setup.mode = TRAINING;
        setup.train()
    });
    assert_eq!(plain, gcn);
}

/// SoftGraphAIN with fuzzy connections is R-SoftGraphAIN that centres the combined sum, on every backbone.
#[test]
fn soft_normalization_with_fuzzy_connections_is_our_model() {
    let problem = Problem::new(connected_graph(50, 60, 1), random_features(50, 5, 2), 3);
    for backbone in [Backbone::Gcn, Backbone::Sgc] {
        let (layers, hidden, rank, strength) = (6, 6, Rank::Count(5), 0.7);
        let (input_dropout, hidden_dropout) = (0.0, 0.0);
        let parts = ModularConfig { layers, hidden, backbone, rank, strength, ..Default::default() };
        let parts = ModularConfig { input_dropout, hidden_dropout, ..parts };
        let parts = ModularConfig { normalization: NormalizationKind::SoftGraphAin, ..parts };
        let parts = ModularConfig { connection: ConnectionKind::Fuzzy, ..parts };
        let head = if backbone == Backbone::Gcn { Head::Convolution } else { Head::Linear };
        let ours =
            RSoftGraphAinConfig { layers, hidden, backbone, rank, strength, head, ..Default::default() };
        let ours = RSoftGraphAinConfig { centering: Centering::Combined, ..ours };
        let ours = problem.setup::<f64>(&ModelConfig::RSoftGraphAin(ours), 5);
        let mut parts = problem.setup::<f64>(&ModelConfig::Modular(parts), 5);
        // Biases of hidden layers, which ours has not, are zero at the start.
        let names: Vec<String> = parts.parameters.iter().map(|(name, _)| name.to_string()).collect();
        for (index, name) in names.iter().enumerate() {
            let ours_name = match name.strip_prefix("layers.5.") {
                Some(name) if backbone == Backbone::Gcn => format!("head.{name}"),
                _ => name.clone(),
            };
            if let Some((_, value)) = ours.parameters.iter().find(|(name, _)| *name == ours_name) {
                *parts.parameters.value_mut(index) = Matrix::clone(value);
            }
        }
        let (ours, parts) = (ours.train(), parts.train());
        let difference = ours.logits.max_difference(&parts.logits);
        assert!(difference < 1e-9, "{backbone:?}: {difference}");
        assert!(ours.logits.max_difference(&Matrix::zeros(50, 3)) > 1e-3);
    }
}
