//! Fuzzy R-SoftGraphAIN (*Curriculum-Enhanced Residual Soft An-Isotropic Normalization for Over-smoothness in Deep
//! GNNs*, AAAI 2024, Algorithm 1), the model that does not collapse with depth.

use std::ops::Range;

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::{Activation, Centering, Gradient, Mixture};
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::aggregation::{Aggregation, Backbone, BackboneAggregation};
use crate::error::{require, require_rate, require_shares, require_size, require_unit};
use crate::frozen::Frozen;
use crate::soft_layer::Connections;
use crate::{
    Embedding, GraphInput, NnError, ParameterGroup, ParameterSpec, Pass, Place, Rank, RankRounding, SoftLayer,
};

/// What turns the last embedding into class scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Head {
    /// `L` normalised layers, then a linear classifier `H·W + b`, as in the paper, or a perceptron of `head_layers` layers.
    #[default]
    Linear,
    /// `L - 1` normalised layers, then a graph convolution `Â·H·W + b`, as in the released code.
    Convolution,
}

/// The configuration; [`SoftLayer`] has the formula of a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct RSoftGraphAinConfig {
    /// `L`, how many layers, at least 1.
    pub layers: usize,
    /// `d`, the width of embeddings, at least 1.
    pub hidden: usize,
    /// The aggregation: `gcn`, `gat`, `gin` or `sgc`.
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
    /// `σ`: `relu`, `identity`, `elu` or `leakyrelu`. The backbone `sgc` has none.
    pub activation: Activation,
    /// The classifier: `linear` or `convolution`.
    pub head: Head,
    /// `k`, layers of the classifier `linear`, between 1 and 5; more than one make a perceptron with ReLU. The classifier
    /// `convolution` has 1.
    pub head_layers: usize,
    /// Whether gradients stop before the classifier: it alone learns, on embeddings of the initial weights, which are
    /// computed once and without dropout. Made for the backbone `sgc` with thousands of layers.
    pub frozen: bool,
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
            head_layers: 1,
            frozen: false,
            input_dropout: 0.0,
            hidden_dropout: 0.0,
            output_dropout: 0.0,
        }
    }
}

impl ModelSettings for RSoftGraphAinConfig {
    const SUMMARY: &'static str = "Fuzzy R-SoftGraphAIN, sharp at any depth (AAAI 2024)";
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
        require_size(self.layers, self.hidden)?;
        require(self.heads >= 1, "heads", self.heads, "at least 1")?;
        let divides = self.backbone != Backbone::Gat || self.hidden.is_multiple_of(self.heads);
        require(divides, "hidden", self.hidden, "a multiple of model.heads")?;
        require_unit("strength", self.strength)?;
        require_unit("exponent", self.exponent)?;
        self.rank.validate(self.hidden)?;
        require_shares(self.aggregated, self.residual, self.initial)?;
        require_unit("residual_memory", self.residual_memory)?;
        require_unit("initial_decay", self.initial_decay)?;
        let layers = 1..=if self.head == Head::Linear { 5 } else { 1 };
        let allowed = "between 1 and 5, and 1 with model.head = convolution";
        require(layers.contains(&self.head_layers), "head_layers", self.head_layers, allowed)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)?;
        require_rate("output_dropout", self.output_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let aggregation = self.backbone.aggregation(self.heads);
        Box::new(RSoftGraphAin { config: self.clone(), task, aggregation, frozen: Frozen::default() })
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
            activation: if self.backbone.is_weightless() { Activation::Identity } else { self.activation },
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

struct RSoftGraphAin<T: Scalar> {
    config: RSoftGraphAinConfig,
    task: TaskShape,
    aggregation: BackboneAggregation,
    frozen: Frozen<T>,
}

impl<T: Scalar> Model<T> for RSoftGraphAin<T> {
    fn specs(&self) -> Vec<ParameterSpec> {
        let hidden = self.config.hidden;
        let mut width = self.task.features;
        let mut specs = Vec::new();
        if self.config.backbone.is_weightless() {
            specs.push(ParameterSpec::weight("input.weight", width, hidden));
            specs.push(ParameterSpec::bias("input.bias", hidden));
            width = hidden;
        }
        for layer in 0..self.config.normalized_layers() {
            let group = if layer == 0 { ParameterGroup::Input } else { ParameterGroup::Hidden };
            // No bias: centring would take it out again.
            let of_layer = self.aggregation.specs(&format!("layers.{layer}"), width, hidden);
            specs.extend(of_layer.into_iter().map(|spec| spec.in_group(group)));
            width = hidden;
        }
        for layer in 1..self.config.head_layers {
            let weight = ParameterSpec::weight(format!("head.{layer}.weight"), width, hidden);
            let bias = ParameterSpec::bias(format!("head.{layer}.bias"), hidden);
            specs.extend([weight, bias].map(|spec| spec.in_group(ParameterGroup::Output)));
            width = hidden;
        }
        specs.extend(ParameterSpec::classifier(width, self.task.classes));
        specs
    }

    fn has_dropout(&self) -> bool {
        let RSoftGraphAinConfig { frozen, head_layers, .. } = self.config;
        let input_dropout = if frozen { 0.0 } else { self.config.input_dropout };
        let hidden_dropout = if frozen && head_layers == 1 { 0.0 } else { self.config.hidden_dropout };
        input_dropout > 0.0 || hidden_dropout > 0.0
    }

    fn score_dropout(&self) -> f64 {
        self.config.output_dropout
    }

    fn recomputes(&self) -> bool {
        !self.config.frozen
    }

    fn forward<'m>(
        &'m self,
        pass: &Pass<'_, 'm, T>,
        graph: &'m GraphInput<T>,
    ) -> Result<Variable<T>, NnError> {
        let config = &self.config;
        let (of_layers, of_head) = pass.parameters.split_at(pass.parameters.len() - 2 * config.head_layers);
        let hidden = if config.frozen {
            self.frozen.embedding(pass, graph, of_layers, |pass| self.embed(pass, graph, &pass.parameters))?
        } else {
            self.embed(pass, graph, of_layers)?
        };
        let (within, last) = of_head.split_at(of_head.len() - 2);
        let mut hidden = hidden;
        for (index, layer) in within.chunks_exact(2).enumerate() {
            let product = graph.transform(pass.tape, &self.embedding(pass, &hidden), &layer[0]);
            let dropout = pass.dropout(config.hidden_dropout, Place::Head(index));
            hidden = Some(pass.tape.activate(&product, Some(&layer[1]), Activation::Relu, dropout));
        }
        let embedding = self.embedding(pass, &hidden);
        let scores = match config.head {
            Head::Linear => graph.transform(pass.tape, &embedding, &last[0]),
            Head::Convolution => graph.propagate_transformed(pass.tape, &embedding, &last[0]),
        };
        Ok(pass.tape.activate(&scores, Some(&last[1]), Activation::Identity, None))
    }
}

impl<T: Scalar> RSoftGraphAin<T> {
    /// The embedding after all normalised layers; `None` if there are none, and the classifier reads the features.
    fn embed<'m>(
        &'m self,
        pass: &Pass<'_, 'm, T>,
        graph: &'m GraphInput<T>,
        parameters: &[Variable<T>],
    ) -> Result<Option<Variable<T>>, NnError> {
        let layers = self.config.normalized_layers();
        let (of_input, of_layers) =
            parameters.split_at(if self.config.backbone.is_weightless() { 2 } else { 0 });
        let reduced = match of_input {
            [weight, bias] => {
                let product = graph.transform(pass.tape, &self.embedding(pass, &None), weight);
                Some(pass.tape.activate(&product, Some(bias), Activation::Identity, None))
            }
            _ => None,
        };
        let state = Vec::from_iter(reduced);
        let state = pass.through_layers(layers, of_layers, state, move |pass, range, state| {
            self.run(pass, graph, range, state)
        })?;
        Ok(state.into_iter().next())
    }

    /// Some layers, counted from 0, on a pass with their weights: from the state before them to that after them, which is
    /// what the next layer connects to. Before the first layer there is an embedding or nothing.
    fn run(
        &self,
        pass: &Pass<T>,
        graph: &GraphInput<T>,
        range: Range<usize>,
        state: &[Variable<T>],
    ) -> Result<Vec<Variable<T>>, NnError> {
        let layer = self.config.layer();
        let count = self.aggregation.parameters();
        let mut hidden = state.first().cloned();
        let mut connections =
            if range.start == 0 { None } else { layer.connections_after(range.start, state) };
        for (place, index) in range.enumerate() {
            let weights = &pass.parameters[place * count..(place + 1) * count];
            let dropout = pass.dropout(self.config.hidden_dropout, Place::Layer(index));
            let failed = |source| NnError::Layer { layer: index + 1, source };
            let at_once = match self.aggregation.convolution(graph, weights) {
                Some(convolution) => layer
                    .apply_to_convolution(pass.tape, convolution, &mut connections, dropout)
                    .map_err(failed)?,
                None => None,
            };
            let output = match at_once {
                Some(output) => output,
                None => {
                    let embedding = self.embedding(pass, &hidden);
                    let aggregated = self.aggregation.aggregate(pass, graph, index, &embedding, weights);
                    layer.apply(pass.tape, &aggregated, &mut connections, dropout).map_err(failed)?
                }
            };
            pass.observe(&output);
            hidden = Some(output);
        }
        Ok(connections.map(Connections::into_variables).unwrap_or_default())
    }

    fn embedding<'a>(&self, pass: &Pass<T>, hidden: &'a Option<Variable<T>>) -> Embedding<'a, T> {
        match hidden {
            None => Embedding::Features(pass.dropout(self.config.input_dropout, Place::Features)),
            Some(hidden) => Embedding::Hidden(hidden),
        }
    }
}
