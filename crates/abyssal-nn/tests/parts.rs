//! Normalisations, connections and dropping on the GCN backbone, and PairNorm: what every model must do, and what
//! leaving out parts of a graph means.

mod common;

use std::collections::BTreeSet;

use abyssal_graph::{Features, Graph, normalized_adjacency};
use abyssal_nn::models::{GcnConfig, ModelConfig, PairNormConfig};
use abyssal_nn::{ConnectionKind, Dropping, GraphInput, Mode, NormalizationKind, Parameters, Pass};
use abyssal_tensor::Matrix;
use abyssal_tensor::ops::PairNormalization;
use abyssal_tensor::parallel::with_threads;
use abyssal_tensor::random::{Purpose, Stream};
use abyssal_tensor::tape::{Pool, Tape};
use abyssal_tensor::testing::{assert_gradient, random_matrix};

use common::{Outcome, Problem, connected_graph, random_features, sparse_features};

const TRAINING: Mode = Mode::Training { seed: 11, epoch: 3 };

const NORMALIZATIONS: [NormalizationKind; 9] = [
    NormalizationKind::None,
    NormalizationKind::Batch,
    NormalizationKind::Layer,
    NormalizationKind::Pair,
    NormalizationKind::PairSi,
    NormalizationKind::PairScs,
    NormalizationKind::Mean,
    NormalizationKind::Node,
    NormalizationKind::Group,
];

const CONNECTIONS: [ConnectionKind; 6] = [
    ConnectionKind::None,
    ConnectionKind::Residual,
    ConnectionKind::Initial,
    ConnectionKind::Dense,
    ConnectionKind::Jumping,
    ConnectionKind::JumpingMaximum,
];

/// Every normalisation, every connection, both kinds of dropping, and PairNorm in all variants.
fn models(layers: usize, hidden: usize) -> Vec<(String, ModelConfig)> {
    let gcn = GcnConfig { layers, hidden, ..Default::default() };
    let named = |name: String, config| (name, ModelConfig::Gcn(config));
    let mut models = Vec::new();
    for normalization in NORMALIZATIONS {
        models.push(named(format!("{normalization:?}"), GcnConfig { normalization, ..gcn.clone() }));
    }
    for connection in CONNECTIONS {
        let normalization = NormalizationKind::Batch;
        models.push(named(format!("{connection:?}"), GcnConfig { connection, ..gcn.clone() }));
        let both = GcnConfig { connection, normalization, ..gcn.clone() };
        models.push(named(format!("{connection:?} and batch"), both));
    }
    models.push(named("drop_edge".into(), GcnConfig { drop_edge: 0.4, ..gcn.clone() }));
    models.push(named("drop_node".into(), GcnConfig { drop_node: 0.4, ..gcn.clone() }));
    models.push(named("both drops".into(), GcnConfig { drop_edge: 0.3, drop_node: 0.2, ..gcn }));
    for mode in [PairNormalization::Pn, PairNormalization::PnSi, PairNormalization::PnScs] {
        let config = PairNormConfig { layers, hidden, mode, scale: 2.0, ..Default::default() };
        models.push((format!("pairnorm {mode:?}"), ModelConfig::PairNorm(config)));
    }
    models
}

/// Random values in all parameters: biases and shifts start at zero, which would hide mistakes.
fn scatter(parameters: &mut Parameters<f64>) {
    for index in 0..parameters.len() {
        let value = parameters.value_mut(index);
        let noise = random_matrix(value.rows(), value.columns(), 40 + index as u64);
        for (value, noise) in value.as_mut_slice().iter_mut().zip(noise.as_slice()) {
            *value += 0.3 * noise;
        }
    }
}

/// Gradients of all parameters against central differences, in training passes that drop everything that can be
/// dropped. No input of a ReLU happens to lie within the step of the differences.
#[test]
fn gradients_are_exact() {
    for (kind, features) in [("dense", random_features(10, 5, 2)), ("sparse", sparse_features(10, 5, 2))] {
        let problem = Problem::new(connected_graph(10, 6, 1), features, 3);
        for (name, config) in models(4, 4) {
            for mode in [Mode::Evaluation, TRAINING] {
                let mut setup = problem.setup::<f64>(&config, 5);
                setup.mode = mode;
                scatter(&mut setup.parameters);
                let outcome = setup.train();
                for (index, (parameter, gradient)) in outcome.gradients.iter().enumerate() {
                    let point = Matrix::clone(setup.parameters.iter().nth(index).unwrap().1);
                    let what = format!("{kind} features, {name}, {mode:?}, {parameter}");
                    assert_gradient(&what, &point, gradient, |probe| {
                        let mut moved = setup.parameters.clone();
                        *moved.value_mut(index) = probe.clone();
                        setup.evaluate(&moved).1
                    });
                }
            }
        }
    }
}

/// Other numbers for the nodes give the same scores to the same nodes.
#[test]
fn relabelled_nodes_get_the_same_scores() {
    let nodes = 30;
    let order = Stream::new(8, Purpose::Generation, 0, 0).permutation(nodes);
    let graph = connected_graph(nodes, 40, 3);
    let features = random_matrix(nodes, 5, 4);
    let ends = (0..nodes).flat_map(|node| graph.neighbours(node).iter().map(move |&other| (node, other)));
    let moved = ends.map(|(node, other)| (order[node] as u32, order[other as usize] as u32));
    let moved = Graph::from_edges(nodes, moved).unwrap();
    let mut moved_features = Matrix::zeros(nodes, 5);
    for (node, &place) in order.iter().enumerate() {
        moved_features.row_mut(place).copy_from_slice(features.row(node));
    }
    let problem = Problem::new(graph, Features::Dense(features.cast()), 3);
    let moved = Problem::new(moved, Features::Dense(moved_features.cast()), 3);
    for (name, config) in models(4, 6) {
        let [scores, moved] = [&problem, &moved].map(|problem| {
            let mut setup = problem.setup::<f64>(&config, 5);
            scatter(&mut setup.parameters);
            setup.evaluate(&setup.parameters).0
        });
        for (node, &place) in order.iter().enumerate() {
            for (left, right) in scores.row(node).iter().zip(moved.row(place)) {
                assert!((left - right).abs() < 1e-9, "{name}: node {node}, {left} and {right}");
            }
        }
    }
}

/// 64 layers on a path, a star and isolated nodes, in training and evaluation.
#[test]
fn deep_models_stay_finite() {
    let (path, star) = ((0..9).map(|node| (node, node + 1)), (11..20).map(|node| (node, 11)));
    let graph = Graph::from_edges(24, path.chain(star)).unwrap();
    let problem = Problem::new(graph, random_features(24, 5, 2), 3);
    for (name, config) in models(64, 8) {
        for mode in [Mode::Evaluation, TRAINING] {
            let mut setup = problem.setup::<f32>(&config, 1);
            setup.mode = mode;
            setup.train().assert_finite(&format!("{name}, {mode:?}"));
        }
    }
}

fn bits(outcome: &Outcome<f32>) -> Vec<u32> {
    let gradients = outcome.gradients.iter().flat_map(|(_, gradient)| gradient.as_slice());
    outcome.logits.as_slice().iter().chain(gradients).map(|value| value.to_bits()).collect()
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let problem = Problem::new(connected_graph(2500, 7500, 1), random_features(2500, 20, 2), 5);
    for (name, config) in models(4, 24) {
        let run = |threads| {
            let outcome = with_threads(threads, || {
                let mut setup = problem.setup::<f32>(&config, 3);
                setup.mode = Mode::Training { seed: 4, epoch: 5 };
                setup.train()
            });
            bits(&outcome.expect("threads"))
        };
        let alone = run(1);
        for threads in [2, 3] {
            assert!(alone == run(threads), "{name}: {threads} threads");
        }
    }
}

/// `Â` of one training pass with DropEdge, dense.
fn dropped(input: &GraphInput<f64>, share: f64, mode: Mode) -> Option<Matrix<f64>> {
    let pool = Pool::new();
    let tape = Tape::inference(&pool);
    let pass = Pass::new(&tape, &Parameters::from_named([]), mode);
    let reweighting = Dropping { edges: share, nodes: 0.0 }.reweighting(&pass, input)?;
    let matrix = input.adjacency().matrix();
    let mut dense = Matrix::zeros(matrix.rows(), matrix.columns());
    for row in 0..matrix.rows() {
        for entry in matrix.offsets()[row]..matrix.offsets()[row + 1] {
            dense.set(row, matrix.indices()[entry] as usize, reweighting.values()[entry]);
        }
    }
    Some(dense)
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
        for other in [Mode::Training { seed: 11, epoch: 4 }, Mode::Training { seed: 12, epoch: 3 }] {
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
    let config = GcnConfig { layers: 2, hidden: 4, drop_edge: 0.5, input_dropout: 0.0, ..Default::default() };
    let mut setup = problem.setup::<f64>(&ModelConfig::Gcn(config), 5);
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
    let plain = GcnConfig { layers: 3, hidden: 6, ..Default::default() };
    let dropping = GcnConfig { drop_edge: 0.5, drop_node: 0.5, ..plain.clone() };
    let [plain, dropping] = [plain, dropping].map(|config| {
        let setup = problem.setup::<f32>(&ModelConfig::Gcn(config), 5);
        assert!(setup.model.has_dropout());
        setup.train()
    });
    assert_eq!(plain, dropping);
    let input = GraphInput::new(&problem.graph, &problem.features);
    assert!(dropped(&input, 0.5, Mode::Evaluation).is_none());
    let only = GcnConfig { drop_edge: 0.1, input_dropout: 0.0, hidden_dropout: 0.0, ..Default::default() };
    assert!(problem.setup::<f32>(&ModelConfig::Gcn(only), 5).model.has_dropout());
}
