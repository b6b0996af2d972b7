//! ChebNet (Defferrard, Bresson and Vandergheynst: *Convolutional neural networks on graphs with fast localized
//! spectral filtering*, NIPS 2016): filters that are Chebyshev polynomials of the Laplacian.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::error::{require, require_rate, require_size};
use crate::{Embedding, GraphInput, NnError, Operator, ParameterGroup, ParameterSpec, Pass, Place};

/// `H ← ReLU(Σ_k T_k(L̂)·H·W_k + b)`, k = 0 … K, the last layer straight to the classes and without ReLU.
///
/// `L̂ = 2L/λ_max - I` with `λ_max = 2` is `-D^-½ A D^-½`; `T_k` are Chebyshev's polynomials, `T_0 = 1`, `T_1 = x`,
/// `T_k = 2x·T_{k-1} - T_{k-2}`. Dropout of the features and of every hidden embedding, as in GCN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct ChebnetConfig {
    /// `L`, how many layers, at least 1.
    pub layers: usize,
    /// `d`, the width of hidden layers, at least 1.
    pub hidden: usize,
    /// `K`, the order of the polynomials, at least 1; a layer has `K + 1` weights.
    pub order: usize,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of every hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
}

impl Default for ChebnetConfig {
    fn default() -> Self {
        Self { layers: 2, hidden: 64, order: 2, input_dropout: 0.5, hidden_dropout: 0.5 }
    }
}

impl ModelSettings for ChebnetConfig {
    const SUMMARY: &'static str = "filters of Chebyshev polynomials (Defferrard et al., 2016)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("d", "hidden"), ("K", "order")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require(self.order >= 1, "order", self.order, "at least 1")?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        Box::new(Chebnet { config: self.clone(), task })
    }
}

struct Chebnet {
    config: ChebnetConfig,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for Chebnet {
    fn specs(&self) -> Vec<ParameterSpec> {
        let ChebnetConfig { layers, hidden, order, .. } = self.config;
        let mut specs = Vec::new();
        for layer in 0..layers {
            let inputs = if layer == 0 { self.task.features } else { hidden };
            let outputs = if layer + 1 == layers { self.task.classes } else { hidden };
            let group = ParameterGroup::of_layer(layer, layers);
            let name = |k| format!("layers.{layer}.weights.{k}");
            let weights = (0..=order).map(|k| ParameterSpec::weight(name(k), inputs, outputs));
            let bias = ParameterSpec::bias(format!("layers.{layer}.bias"), outputs);
            specs.extend(weights.chain([bias]).map(|spec| spec.in_group(group)));
        }
        specs
    }

    fn has_dropout(&self) -> bool {
        self.config.input_dropout > 0.0 || self.config.hidden_dropout > 0.0
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let mut hidden = None;
        for (layer, parameters) in pass.parameters.chunks_exact(self.config.order + 2).enumerate() {
            let (weights, bias) = parameters.split_at(self.config.order + 1);
            let embedding = match &hidden {
                None => Embedding::Features(pass.dropout(self.config.input_dropout, Place::Features)),
                Some(hidden) => Embedding::Hidden(hidden),
            };
            let filtered = filter(pass, graph, &embedding, weights);
            let (activation, rate) = match layer + 1 < self.config.layers {
                true => (Activation::Relu, self.config.hidden_dropout),
                false => (Activation::Identity, 0.0),
            };
            let dropout = pass.dropout(rate, Place::Layer(layer));
            let output = pass.tape.activate(&filtered, bias.first(), activation, dropout);
            pass.observe(&output);
            hidden = Some(output);
        }
        Ok(hidden.expect("a validated model has at least one layer"))
    }
}

/// `Σ_k T_k(L̂)·E·W_k` by Clenshaw's recurrence: with `Y_k = E·W_k` and `B_k = Y_k + 2·L̂·B_{k+1} - B_{k+2}` it is
/// `Y_0 + L̂·B_1 - B_2`.
///
/// What is propagated has the width of the output, so that wide and sparse features are never propagated. `Y_k` is
/// computed when its turn comes; dropout of the features is the same each time, since position decides.
fn filter<T: Scalar>(
    pass: &Pass<T>,
    graph: &GraphInput<T>,
    embedding: &Embedding<T>,
    weights: &[Variable<T>],
) -> Variable<T> {
    let tape = pass.tape;
    let mut next = graph.transform(tape, embedding, &weights[weights.len() - 1]);
    let mut after: Option<Variable<T>> = None;
    for (k, weight) in weights.iter().enumerate().rev().skip(1) {
        let transformed = graph.transform(tape, embedding, weight);
        let spread = tape.propagate(graph.operator(Operator::Neighbours), &next);
        // L̂ is minus what propagates.
        let factor = if k == 0 { -1.0 } else { -2.0 };
        let mut terms = vec![(1.0, &transformed), (factor, &spread)];
        terms.extend(after.as_ref().map(|after| (-1.0, after)));
        let sum = tape.weighted_sum(&terms);
        after = Some(std::mem::replace(&mut next, sum));
    }
    next
}
