//! R-SoftGraphAIN whose gradients stop before the classifier.

mod common;

use std::cell::Cell;

use abyssal_nn::aggregation::Backbone;
use abyssal_nn::models::{ModelConfig, RSoftGraphAinConfig};
use abyssal_nn::{Mode, Pass};
use abyssal_tensor::Matrix;
use abyssal_tensor::tape::{Pool, Tape};
use abyssal_tensor::testing::random_matrix;

use common::{Problem, Setup, connected_graph, random_features};

fn config(frozen: bool) -> ModelConfig {
    let base = RSoftGraphAinConfig { layers: 20, hidden: 6, backbone: Backbone::Sgc, ..Default::default() };
    ModelConfig::RSoftGraphAin(RSoftGraphAinConfig { head_layers: 2, frozen, ..base })
}

fn problem() -> Problem {
    Problem::new(connected_graph(30, 20, 1), random_features(30, 5, 2), 3)
}

/// Names of the parameters with their gradients; `None` where no gradient flows.
fn gradients(setup: &Setup<f64>) -> Vec<(String, Option<Matrix<f64>>)> {
    let pool = Pool::new();
    let tape = Tape::recording(&pool);
    let pass = Pass::new(&tape, &setup.parameters, Mode::Training { seed: 1, pass: 0 });
    let scores = setup.model.forward(&pass, &setup.input).expect("finite embeddings");
    let loss = tape.cross_entropy(&scores, &setup.targets);
    let variables = pass.parameters;
    let mut gradients = tape.backward(&loss);
    let names = setup.parameters.iter().map(|(name, _)| name.to_string());
    names.zip(variables.iter().map(|one| gradients.take(one).map(|value| Matrix::clone(&value)))).collect()
}

/// The classifier has the gradients of the model that is not frozen, the rest has none.
#[test]
fn only_the_classifier_learns() {
    let [frozen, whole] = [true, false].map(|frozen| gradients(&problem().setup::<f64>(&config(frozen), 3)));
    for ((name, frozen), (_, whole)) in frozen.into_iter().zip(whole) {
        match frozen {
            Some(gradient) => {
                assert!(name.starts_with("head."), "{name}");
                assert!(gradient.max_difference(&whole.expect("a gradient")) < 1e-12, "{name}");
            }
            None => assert!(name.starts_with("input."), "{name}"),
        }
    }
}

/// What was computed once is not taken for other weights or another graph.
#[test]
fn other_weights_and_graphs_have_other_embeddings() {
    let setup = problem().setup::<f64>(&config(true), 3);
    let first = setup.evaluate(&setup.parameters).0;
    let mut moved = setup.parameters.deep_clone();
    *moved.value_mut(0) = random_matrix(5, 6, 9);
    let second = setup.evaluate(&moved).0;
    assert!(first.max_difference(&second) > 1e-3);
    let whole = problem().setup::<f64>(&config(false), 3);
    assert!(whole.evaluate(&moved).0.max_difference(&second) < 1e-12);
    assert_eq!(setup.evaluate(&setup.parameters).0, first);
    let other = Problem::new(connected_graph(30, 40, 5), random_features(30, 5, 2), 3);
    let other = Setup { input: other.setup::<f64>(&config(true), 3).input, ..setup };
    assert!(other.evaluate(&other.parameters).0.max_difference(&first) > 1e-3);
}

/// Layers are shown although the embedding is known.
#[test]
fn layers_are_shown() {
    let setup = problem().setup::<f64>(&config(true), 3);
    setup.evaluate(&setup.parameters);
    let pool = Pool::new();
    let shown = Cell::new(0);
    let tape = Tape::inference(&pool);
    let pass = Pass::new(&tape, &setup.parameters, Mode::Evaluation)
        .observing(|layer, _| shown.set(shown.get().max(layer + 1)));
    setup.model.forward(&pass, &setup.input).expect("finite embeddings");
    assert_eq!(shown.get(), 20);
}
