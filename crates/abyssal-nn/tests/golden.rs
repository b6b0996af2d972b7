//! Logits, loss and gradients as PyTorch computes them (`golden/make_golden*.py` made the files).

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use abyssal_graph::{Features, Graph};
use abyssal_nn::models::{ModelConfig, Precision, TaskShape};
use abyssal_nn::{GraphInput, Mode, Parameters};
use abyssal_tensor::ops::Targets;
use abyssal_tensor::{Matrix, Scalar};
use serde::Deserialize;
use serde_json::Value;

use common::Setup;

type Rows = Vec<Vec<f64>>;

/// One file: a problem, and models on it.
#[derive(Deserialize)]
struct Golden {
    nodes: usize,
    edges: Vec<(u32, u32)>,
    features: Rows,
    labels: Vec<u32>,
    train: Vec<u32>,
    cases: Vec<Case>,
}

/// A model with its weights, and what must come out.
#[derive(Deserialize)]
struct Case {
    name: String,
    config: Value,
    parameters: BTreeMap<String, Rows>,
    logits: Rows,
    loss: f64,
    gradients: BTreeMap<String, Rows>,
}

impl Golden {
    /// Compares every case in one precision.
    ///
    /// All values are of order 1 (weights, logits and gradients alike), so the tolerance is absolute.
    fn check<T: Precision>(&self, model: &str, tolerance: f64) {
        for case in &self.cases {
            let what = format!("{model}, {}, {}", case.name, T::NAME);
            let outcome = self.setup::<T>(model, case).train();
            assert_close(&format!("{what}: logits"), &outcome.logits, &case.logits, tolerance);
            let loss = outcome.loss.to_f64();
            assert!((loss - case.loss).abs() < tolerance, "{what}: loss {loss} instead of {}", case.loss);
            assert_eq!(outcome.gradients.len(), case.gradients.len(), "{what}: number of parameters");
            for (name, gradient) in &outcome.gradients {
                let expected = &case.gradients[name];
                assert_close(&format!("{what}: gradient of {name}"), gradient, expected, tolerance);
            }
        }
    }

    fn setup<T: Precision>(&self, model: &str, case: &Case) -> Setup<T> {
        let mut config = case.config.clone();
        config["name"] = model.into();
        let config: ModelConfig = serde_json::from_value(config).expect("a configuration of ours");
        let graph = Graph::from_edges(self.nodes, self.edges.iter().copied()).expect("a valid graph");
        // Features and weights are multiples of 1/1024, hence exact in either precision.
        let features = Features::Dense(Matrix::from_rows(&self.features).cast());
        let classes = case.logits[0].len();
        let model = config.build::<T>(TaskShape { features: features.columns(), classes });
        let named = model.specs().into_iter().map(|spec| {
            let value = Matrix::from_rows(&case.parameters[&spec.name]).cast();
            assert_eq!(value.shape(), spec.shape, "{}", spec.name);
            (spec.name, value)
        });
        let parameters = Parameters::from_named(named);
        let classes = self.train.iter().map(|&row| self.labels[row as usize]).collect();
        let targets = Arc::new(Targets { rows: self.train.clone(), classes });
        let input = GraphInput::new(&graph, &features);
        // Nothing was dropped in PyTorch, and evaluation drops nothing here.
        Setup { model, parameters, input, targets, mode: Mode::Evaluation, kept_layers: None, sparing: false }
    }
}

fn assert_close<T: Scalar>(what: &str, actual: &Matrix<T>, expected: &Rows, tolerance: f64) {
    let difference = actual.cast::<f64>().max_difference(&Matrix::from_rows(expected));
    assert!(difference < tolerance, "{what} differs by {difference}");
}

/// Both precisions against the values of PyTorch's double precision.
fn check(model: &str, file: &str, cases: usize) {
    let golden: Golden = serde_json::from_str(file).expect("a file of make_golden.py");
    assert_eq!(golden.cases.len(), cases);
    golden.check::<f64>(model, 1e-9);
    golden.check::<f32>(model, 1e-5);
}

/// Algorithm 1 with both gradients, both centrings, both heads, truncated, hard, and with Cora's settings.
#[test]
fn r_soft_graph_ain_equals_pytorch() {
    check("r-soft-graph-ain", include_str!("golden/r_soft_graph_ain.json"), 6);
}

/// `H ← ReLU(Â·H·W + b)`, three layers.
#[test]
fn gcn_equals_pytorch() {
    check("gcn", include_str!("golden/gcn.json"), 1);
}

/// PyTorch Geometric's `GATConv`: heads side by side, a single head and a mean over heads at the end.
#[test]
fn gat_equals_pytorch_geometric() {
    check("gat", include_str!("golden/gat.json"), 2);
}

/// PyTorch Geometric's `GINConv`: sum, mean and maximum, with ε learnt and fixed.
#[test]
fn gin_equals_pytorch_geometric() {
    check("gin", include_str!("golden/gin.json"), 4);
}

/// R-SoftGraphAIN on the aggregations of `GATConv` and `GINConv`, and on SGC with a perceptron as classifier.
#[test]
fn backbones_equal_pytorch_geometric() {
    check("r-soft-graph-ain", include_str!("golden/backbones.json"), 3);
}

/// Models that propagate, against the layers of PyTorch Geometric where it has them (`make_golden_propagation.py`).
#[test]
fn models_that_propagate_equal_pytorch() {
    check("mlp", include_str!("golden/mlp.json"), 1);
    check("sgc", include_str!("golden/sgc.json"), 1);
    check("appnp", include_str!("golden/appnp.json"), 1);
    check("gprgnn", include_str!("golden/gprgnn.json"), 1);
    check("dagnn", include_str!("golden/dagnn.json"), 1);
    check("gcnii", include_str!("golden/gcnii.json"), 2);
    check("jknet", include_str!("golden/jknet.json"), 2);
    check("chebnet", include_str!("golden/chebnet.json"), 1);
    check("grand", include_str!("golden/grand.json"), 1);
    check("bernnet", include_str!("golden/bernnet.json"), 1);
}

/// Every normalisation on three layers: PyTorch Geometric's modules, and plain formulas where it has none.
#[test]
fn normalizations_equal_pytorch() {
    check("modular", include_str!("golden/modular_normalizations.json"), 8);
}

/// Every connection on four layers.
#[test]
fn connections_equal_pytorch() {
    check("modular", include_str!("golden/modular_connections.json"), 5);
}

/// All three variants with another scale.
#[test]
fn pairnorm_equals_pytorch() {
    check("pairnorm", include_str!("golden/pairnorm.json"), 3);
}

/// Models made for heterophily, FAGCN against PyTorch Geometric's `FAConv` (`make_golden_heterophily.py`).
#[test]
fn models_for_heterophily_equal_pytorch() {
    check("h2gcn", include_str!("golden/h2gcn.json"), 1);
    check("fagcn", include_str!("golden/fagcn.json"), 1);
    check("fsgnn", include_str!("golden/fsgnn.json"), 1);
}
