//! Fuzzy R-SoftGraphAIN (*Curriculum-Enhanced Residual Soft An-Isotropic Normalization for Over-smoothness in Deep
//! GNNs*, AAAI 2024, Algorithm 1), the model that does not collapse with depth.

use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::{Activation, Centering, Gradient, Mixture};
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::aggregation::{Aggregation, GatAggregation, GcnAggregation, GinAggregation, Neighbourhood};
use crate::error::{require, require_rate, require_unit};
use crate::{
    Embedding, GraphInput, NnError, ParameterGroup, ParameterSpec, Pass, Rank, RankRounding, SoftLayer,
};

/// What turns the last embedding into class scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Head {
    /// `L` normalised layers, then a linear classifier `H·W + b`, as in the paper.
    #[default]
    Linear,
    /// `L - 1` normalised layers, then a graph convolution `Â·H·W + b`, as in the released code.
    Convolution,
}

/// How neighbours are aggregated before a layer normalises: `Agg(H; W_t)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backbone {
    /// `Â·H·W`.
    #[default]
    Gcn,
    /// The attention of [`GatAggregation`], heads side by side, nothing dropped; the layer's `σ` follows the normalisation.
    Gat,
    /// `(H + D^-1 A·H)·W`: [`GinAggregation`] with means and `ε = 0`. The paper's formula has a sum and a perceptron;
    /// this is the released code's, with one linear map. Sums would grow with the degrees from layer to layer.
    Gin,
}

/// The configuration; [`SoftLayer`] has the formula of a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RSoftGraphAinConfig {
    /// `L`, how many layers, at least 1.
    pub layers: usize,
    /// `d`, the width of embeddings, at least 1.
    pub hidden: usize,
    /// The aggregation: `gcn`, `gat` or `gin`.
    pub backbone: Backbone,
    /// Attention heads of the backbone `gat`, which divide `hidden`, at least 1.
    pub heads: usize,
    /// `a`, how far towards whitened embeddings to go, in [0, 1].
    pub strength: f64,
    /// `b`, the exponent of the whitening, in [0, 1].
    pub exponent: f64,
    /// `d₀`, how many eigen-directions are whitened: a count, or a ratio in (0, 1].
    pub rank: Rank,
    /// How a ratio becomes a count: `ceiling` or `floor-plus-one`.
    pub rank_rounding: RankRounding,
    /// Whether gradients flow through the whitening matrix: `full` or `detached`.
    pub gradient: Gradient,
    /// `α`, the weight of the aggregated term, above 0 and at most 1e9. `(α, β, γ)` are divided by their sum.
    pub aggregated: f64,
    /// `β`, the weight of the residual connection, between 0 and 1e9.
    pub residual: f64,
    /// `γ`, the weight of the initial connection, between 0 and 1e9.
    pub initial: f64,
    /// `p`, how much of older residual connections is kept, in [0, 1].
    pub residual_memory: f64,
    /// `q`, how fast later layers fade from the initial connection, in [0, 1].
    pub initial_decay: f64,
    /// What is centred: the `aggregated` term, or the `combined` sum.
    pub centering: Centering,
    /// `σ`: `relu`, `identity`, `elu` or `leakyrelu`.
    pub activation: Activation,
    /// The classifier: `linear` or `convolution`.
    pub head: Head,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of every layer's output, in [0, 1).
    pub hidden_dropout: f64,
    /// Dropout of the class scores, in [0, 1).
    pub output_dropout: f64,
}

impl Default for RSoftGraphAinConfig {
    fn default() -> Self {
        Self {
            layers: 32,
            hidden: 64,
            backbone: Backbone::Gcn,
            heads: 8,
            strength: 0.3,
            exponent: 1.0,
            rank: Rank::Ratio(0.9),
            rank_rounding: RankRounding::Ceiling,
            gradient: Gradient::Full,
            aggregated: 0.5,
            residual: 0.2,
            initial: 0.3,
            residual_memory: 0.4,
            initial_decay: 0.3,
            centering: Centering::Aggregated,
            activation: Activation::Relu,
            head: Head::Linear,
            input_dropout: 0.0,
            hidden_dropout: 0.0,
            output_dropout: 0.0,
        }
    }
}

impl ModelSettings for RSoftGraphAinConfig {
    const SUMMARY: &'static str = "Fuzzy R-SoftGraphAIN on GCN, sharp at any depth (AAAI 2024)";
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("L", "layers"),
        ("d", "hidden"),
        ("a", "strength"),
        ("b", "exponent"),
        ("d0", "rank"),
        ("alpha", "aggregated"),
        ("beta", "residual"),
        ("gamma", "initial"),
        ("p", "residual_memory"),
        ("q", "initial_decay"),
    ];

    fn validate(&self) -> Result<(), NnError> {
        require(self.layers >= 1, "layers", self.layers, "at least 1")?;
        require(self.hidden >= 1, "hidden", self.hidden, "at least 1")?;
        require(self.heads >= 1, "heads", self.heads, "at least 1")?;
        let divides = self.backbone != Backbone::Gat || self.hidden.is_multiple_of(self.heads);
        require(divides, "hidden", self.hidden, "a multiple of model.heads")?;
        require_unit("strength", self.strength)?;
        require_unit("exponent", self.exponent)?;
        match self.rank {
            Rank::Count(count) => {
                require((1..=self.hidden).contains(&count), "rank", count, "a count from 1 to model.hidden")?;
            }
            Rank::Ratio(ratio) => {
                require(ratio > 0.0 && ratio <= 1.0, "rank", ratio, "a ratio above 0 and at most 1")?;
            }
        }
        // Beyond this bound the sum of the three could overflow.
        let weight = |value: f64| (0.0..=1e9).contains(&value);
        let positive = weight(self.aggregated) && self.aggregated > 0.0;
        require(positive, "aggregated", self.aggregated, "above 0 and at most 1e9")?;
        require(weight(self.residual), "residual", self.residual, "between 0 and 1e9")?;
        require(weight(self.initial), "initial", self.initial, "between 0 and 1e9")?;
        require_unit("residual_memory", self.residual_memory)?;
        require_unit("initial_decay", self.initial_decay)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)?;
        require_rate("output_dropout", self.output_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        fn on<T: Scalar>(
            aggregation: impl Aggregation + 'static,
            config: &RSoftGraphAinConfig,
            task: TaskShape,
        ) -> Box<dyn Model<T>> {
            Box::new(RSoftGraphAin { config: config.clone(), task, aggregation })
        }
        match self.backbone {
            Backbone::Gcn => on(GcnAggregation, self, task),
            Backbone::Gat => {
                let attention = GatAggregation { heads: self.heads, slope: 0.2, attention_dropout: 0.0 };
                on(attention, self, task)
            }
            Backbone::Gin => {
                let neighbourhood = Neighbourhood::Mean;
                on(GinAggregation { neighbourhood, learn_epsilon: false }, self, task)
            }
        }
    }
}

impl RSoftGraphAinConfig {
    /// The layer these settings describe, with `(α, β, γ)` divided by their sum.
    pub fn layer(&self) -> SoftLayer {
        let sum = self.aggregated + self.residual + self.initial;
        SoftLayer {
            mixture: Mixture {
                aggregated: self.aggregated / sum,
                residual: self.residual / sum,
                initial: self.initial / sum,
                centering: self.centering,
            },
            residual_memory: self.residual_memory,
            initial_decay: self.initial_decay,
            strength: self.strength,
            exponent: self.exponent,
            rank: self.rank.count(self.hidden, self.rank_rounding),
            gradient: self.gradient,
            activation: self.activation,
        }
    }

    /// How many of the layers are normalised: all, or all but the one the head takes.
    fn normalized_layers(&self) -> usize {
        match self.head {
            Head::Linear => self.layers,
            Head::Convolution => self.layers - 1,
        }
    }
}

struct RSoftGraphAin<A> {
    config: RSoftGraphAinConfig,
    task: TaskShape,
    aggregation: A,
}

impl<T: Scalar, A: Aggregation> Model<T> for RSoftGraphAin<A> {
    fn specs(&self) -> Vec<ParameterSpec> {
        let mut width = self.task.features;
        let mut specs = Vec::new();
        for layer in 0..self.config.normalized_layers() {
            let group = if layer == 0 { ParameterGroup::Input } else { ParameterGroup::Hidden };
            // No bias: centring would take it out again.
            let of_layer = self.aggregation.specs(&format!("layers.{layer}"), width, self.config.hidden);
            specs.extend(of_layer.into_iter().map(|spec| spec.in_group(group)));
            width = self.config.hidden;
        }
        let head = [
            ParameterSpec::weight("head.weight", width, self.task.classes),
            ParameterSpec::bias("head.bias", self.task.classes),
        ];
        specs.extend(head.map(|spec| spec.in_group(ParameterGroup::Output)));
        specs
    }

    fn has_dropout(&self) -> bool {
        let RSoftGraphAinConfig { input_dropout, hidden_dropout, output_dropout, .. } = self.config;
        [input_dropout, hidden_dropout, output_dropout].iter().any(|&rate| rate > 0.0)
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let config = &self.config;
        let layer = config.layer();
        let (of_layers, of_head) = pass.parameters.split_at(pass.parameters.len() - 2);
        let per_layer = (of_layers.len() / config.normalized_layers().max(1)).max(1);
        let mut connections = None;
        let mut hidden = None;
        for (index, weights) in of_layers.chunks_exact(per_layer).enumerate() {
            let embedding = self.embedding(pass, &hidden);
            let aggregated = self.aggregation.aggregate(pass, graph, index, &embedding, weights);
            let dropout = pass.dropout(config.hidden_dropout, 1 + index as u32);
            let output = layer.apply(pass.tape, &aggregated, &mut connections, dropout);
            let output = output.map_err(|source| NnError::Layer { layer: index + 1, source })?;
            pass.observe(&output);
            hidden = Some(output);
        }
        let embedding = self.embedding(pass, &hidden);
        let scores = match config.head {
            Head::Linear => graph.transform(pass.tape, &embedding, &of_head[0]),
            Head::Convolution => graph.propagate_transformed(pass.tape, &embedding, &of_head[0]),
        };
        let dropout = pass.dropout(config.output_dropout, u32::MAX);
        Ok(pass.tape.activate(&scores, Some(&of_head[1]), Activation::Identity, dropout))
    }
}

impl<A> RSoftGraphAin<A> {
    fn embedding<'a, T: Scalar>(&self, pass: &Pass<T>, hidden: &'a Option<Variable<T>>) -> Embedding<'a, T> {
        match hidden {
            None => Embedding::Features(pass.dropout(self.config.input_dropout, 0)),
            Some(hidden) => Embedding::Hidden(hidden),
        }
    }
}
