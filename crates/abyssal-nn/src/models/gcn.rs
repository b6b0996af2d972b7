//! Graph convolutional network (Kipf and Welling: *Semi-supervised classification with graph convolutional
//! networks*, ICLR 2017), the model that collapses with depth.

use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::aggregation::{Aggregation, GcnAggregation};
use crate::error::{require, require_rate};
use crate::{
    ConnectionKind, Dropping, Embedding, GraphInput, NnError, Normalization, NormalizationKind,
    ParameterGroup, ParameterSpec, Pass,
};

/// `H ← ReLU(norm(Â·H·W_t + b_t))`, connected with the layers before it; the last layer straight to the classes, without
/// normalisation and ReLU. By default nothing is normalised, connected or left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// What hidden layers are normalised by: `none`, `batch`, `layer`, `pair`, `pair-si`, `pair-scs`, `mean`, `node` or
    /// `group`.
    pub normalization: NormalizationKind,
    /// What layers read of those before: `none`, `residual`, `initial`, `dense`, `jumping` or `jumping-maximum`.
    pub connection: ConnectionKind,
    /// DropEdge: the share of edges left out in every epoch, in [0, 1).
    pub drop_edge: f64,
    /// DropNode: the share of nodes whose embedding every layer leaves out, in [0, 1).
    pub drop_node: f64,
}

impl Default for GcnConfig {
    fn default() -> Self {
        Self {
            layers: 2,
            hidden: 64,
            input_dropout: 0.5,
            hidden_dropout: 0.5,
            normalization: NormalizationKind::None,
            connection: ConnectionKind::None,
            drop_edge: 0.0,
            drop_node: 0.0,
        }
    }
}

impl ModelSettings for GcnConfig {
    const SUMMARY: &'static str = "graph convolutional network (Kipf and Welling, 2017)";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("L", "layers"), ("d", "hidden")];

    fn validate(&self) -> Result<(), NnError> {
        require(self.layers >= 1, "layers", self.layers, "at least 1")?;
        require(self.hidden >= 1, "hidden", self.hidden, "at least 1")?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)?;
        require_rate("drop_edge", self.drop_edge)?;
        require_rate("drop_node", self.drop_node)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let normalization = Normalization { kind: self.normalization, scale: 1.0 };
        Box::new(Gcn { config: self.clone(), normalization, task })
    }
}

/// The network, for every configuration that is one of it.
pub(super) struct Gcn {
    pub(super) config: GcnConfig,
    pub(super) normalization: Normalization,
    pub(super) task: TaskShape,
}

impl Gcn {
    fn dropping(&self) -> Dropping {
        Dropping { edges: self.config.drop_edge, nodes: self.config.drop_node }
    }

    /// Weight, bias, and those of the normalisation.
    fn specs_of(&self, layer: usize) -> Vec<ParameterSpec> {
        let GcnConfig { layers, hidden, connection, .. } = self.config;
        let last = layer + 1 == layers;
        let inputs = if layer == 0 { self.task.features } else { hidden * connection.width(layer, last) };
        let outputs = if last { self.task.classes } else { hidden };
        let group = match layer {
            0 => ParameterGroup::Input,
            _ if last => ParameterGroup::Output,
            _ => ParameterGroup::Hidden,
        };
        let prefix = format!("layers.{layer}");
        let mut specs = GcnAggregation.specs(&prefix, inputs, outputs);
        specs.push(ParameterSpec::bias(format!("{prefix}.bias"), outputs));
        if !last {
            specs.extend(self.normalization.specs(&format!("{prefix}.normalization"), outputs));
        }
        specs.into_iter().map(|spec| spec.in_group(group)).collect()
    }
}

impl<T: Scalar> Model<T> for Gcn {
    fn specs(&self) -> Vec<ParameterSpec> {
        (0..self.config.layers).flat_map(|layer| self.specs_of(layer)).collect()
    }

    fn has_dropout(&self) -> bool {
        self.config.input_dropout > 0.0 || self.config.hidden_dropout > 0.0 || !self.dropping().is_nothing()
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let GcnConfig { layers, connection, .. } = self.config;
        let (tape, dropping) = (pass.tape, self.dropping());
        let dropout = |layer: usize| pass.dropout(self.config.hidden_dropout, 1 + layer as u32);
        // A layer drops its own output where that is all the next one reads, else the next one drops what it reads.
        let connected = connection != ConnectionKind::None;
        let reweighting = dropping.reweighting(pass, graph);
        let mut kept = Vec::new();
        let mut parameters = pass.parameters.as_slice();
        for layer in 0..layers {
            let last = layer + 1 == layers;
            let read = (layer > 0).then(|| {
                let read = connection.read(tape, &kept, last);
                match dropout(layer - 1).filter(|_| connected) {
                    Some(dropout) => tape.activate(&read, None, Activation::Identity, Some(dropout)),
                    None => read,
                }
            });
            let embedding = match &read {
                None => Embedding::Features(pass.dropout(self.config.input_dropout, 0)),
                Some(read) => Embedding::Hidden(read),
            };
            let normalizing = if last { 0 } else { self.normalization.parameter_count() };
            let (own, later) = parameters.split_at(2 + normalizing);
            let (weight, bias, own) = (&own[0], &own[1], &own[2..]);
            parameters = later;
            let reader = (layer, &embedding);
            let aggregated =
                dropping.propagate_transformed(pass, graph, reader, weight, reweighting.as_ref());
            if last {
                let scores = tape.activate(&aggregated, Some(bias), Activation::Identity, None);
                pass.observe(&scores);
                return Ok(scores);
            }
            let dropout = dropout(layer).filter(|_| !connected);
            let output = if self.normalization.kind == NormalizationKind::None {
                tape.activate(&aggregated, Some(bias), Activation::Relu, dropout)
            } else {
                let biased = tape.activate(&aggregated, Some(bias), Activation::Identity, None);
                let normalized = self.normalization.apply(pass, &biased, own);
                tape.activate(&normalized, None, Activation::Relu, dropout)
            };
            connection.take_up(tape, &mut kept, output);
            pass.observe(&kept[kept.len() - 1]);
        }
        unreachable!("a validated model has a last layer")
    }
}
