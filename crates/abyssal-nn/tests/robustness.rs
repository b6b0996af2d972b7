//! Graphs and features that are legal and strange: numbers stay finite, and where they cannot, the layer is named.

mod common;

use abyssal_graph::{Features, Graph};
use abyssal_nn::models::{GcnConfig, ModelConfig, Precision, RSoftGraphAinConfig};
use abyssal_nn::{NnError, Rank};
use abyssal_tensor::ops::{Centering, Gradient};
use abyssal_tensor::{Csr, Matrix, TensorError};

use common::{Problem, connected_graph, random_features};

const NODES: usize = 24;

/// Soft and hard, full and detached, both centrings, in both precisions: every training pass is finite.
fn assert_finite(name: &str, graph: &Graph, features: &Features, layers: usize) {
    let problem = Problem::new(graph.clone(), features.clone(), 3);
    let base = RSoftGraphAinConfig { layers, hidden: 8, rank: Rank::Ratio(1.0), ..Default::default() };
    let hard = RSoftGraphAinConfig { strength: 1.0, ..base.clone() };
    for (kind, config) in [("soft", &base), ("hard", &hard)] {
        for gradient in [Gradient::Full, Gradient::Detached] {
            for centering in [Centering::Aggregated, Centering::Combined] {
                let config = RSoftGraphAinConfig { gradient, centering, ..config.clone() };
                let what = format!("{name}, {kind}, {gradient:?}, {centering:?}");
                assert_finite_in_both(&what, &problem, &ModelConfig::RSoftGraphAin(config));
            }
        }
    }
    let gcn = GcnConfig { layers, hidden: 8, ..Default::default() };
    assert_finite_in_both(&format!("{name}, gcn"), &problem, &ModelConfig::Gcn(gcn));
}

fn assert_finite_in_both(what: &str, problem: &Problem, config: &ModelConfig) {
    fn run<T: Precision>(what: &str, problem: &Problem, config: &ModelConfig) {
        let what = format!("{what}, {}", T::NAME);
        let outcome = problem.setup::<T>(config, 1).try_train();
        outcome.unwrap_or_else(|error| panic!("{what}: {error}")).assert_finite(&what);
    }
    run::<f32>(what, problem, config);
    run::<f64>(what, problem, config);
}

/// A ring: every node has two neighbours, so `Â` keeps constants, and centring leaves nothing of them but rounding
/// errors.
fn ring() -> Graph {
    let next = |node| (node, (node + 1) % NODES as u32);
    Graph::from_edges(NODES, (0..NODES as u32).map(next)).expect("all ends are nodes")
}

/// A path of ten nodes, a star of nine, and isolated nodes.
fn disconnected() -> Graph {
    let (path, star) = ((0..9).map(|node| (node, node + 1)), (11..20).map(|node| (node, 11)));
    Graph::from_edges(NODES, path.chain(star)).expect("all ends are nodes")
}

fn constant(value: f32) -> Features {
    Features::Dense(Matrix::from_fn(NODES, 5, |_, _| value))
}

/// A node without neighbours keeps what it has, `Â_ii = 1`; a graph of such nodes is legal.
#[test]
fn isolated_nodes() {
    assert_finite("isolated nodes", &disconnected(), &random_features(NODES, 5, 2), 4);
    let no_edges = Graph::from_edges(NODES, []).unwrap();
    assert_finite("no edges", &no_edges, &random_features(NODES, 5, 2), 4);
}

/// One node: centring leaves `T·B = 0`, and `0ᵀ0` has nothing to whiten. Two nodes: `Ā = 0`, up to rounding.
#[test]
fn tiny_graphs() {
    let alone = Graph::from_edges(1, []).unwrap();
    assert_finite("one node", &alone, &random_features(1, 5, 2), 4);
    let pair = Graph::from_edges(2, [(0, 1)]).unwrap();
    assert_finite("two nodes", &pair, &random_features(2, 5, 2), 4);
}

/// Repeated edges, in either direction, and self-loops change nothing.
#[test]
fn duplicate_edges() {
    let simple = connected_graph(NODES, 10, 1);
    let edges: Vec<(u32, u32)> = simple.pairs().collect();
    let reversed = edges.iter().map(|&(first, second)| (second, first));
    let loops = (0..NODES as u32).map(|node| (node, node));
    let repeated = edges.iter().copied().chain(reversed).chain(loops).chain(edges.iter().copied());
    let repeated = Graph::from_edges(NODES, repeated).unwrap();
    let features = random_features(NODES, 5, 2);
    assert_finite("duplicate edges", &repeated, &features, 4);
    let config = ModelConfig::named("r-soft-graph-ain").unwrap();
    let run = |graph| Problem::new(graph, features.clone(), 3).setup::<f32>(&config, 1).train();
    assert_eq!(run(simple), run(repeated));
}

/// `X = 1·xᵀ` makes embeddings of rank 1 on a tree, and `T·Â·X = 0`, up to rounding, on a ring.
#[test]
fn constant_features() {
    for (name, graph) in [("tree", connected_graph(NODES, 0, 1)), ("ring", ring())] {
        assert_finite(&format!("constant features, {name}"), &graph, &constant(1.7), 4);
    }
}

/// `X = 0`: every embedding is zero, and so is every eigenvalue.
#[test]
fn zero_features() {
    let graph = connected_graph(NODES, 10, 1);
    assert_finite("zeros", &graph, &constant(0.0), 4);
    let nothing_stored = Csr::from_entries(NODES, 5, Vec::new()).unwrap();
    assert_finite("nothing stored", &graph, &Features::Sparse(nothing_stored), 4);
}

/// One feature is also the extreme case of more width than features: the first embedding has rank 1.
#[test]
fn embeddings_without_full_rank() {
    let graph = connected_graph(NODES, 10, 1);
    for features in [1, 3] {
        assert_finite(&format!("{features} features"), &graph, &random_features(NODES, features, 2), 4);
    }
}

/// Eigenvalues that are rounding errors are dropped, not whitened: single precision, whose errors are a billion times
/// larger, gives the logits of double precision.
#[test]
fn rounding_errors_are_not_whitened() {
    let config = RSoftGraphAinConfig { layers: 2, hidden: 16, strength: 1.0, ..Default::default() };
    let config = ModelConfig::RSoftGraphAin(config);
    let problem = Problem::new(connected_graph(500, 500, 1), random_features(500, 3, 2), 3);
    let single = problem.setup::<f32>(&config, 3);
    let mut double = problem.setup::<f64>(&config, 3);
    for (index, (_, weight)) in single.parameters.iter().enumerate() {
        *double.parameters.value_mut(index) = weight.cast();
    }
    let difference = single.train().logits.cast::<f64>().max_difference(&double.train().logits);
    assert!(difference < 1e-4, "{difference}");
}

/// `Â` has the eigenvalue 1 once for every component, so depth does not forget which component a node is in; forward
/// and backward stay finite through 64 layers.
#[test]
fn deep_on_a_disconnected_graph() {
    assert_finite("64 layers", &disconnected(), &random_features(NODES, 5, 2), 64);
    assert_finite("64 layers, constant features", &disconnected(), &constant(1.0), 64);
}

/// Features of very small and very large size, within what single precision can square.
#[test]
fn features_of_any_size() {
    let graph = connected_graph(NODES, 10, 1);
    let Features::Dense(features) = random_features(NODES, 5, 2) else { panic!("dense features") };
    // From 1e-19 on, squares are subnormal in single precision and below.
    for scale in [1e-30, 1e-20, 1e-19, 1e-15, 1e15] {
        let scaled = Matrix::from_fn(NODES, 5, |row, column| scale * features.get(row, column));
        assert_finite(&format!("scale {scale}"), &graph, &Features::Dense(scaled), 4);
    }
}

/// A weight that is NaN or infinite, or such a feature, is an error that names the first layer it reaches, counted
/// from 1.
#[test]
fn the_layer_that_leaves_the_finite_numbers_is_named() {
    fn failure<T: Precision>(problem: &Problem, gradient: Gradient, place: Option<(usize, f64)>) -> NnError {
        let config = RSoftGraphAinConfig { layers: 5, hidden: 8, gradient, ..Default::default() };
        let mut setup = problem.setup::<T>(&ModelConfig::RSoftGraphAin(config), 1);
        if let Some((index, value)) = place {
            setup.parameters.value_mut(index).set(1, 2, T::from_f64(value));
        }
        setup.try_train().unwrap_err()
    }
    let graph = connected_graph(NODES, 10, 1);
    let healthy = Problem::new(graph.clone(), random_features(NODES, 5, 2), 3);
    let mut features = Matrix::from_fn(NODES, 5, |row, column| (row + column) as f32);
    features.set(3, 1, f32::NAN);
    let ill = Problem::new(graph, Features::Dense(features), 3);
    for gradient in [Gradient::Full, Gradient::Detached] {
        for (index, value) in [(0, f64::NAN), (2, f64::NAN), (4, f64::NAN), (2, f64::INFINITY)] {
            let layer = index + 1;
            let source = TensorError::NotFinite { operation: "soft normalisation" };
            let expected = NnError::Layer { layer, source };
            let error = failure::<f32>(&healthy, gradient, Some((index, value)));
            assert_eq!(error, expected, "weight {value}");
            assert!(error.to_string().starts_with(&format!("layer {layer}: ")), "{error}");
            assert_eq!(failure::<f64>(&healthy, gradient, Some((index, value))), expected, "weight {value}");
        }
        let error = failure::<f32>(&ill, gradient, None);
        assert!(matches!(error, NnError::Layer { layer: 1, .. }), "{error}");
    }
}
