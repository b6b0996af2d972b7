//! The same bits for any number of threads.

mod common;

use abyssal_nn::models::{GcnConfig, Head, ModelConfig, RSoftGraphAinConfig};
use abyssal_nn::{Mode, Rank};
use abyssal_tensor::ops::{Centering, Gradient};
use abyssal_tensor::parallel::with_threads;

use common::{Outcome, Problem, connected_graph, random_features, sparse_features};

/// Enough nodes that every kernel cuts its rows into several blocks and sums into several partial sums.
const NODES: usize = 2500;

fn problems() -> [(&'static str, Problem); 2] {
    let problem = |features| Problem::new(connected_graph(NODES, 3 * NODES, 1), features, 5);
    let (dense, sparse) = (random_features(NODES, 40, 2), sparse_features(NODES, 40, 2));
    [("dense", problem(dense)), ("sparse", problem(sparse))]
}

/// All numbers of a training pass, as bits: `==` on floats would let -0 and 0 pass for the same.
fn bits(outcome: &Outcome<f32>) -> Vec<u32> {
    let gradients = outcome.gradients.iter().flat_map(|(_, gradient)| gradient.as_slice());
    outcome
        .logits
        .as_slice()
        .iter()
        .chain([&outcome.loss])
        .chain(gradients)
        .map(|value| value.to_bits())
        .collect()
}

/// A training pass with dropout gives the same logits, loss and gradients on 1, 2 and 3 threads.
fn assert_same_bits(config: &ModelConfig) {
    for (name, problem) in problems() {
        let run = |threads| {
            let outcome = with_threads(threads, || {
                let mut setup = problem.setup::<f32>(config, 3);
                setup.mode = Mode::Training { seed: 4, epoch: 5 };
                setup.train()
            });
            outcome.expect("threads")
        };
        let alone = run(1);
        alone.assert_finite(name);
        for threads in [2, 3] {
            assert_eq!(bits(&alone), bits(&run(threads)), "{name} features, {threads} threads");
        }
    }
}

/// Six layers as in the paper.
#[test]
fn r_soft_graph_ain_has_the_same_bits_for_any_thread_count() {
    assert_same_bits(&ModelConfig::RSoftGraphAin(RSoftGraphAinConfig {
        layers: 6,
        hidden: 32,
        input_dropout: 0.3,
        hidden_dropout: 0.3,
        ..Default::default()
    }));
}

/// Six layers as in the released code, widening from 40 features to 48.
#[test]
fn the_reference_recipe_has_the_same_bits_for_any_thread_count() {
    assert_same_bits(&ModelConfig::RSoftGraphAin(RSoftGraphAinConfig {
        layers: 6,
        hidden: 48,
        rank: Rank::Ratio(0.5),
        gradient: Gradient::Detached,
        centering: Centering::Combined,
        head: Head::Convolution,
        hidden_dropout: 0.3,
        output_dropout: 0.3,
        ..Default::default()
    }));
}

/// Six layers of GCN.
#[test]
fn gcn_has_the_same_bits_for_any_thread_count() {
    let config = GcnConfig { layers: 6, hidden: 32, ..Default::default() };
    assert_same_bits(&ModelConfig::Gcn(config));
}
