//! The aggregation of graph attention networks (Veličković et al., 2018).

use abyssal_tensor::Scalar;
use abyssal_tensor::tape::Variable;

use super::Aggregation;
use crate::{Embedding, GraphInput, ParameterSpec, Pass, Place};

/// `Agg(H; W, s, t)_i = ‖_k Σ_j dropout(α_ijk)·W_k h_j` over j = i and the neighbours of i, with
/// `α_i·k = softmax_j LeakyReLU(⟨t_k, W_k h_i⟩ + ⟨s_k, W_k h_j⟩)`.
///
/// Shapes: W is inputs×outputs, s and t are K×(outputs/K). The number of heads K divides the number of outputs.
#[derive(Clone, Copy, Debug)]
pub struct GatAggregation {
    /// `K`, how many heads.
    pub heads: usize,
    /// The slope of LeakyReLU below zero.
    pub slope: f64,
    /// Dropout of `α`, in [0, 1).
    pub attention_dropout: f64,
}

impl Aggregation for GatAggregation {
    fn specs(&self, prefix: &str, inputs: usize, outputs: usize) -> Vec<ParameterSpec> {
        let vectors =
            |name| ParameterSpec::weight(format!("{prefix}.{name}"), self.heads, outputs / self.heads);
        let weight = ParameterSpec::weight(format!("{prefix}.weight"), inputs, outputs);
        vec![weight, vectors("source"), vectors("target")]
    }

    fn parameters(&self) -> usize {
        3
    }

    fn aggregate<T: Scalar>(
        &self,
        pass: &Pass<T>,
        graph: &GraphInput<T>,
        layer: usize,
        embedding: &Embedding<T>,
        parameters: &[Variable<T>],
    ) -> Variable<T> {
        let [weight, source, target] = parameters else { panic!("the parameters of `specs`") };
        let transformed = graph.transform(pass.tape, embedding, weight);
        let dropout = pass.dropout(self.attention_dropout, Place::Attention(layer));
        pass.tape.attend(graph.adjacency(), &transformed, source, target, self.slope, dropout)
    }
}
