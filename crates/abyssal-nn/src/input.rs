//! A graph as models see it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use abyssal_graph::{Features, Graph, Normalization, adjacency, normalized_adjacency, two_hop_graph};
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

/// A way a graph acts on embeddings; [`GraphInput::operator`] has its matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// `Â = D̃^-½ (A+I) D̃^-½`.
    Convolution,
    /// `D^-½ A D^-½`: neighbours without the node itself.
    Neighbours,
    /// `D^-1 A`: the mean over the neighbours.
    NeighbourMean,
    /// `A`: the sum over the neighbours.
    NeighbourSum,
    /// `D₂^-½ A₂ D₂^-½`, where `A₂` joins nodes exactly two steps apart.
    TwoHops,
}

const OPERATORS: usize = 5;

/// `O^k·X` for dense features, by operator and `k`, which is at least 1.
type Propagated<T> = BTreeMap<(Operator, usize), Arc<Matrix<T>>>;

/// A graph with its features and the operators models propagate with.
#[derive(Debug)]
pub struct GraphInput<T> {
    /// Tells it from all others in this process.
    identity: u64,
    graph: Graph,
    features: InputFeatures<T>,
    /// One place an [`Operator`], made when a model first wants it.
    operators: [OnceLock<Arc<SparseOperator<T>>>; OPERATORS],
    /// Sparse features with their zeros written out, for models that need all values.
    dense: OnceLock<Arc<Matrix<T>>>,
    /// Computed when a model first wants it.
    propagated: Mutex<Propagated<T>>,
}

/// What a layer reads: the features themselves, or the output of the layer before.
pub enum Embedding<'a, T: Scalar> {
    /// The graph's features, after dropout.
    Features(Option<Dropout>),
    /// The same, after dropout of whole nodes as well.
    SomeFeatures(Option<Dropout>, Dropout),
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
        Self::with(graph.clone(), features, OnceLock::new())
    }

    fn with(graph: Graph, features: InputFeatures<T>, dense: OnceLock<Arc<Matrix<T>>>) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self {
            identity: COUNT.fetch_add(1, Ordering::Relaxed),
            graph,
            features,
            operators: [const { OnceLock::new() }; OPERATORS],
            propagated: Mutex::default(),
            dense,
        }
    }

    /// A number that no other one in this process has.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// The same features on another graph of as many nodes.
    pub fn on(&self, graph: Graph) -> Self {
        Self::with(graph, self.features.clone(), self.dense.clone())
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.graph.nodes()
    }

    /// The graph itself.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The features, ready for products.
    pub fn features(&self) -> &InputFeatures<T> {
        &self.features
    }

    /// Number of features of a node.
    pub fn feature_count(&self) -> usize {
        match &self.features {
            InputFeatures::Dense(matrix) => matrix.columns(),
            InputFeatures::Sparse(operator) => operator.matrix().columns(),
        }
    }

    /// The matrix of an operator.
    pub fn operator(&self, operator: Operator) -> &Arc<SparseOperator<T>> {
        self.operators[operator as usize].get_or_init(|| {
            let matrix = match operator {
                Operator::Convolution => normalized_adjacency(&self.graph),
                Operator::Neighbours => adjacency(&self.graph, Normalization::Symmetric, false),
                Operator::NeighbourMean => adjacency(&self.graph, Normalization::Mean, false),
                Operator::NeighbourSum => adjacency(&self.graph, Normalization::Sum, false),
                Operator::TwoHops => adjacency(&two_hop_graph(&self.graph), Normalization::Symmetric, false),
            };
            Arc::new(SparseOperator::new(matrix))
        })
    }

    /// How many operators a model has wanted so far.
    pub fn operators_made(&self) -> usize {
        self.operators.iter().filter(|operator| operator.get().is_some()).count()
    }

    /// Whether a model has wanted this operator so far.
    pub fn has_made(&self, operator: Operator) -> bool {
        self.operators[operator as usize].get().is_some()
    }

    /// How many values of dense features, as they are or propagated, a model has wanted beside the features themselves.
    pub fn values_made(&self) -> usize {
        let propagated = self.propagated.lock().unwrap_or_else(PoisonError::into_inner);
        let made = propagated.values().chain(self.dense.get()).map(|matrix| matrix.as_slice().len());
        made.sum()
    }

    /// `Â = D̃^-½ (A+I) D̃^-½`.
    pub fn adjacency(&self) -> &Arc<SparseOperator<T>> {
        self.operator(Operator::Convolution)
    }

    /// An embedding with every value stored, for operations that are not linear.
    pub fn dense(&self, tape: &Tape<T>, embedding: &Embedding<T>) -> Variable<T> {
        match (embedding, &self.features) {
            (Embedding::Hidden(hidden), _) => Variable::clone(hidden),
            (Embedding::Features(dropout), InputFeatures::Dense(features)) => dense(tape, features, *dropout),
            (Embedding::Features(dropout), InputFeatures::Sparse(features)) => {
                let written = self.dense.get_or_init(|| Arc::new(features.matrix().to_dense()));
                dense(tape, written, *dropout)
            }
            (Embedding::SomeFeatures(dropout, nodes), _) => {
                tape.drop_rows(&self.dense(tape, &Embedding::Features(*dropout)), *nodes)
            }
        }
    }

    /// `O^k·X` where the features are dense, computed when it is first wanted, then kept; `None` where they are sparse.
    pub fn propagated_features(&self, operator: Operator, steps: usize) -> Option<Arc<Matrix<T>>> {
        let InputFeatures::Dense(features) = &self.features else { return None };
        if steps == 0 {
            return Some(Arc::clone(features));
        }
        // A panic elsewhere leaves the map whole: it is only looked up and inserted into.
        let kept = || self.propagated.lock().unwrap_or_else(PoisonError::into_inner);
        let farthest = kept()
            .range((operator, 1)..=(operator, steps))
            .next_back()
            .map(|(&(_, done), product)| (done, Arc::clone(product)));
        let (done, mut product) = farthest.unwrap_or((0, Arc::clone(features)));
        // Not under the lock: the threads that multiply may turn to another pass over this graph meanwhile.
        for _ in done..steps {
            let mut next = Matrix::zeros(features.rows(), features.columns());
            self.operator(operator).matrix().multiply_into(&product, &mut next);
            product = Arc::new(next);
        }
        Some(Arc::clone(kept().entry((operator, steps)).or_insert(product)))
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
            // Rows of X are rows of XW, and those are fewer numbers.
            (Embedding::SomeFeatures(dropout, nodes), _) => {
                tape.drop_rows(&self.transform(tape, &Embedding::Features(*dropout), weight), *nodes)
            }
        }
    }

    /// `O^k·X·W` of the features X: a product with what [`GraphInput::propagated_features`] keeps where they are dense,
    /// and `O^k·(X·W)` where they are sparse.
    pub fn transform_propagated(
        &self,
        tape: &Tape<T>,
        operator: Operator,
        steps: usize,
        weight: &Variable<T>,
    ) -> Variable<T> {
        match self.propagated_features(operator, steps) {
            Some(propagated) => tape.linear(&tape.constant(&propagated), weight),
            None => {
                let product = self.transform(tape, &Embedding::Features(None), weight);
                let operator = self.operator(operator);
                (0..steps).fold(product, |product, _| tape.propagate(operator, &product))
            }
        }
    }

    /// `Â·E·W`, in the cheaper order. Shapes: E is n×f, W f×d.
    ///
    /// The product with Â costs (stored entries)·(width), so it goes where the matrix is narrower: `Â(EW)` unless
    /// W widens. Sparse features are always transformed first, since `ÂX` has many more entries than `X`. Where W
    /// widens dense features and nothing is dropped from them, `ÂX` is constant and computed once.
    pub fn propagate_transformed(
        &self,
        tape: &Tape<T>,
        embedding: &Embedding<T>,
        weight: &Variable<T>,
    ) -> Variable<T> {
        let widens = weight.columns() > weight.rows();
        match (embedding, &self.features) {
            (Embedding::Features(dropout), InputFeatures::Dense(features)) if widens => {
                let constant =
                    if dropout.is_none() { self.propagated_features(Operator::Convolution, 1) } else { None };
                let propagated = match constant {
                    Some(constant) => tape.constant(&constant),
                    None => tape.propagate(self.adjacency(), &dense(tape, features, *dropout)),
                };
                tape.linear(&propagated, weight)
            }
            (Embedding::Hidden(hidden), _) if widens => {
                tape.linear(&tape.propagate(self.adjacency(), hidden), weight)
            }
            _ => tape.propagate(self.adjacency(), &self.transform(tape, embedding, weight)),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The features themselves are no product: keeping them again would be counted as memory that a model takes.
    #[test]
    fn no_steps_of_propagation_make_nothing() {
        let graph = Graph::from_edges(4, [(0, 1), (1, 2)]).unwrap();
        let features = Features::Dense(Matrix::from_fn(4, 3, |row, column| (row + column) as f32));
        let input = GraphInput::<f32>::new(&graph, &features);
        let InputFeatures::Dense(kept) = input.features() else { panic!("they are dense") };
        let none = input.propagated_features(Operator::Neighbours, 0).unwrap();
        assert!(Arc::ptr_eq(&none, kept));
        assert_eq!((input.values_made(), input.operators_made()), (0, 0));
        let twice = input.propagated_features(Operator::Neighbours, 2).unwrap();
        assert_eq!(input.values_made(), 12);
        let mut once = Matrix::zeros(4, 3);
        input.operator(Operator::Neighbours).matrix().multiply_into(kept, &mut once);
        let mut expected = Matrix::zeros(4, 3);
        input.operator(Operator::Neighbours).matrix().multiply_into(&once, &mut expected);
        assert_eq!(*twice, expected);
    }
}
