//! The aggregation of graph convolutional networks (Kipf and Welling, 2017).

use std::sync::Arc;

use abyssal_tensor::tape::Variable;
use abyssal_tensor::{Scalar, SparseOperator};

use super::Aggregation;
use crate::{Embedding, GraphInput, ParameterSpec, Pass};

/// `Agg(H; W) = Â·H·W`, `Â = D̃^-½ (A+I) D̃^-½`.
#[derive(Clone, Copy, Debug, Default)]
pub struct GcnAggregation;

impl Aggregation for GcnAggregation {
    fn specs(&self, prefix: &str, inputs: usize, outputs: usize) -> Vec<ParameterSpec> {
        vec![ParameterSpec::weight(format!("{prefix}.weight"), inputs, outputs)]
    }

    fn parameters(&self) -> usize {
        1
    }

    fn aggregate<T: Scalar>(
        &self,
        pass: &Pass<T>,
        graph: &GraphInput<T>,
        _layer: usize,
        embedding: &Embedding<T>,
        parameters: &[Variable<T>],
    ) -> Variable<T> {
        graph.propagate_transformed(pass.tape, embedding, &parameters[0])
    }

    fn convolution<'a, T: Scalar>(
        &self,
        graph: &'a GraphInput<T>,
        parameters: &'a [Variable<T>],
    ) -> Option<(&'a Arc<SparseOperator<T>>, &'a Variable<T>)> {
        Some((graph.adjacency(), &parameters[0]))
    }
}
