//! What holds for every model and every choice of it.

mod common;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use abyssal_nn::models::ModelConfig;
use abyssal_nn::{Mode, Pass};
use abyssal_tensor::Matrix;
use abyssal_tensor::tape::{Pool, Tape};

use common::properties::{
    assert_equivariant, assert_exact_gradients, assert_finite_when_deep, assert_observable, assert_same_bits,
};
use common::zoo::models;
use common::{Problem, Setup, connected_graph, random_features};

#[test]
fn no_model_is_missing_here() {
    let tested: BTreeSet<&str> = models(2, 8).iter().map(|(_, config)| config.name()).collect();
    let all: BTreeSet<&str> = ModelConfig::NAMES.iter().copied().collect();
    assert_eq!(tested, all);
}

#[test]
fn relabelled_nodes_keep_their_scores() {
    for (name, config) in models(4, 8) {
        assert_equivariant(&name, &config);
    }
}

#[test]
fn gradients_are_exact() {
    for (name, config) in models(3, 4) {
        assert_exact_gradients(&name, &config);
    }
}

#[test]
fn sixty_four_layers_are_finite_on_disconnected_graphs() {
    for (name, config) in models(64, 8) {
        assert_finite_when_deep(&name, &config);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (name, config) in models(4, 24) {
        assert_same_bits(&name, &config);
    }
}

#[test]
fn every_layer_is_shown() {
    for (name, config) in models(5, 8) {
        assert_observable(&name, &config);
    }
}

/// The scores of a forward pass, before any of them is dropped.
fn scores(setup: &Setup<f64>) -> Matrix<f64> {
    let pool = Pool::new();
    let tape = Tape::inference(&pool);
    let pass = Pass::new(&tape, &setup.parameters, setup.mode);
    Matrix::clone(&setup.model.forward(&pass, &setup.input).expect("finite embeddings"))
}

/// A model says that it drops something on the way to its scores exactly if those of training passes differ from
/// evaluation; the scores themselves it leaves to others to drop.
#[test]
fn dropout_is_declared() {
    let problem = Problem::new(connected_graph(30, 20, 1), random_features(30, 5, 2), 3);
    for (name, config) in models(3, 8) {
        let mut setup = problem.setup::<f64>(&config, 3);
        let evaluated = scores(&setup);
        assert_eq!(setup.train().logits, evaluated, "{name}");
        setup.mode = Mode::Training { seed: 1, pass: 0 };
        let trained = scores(&setup);
        assert_eq!(trained != evaluated, setup.model.has_dropout(), "{name}");
        assert_eq!(setup.train().logits != trained, setup.model.score_dropout() > 0.0, "{name}");
    }
}

/// Layers and embeddings that are computed again on the way back give the gradients they would have given, bit for bit, with
/// the dropout they had.
#[test]
fn recomputed_layers_have_the_same_gradients() {
    let problem = Problem::new(connected_graph(30, 20, 1), random_features(30, 5, 2), 3);
    let mut recomputing = BTreeSet::new();
    for (name, config) in models(7, 8) {
        let mut setup = problem.setup::<f32>(&config, 3);
        for mode in [Mode::Training { seed: 1, pass: 0 }, Mode::Evaluation] {
            setup.mode = mode;
            (setup.kept_layers, setup.sparing) = (None, false);
            let kept = setup.train();
            for (layers, sparing) in [1, 2, 3, 7, 100, 0].into_iter().flat_map(|n| [(n, false), (n, true)]) {
                (setup.kept_layers, setup.sparing) = (NonZeroUsize::new(layers), sparing);
                assert_eq!(setup.train(), kept, "{name}, {mode:?}, {layers} at a time, sparing: {sparing}");
            }
        }
        recomputing.extend(setup.model.recomputes().then_some(config.name()));
    }
    assert_eq!(Vec::from_iter(recomputing), ["gcn", "gcnii", "r-soft-graph-ain"]);
}
