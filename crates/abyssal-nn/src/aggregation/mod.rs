//! How a node's new embedding is made from its neighbours': `Agg(H; W)`.
//!
//! The normalisation of [`crate::SoftLayer`] works on whatever an aggregation gives.

mod backbone;
mod gat;
mod gcn;
mod gin;
mod sgc;

pub use backbone::Backbone;
pub(crate) use backbone::BackboneAggregation;
pub use gat::GatAggregation;
pub use gcn::GcnAggregation;
pub use gin::{GinAggregation, Neighbourhood};
pub use sgc::SgcAggregation;

use std::sync::Arc;

use abyssal_tensor::tape::Variable;
use abyssal_tensor::{Scalar, SparseOperator};

use crate::{Embedding, GraphInput, ParameterSpec, Pass};

/// One kind of aggregation.
pub trait Aggregation: Send + Sync {
    /// The parameters of one layer, all named `prefix.…`.
    fn specs(&self, prefix: &str, inputs: usize, outputs: usize) -> Vec<ParameterSpec>;

    /// How many parameters [`Aggregation::specs`] lists.
    fn parameters(&self) -> usize;

    /// `Agg(E; W)`. Shapes: E is n×inputs, the result n×outputs; `parameters` are those of [`Aggregation::specs`]. The
    /// layer, counted from 0, tells the dropout of one layer from that of another.
    fn aggregate<T: Scalar>(
        &self,
        pass: &Pass<T>,
        graph: &GraphInput<T>,
        layer: usize,
        embedding: &Embedding<T>,
        parameters: &[Variable<T>],
    ) -> Variable<T>;

    /// `(A, W)` where the aggregation of embeddings is `A·H·W` and nothing else, so that a layer can compute it together with
    /// what follows.
    fn convolution<'a, T: Scalar>(
        &self,
        _graph: &'a GraphInput<T>,
        _parameters: &'a [Variable<T>],
    ) -> Option<(&'a Arc<SparseOperator<T>>, &'a Variable<T>)> {
        None
    }
}
