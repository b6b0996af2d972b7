//! The aggregations that other parts can be put on, by name.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use abyssal_tensor::tape::Variable;
use abyssal_tensor::{Scalar, SparseOperator};

use super::{Aggregation, GatAggregation, GcnAggregation, GinAggregation, Neighbourhood, SgcAggregation};
use crate::{Embedding, GraphInput, ParameterSpec, Pass};

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
    /// `Â·H`, without weights, on features that a linear map has reduced to the width of embeddings. Its layers have no
    /// `σ`; a perceptron that follows may have.
    Sgc,
}

impl Backbone {
    /// Whether its layers have no weights, so that the features must be reduced before it.
    pub fn is_weightless(self) -> bool {
        self == Self::Sgc
    }

    /// Its aggregation; only [`Backbone::Gat`] has heads.
    pub(crate) fn aggregation(self, heads: usize) -> BackboneAggregation {
        match self {
            Self::Gcn => BackboneAggregation::Gcn(GcnAggregation),
            Self::Gat => {
                BackboneAggregation::Gat(GatAggregation { heads, slope: 0.2, attention_dropout: 0.0 })
            }
            Self::Gin => {
                let neighbourhood = Neighbourhood::Mean;
                BackboneAggregation::Gin(GinAggregation { neighbourhood, learn_epsilon: false })
            }
            Self::Sgc => BackboneAggregation::Sgc(SgcAggregation),
        }
    }
}

/// The aggregation of any backbone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BackboneAggregation {
    Gcn(GcnAggregation),
    Gat(GatAggregation),
    Gin(GinAggregation),
    Sgc(SgcAggregation),
}

impl Aggregation for BackboneAggregation {
    fn specs(&self, prefix: &str, inputs: usize, outputs: usize) -> Vec<ParameterSpec> {
        match self {
            Self::Gcn(gcn) => gcn.specs(prefix, inputs, outputs),
            Self::Gat(gat) => gat.specs(prefix, inputs, outputs),
            Self::Gin(gin) => gin.specs(prefix, inputs, outputs),
            Self::Sgc(sgc) => sgc.specs(prefix, inputs, outputs),
        }
    }

    fn parameters(&self) -> usize {
        match self {
            Self::Gcn(gcn) => gcn.parameters(),
            Self::Gat(gat) => gat.parameters(),
            Self::Gin(gin) => gin.parameters(),
            Self::Sgc(sgc) => sgc.parameters(),
        }
    }

    fn aggregate<T: Scalar>(
        &self,
        pass: &Pass<T>,
        graph: &GraphInput<T>,
        layer: usize,
        embedding: &Embedding<T>,
        parameters: &[Variable<T>],
    ) -> Variable<T> {
        match self {
            Self::Gcn(gcn) => gcn.aggregate(pass, graph, layer, embedding, parameters),
            Self::Gat(gat) => gat.aggregate(pass, graph, layer, embedding, parameters),
            Self::Gin(gin) => gin.aggregate(pass, graph, layer, embedding, parameters),
            Self::Sgc(sgc) => sgc.aggregate(pass, graph, layer, embedding, parameters),
        }
    }

    fn convolution<'a, T: Scalar>(
        &self,
        graph: &'a GraphInput<T>,
        parameters: &'a [Variable<T>],
    ) -> Option<(&'a Arc<SparseOperator<T>>, &'a Variable<T>)> {
        match self {
            Self::Gcn(gcn) => gcn.convolution(graph, parameters),
            Self::Gat(_) | Self::Gin(_) | Self::Sgc(_) => None,
        }
    }
}
