//! Random parts of the graph, left out while training.

use abyssal_tensor::Scalar;
use abyssal_tensor::tape::Variable;

use crate::{Embedding, GraphInput, Pass, Place};

/// How much of a graph is left out in a training pass. Evaluation sees all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dropping {
    /// The share of edges, in [0, 1).
    pub edges: f64,
    /// The share of nodes, in [0, 1).
    pub nodes: f64,
}

impl Dropping {
    /// Whether nothing is ever left out.
    pub fn is_nothing(&self) -> bool {
        self.edges == 0.0 && self.nodes == 0.0
    }

    /// DropEdge (Rong et al.: *DropEdge: towards deep graph convolutional networks on node classification*, ICLR 2020):
    /// the graph without a random share of its edges; `None` if none is left out in this pass.
    ///
    /// An edge goes in both directions or in none; operators are those of the graph that is left, whatever the model
    /// propagates with. Self-loops stay. All layers of a pass share the result, as in the paper (its layer-wise variant
    /// is not here). Which edges go depends on seed, epoch and the two nodes alone. The new graph is the one thing that
    /// is allocated anew in every training pass.
    pub fn thinned<T: Scalar>(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Option<GraphInput<T>> {
        let stream = pass.stream(Place::Edges).filter(|_| self.edges > 0.0)?;
        let threshold = (self.edges * 4_294_967_296.0) as u32;
        let nodes = graph.nodes() as u64;
        let keeps = |node: u32, neighbour: u32| {
            let edge = u64::from(node.min(neighbour)) * nodes + u64::from(node.max(neighbour));
            stream.word(edge) >= threshold
        };
        Some(graph.on(graph.graph().filtered(keeps)))
    }

    /// DropNode (Feng et al.: *Graph random neural networks*, NeurIPS 2020) of what a layer reads: whole rows are zeroed,
    /// the others scaled by `1/(1 - rate)`. Which ones depends on seed, epoch, layer and node.
    pub fn hidden<T: Scalar>(&self, pass: &Pass<T>, layer: usize, hidden: Variable<T>) -> Variable<T> {
        match pass.dropout(self.nodes, Place::Nodes(layer)) {
            Some(dropout) => pass.tape.drop_rows(&hidden, dropout),
            None => hidden,
        }
    }

    /// DropNode of the features, which are also dropped one by one with the given rate.
    pub fn features<T: Scalar>(&self, pass: &Pass<T>, rate: f64) -> Embedding<'static, T> {
        let entries = pass.dropout(rate, Place::Features);
        match pass.dropout(self.nodes, Place::Nodes(0)) {
            Some(nodes) => Embedding::SomeFeatures(entries, nodes),
            None => Embedding::Features(entries),
        }
    }
}
