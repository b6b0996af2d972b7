//! The aggregation of simplified graph convolution (Wu et al., 2019).

use abyssal_tensor::Scalar;
use abyssal_tensor::tape::Variable;

use super::Aggregation;
use crate::{Embedding, GraphInput, ParameterSpec, Pass};

/// `Agg(H) = Â·H`, without weights: features must be reduced to the width of embeddings before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SgcAggregation;

impl Aggregation for SgcAggregation {
    fn specs(&self, _prefix: &str, inputs: usize, outputs: usize) -> Vec<ParameterSpec> {
        assert_eq!(inputs, outputs, "without weights the width stays");
        Vec::new()
    }

    fn parameters(&self) -> usize {
        0
    }

    fn aggregate<T: Scalar>(
        &self,
        pass: &Pass<T>,
        graph: &GraphInput<T>,
        _layer: usize,
        embedding: &Embedding<T>,
        _parameters: &[Variable<T>],
    ) -> Variable<T> {
        pass.tape.propagate(graph.adjacency(), &graph.dense(pass.tape, embedding))
    }
}
