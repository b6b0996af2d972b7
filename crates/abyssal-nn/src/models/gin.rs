//! Graph isomorphism network (Xu et al.: *How powerful are graph neural networks?*, ICLR 2019), for nodes.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::aggregation::{Aggregation, GinAggregation, Neighbourhood};
use crate::error::{require_rate, require_size};
use crate::{Embedding, GraphInput, NnError, ParameterGroup, ParameterSpec, Pass, Place};

/// `H ← ReLU(ReLU(Agg(H; W_t, ε_t) + b_t)·V_t + c_t)` with `Agg` of [`GinAggregation`]: a perceptron of two linear maps on
/// `(1 + ε)·h_i + N_j h_j`. The last layer goes straight to the classes, without the outer ReLU.
///
/// The released code classifies whole graphs: it has BatchNorm before both ReLUs, and adds up the scores of linear
/// classifiers on the input and on every layer. Here there is neither.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct GinConfig {
    /// `L`, how many layers, at least 1.
    pub layers: usize,
    /// `d`, the width of hidden layers and within all perceptrons, at least 1.
    pub hidden: usize,
    /// What is taken of the neighbours: `sum`, `mean` or `max`.
    pub neighbourhood: Neighbourhood,
    /// Whether `ε` is learnt, from 0 on (the paper's GIN-ε), or stays 0 (GIN-0).
    pub learn_epsilon: bool,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of every hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
}

impl Default for GinConfig {
    fn default() -> Self {
        Self {
            layers: 2,
            hidden: 64,
            neighbourhood: Neighbourhood::Sum,
            learn_epsilon: true,
            input_dropout: 0.5,
            hidden_dropout: 0.5,
        }
    }
}

impl ModelSettings for GinConfig {
    const SUMMARY: &'static str = "graph isomorphism network (Xu et al., 2019)";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("L", "layers"), ("d", "hidden")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let GinConfig { neighbourhood, learn_epsilon, .. } = *self;
        let aggregation = GinAggregation { neighbourhood, learn_epsilon };
        Box::new(Gin { config: self.clone(), task, aggregation })
    }
}

struct Gin {
    config: GinConfig,
    task: TaskShape,
    aggregation: GinAggregation,
}

impl<T: Scalar> Model<T> for Gin {
    fn specs(&self) -> Vec<ParameterSpec> {
        let GinConfig { layers, hidden, .. } = self.config;
        let of_layer = |layer| {
            let inputs = if layer == 0 { self.task.features } else { hidden };
            let outputs = if layer + 1 == layers { self.task.classes } else { hidden };
            let group = ParameterGroup::of_layer(layer, layers);
            let mut specs = self.aggregation.specs(&format!("layers.{layer}"), inputs, hidden);
            specs.push(ParameterSpec::bias(format!("layers.{layer}.bias"), hidden));
            specs.push(ParameterSpec::weight(format!("layers.{layer}.outer.weight"), hidden, outputs));
            specs.push(ParameterSpec::bias(format!("layers.{layer}.outer.bias"), outputs));
            specs.into_iter().map(move |spec| spec.in_group(group))
        };
        (0..layers).flat_map(of_layer).collect()
    }

    fn has_dropout(&self) -> bool {
        self.config.input_dropout > 0.0 || self.config.hidden_dropout > 0.0
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let mut hidden = None;
        let of_layers = pass.parameters.chunks_exact(pass.parameters.len() / self.config.layers);
        for (layer, parameters) in of_layers.enumerate() {
            let (aggregation, perceptron) = parameters.split_at(parameters.len() - 3);
            let [inner_bias, outer_weight, outer_bias] = perceptron else {
                panic!("the parameters of `specs`")
            };
            let embedding = match &hidden {
                None => Embedding::Features(pass.dropout(self.config.input_dropout, Place::Features)),
                Some(hidden) => Embedding::Hidden(hidden),
            };
            let aggregated = self.aggregation.aggregate(pass, graph, layer, &embedding, aggregation);
            let inner = pass.tape.activate(&aggregated, Some(inner_bias), Activation::Relu, None);
            let outer = pass.tape.linear(&inner, outer_weight);
            let (activation, rate) = match layer + 1 == self.config.layers {
                true => (Activation::Identity, 0.0),
                false => (Activation::Relu, self.config.hidden_dropout),
            };
            let dropout = pass.dropout(rate, Place::Layer(layer));
            let output = pass.tape.activate(&outer, Some(outer_bias), activation, dropout);
            pass.observe(&output);
            hidden = Some(output);
        }
        Ok(hidden.expect("a validated model has at least one layer"))
    }
}
