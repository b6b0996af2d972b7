//! Models that propagate: what holds for all of them, and how they relate to each other.

mod common;

use abyssal_graph::Features;
use abyssal_nn::Mode;
use abyssal_nn::models::{
    AppnpConfig, BernnetConfig, ChebnetConfig, CoefficientStart, DagnnConfig, GcniiConfig, GprgnnConfig,
    JknetConfig, Jump, MlpConfig, ModelConfig, SgcConfig,
};
use abyssal_tensor::Matrix;

use common::properties::{
    assert_equivariant, assert_exact_gradients, assert_finite_when_deep, assert_observable, assert_same_bits,
};
use common::{Problem, connected_graph, random_features, sparse_features};

/// Every model and every choice of it, this deep and this wide, dropping what it can drop.
fn models(layers: usize, hidden: usize) -> Vec<(&'static str, ModelConfig)> {
    let (input_dropout, hidden_dropout) = (0.2, 0.3);
    let gprgnn = GprgnnConfig {
        layers,
        hidden,
        input_dropout,
        hidden_dropout,
        score_dropout: 0.2,
        ..Default::default()
    };
    let random = GprgnnConfig { start: CoefficientStart::Random, ..gprgnn.clone() };
    let gcnii = GcniiConfig { layers, hidden, input_dropout, hidden_dropout, ..Default::default() };
    let star = GcniiConfig { star: true, ..gcnii.clone() };
    let concat = JknetConfig { layers, hidden, mode: Jump::Concat, input_dropout, hidden_dropout };
    let max = JknetConfig { mode: Jump::Max, ..concat.clone() };
    let appnp = AppnpConfig { layers, hidden, input_dropout, hidden_dropout, ..Default::default() };
    let chebnet = ChebnetConfig { layers, hidden, order: 3, input_dropout, hidden_dropout };
    let bernnet = BernnetConfig { layers, hidden, input_dropout, hidden_dropout, score_dropout: 0.2 };
    vec![
        ("mlp", ModelConfig::Mlp(MlpConfig { layers, hidden, input_dropout, hidden_dropout })),
        ("sgc", ModelConfig::Sgc(SgcConfig { layers, hidden })),
        ("appnp", ModelConfig::Appnp(appnp)),
        ("gprgnn", ModelConfig::Gprgnn(gprgnn)),
        ("gprgnn, random start", ModelConfig::Gprgnn(random)),
        ("dagnn", ModelConfig::Dagnn(DagnnConfig { layers, hidden, input_dropout, hidden_dropout })),
        ("gcnii", ModelConfig::Gcnii(gcnii)),
        ("gcnii*", ModelConfig::Gcnii(star)),
        ("jknet, concat", ModelConfig::Jknet(concat)),
        ("jknet, max", ModelConfig::Jknet(max)),
        ("chebnet", ModelConfig::Chebnet(ChebnetConfig { order: 1, ..chebnet.clone() })),
        ("chebnet, order 3", ModelConfig::Chebnet(chebnet)),
        ("bernnet", ModelConfig::Bernnet(bernnet)),
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
    for (name, config) in models(3, 4) {
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
    for (name, config) in models(5, 32) {
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

/// A model says that it drops something exactly if training passes differ from evaluation.
#[test]
fn dropout_is_declared() {
    for (name, config) in models(3, 8) {
        let mut setup = problem().setup::<f64>(&config, 3);
        let evaluated = setup.train().logits;
        setup.mode = Mode::Training { seed: 1, epoch: 0 };
        assert_eq!(setup.train().logits != evaluated, setup.model.has_dropout(), "{name}");
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
