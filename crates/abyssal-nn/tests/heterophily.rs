//! Models made for graphs whose neighbours differ: what holds for all of them, and what is theirs alone.

mod common;

use abyssal_graph::Features;
use abyssal_nn::models::{FagcnConfig, FsgnnConfig, H2gcnConfig, MlpConfig, ModelConfig};
use abyssal_nn::{Mode, Operator};
use abyssal_tensor::Matrix;

use common::properties::{
    assert_equivariant, assert_exact_gradients, assert_finite_when_deep, assert_observable, assert_same_bits,
};
use common::{Problem, connected_graph, random_features, sparse_features};

/// H2GCN goes no deeper.
const DEEPEST_H2GCN: usize = 6;

/// Every model, this deep (or as deep as it goes) and this wide, dropping what it can drop.
fn models(layers: usize, hidden: usize) -> Vec<(&'static str, ModelConfig)> {
    let input_dropout = 0.2;
    let h2gcn = H2gcnConfig { layers: layers.min(DEEPEST_H2GCN), hidden, input_dropout, output_dropout: 0.3 };
    let fagcn = FagcnConfig {
        layers,
        hidden,
        initial: 0.4,
        input_dropout,
        hidden_dropout: 0.3,
        attention_dropout: 0.2,
    };
    let fsgnn = FsgnnConfig { layers, hidden, hidden_dropout: 0.3 };
    vec![
        ("h2gcn", ModelConfig::H2gcn(h2gcn)),
        ("fagcn", ModelConfig::Fagcn(fagcn)),
        ("fsgnn", ModelConfig::Fsgnn(fsgnn)),
    ]
}

#[test]
fn relabelled_nodes_keep_their_scores() {
    for (name, config) in models(4, 8) {
        assert_equivariant(name, &config);
    }
}

#[test]
fn gradients_are_exact() {
    for (name, config) in models(2, 4) {
        assert_exact_gradients(name, &config);
    }
}

#[test]
fn sixty_four_layers_are_finite() {
    for (name, config) in models(64, 8) {
        assert_finite_when_deep(name, &config);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (name, config) in models(3, 32) {
        assert_same_bits(name, &config);
    }
}

#[test]
fn every_step_is_shown() {
    for (name, config) in models(5, 8) {
        assert_observable(name, &config);
    }
}

fn problem() -> Problem {
    Problem::new(connected_graph(30, 20, 1), random_features(30, 5, 2), 3)
}

/// A model says that it drops something exactly if training passes differ from evaluation.
#[test]
fn dropout_is_declared() {
    for (name, config) in models(3, 8) {
        let mut setup = problem().setup::<f64>(&config, 3);
        assert!(setup.model.has_dropout(), "{name}");
        let evaluated = setup.train().logits;
        setup.mode = Mode::Training { seed: 1, epoch: 0 };
        assert_ne!(setup.train().logits, evaluated, "{name}");
    }
}

/// Scores of zero leave nothing of the neighbours: what remains is the initial connection.
#[test]
fn fagcn_that_hears_nobody_is_a_perceptron() {
    let fagcn = FagcnConfig { layers: 5, hidden: 8, initial: 1.0, ..Default::default() };
    let mut fagcn = problem().setup::<f64>(&ModelConfig::Fagcn(fagcn), 3);
    let mlp = ModelConfig::Mlp(MlpConfig { hidden: 8, ..Default::default() });
    let mlp = problem().setup::<f64>(&mlp, 3);
    let weights: Vec<Matrix<f64>> = mlp.parameters.iter().map(|(_, value)| Matrix::clone(value)).collect();
    let [input, input_bias, output, output_bias] = &weights[..] else { panic!("two layers") };
    let last = fagcn.parameters.len() - 1;
    for (index, value) in [(0, input), (1, input_bias), (last - 1, output), (last, output_bias)] {
        *fagcn.parameters.value_mut(index) = value.clone();
    }
    let heard = fagcn.evaluate(&fagcn.parameters).0;
    for index in 2..last - 1 {
        fagcn.parameters.value_mut(index).as_mut_slice().fill(0.0);
    }
    let alone = fagcn.evaluate(&fagcn.parameters).0;
    assert!(alone.max_difference(&mlp.evaluate(&mlp.parameters).0) < 1e-12);
    assert!(alone.max_difference(&heard) > 1e-3, "neighbours count otherwise");
}

/// Smoothing dense features beforehand, and smoothing the terms of sparse ones, is the same model.
#[test]
fn fsgnn_takes_both_ways_to_the_same_scores() {
    let Features::Sparse(sparse) = sparse_features(30, 5, 2) else { panic!("sparse features") };
    let dense = Features::Dense(sparse.to_dense());
    let config = ModelConfig::Fsgnn(FsgnnConfig { layers: 4, hidden: 8, ..Default::default() });
    let [dense, sparse] = [dense, Features::Sparse(sparse)].map(|features| {
        Problem::new(connected_graph(30, 20, 1), features, 3).setup::<f64>(&config, 3).train()
    });
    assert!(dense.logits.max_difference(&sparse.logits) < 1e-12);
    for ((name, first), (_, second)) in dense.gradients.iter().zip(&sparse.gradients) {
        assert!(first.max_difference(second) < 1e-12, "{name}");
    }
}

/// Powers that are kept for one operator do not get into those of another, whatever is asked for first.
#[test]
fn kept_powers_are_those_that_were_asked_for() {
    let kept = problem().setup::<f64>(&ModelConfig::Fsgnn(FsgnnConfig::default()), 3).input;
    for (operator, steps) in [
        (Operator::Convolution, 2),
        (Operator::Neighbours, 3),
        (Operator::Convolution, 3),
        (Operator::Neighbours, 1),
        (Operator::Neighbours, 0),
        (Operator::Convolution, 2),
    ] {
        let Features::Dense(features) = problem().features else { panic!("dense features") };
        let mut expected = features.cast();
        for _ in 0..steps {
            let mut next = Matrix::zeros(expected.rows(), expected.columns());
            kept.operator(operator).matrix().multiply_into(&expected, &mut next);
            expected = next;
        }
        let found = kept.propagated_features(operator, steps).expect("dense features");
        assert_eq!(*found, expected, "{operator:?}, {steps} steps");
    }
}
