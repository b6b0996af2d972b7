//! Gradients of whole models against central differences, in double precision, and their forward passes against a
//! naive reference.

mod common;

use abyssal_graph::Features;
use abyssal_nn::models::{GcnConfig, Head, ModelConfig, RSoftGraphAinConfig};
use abyssal_nn::{Mode, Parameters, Rank};
use abyssal_tensor::Matrix;
use abyssal_tensor::ops::{Activation, Centering, Gradient};
use abyssal_tensor::testing::{assert_gradient, random_matrix};

use common::linear_algebra::{
    centering_matrix, dense_adjacency, nearest_orthonormal, product, singular_values, weighted_sum,
};
use common::reference::{self, Reference, cross_entropy};
use common::{Problem, Setup, connected_graph, random_features, sparse_features};

const NODES: usize = 10;
const FEATURES: usize = 5;
const HIDDEN: usize = 4;
const CLASSES: usize = 3;

/// Differences move a weight by 1e-5; an input of ReLU this far from 0 stays on its side.
const AWAY_FROM_KINK: f64 = 1e-3;
/// The same for a kept and a dropped eigenvalue, which must not change places.
const AWAY_FROM_TIE: f64 = 1e-2;

const TRAINING: Mode = Mode::Training { seed: 11, pass: 3 };

fn config() -> RSoftGraphAinConfig {
    RSoftGraphAinConfig {
        layers: 4,
        hidden: HIDDEN,
        strength: 0.6,
        exponent: 0.8,
        rank: Rank::Count(HIDDEN),
        ..Default::default()
    }
}

fn problem() -> Problem {
    Problem::new(connected_graph(NODES, 6, 1), random_features(NODES, FEATURES, 2), CLASSES)
}

fn sparse_problem() -> Problem {
    Problem::new(connected_graph(NODES, 6, 1), sparse_features(NODES, FEATURES, 2), CLASSES)
}

fn matrices(parameters: &Parameters<f64>) -> Vec<Matrix<f64>> {
    parameters.iter().map(|(_, value)| Matrix::clone(value)).collect()
}

/// A model on a problem.
struct Case<'a> {
    name: &'a str,
    config: RSoftGraphAinConfig,
    problem: &'a Problem,
    mode: Mode,
}

impl Case<'_> {
    /// Checks forward pass and gradients, full and detached. `adjust` may change the drawn weights.
    fn check_with(&self, adjust: impl Fn(&mut Parameters<f64>, u64)) {
        for gradient in [Gradient::Full, Gradient::Detached] {
            let config = RSoftGraphAinConfig { gradient, ..self.config.clone() };
            let reference = Reference::new(&config, self.problem, self.mode);
            let seeds = (0..300).map(|seed| self.setup(&config, seed, &adjust));
            let away = |setup: &Setup<f64>| {
                let trace = reference.forward(&matrices(&setup.parameters), None);
                trace.smallest_relu_input > AWAY_FROM_KINK && trace.smallest_gap > AWAY_FROM_TIE
            };
            let setup = seeds.into_iter().find(away).expect("weights without a ReLU near its kink");
            self.compare(gradient, &reference, &setup);
        }
    }

    fn check(&self) {
        self.check_with(|_, _| ());
    }

    fn setup(
        &self,
        config: &RSoftGraphAinConfig,
        seed: u64,
        adjust: impl Fn(&mut Parameters<f64>, u64),
    ) -> Setup<f64> {
        let mut setup = self.problem.setup(&ModelConfig::RSoftGraphAin(config.clone()), seed);
        setup.mode = self.mode;
        adjust(&mut setup.parameters, seed);
        setup
    }

    fn compare(&self, gradient: Gradient, reference: &Reference, setup: &Setup<f64>) {
        let name = self.name;
        let point = matrices(&setup.parameters);
        let trace = reference.forward(&point, None);
        let outcome = setup.train();
        let difference = outcome.logits.max_difference(&trace.logits);
        assert!(difference < 1e-10, "{name}: the logits differ from the reference by {difference}");
        assert!((outcome.loss - cross_entropy(&trace.logits, &setup.targets)).abs() < 1e-10, "{name}: loss");
        for (index, (parameter, value)) in outcome.gradients.iter().enumerate() {
            let what = format!("{name}, {gradient:?}, {parameter}");
            // Where every ReLU is off, all gradients agree at zero, and nothing is learnt from that.
            assert!(
                value.max_difference(&Matrix::zeros(value.rows(), value.columns())) > 1e-4,
                "{what}: zeros"
            );
            assert_gradient(&what, &point[index], value, |probe| match gradient {
                Gradient::Full => {
                    let mut moved = setup.parameters.clone();
                    *moved.value_mut(index) = probe.clone();
                    setup.evaluate(&moved).1
                }
                // Detached, the whitening matrices count as constants: they stay those of the point itself.
                Gradient::Detached => {
                    let mut moved = point.clone();
                    moved[index] = probe.clone();
                    cross_entropy(&reference.forward(&moved, Some(&trace.whitening)).logits, &setup.targets)
                }
            });
        }
    }
}

/// `∂L/∂W` for all weights of a four-layer model, one setting changed at a time.
#[test]
fn every_setting_has_exact_gradients() {
    let hard = RSoftGraphAinConfig {
        strength: 1.0,
        exponent: 1.0,
        residual_memory: 0.0,
        initial_decay: 0.0,
        ..config()
    };
    let cases = [
        ("plain", config()),
        ("convolution head", RSoftGraphAinConfig { head: Head::Convolution, ..config() }),
        ("centred combination", RSoftGraphAinConfig { centering: Centering::Combined, ..config() }),
        ("truncated rank", RSoftGraphAinConfig { rank: Rank::Count(2), ..config() }),
        ("no activation", RSoftGraphAinConfig { activation: Activation::Identity, ..config() }),
        ("hard", hard),
        ("no normalisation", RSoftGraphAinConfig { strength: 0.0, ..config() }),
        ("no exponent", RSoftGraphAinConfig { exponent: 0.0, rank: Rank::Count(3), ..config() }),
        ("full memory", RSoftGraphAinConfig { residual_memory: 1.0, initial_decay: 1.0, ..config() }),
        ("no memory", RSoftGraphAinConfig { residual_memory: 0.0, initial_decay: 0.0, ..config() }),
        ("residual memory only", RSoftGraphAinConfig { initial_decay: 0.0, ..config() }),
        ("initial memory only", RSoftGraphAinConfig { residual_memory: 0.0, ..config() }),
        ("one layer", RSoftGraphAinConfig { layers: 1, ..config() }),
        ("nothing but a convolution", RSoftGraphAinConfig { layers: 1, head: Head::Convolution, ..config() }),
    ];
    for (name, config) in cases {
        Case { name, config, problem: &problem(), mode: Mode::Evaluation }.check();
    }
}

/// Dropout of features, embeddings and class scores, with masks fixed by seed and epoch, on dense and on sparse
/// features.
#[test]
fn dropout_has_exact_gradients() {
    for (name, problem) in [("dense", problem()), ("sparse", sparse_problem())] {
        for (place, input_dropout, hidden_dropout, output_dropout) in
            [("input", 0.4, 0.0, 0.0), ("hidden", 0.0, 0.3, 0.0), ("output", 0.0, 0.0, 0.3)]
        {
            let config = RSoftGraphAinConfig { input_dropout, hidden_dropout, output_dropout, ..config() };
            let name = &format!("{name} features, {place} dropout");
            Case { name, config, problem: &problem, mode: TRAINING }.check();
        }
    }
}

/// Everything at once, as the released code has it: truncated, centred after the combination, a convolution for a
/// head, dropout everywhere.
#[test]
fn the_reference_recipe_has_exact_gradients() {
    for (name, problem) in [("dense features", problem()), ("sparse features", sparse_problem())] {
        let config = RSoftGraphAinConfig {
            rank: Rank::Count(3),
            centering: Centering::Combined,
            head: Head::Convolution,
            input_dropout: 0.2,
            hidden_dropout: 0.2,
            output_dropout: 0.2,
            ..config()
        };
        Case { name, config, problem: &problem, mode: TRAINING }.check();
    }
}

/// A width above the number of features: `(ÂX)W` instead of `Â(XW)`, and a first embedding without full rank, whose
/// vanishing eigenvalues the relative floor drops.
#[test]
fn widening_layers_have_exact_gradients() {
    let config = RSoftGraphAinConfig { hidden: 7, rank: Rank::Count(7), ..config() };
    let dropping = RSoftGraphAinConfig { input_dropout: 0.2, hidden_dropout: 0.2, ..config.clone() };
    let (dense, sparse) = (problem(), sparse_problem());
    Case { name: "widening", config: config.clone(), problem: &dense, mode: Mode::Evaluation }.check();
    Case { name: "widening, dropout", config: dropping, problem: &dense, mode: TRAINING }.check();
    Case { name: "widening, sparse", config, problem: &sparse, mode: Mode::Evaluation }.check();
}

/// `W_1` such that `B_0 = TÂX·W_1` has these singular values, and random singular vectors.
fn first_weight(problem: &Problem, values: &[f64; HIDDEN], seed: u64) -> Matrix<f64> {
    let Features::Dense(features) = &problem.features else { panic!("dense features") };
    let aggregated = product(&dense_adjacency(&problem.graph), &features.cast());
    let decomposition = singular_values(&product(&centering_matrix(NODES), &aggregated));
    let scaled = Matrix::from_fn(FEATURES, HIDDEN, |row, column| {
        decomposition.right.get(row, column) * values[column] / decomposition.values[column]
    });
    product(&scaled, &nearest_orthonormal(&random_matrix(HIDDEN, HIDDEN, seed)))
}

/// `B_0ᵀB_0 = c²·I`, where differentiating an eigen-decomposition gives NaN: equal, nearly equal, and equal in pairs.
#[test]
fn repeated_eigenvalues_have_exact_gradients() {
    let problem = problem();
    let hard = RSoftGraphAinConfig { strength: 1.0, exponent: 1.0, ..config() };
    for (name, values, noise) in [
        ("all equal", [1.5; HIDDEN], 0.0),
        ("nearly equal", [1.5; HIDDEN], 1e-9),
        ("equal in pairs", [1.5, 1.5, 0.7, 0.7], 0.0),
    ] {
        for config in [config(), hard.clone()] {
            Case { name, config, problem: &problem, mode: Mode::Evaluation }.check_with(
                |parameters, seed| {
                    let weight = first_weight(&problem, &values, seed);
                    let noise = (noise, &random_matrix(FEATURES, HIDDEN, seed + 1));
                    *parameters.value_mut(0) = weighted_sum(&[(1.0, &weight), noise]);
                },
            );
        }
    }
}

/// An eigenvalue that is zero, or nearly so, among the dropped ones: `M` is smooth there.
#[test]
fn vanishing_eigenvalues_among_the_dropped_have_exact_gradients() {
    let problem = problem();
    for (name, smallest) in [("zero", 0.0), ("nearly zero", 1e-7)] {
        let config = RSoftGraphAinConfig { rank: Rank::Count(3), ..config() };
        Case { name, config, problem: &problem, mode: Mode::Evaluation }.check_with(|parameters, seed| {
            *parameters.value_mut(0) = first_weight(&problem, &[1.5, 1.0, 0.7, smallest], seed);
        });
    }
}

/// An eigenvalue that is nearly zero among the kept ones: the gradient is large, and must be finite.
#[test]
fn vanishing_eigenvalues_among_the_kept_have_finite_gradients() {
    let problem = problem();
    for smallest in [0.0, 1e-9, 1e-7, 1e-5] {
        for gradient in [Gradient::Full, Gradient::Detached] {
            let config = RSoftGraphAinConfig { gradient, exponent: 1.0, ..config() };
            let mut setup = problem.setup::<f64>(&ModelConfig::RSoftGraphAin(config), 5);
            *setup.parameters.value_mut(0) = first_weight(&problem, &[1.5, 1.0, 0.7, smallest], 5);
            setup.train().assert_finite(&format!("singular value {smallest}, {gradient:?}"));
        }
    }
}

/// Features of low rank (repeated columns, constant columns): the rank of `B_0` is low whatever the weights, so the
/// model stays differentiable, truncated to that rank or left to the floor.
#[test]
fn features_of_low_rank_have_exact_gradients() {
    let values = random_matrix(NODES, 2, 4).cast::<f32>();
    let repeated = Matrix::from_fn(NODES, FEATURES, |row, column| values.get(row, column % 2));
    let constant = Matrix::from_fn(NODES, FEATURES, |_, column| 1.0 + column as f32);
    for (name, features, rank) in [("repeated", repeated, 2), ("constant", constant, 1)] {
        let problem = Problem::new(connected_graph(NODES, 6, 1), Features::Dense(features), CLASSES);
        for rank in [rank, HIDDEN] {
            let name = &format!("{name} columns, rank {rank}");
            let config = RSoftGraphAinConfig { rank: Rank::Count(rank), ..config() };
            Case { name, config, problem: &problem, mode: Mode::Evaluation }.check();
        }
    }
}

/// `∂L/∂W` and `∂L/∂b` of a four-layer GCN, narrowing and widening, with and without dropout.
#[test]
fn gcn_has_exact_gradients() {
    for (name, problem) in [("dense", problem()), ("sparse", sparse_problem())] {
        for (hidden, dropout, mode) in
            [(4, 0.0, Mode::Evaluation), (4, 0.3, TRAINING), (7, 0.0, TRAINING), (7, 0.3, TRAINING)]
        {
            let config = GcnConfig { layers: 4, hidden, input_dropout: dropout, hidden_dropout: dropout };
            let setups = (0..300).map(|seed| {
                let mut setup = problem.setup::<f64>(&ModelConfig::Gcn(config.clone()), seed);
                setup.mode = mode;
                // Biases start at zero, which would hide mistakes.
                for index in (1..setup.parameters.len()).step_by(2) {
                    let bias = setup.parameters.value_mut(index);
                    *bias = random_matrix(1, bias.columns(), seed + index as u64);
                }
                setup
            });
            let gcn =
                |setup: &Setup<f64>| reference::gcn(&config, &problem, mode, &matrices(&setup.parameters));
            let setup = setups.into_iter().find(|setup| gcn(setup).1 > AWAY_FROM_KINK).unwrap();
            let outcome = setup.train();
            let name = format!("{name} features, width {hidden}, dropout {dropout}");
            assert!(outcome.logits.max_difference(&gcn(&setup).0) < 1e-10, "{name}: logits");
            for (index, (parameter, value)) in outcome.gradients.iter().enumerate() {
                let point = &matrices(&setup.parameters)[index];
                assert_gradient(&format!("{name}, {parameter}"), point, value, |probe| {
                    let mut moved = setup.parameters.clone();
                    *moved.value_mut(index) = probe.clone();
                    setup.evaluate(&moved).1
                });
            }
        }
    }
}
