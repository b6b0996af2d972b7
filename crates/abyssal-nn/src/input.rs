//! A graph as models see it.

use std::sync::{Arc, OnceLock};

use abyssal_graph::{Features, Graph, normalized_adjacency};
use abyssal_tensor::ops::{Activation, Dropout};
use abyssal_tensor::tape::{Tape, Variable};
use abyssal_tensor::{Matrix, Scalar, SparseOperator};

/// Node features, ready for products.
#[derive(Clone, Debug)]
pub enum InputFeatures<T> {
    /// Every value stored.
    Dense(Arc<Matrix<T>>),
    /// Only non-zero values stored.
    Sparse(Arc<SparseOperator<T>>),
}

/// A graph with its features and the operators models propagate with.
#[derive(Debug)]
pub struct GraphInput<T> {
    features: InputFeatures<T>,
    adjacency: Arc<SparseOperator<T>>,
    /// `ÂX` for dense features, computed when a model first wants it.
    propagated: OnceLock<Arc<Matrix<T>>>,
}

/// What a layer reads: the features themselves, or the output of the layer before.
pub enum Embedding<'a, T: Scalar> {
    /// The graph's features, after dropout.
    Features(Option<Dropout>),
    /// An embedding of the nodes.
    Hidden(&'a Variable<T>),
}

impl<T: Scalar> GraphInput<T> {
    /// Prepares a graph with its features.
    pub fn new(graph: &Graph, features: &Features) -> Self {
        let features = match features {
            Features::Dense(matrix) => InputFeatures::Dense(Arc::new(matrix.cast())),
            Features::Sparse(matrix) => InputFeatures::Sparse(Arc::new(SparseOperator::new(matrix.cast()))),
        };
        let adjacency = Arc::new(SparseOperator::new(normalized_adjacency(graph)));
        Self { features, adjacency, propagated: OnceLock::new() }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.adjacency.matrix().rows()
    }

    /// Number of features of a node.
    pub fn feature_count(&self) -> usize {
        match &self.features {
            InputFeatures::Dense(matrix) => matrix.columns(),
            InputFeatures::Sparse(operator) => operator.matrix().columns(),
        }
    }

    /// `Â = D̃^-½ (A+I) D̃^-½`.
    pub fn adjacency(&self) -> &Arc<SparseOperator<T>> {
        &self.adjacency
    }

    /// `E·W` for an embedding E.
    pub fn transform(&self, tape: &Tape<T>, embedding: &Embedding<T>, weight: &Variable<T>) -> Variable<T> {
        match (embedding, &self.features) {
            (Embedding::Hidden(hidden), _) => tape.linear(hidden, weight),
            (Embedding::Features(dropout), InputFeatures::Sparse(features)) => {
                tape.sparse_linear(features, *dropout, weight)
            }
            (Embedding::Features(dropout), InputFeatures::Dense(features)) => {
                tape.linear(&dense(tape, features, *dropout), weight)
            }
        }
    }

    /// `Â·E·W`, in the cheaper order. Shapes: E is n×f, W f×d.
    ///
    /// The product with Â costs (stored entries)·(width), so it goes where the matrix is narrower: `Â(EW)` unless
    /// W widens. Sparse features are always transformed first, since `ÂX` has many more entries than `X`. Where
    /// nothing is dropped from dense features, `ÂX` is constant and computed once.
    pub fn propagate_transformed(
        &self,
        tape: &Tape<T>,
        embedding: &Embedding<T>,
        weight: &Variable<T>,
    ) -> Variable<T> {
        let widens = weight.columns() > weight.rows();
        match (embedding, &self.features) {
            (Embedding::Features(dropout), InputFeatures::Dense(features)) if widens => {
                let propagated = match dropout {
                    Some(_) => tape.propagate(&self.adjacency, &dense(tape, features, *dropout)),
                    None => tape.constant(self.propagated.get_or_init(|| {
                        let mut output = Matrix::zeros(features.rows(), features.columns());
                        self.adjacency.matrix().multiply_into(features, &mut output);
                        Arc::new(output)
                    })),
                };
                tape.linear(&propagated, weight)
            }
            (Embedding::Hidden(hidden), _) if widens => {
                tape.linear(&tape.propagate(&self.adjacency, hidden), weight)
            }
            _ => tape.propagate(&self.adjacency, &self.transform(tape, embedding, weight)),
        }
    }
}

fn dense<T: Scalar>(tape: &Tape<T>, features: &Arc<Matrix<T>>, dropout: Option<Dropout>) -> Variable<T> {
    let features = tape.constant(features);
    match dropout {
        Some(_) => tape.activate(&features, None, Activation::Identity, dropout),
        None => features,
    }
}
