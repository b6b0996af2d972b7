//! What the integration tests share: random problems, one training pass, and a naive reference of the model.

// Every test binary compiles this module and uses only its own part of it.
#![allow(dead_code)]

pub mod layers;
pub mod linear_algebra;
pub mod properties;
pub mod reference;
pub mod zoo;

use std::num::NonZeroUsize;
use std::sync::Arc;

use abyssal_graph::{Features, Graph};
use abyssal_nn::models::{Model, ModelConfig, Precision, TaskShape};
use abyssal_nn::{GraphInput, Mode, NnError, Parameters, Pass};
use abyssal_tensor::ops::Targets;
use abyssal_tensor::random::{Purpose, Stream};
use abyssal_tensor::tape::{Pool, Tape};
use abyssal_tensor::testing::random_matrix;
use abyssal_tensor::{Csr, Matrix, Scalar};

/// A graph with features and a few labelled nodes.
pub struct Problem {
    pub graph: Graph,
    pub features: Features,
    pub targets: Arc<Targets>,
    pub classes: usize,
}

impl Problem {
    /// Labels every third node, the classes in turn.
    pub fn new(graph: Graph, features: Features, classes: usize) -> Self {
        let rows: Vec<u32> = (0..graph.nodes() as u32).step_by(3).collect();
        let classes_of_rows = (0..rows.len()).map(|index| (index % classes) as u32).collect();
        let targets = Arc::new(Targets { rows, classes: classes_of_rows });
        Self { graph, features, targets, classes }
    }

    pub fn shape(&self) -> TaskShape {
        TaskShape { features: self.features.columns(), classes: self.classes }
    }

    /// What a training pass with this model needs.
    pub fn setup<T: Precision>(&self, config: &ModelConfig, seed: u64) -> Setup<T> {
        config.validate().expect("tests run valid settings");
        let model = config.build(self.shape());
        let parameters = Parameters::initialize(&model.specs(), seed);
        let input = GraphInput::new(&self.graph, &self.features);
        let targets = Arc::clone(&self.targets);
        Setup { model, parameters, input, targets, mode: Mode::Evaluation, kept_layers: None, sparing: false }
    }
}

/// A model with weights, and what it is trained on.
pub struct Setup<T: Scalar> {
    pub model: Box<dyn Model<T>>,
    pub parameters: Parameters<T>,
    pub input: GraphInput<T>,
    pub targets: Arc<Targets>,
    /// Evaluation, which drops nothing, until set.
    pub mode: Mode,
    /// How many layers are kept at a time: all until set.
    pub kept_layers: Option<NonZeroUsize>,
    /// Whether embeddings are computed again, too: not until set.
    pub sparing: bool,
}

/// What a training pass gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<T> {
    pub logits: Matrix<T>,
    pub loss: T,
    /// Names and gradients of all parameters, in the model's order.
    pub gradients: Vec<(String, Matrix<T>)>,
}

impl<T: Scalar> Outcome<T> {
    /// Panics, naming what is not finite.
    pub fn assert_finite(&self, what: &str) {
        assert!(self.logits.is_finite(), "{what}: logits");
        assert!(self.loss.is_finite(), "{what}: loss");
        for (name, gradient) in &self.gradients {
            assert!(gradient.is_finite(), "{what}: gradient of {name}");
        }
    }
}

impl<T: Scalar> Setup<T> {
    /// One forward and backward pass through finite embeddings.
    pub fn train(&self) -> Outcome<T> {
        self.try_train().expect("finite embeddings")
    }

    /// One forward and backward pass.
    pub fn try_train(&self) -> Result<Outcome<T>, NnError> {
        let pool = Pool::new().sparing(self.sparing);
        let tape = Tape::recording(&pool);
        let pass = Pass::new(&tape, &self.parameters, self.mode).keeping(self.kept_layers);
        let logits = pass.drop_scores(&self.model.forward(&pass, &self.input)?, self.model.score_dropout());
        let loss = tape.cross_entropy(&logits, &self.targets);
        let variables = pass.parameters;
        let mut gradients = tape.backward(&loss);
        let gradients = self.parameters.iter().zip(&variables).map(|((name, _), variable)| {
            let gradient = gradients.take(variable).expect("the loss depends on every parameter");
            (name.to_string(), Matrix::clone(&gradient))
        });
        Ok(Outcome { gradients: gradients.collect(), loss: loss.get(0, 0), logits: Matrix::clone(&logits) })
    }

    /// Logits and loss with other weights.
    pub fn evaluate(&self, parameters: &Parameters<T>) -> (Matrix<T>, T) {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let pass = Pass::new(&tape, parameters, self.mode);
        let logits = self.model.forward(&pass, &self.input).expect("finite embeddings");
        let logits = pass.drop_scores(&logits, self.model.score_dropout());
        let loss = tape.cross_entropy(&logits, &self.targets).get(0, 0);
        (Matrix::clone(&logits), loss)
    }
}

/// A random tree (every node but the first is joined to one before it) with random further edges.
pub fn connected_graph(nodes: usize, further_edges: usize, seed: u64) -> Graph {
    let stream = Stream::new(seed, Purpose::Generation, 1, 0);
    let tree = (1..nodes).map(|node| (node as u32, stream.below(node as u64, node) as u32));
    let further = (0..further_edges as u64).map(|index| {
        let end = |position| stream.below(nodes as u64 + 2 * index + position, nodes) as u32;
        (end(0), end(1))
    });
    Graph::from_edges(nodes, tree.chain(further)).expect("all ends are nodes")
}

/// Standard normal features.
pub fn random_features(nodes: usize, columns: usize, seed: u64) -> Features {
    Features::Dense(random_matrix(nodes, columns, seed).cast())
}

/// Positive features at about half of the places, the others not stored.
pub fn sparse_features(nodes: usize, columns: usize, seed: u64) -> Features {
    let values = random_matrix(nodes, columns, seed);
    let positive = Matrix::from_fn(nodes, columns, |row, column| values.get(row, column).max(0.0) as f32);
    Features::Sparse(Csr::from_dense(&positive))
}
