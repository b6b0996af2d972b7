//! Any backbone with any normalisation, connection and random dropping: the parts of the deep-GNN literature, to be
//! combined freely.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::{Activation, Dropout};
use abyssal_tensor::spectral::Whitening;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::aggregation::{Aggregation, Backbone, BackboneAggregation};
use crate::connection::{Connection, ConnectionKind, Kept};
use crate::error::{require, require_rate, require_shares, require_size, require_unit};
use crate::normalization::{Normalization, NormalizationKind};
use crate::{
    Dropping, Embedding, GraphInput, NnError, ParameterGroup, ParameterSpec, Pass, Place, Rank, RankRounding,
};

/// `H ← σ(norm(Agg(H; W_t) + b_t))`, connected with the layers before it. The last layer goes straight to the classes,
/// without normalisation and `σ`; on the backbone `sgc`, all layers are weightless steps and a linear classifier follows.
/// [`ConnectionKind`] and [`NormalizationKind`] have the formulas of their parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct ModularConfig {
    /// `L`, how many layers, at least 1.
    pub layers: usize,
    /// `d`, the width of hidden layers, at least 1.
    pub hidden: usize,
    /// The aggregation: `gcn`, `gat`, `gin` or `sgc`.
    pub backbone: Backbone,
    /// Attention heads of hidden layers on the backbone `gat`, which divide `hidden`, at least 1. The last layer has one.
    pub heads: usize,
    /// `σ`: `relu`, `identity`, `elu` or `leakyrelu`. The backbone `sgc` has none.
    pub activation: Activation,
    /// What hidden layers are normalised by: `none`, `batch`, `layer`, `pair`, `pair-si`, `pair-scs`, `mean`, `node`,
    /// `group` or `soft-graph-ain`.
    pub normalization: NormalizationKind,
    /// `s`, the length that the three kinds of PairNorm give to rows, above 0 and at most 1e6.
    pub scale: f64,
    /// `a`, how far `soft-graph-ain` goes towards whitened embeddings, in [0, 1].
    pub strength: f64,
    /// `b`, the exponent of the whitening of `soft-graph-ain`, in [0, 1].
    pub exponent: f64,
    /// `d₀`, how many eigen-directions `soft-graph-ain` whitens: a count, or a ratio in (0, 1].
    pub rank: Rank,
    /// What layers take from those before: `none`, `residual`, `initial`, `dense` (not on `sgc`), `jumping`,
    /// `jumping-maximum` or `fuzzy`.
    pub connection: ConnectionKind,
    /// `α` of `fuzzy`, the weight of the aggregated term, above 0 and at most 1e9. `(α, β, γ)` are divided by their sum.
    pub aggregated: f64,
    /// `β` of `fuzzy`, the weight of the residual connection, between 0 and 1e9.
    pub residual: f64,
    /// `γ` of `fuzzy`, the weight of the initial connection, between 0 and 1e9.
    pub initial: f64,
    /// `p` of `fuzzy`, how much of older residual connections is kept, in [0, 1].
    pub residual_memory: f64,
    /// `q` of `fuzzy`, how fast later layers fade from the initial connection, in [0, 1].
    pub initial_decay: f64,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of every hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
    /// DropEdge: the share of edges left out in every epoch, in [0, 1).
    pub drop_edge: f64,
    /// DropNode: the share of nodes whose embedding every layer leaves out, in [0, 1).
    pub drop_node: f64,
}

impl Default for ModularConfig {
    fn default() -> Self {
        Self {
            layers: 2,
            hidden: 64,
            backbone: Backbone::Gcn,
            heads: 8,
            activation: Activation::Relu,
            normalization: NormalizationKind::None,
            scale: 1.0,
            strength: 0.3,
            exponent: 1.0,
            rank: Rank::Ratio(0.9),
            connection: ConnectionKind::None,
            aggregated: 0.5,
            residual: 0.2,
            initial: 0.3,
            residual_memory: 0.4,
            initial_decay: 0.3,
            input_dropout: 0.5,
            hidden_dropout: 0.5,
            drop_edge: 0.0,
            drop_node: 0.0,
        }
    }
}

impl ModelSettings for ModularConfig {
    const SUMMARY: &'static str = "any backbone with any normalisation, connection and random dropping";
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("L", "layers"),
        ("d", "hidden"),
        ("s", "scale"),
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
        require(self.scale > 0.0 && self.scale <= 1e6, "scale", self.scale, "above 0 and at most 1e6")?;
        require_unit("strength", self.strength)?;
        require_unit("exponent", self.exponent)?;
        self.rank.validate(self.hidden)?;
        let fits = self.connection != ConnectionKind::Dense || !self.backbone.is_weightless();
        require(fits, "connection", "dense", "another one on the backbone sgc, which has no weights")?;
        require_shares(self.aggregated, self.residual, self.initial)?;
        require_unit("residual_memory", self.residual_memory)?;
        require_unit("initial_decay", self.initial_decay)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)?;
        require_rate("drop_edge", self.drop_edge)?;
        require_rate("drop_node", self.drop_node)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let sum = self.aggregated + self.residual + self.initial;
        let rank = self.rank.count(self.hidden, RankRounding::Ceiling);
        Box::new(Modular {
            config: self.clone(),
            task,
            aggregation: self.backbone.aggregation(self.heads),
            last_aggregation: self.backbone.aggregation(1),
            normalization: Normalization {
                kind: self.normalization,
                scale: self.scale,
                whitening: Whitening { strength: self.strength, exponent: self.exponent, rank },
            },
            connection: Connection {
                kind: self.connection,
                shares: (self.aggregated / sum, self.residual / sum, self.initial / sum),
                residual_memory: self.residual_memory,
                initial_decay: self.initial_decay,
            },
            dropping: Dropping { edges: self.drop_edge, nodes: self.drop_node },
        })
    }
}

struct Modular {
    config: ModularConfig,
    task: TaskShape,
    aggregation: BackboneAggregation,
    last_aggregation: BackboneAggregation,
    normalization: Normalization,
    connection: Connection,
    dropping: Dropping,
}

impl Modular {
    /// Layers that are normalised and connected: all but the last, which goes to the classes, or all before a classifier.
    fn hidden_layers(&self) -> usize {
        if self.config.backbone.is_weightless() { self.config.layers } else { self.config.layers - 1 }
    }

    /// The width of what the layer after so many hidden ones reads.
    fn width_after(&self, layers: usize, classifies: bool) -> usize {
        match layers {
            0 if self.config.backbone.is_weightless() => self.config.hidden,
            0 => self.task.features,
            _ => self.config.hidden * self.config.connection.width(layers, classifies),
        }
    }

    /// Weights and bias, if the backbone has some, and those of the normalisation.
    fn specs_of_hidden(&self, layer: usize) -> Vec<ParameterSpec> {
        let (prefix, hidden) = (format!("layers.{layer}"), self.config.hidden);
        let mut specs = self.aggregation.specs(&prefix, self.width_after(layer, false), hidden);
        if !self.config.backbone.is_weightless() {
            specs.push(ParameterSpec::bias(format!("{prefix}.bias"), hidden));
        }
        specs.extend(self.normalization.specs(&format!("{prefix}.normalization"), hidden));
        let group = if layer == 0 { ParameterGroup::Input } else { ParameterGroup::Hidden };
        specs.into_iter().map(|spec| spec.in_group(group)).collect()
    }

    /// What gives the class scores.
    fn specs_of_last(&self) -> Vec<ParameterSpec> {
        let layers = self.hidden_layers();
        let (inputs, outputs) = (self.width_after(layers, true), self.task.classes);
        let (prefix, mut specs) = if self.config.backbone.is_weightless() {
            ("head".to_string(), vec![ParameterSpec::weight("head.weight", inputs, outputs)])
        } else {
            let prefix = format!("layers.{layers}");
            let specs = self.last_aggregation.specs(&prefix, inputs, outputs);
            (prefix, specs)
        };
        specs.push(ParameterSpec::bias(format!("{prefix}.bias"), outputs));
        let group = if layers == 0 { ParameterGroup::Input } else { ParameterGroup::Output };
        specs.into_iter().map(|spec| spec.in_group(group)).collect()
    }

    /// What a layer reads: the features, or what the connections give it. A layer drops its own output where that is all
    /// the next one reads, else the next one drops what it reads.
    fn read<T: Scalar>(&self, pass: &Pass<T>, kept: &Kept<T>, layer: usize) -> Option<Variable<T>> {
        let classifies = layer == self.hidden_layers();
        let read = self.connection.read(pass.tape, kept, classifies)?;
        let read = match self.dropout(pass, layer - 1).filter(|_| self.drops_what_it_reads()) {
            Some(dropout) => pass.tape.activate(&read, None, Activation::Identity, Some(dropout)),
            None => read,
        };
        Some(self.dropping.hidden(pass, layer, read))
    }

    fn drops_what_it_reads(&self) -> bool {
        self.config.connection != ConnectionKind::None
    }

    fn dropout<T: Scalar>(&self, pass: &Pass<T>, layer: usize) -> Option<Dropout> {
        pass.dropout(self.config.hidden_dropout, Place::Layer(layer))
    }

    /// One hidden layer after its aggregation.
    fn finish<T: Scalar>(
        &self,
        pass: &Pass<T>,
        kept: &mut Kept<T>,
        layer: usize,
        (aggregated, bias): (Variable<T>, Option<&Variable<T>>),
        of_normalization: &[Variable<T>],
    ) -> Result<(), NnError> {
        let tape = pass.tape;
        let activation = match self.config.backbone.is_weightless() {
            true => Activation::Identity,
            false => self.config.activation,
        };
        let dropout = self.dropout(pass, layer).filter(|_| !self.drops_what_it_reads());
        let plain = self.config.normalization == NormalizationKind::None
            && self.config.connection != ConnectionKind::Fuzzy;
        let output = if plain {
            tape.activate(&aggregated, bias, activation, dropout)
        } else {
            let biased = match bias {
                Some(_) => tape.activate(&aggregated, bias, Activation::Identity, None),
                None => aggregated,
            };
            let mixed = self.connection.mix(tape, kept, biased);
            let normalized = self.normalization.apply(pass, &mixed, of_normalization);
            let normalized = normalized.map_err(|source| NnError::Layer { layer: layer + 1, source })?;
            tape.activate(&normalized, None, activation, dropout)
        };
        let connected = self.connection.take_up(tape, kept, output);
        pass.observe(&connected);
        Ok(())
    }
}

impl<T: Scalar> Model<T> for Modular {
    fn specs(&self) -> Vec<ParameterSpec> {
        let hidden = self.config.hidden;
        let reduction = [
            ParameterSpec::weight("input.weight", self.task.features, hidden),
            ParameterSpec::bias("input.bias", hidden),
        ];
        let reduction = reduction.into_iter().filter(|_| self.config.backbone.is_weightless());
        let of_hidden = (0..self.hidden_layers()).flat_map(|layer| self.specs_of_hidden(layer));
        reduction.chain(of_hidden).chain(self.specs_of_last()).collect()
    }

    fn has_dropout(&self) -> bool {
        let ModularConfig { input_dropout, hidden_dropout, .. } = self.config;
        input_dropout > 0.0 || hidden_dropout > 0.0 || !self.dropping.is_nothing()
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let thinned = self.dropping.thinned(pass, graph);
        let graph = thinned.as_ref().unwrap_or(graph);
        let mut rest = pass.parameters.as_slice();
        let mut take = |count| {
            let (own, later) = rest.split_at(count);
            rest = later;
            own
        };
        let features = || self.dropping.features(pass, self.config.input_dropout);
        let reduced = self.config.backbone.is_weightless().then(|| {
            let own = take(2);
            let product = graph.transform(pass.tape, &features(), &own[0]);
            pass.tape.activate(&product, Some(&own[1]), Activation::Identity, None)
        });
        let mut kept = Kept::default();
        for layer in 0..self.hidden_layers() {
            let read = self.read(pass, &kept, layer).or_else(|| reduced.clone());
            let embedding = match &read {
                Some(read) => Embedding::Hidden(read),
                None => features(),
            };
            let weights = take(self.aggregation.parameters());
            let aggregated = self.aggregation.aggregate(pass, graph, layer, &embedding, weights);
            let bias = take(if self.config.backbone.is_weightless() { 0 } else { 1 }).first();
            let of_normalization = take(self.normalization.parameter_count());
            self.finish(pass, &mut kept, layer, (aggregated, bias), of_normalization)?;
        }
        let layer = self.hidden_layers();
        let read = self.read(pass, &kept, layer);
        let embedding = match &read {
            Some(read) => Embedding::Hidden(read),
            None => features(),
        };
        let scores = if self.config.backbone.is_weightless() {
            graph.transform(pass.tape, &embedding, &take(1)[0])
        } else {
            let weights = take(self.last_aggregation.parameters());
            self.last_aggregation.aggregate(pass, graph, layer, &embedding, weights)
        };
        let scores = pass.tape.activate(&scores, Some(&take(1)[0]), Activation::Identity, None);
        if !self.config.backbone.is_weightless() {
            pass.observe(&scores);
        }
        Ok(scores)
    }
}
