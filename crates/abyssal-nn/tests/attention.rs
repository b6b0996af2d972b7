//! Attention and isomorphism networks, and R-SoftGraphAIN on their aggregations: properties every one of them has.

mod common;

use abyssal_graph::{Features, Graph};
use abyssal_nn::aggregation::Neighbourhood;
use abyssal_nn::models::{Backbone, GatConfig, GinConfig, ModelConfig, RSoftGraphAinConfig};
use abyssal_nn::{Mode, Rank};
use abyssal_tensor::parallel::with_threads;
use abyssal_tensor::random::{Purpose, Stream};
use abyssal_tensor::testing::{assert_gradient, random_matrix};
use abyssal_tensor::{Matrix, Scalar};

use common::{Outcome, Problem, Setup, connected_graph, random_features, sparse_features};

const TRAINING: Mode = Mode::Training { seed: 11, epoch: 3 };

/// Every model of the family, small; `layers` and dropout as asked.
fn models(layers: usize, dropout: f64) -> Vec<(String, ModelConfig)> {
    let gat = |heads, output_heads| {
        let (input_dropout, hidden_dropout, attention_dropout) = (dropout, dropout, dropout);
        let base = GatConfig { input_dropout, hidden_dropout, attention_dropout, ..Default::default() };
        let config = GatConfig { layers, hidden: 12, heads, output_heads, ..base };
        (format!("gat, {heads} and {output_heads} heads"), ModelConfig::Gat(config))
    };
    let gin = |neighbourhood, learn_epsilon| {
        let (input_dropout, hidden_dropout) = (dropout, dropout);
        let base = GinConfig { input_dropout, hidden_dropout, ..Default::default() };
        let config = GinConfig { layers, hidden: 6, neighbourhood, learn_epsilon, ..base };
        (format!("gin, {neighbourhood:?}"), ModelConfig::Gin(config))
    };
    let normalized = |backbone| {
        let (input_dropout, hidden_dropout) = (dropout, dropout);
        let base = RSoftGraphAinConfig { input_dropout, hidden_dropout, ..Default::default() };
        let rank = Rank::Count(6);
        let config = RSoftGraphAinConfig { layers, hidden: 6, rank, backbone, heads: 2, ..base };
        (format!("r-soft-graph-ain on {backbone:?}"), ModelConfig::RSoftGraphAin(config))
    };
    vec![
        gat(3, 1),
        gat(1, 2),
        gin(Neighbourhood::Sum, true),
        gin(Neighbourhood::Mean, false),
        gin(Neighbourhood::Max, true),
        normalized(Backbone::Gat),
        normalized(Backbone::Gin),
    ]
}

/// Biases and ε start at zero, which would hide mistakes.
fn shake<T: Scalar>(setup: &mut Setup<T>, seed: u64) {
    for index in 0..setup.parameters.len() {
        let value = setup.parameters.value_mut(index);
        if value.rows() == 1 {
            let noise = random_matrix(1, value.columns(), seed + index as u64);
            *value = Matrix::from_fn(1, value.columns(), |_, column| T::from_f64(0.3 * noise.get(0, column)));
        }
    }
}

/// Relabelling the nodes relabels the scores: `f(PX, PAPᵀ) = P·f(X, A)`.
#[test]
fn relabelled_nodes_get_the_same_scores() {
    let nodes = 20;
    let graph = connected_graph(nodes, 15, 1);
    let Features::Dense(features) = random_features(nodes, 5, 2) else { panic!("dense features") };
    let order = Stream::new(8, Purpose::Generation, 0, 0).permutation(nodes);
    let renamed = graph.pairs().map(|(from, to)| (order[from as usize] as u32, order[to as usize] as u32));
    let renamed = Graph::from_edges(nodes, renamed).unwrap();
    let mut moved = Matrix::zeros(nodes, 5);
    for (node, &place) in order.iter().enumerate() {
        for column in 0..5 {
            moved.set(place, column, features.get(node, column));
        }
    }
    let original = Problem::new(graph, Features::Dense(features), 3);
    let relabelled = Problem::new(renamed, Features::Dense(moved), 3);
    for (name, config) in models(4, 0.0) {
        let logits = |problem: &Problem| {
            let mut setup = problem.setup::<f64>(&config, 3);
            shake(&mut setup, 4);
            setup.evaluate(&setup.parameters).0
        };
        let (expected, actual) = (logits(&original), logits(&relabelled));
        let back = Matrix::from_fn(nodes, 3, |node, column| actual.get(order[node], column));
        let difference = back.max_difference(&expected);
        assert!(difference < 1e-9, "{name}: {difference}");
    }
}

/// `∂L/∂θ` of all parameters against differences, with and without dropout, on dense and on sparse features.
#[test]
fn gradients_are_exact() {
    let problem = |features| Problem::new(connected_graph(10, 6, 1), features, 3);
    let (dense, sparse) = (problem(random_features(10, 5, 2)), problem(sparse_features(10, 5, 2)));
    for (name, problem) in [("dense", dense), ("sparse", sparse)] {
        for (dropout, mode) in [(0.0, Mode::Evaluation), (0.2, TRAINING)] {
            for (model, config) in models(2, dropout) {
                let mut setup = problem.setup::<f64>(&config, 0);
                setup.mode = mode;
                shake(&mut setup, 0);
                let outcome = setup.train();
                assert_eq!(outcome.gradients.len(), setup.parameters.len(), "{model}");
                for (index, (parameter, gradient)) in outcome.gradients.iter().enumerate() {
                    let what = format!("{model}, {name} features, dropout {dropout}, {parameter}");
                    let point = Matrix::clone(setup.parameters.iter().nth(index).unwrap().1);
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

/// 64 layers on a path, a star and isolated nodes, forward and backward, in both precisions.
#[test]
fn deep_on_a_disconnected_graph() {
    let (path, star) = ((0..9).map(|node| (node, node + 1)), (11..20).map(|node| (node, 11)));
    let graph = Graph::from_edges(24, path.chain(star)).unwrap();
    let problem = Problem::new(graph, random_features(24, 5, 2), 3);
    for layers in [1, 64] {
        for (name, config) in models(layers, 0.0) {
            problem.setup::<f32>(&config, 1).train().assert_finite(&format!("{name}, f32"));
            problem.setup::<f64>(&config, 1).train().assert_finite(&format!("{name}, f64"));
        }
    }
}

/// Logits, loss and gradients of a training pass with dropout, on 1, 2 and 3 threads.
#[test]
fn the_same_bits_for_any_thread_count() {
    let bits = |outcome: &Outcome<f32>| -> Vec<u32> {
        let gradients = outcome.gradients.iter().flat_map(|(_, gradient)| gradient.as_slice());
        let values = outcome.logits.as_slice().iter().chain([&outcome.loss]).chain(gradients);
        values.map(|value| value.to_bits()).collect()
    };
    let nodes = 2500;
    let problem = Problem::new(connected_graph(nodes, 3 * nodes, 1), sparse_features(nodes, 40, 2), 5);
    for (name, config) in models(3, 0.3) {
        let run = |threads| {
            let outcome = with_threads(threads, || {
                let mut setup = problem.setup::<f32>(&config, 3);
                setup.mode = TRAINING;
                setup.train()
            });
            outcome.unwrap()
        };
        let alone = run(1);
        alone.assert_finite(&name);
        for threads in [2, 3] {
            assert_eq!(bits(&alone), bits(&run(threads)), "{name}, {threads} threads");
        }
    }
}

/// A width that heads do not divide is refused by name, where there are heads.
#[test]
fn heads_divide_the_width() {
    let gat = GatConfig { hidden: 12, ..Default::default() };
    let normalized = RSoftGraphAinConfig { hidden: 12, backbone: Backbone::Gat, ..Default::default() };
    for config in [ModelConfig::Gat(gat), ModelConfig::RSoftGraphAin(normalized.clone())] {
        let error = config.validate().unwrap_err().to_string();
        assert_eq!(error, "model.hidden = 12 is out of range: it must be a multiple of model.heads");
    }
    let plain = RSoftGraphAinConfig { backbone: Backbone::Gcn, ..normalized };
    assert_eq!(ModelConfig::RSoftGraphAin(plain).validate(), Ok(()));
}
