//! Jumping-knowledge network (Xu et al.: *Representation learning on graphs with jumping knowledge networks*, ICML
//! 2018): the classifier sees the embeddings of all layers.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::aggregation::{Aggregation, GcnAggregation};
use crate::error::{require_rate, require_size};
use crate::{Embedding, GraphInput, NnError, ParameterGroup, ParameterSpec, Pass, Place};

/// How the embeddings of all layers become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Jump {
    /// Side by side: `[H_1 | … | H_L]`.
    #[default]
    Concat,
    /// The largest value: `max_t (H_t)_ij`.
    Max,
}

/// `H_t = ReLU(Â·H_{t-1}·W_t + b_t)`, then `Z = jump(H_1, …, H_L)·W + b`.
///
/// Dropout of the features and of every layer's output, as in GCN; the jump sees the dropped embeddings. We know of no
/// code by the authors to follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct JknetConfig {
    /// `L`, how many convolutions, at least 1.
    pub layers: usize,
    /// `d`, the width of embeddings, at least 1.
    pub hidden: usize,
    /// How the embeddings of all layers become one: `concat` or `max`.
    pub mode: Jump,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of every layer's output, in [0, 1).
    pub hidden_dropout: f64,
}

impl Default for JknetConfig {
    fn default() -> Self {
        Self { layers: 6, hidden: 32, mode: Jump::Concat, input_dropout: 0.5, hidden_dropout: 0.5 }
    }
}

impl ModelSettings for JknetConfig {
    const SUMMARY: &'static str = "GCN whose classifier sees all layers (Xu et al., 2018)";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("L", "layers"), ("d", "hidden")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        Box::new(Jknet { config: self.clone(), task })
    }
}

struct Jknet {
    config: JknetConfig,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for Jknet {
    fn specs(&self) -> Vec<ParameterSpec> {
        let JknetConfig { layers, hidden, mode, .. } = self.config;
        let mut specs = Vec::new();
        for layer in 0..layers {
            let inputs = if layer == 0 { self.task.features } else { hidden };
            let group = if layer == 0 { ParameterGroup::Input } else { ParameterGroup::Hidden };
            let mut of_layer = GcnAggregation.specs(&format!("layers.{layer}"), inputs, hidden);
            of_layer.push(ParameterSpec::bias(format!("layers.{layer}.bias"), hidden));
            specs.extend(of_layer.into_iter().map(|spec| spec.in_group(group)));
        }
        let width = match mode {
            Jump::Concat => layers * hidden,
            Jump::Max => hidden,
        };
        specs.extend(ParameterSpec::classifier(width, self.task.classes));
        specs
    }

    fn has_dropout(&self) -> bool {
        self.config.input_dropout > 0.0 || self.config.hidden_dropout > 0.0
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let (of_layers, of_head) = pass.parameters.split_at(pass.parameters.len() - 2);
        let mut embeddings: Vec<Variable<T>> = Vec::with_capacity(self.config.layers);
        for (layer, parameters) in of_layers.chunks_exact(2).enumerate() {
            let (weight, bias) = parameters.split_at(1);
            let embedding = match embeddings.last() {
                None => Embedding::Features(pass.dropout(self.config.input_dropout, Place::Features)),
                Some(hidden) => Embedding::Hidden(hidden),
            };
            let aggregated = GcnAggregation.aggregate(pass, graph, layer, &embedding, weight);
            let dropout = pass.dropout(self.config.hidden_dropout, Place::Layer(layer));
            let output = pass.tape.activate(&aggregated, bias.first(), Activation::Relu, dropout);
            pass.observe(&output);
            embeddings.push(output);
        }
        let embeddings: Vec<&Variable<T>> = embeddings.iter().collect();
        let jumped = match self.config.mode {
            Jump::Concat => pass.tape.concatenate(&embeddings),
            Jump::Max => pass.tape.maximum(&embeddings),
        };
        let scores = pass.tape.linear(&jumped, &of_head[0]);
        Ok(pass.tape.activate(&scores, Some(&of_head[1]), Activation::Identity, None))
    }
}
