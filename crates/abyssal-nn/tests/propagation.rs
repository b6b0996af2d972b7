//! How models that propagate relate to each other.

mod common;

use abyssal_graph::Features;
use abyssal_nn::models::{
    AppnpConfig, BernnetConfig, GcniiConfig, GprgnnConfig, MlpConfig, ModelConfig, SgcConfig,
};
use abyssal_tensor::Matrix;

use common::{Problem, connected_graph, random_features, sparse_features};

fn problem() -> Problem {
    Problem::new(connected_graph(30, 20, 1), random_features(30, 5, 2), 3)
}

/// Scores of an untrained model; models that begin with the same parameters start with the same values.
fn scores(config: &ModelConfig) -> Matrix<f64> {
    let setup = problem().setup::<f64>(config, 3);
    setup.evaluate(&setup.parameters).0
}

/// GPR-GNN that starts from PageRank is APPNP until it is trained.
#[test]
fn gprgnn_starts_as_appnp() {
    let appnp = AppnpConfig { layers: 7, hidden: 8, restart: 0.2, ..Default::default() };
    let gprgnn = GprgnnConfig { layers: 7, hidden: 8, restart: 0.2, ..Default::default() };
    let difference = scores(&ModelConfig::Appnp(appnp)).max_difference(&scores(&ModelConfig::Gprgnn(gprgnn)));
    assert!(difference < 1e-12, "{difference}");
}

/// A walk that always returns does not see the graph.
#[test]
fn appnp_that_always_returns_is_a_perceptron() {
    let appnp = AppnpConfig { hidden: 8, restart: 1.0, ..Default::default() };
    let mlp = MlpConfig { hidden: 8, ..Default::default() };
    assert_eq!(scores(&ModelConfig::Appnp(appnp)), scores(&ModelConfig::Mlp(mlp)));
}

/// Where the two weights of GCNII* are equal, it is GCNII.
#[test]
fn gcnii_star_with_equal_weights_is_gcnii() {
    let config = GcniiConfig { layers: 5, hidden: 8, ..Default::default() };
    let plain = problem().setup::<f64>(&ModelConfig::Gcnii(config.clone()), 3);
    let star = GcniiConfig { star: true, ..config };
    let mut star = problem().setup::<f64>(&ModelConfig::Gcnii(star), 3);
    let names: Vec<String> = star.parameters.iter().map(|(name, _)| name.to_string()).collect();
    for (index, name) in names.iter().enumerate() {
        let name = name.replace("initial_weight", "weight");
        let (_, value) = plain.parameters.iter().find(|(other, _)| *other == name).unwrap();
        *star.parameters.value_mut(index) = Matrix::clone(value);
    }
    let difference = star.evaluate(&star.parameters).0.max_difference(&plain.evaluate(&plain.parameters).0);
    assert!(difference < 1e-12, "{difference}");
}

/// Smoothing dense features beforehand, and smoothing the scores of sparse ones, is the same model.
#[test]
fn sgc_takes_both_ways_to_the_same_scores() {
    let Features::Sparse(sparse) = sparse_features(30, 5, 2) else { panic!("sparse features") };
    let dense = Features::Dense(sparse.to_dense());
    let config = ModelConfig::Sgc(SgcConfig { layers: 6, ..Default::default() });
    let [dense, sparse] = [dense, Features::Sparse(sparse)].map(|features| {
        Problem::new(connected_graph(30, 20, 1), features, 3).setup::<f64>(&config, 3).train()
    });
    assert!(dense.logits.max_difference(&sparse.logits) < 1e-12);
    for ((name, first), (_, second)) in dense.gradients.iter().zip(&sparse.gradients) {
        assert!(first.max_difference(second) < 1e-12, "{name}");
    }
}

/// A filter that is 1 everywhere lets everything pass: BernNet starts as its perceptron.
#[test]
fn bernnet_starts_as_a_perceptron() {
    let bernnet = BernnetConfig { layers: 12, hidden: 8, ..Default::default() };
    let mlp = MlpConfig { hidden: 8, ..Default::default() };
    let difference = scores(&ModelConfig::Bernnet(bernnet)).max_difference(&scores(&ModelConfig::Mlp(mlp)));
    assert!(difference < 1e-12, "{difference}");
}
