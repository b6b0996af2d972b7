//! PairNorm (Zhao and Akoglu: *PairNorm: tackling oversmoothing in GNNs*, ICLR 2020): a graph convolutional network whose
//! hidden embeddings keep their total pairwise distance.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::PairNormalization;

use super::{Model, ModelSettings, ModularConfig, TaskShape};
use crate::error::{require, require_rate, require_size};
use crate::{NnError, NormalizationKind};

/// `H ← ReLU(PairNorm(Â·H·W_t + b_t))`, the last layer straight to the classes, without normalisation and ReLU.
/// [`PairNormalization`] has the formulas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct PairNormConfig {
    /// `L`, how many layers, at least 1.
    pub layers: usize,
    /// `d`, the width of hidden layers, at least 1.
    pub hidden: usize,
    /// The variant: `pn`, `pn-si` or `pn-scs`.
    pub mode: PairNormalization,
    /// `s`, the length rows are given (on average, or each one), above 0 and at most 1e6. The paper tries 0.1 to 100.
    pub scale: f64,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of every hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
}

impl Default for PairNormConfig {
    fn default() -> Self {
        let mode = PairNormalization::Pn;
        Self { layers: 2, hidden: 64, mode, scale: 1.0, input_dropout: 0.5, hidden_dropout: 0.5 }
    }
}

impl ModelSettings for PairNormConfig {
    const SUMMARY: &'static str = "graph convolutional network with PairNorm (Zhao and Akoglu, 2020)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("d", "hidden"), ("s", "scale")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require(self.scale > 0.0 && self.scale <= 1e6, "scale", self.scale, "above 0 and at most 1e6")?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let normalization = match self.mode {
            PairNormalization::Pn => NormalizationKind::Pair,
            PairNormalization::PnSi => NormalizationKind::PairSi,
            PairNormalization::PnScs => NormalizationKind::PairScs,
        };
        let modular = ModularConfig {
            layers: self.layers,
            hidden: self.hidden,
            normalization,
            scale: self.scale,
            input_dropout: self.input_dropout,
            hidden_dropout: self.hidden_dropout,
            ..Default::default()
        };
        modular.build(task)
    }
}
