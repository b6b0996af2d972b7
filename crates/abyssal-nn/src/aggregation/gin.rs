//! The aggregation of graph isomorphism networks (Xu et al., 2019).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use abyssal_tensor::tape::Variable;
use abyssal_tensor::{Matrix, Scalar};

use super::Aggregation;
use crate::{Embedding, GraphInput, Operator, ParameterSpec, Pass};

/// How the embeddings of a node's neighbours become one; all give zeros to a node without neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Neighbourhood {
    /// `Σ_j h_j`, which tells all multisets of neighbours apart.
    #[default]
    Sum,
    /// `1/deg · Σ_j h_j`.
    Mean,
    /// `max_j h_j`, column by column.
    Max,
}

/// `Agg(H; W, ε)_i = ((1 + ε)·h_i + N_j h_j)·W`, with N the sum, the mean or the maximum over the neighbours j of i:
/// the first linear map of a GIN's perceptron.
#[derive(Clone, Copy, Debug)]
pub struct GinAggregation {
    /// `N`.
    pub neighbourhood: Neighbourhood,
    /// Whether `ε` is learnt, from 0 on, or stays 0.
    pub learn_epsilon: bool,
}

impl Aggregation for GinAggregation {
    fn specs(&self, prefix: &str, inputs: usize, outputs: usize) -> Vec<ParameterSpec> {
        let epsilon = self.learn_epsilon.then(|| ParameterSpec::bias(format!("{prefix}.epsilon"), 1));
        [ParameterSpec::weight(format!("{prefix}.weight"), inputs, outputs)]
            .into_iter()
            .chain(epsilon)
            .collect()
    }

    fn parameters(&self) -> usize {
        1 + usize::from(self.learn_epsilon)
    }

    /// Sums and means commute with the linear map, so they go over the transformed embeddings; sparse features stay
    /// sparse then. Maxima do not, and want all values of the features stored.
    fn aggregate<T: Scalar>(
        &self,
        pass: &Pass<T>,
        graph: &GraphInput<T>,
        _layer: usize,
        embedding: &Embedding<T>,
        parameters: &[Variable<T>],
    ) -> Variable<T> {
        let tape = pass.tape;
        let fixed = || tape.constant(&Arc::new(Matrix::zeros(1, 1)));
        let (weight, epsilon) = (&parameters[0], parameters.get(1).cloned().unwrap_or_else(fixed));
        let operator = match self.neighbourhood {
            Neighbourhood::Sum => Operator::NeighbourSum,
            Neighbourhood::Mean => Operator::NeighbourMean,
            Neighbourhood::Max => {
                let own = graph.dense(tape, embedding);
                let largest = tape.neighbour_maximum(graph.operator(Operator::NeighbourSum), &own);
                return tape.linear(&tape.scaled_sum(&epsilon, &own, &largest), weight);
            }
        };
        let own = graph.transform(tape, embedding, weight);
        tape.scaled_sum(&epsilon, &own, &tape.propagate(graph.operator(operator), &own))
    }
}
