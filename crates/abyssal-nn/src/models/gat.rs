//! Graph attention network (Veličković et al.: *Graph attention networks*, ICLR 2018).

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::aggregation::{Aggregation, GatAggregation};
use crate::error::{require, require_rate, require_size, require_unit};
use crate::{Embedding, GraphInput, NnError, ParameterGroup, ParameterSpec, Pass, Place};

/// `H ← ELU(Agg(H; W_t, s_t, t_t) + b_t)` with `Agg` the attention of [`GatAggregation`], its heads side by side; the
/// last layer goes straight to the classes, with the mean over its heads and without ELU.
///
/// The released code draws a dropout mask of the input for each head, drops `W h_j` once more before it is summed, and
/// adds a bias to either term of a score. Here one mask serves all heads, and there is neither of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct GatConfig {
    /// `L`, how many layers, at least 1.
    pub layers: usize,
    /// `d`, the width of hidden layers, all heads together, at least 1 and a multiple of `heads`.
    pub hidden: usize,
    /// `K`, heads of hidden layers, at least 1.
    pub heads: usize,
    /// Heads of the last layer, at least 1.
    pub output_heads: usize,
    /// The slope of the scores' LeakyReLU below zero, in [0, 1].
    pub slope: f64,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of every hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
    /// Dropout of the attention weights, in [0, 1).
    pub attention_dropout: f64,
}

impl Default for GatConfig {
    fn default() -> Self {
        Self {
            layers: 2,
            hidden: 64,
            heads: 8,
            output_heads: 1,
            slope: 0.2,
            input_dropout: 0.6,
            hidden_dropout: 0.6,
            attention_dropout: 0.6,
        }
    }
}

impl ModelSettings for GatConfig {
    const SUMMARY: &'static str = "graph attention network (Veličković et al., 2018)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("d", "hidden"), ("K", "heads")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require(self.heads >= 1, "heads", self.heads, "at least 1")?;
        // A single layer is the last one and has no hidden width.
        let divides = self.layers == 1 || self.hidden.is_multiple_of(self.heads);
        require(divides, "hidden", self.hidden, "a multiple of model.heads")?;
        require(self.output_heads >= 1, "output_heads", self.output_heads, "at least 1")?;
        require_unit("slope", self.slope)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)?;
        require_rate("attention_dropout", self.attention_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        Box::new(Gat { config: self.clone(), task })
    }
}

struct Gat {
    config: GatConfig,
    task: TaskShape,
}

impl Gat {
    fn is_last(&self, layer: usize) -> bool {
        layer + 1 == self.config.layers
    }

    fn aggregation(&self, layer: usize) -> GatAggregation {
        let GatConfig { heads, output_heads, slope, attention_dropout, .. } = self.config;
        let heads = if self.is_last(layer) { output_heads } else { heads };
        GatAggregation { heads, slope, attention_dropout }
    }
}

impl<T: Scalar> Model<T> for Gat {
    fn specs(&self) -> Vec<ParameterSpec> {
        let GatConfig { layers, hidden, output_heads, .. } = self.config;
        let of_layer = |layer| {
            let inputs = if layer == 0 { self.task.features } else { hidden };
            let (outputs, biases) = match self.is_last(layer) {
                true => (output_heads * self.task.classes, self.task.classes),
                false => (hidden, hidden),
            };
            let group = ParameterGroup::of_layer(layer, layers);
            let mut specs = self.aggregation(layer).specs(&format!("layers.{layer}"), inputs, outputs);
            specs.push(ParameterSpec::bias(format!("layers.{layer}.bias"), biases));
            specs.into_iter().map(move |spec| spec.in_group(group))
        };
        (0..layers).flat_map(of_layer).collect()
    }

    fn has_dropout(&self) -> bool {
        let GatConfig { input_dropout, hidden_dropout, attention_dropout, .. } = self.config;
        [input_dropout, hidden_dropout, attention_dropout].iter().any(|&rate| rate > 0.0)
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let mut hidden = None;
        for (layer, parameters) in pass.parameters.chunks_exact(4).enumerate() {
            let (attention, bias) = parameters.split_at(3);
            let embedding = match &hidden {
                None => Embedding::Features(pass.dropout(self.config.input_dropout, Place::Features)),
                Some(hidden) => Embedding::Hidden(hidden),
            };
            let aggregated = self.aggregation(layer).aggregate(pass, graph, layer, &embedding, attention);
            let output = if self.is_last(layer) {
                let mean = pass.tape.average_heads(&aggregated, self.config.output_heads);
                pass.tape.activate(&mean, bias.first(), Activation::Identity, None)
            } else {
                let dropout = pass.dropout(self.config.hidden_dropout, Place::Layer(layer));
                pass.tape.activate(&aggregated, bias.first(), Activation::Elu, dropout)
            };
            pass.observe(&output);
            hidden = Some(output);
        }
        Ok(hidden.expect("a validated model has at least one layer"))
    }
}
