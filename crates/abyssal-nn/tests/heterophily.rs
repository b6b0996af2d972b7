//! Models made for graphs whose neighbours differ: what is theirs alone.

mod common;

use abyssal_graph::Features;
use abyssal_nn::Operator;
use abyssal_nn::models::{FagcnConfig, FsgnnConfig, MlpConfig, ModelConfig};
use abyssal_tensor::Matrix;

use common::{Problem, connected_graph, random_features, sparse_features};

fn problem() -> Problem {
    Problem::new(connected_graph(30, 20, 1), random_features(30, 5, 2), 3)
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
