//! Graph convolutional network (Kipf and Welling: *Semi-supervised classification with graph convolutional
//! networks*, ICLR 2017), the model that collapses with depth.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::aggregation::{Aggregation, GcnAggregation};
use crate::error::{require_rate, require_size};
use crate::{Embedding, GraphInput, NnError, ParameterGroup, ParameterSpec, Pass, Place};

/// `H ← ReLU(Â·H·W_t + b_t)`, the last layer straight to the classes and without ReLU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct GcnConfig {
    /// `L`, how many layers, at least 1.
    pub layers: usize,
    /// `d`, the width of hidden layers, at least 1.
    pub hidden: usize,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of every hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
}

impl Default for GcnConfig {
    fn default() -> Self {
        Self { layers: 2, hidden: 64, input_dropout: 0.5, hidden_dropout: 0.5 }
    }
}

impl ModelSettings for GcnConfig {
    const SUMMARY: &'static str = "graph convolutional network (Kipf and Welling, 2017)";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("L", "layers"), ("d", "hidden")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        Box::new(Gcn { config: self.clone(), task })
    }
}

struct Gcn {
    config: GcnConfig,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for Gcn {
    fn specs(&self) -> Vec<ParameterSpec> {
        let GcnConfig { layers, hidden, .. } = self.config;
        (0..layers)
            .flat_map(|layer| {
                let inputs = if layer == 0 { self.task.features } else { hidden };
                let outputs = if layer + 1 == layers { self.task.classes } else { hidden };
                let group = ParameterGroup::of_layer(layer, layers);
                let mut specs = GcnAggregation.specs(&format!("layers.{layer}"), inputs, outputs);
                specs.push(ParameterSpec::bias(format!("layers.{layer}.bias"), outputs));
                specs.into_iter().map(move |spec| spec.in_group(group))
            })
            .collect()
    }

    fn has_dropout(&self) -> bool {
        self.config.input_dropout > 0.0 || self.config.hidden_dropout > 0.0
    }

    fn recomputes(&self) -> bool {
        true
    }

    fn forward<'m>(
        &'m self,
        pass: &Pass<'_, 'm, T>,
        graph: &'m GraphInput<T>,
    ) -> Result<Variable<T>, NnError> {
        let layers = self.config.layers;
        let state =
            pass.through_layers(layers, &pass.parameters, Vec::new(), move |pass, range, state| {
                let mut hidden = state.first().cloned();
                for (layer, weights) in range.zip(pass.parameters.chunks_exact(2)) {
                    hidden = Some(self.layer(pass, graph, layer, hidden.as_ref(), weights));
                }
                Ok(Vec::from_iter(hidden))
            })?;
        Ok(state.into_iter().next().expect("a validated model has at least one layer"))
    }
}

impl Gcn {
    /// One layer, counted from 0, on the features or the layer before it; the last one gives the scores.
    fn layer<T: Scalar>(
        &self,
        pass: &Pass<T>,
        graph: &GraphInput<T>,
        layer: usize,
        hidden: Option<&Variable<T>>,
        weights: &[Variable<T>],
    ) -> Variable<T> {
        let (weight, bias) = weights.split_at(1);
        let embedding = match hidden {
            None => Embedding::Features(pass.dropout(self.config.input_dropout, Place::Features)),
            Some(hidden) => Embedding::Hidden(hidden),
        };
        let aggregated = GcnAggregation.aggregate(pass, graph, layer, &embedding, weight);
        let (activation, rate) = match layer + 1 == self.config.layers {
            false => (Activation::Relu, self.config.hidden_dropout),
            true => (Activation::Identity, 0.0),
        };
        let dropout = pass.dropout(rate, Place::Layer(layer));
        let output = pass.tape.activate(&aggregated, bias.first(), activation, dropout);
        pass.observe(&output);
        output
    }
}
