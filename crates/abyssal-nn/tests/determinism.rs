//! The same bits for any number of threads, where `every_model.rs` does not look.

mod common;

use abyssal_nn::Rank;
use abyssal_nn::models::{Head, ModelConfig, RSoftGraphAinConfig};
use abyssal_tensor::ops::{Centering, Gradient};

use common::properties::assert_same_bits;
use common::{Problem, connected_graph, random_features};

/// Six layers as in the released code, widening from 40 features to 48.
#[test]
fn the_reference_recipe_has_the_same_bits_for_any_thread_count() {
    let config = RSoftGraphAinConfig {
        layers: 6,
        hidden: 48,
        rank: Rank::Ratio(0.5),
        gradient: Gradient::Detached,
        centering: Centering::Combined,
        head: Head::Convolution,
        hidden_dropout: 0.3,
        output_dropout: 0.3,
        ..Default::default()
    };
    assert_same_bits("the reference recipe", &ModelConfig::RSoftGraphAin(config));
}

/// Embeddings that are computed again go through products in other blocks than at first.
#[test]
fn embeddings_computed_again_have_the_same_bits() {
    let problem = Problem::new(connected_graph(3000, 2000, 1), random_features(3000, 40, 2), 3);
    for hidden in [48, 67] {
        let config = RSoftGraphAinConfig { layers: 4, hidden, ..Default::default() };
        let mut setup = problem.setup::<f32>(&ModelConfig::RSoftGraphAin(config), 3);
        let kept = setup.train();
        setup.sparing = true;
        assert_eq!(setup.train(), kept, "{hidden} columns");
    }
}
