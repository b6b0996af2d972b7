//! What a layer's output is normalised by.

use serde::{Deserialize, Serialize};

use abyssal_tensor::ops::{Activation, Gradient, PairNormalization, SoftNormalization};
use abyssal_tensor::spectral::Whitening;
use abyssal_tensor::tape::Variable;
use abyssal_tensor::{Initialization, Scalar, TensorError};

use crate::{ParameterSpec, Pass};

/// `G`: the groups of [`NormalizationKind::Group`], as in the benchmark of Chen et al. (*Bag of tricks for training
/// deeper graph neural networks*, TPAMI 2022).
const GROUPS: usize = 10;
/// `λ`: the weight of the groups beside the embedding itself, as in PyTorch Geometric.
const GROUP_WEIGHT: f64 = 0.01;
/// `p` of [`NormalizationKind::Node`].
const NODE_ROOT: f64 = 1.0;

/// The normalisations of embeddings; shapes n×d throughout. All nodes are one batch, in training and evaluation alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormalizationKind {
    /// None.
    #[default]
    None,
    /// Columns to mean 0 and variance 1, with learnt gain and shift (Ioffe and Szegedy, 2015).
    Batch,
    /// Rows to mean 0 and variance 1, with learnt gain and shift (Ba et al., 2016).
    Layer,
    /// PairNorm: centred columns, rows of root mean square length s (Zhao and Akoglu, 2020).
    Pair,
    /// PairNorm-SI: centred columns, then every row of length s.
    PairSi,
    /// PairNorm-SCS: every row of length s, minus the mean of the rows before.
    PairScs,
    /// Centred columns (Yang et al.: *Revisiting over-smoothing in deep GCNs*, 2020).
    Mean,
    /// Rows divided by their standard deviation (NodeNorm, Zhou et al., 2021).
    Node,
    /// Ten soft groups, each normalised like a batch, added with weight 0.01 (Zhou et al., 2020).
    Group,
    /// SoftGraphAIN: centred columns, then softly whitened ([`SoftNormalization`] has the formula).
    SoftGraphAin,
}

/// A normalisation with the settings some of them have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalization {
    /// Which.
    pub kind: NormalizationKind,
    /// `s`, the length that PairNorm gives to rows; the others do not use it.
    pub scale: f64,
    /// How SoftGraphAIN whitens.
    pub whitening: Whitening,
}

impl Normalization {
    /// Its parameters for one layer of this width, all named `prefix.…`.
    pub fn specs(&self, prefix: &str, width: usize) -> Vec<ParameterSpec> {
        let named = |name: &str, rows, initialization| ParameterSpec {
            initialization,
            ..ParameterSpec::weight(format!("{prefix}.{name}"), rows, width)
        };
        let stretch = |rows| {
            vec![named("gain", rows, Initialization::Ones), named("shift", rows, Initialization::Zeros)]
        };
        match self.kind {
            NormalizationKind::Batch | NormalizationKind::Layer => stretch(1),
            NormalizationKind::Group => {
                let mut specs = stretch(GROUPS);
                specs.push(ParameterSpec::weight(format!("{prefix}.groups"), width, GROUPS));
                specs
            }
            _ => Vec::new(),
        }
    }

    /// How many matrices [`Normalization::specs`] lists.
    pub fn parameter_count(&self) -> usize {
        match self.kind {
            NormalizationKind::Batch | NormalizationKind::Layer => 2,
            NormalizationKind::Group => 3,
            _ => 0,
        }
    }

    /// Normalises an embedding; `parameters` are those of [`Normalization::specs`].
    ///
    /// # Errors
    /// If whitening meets numbers that are not finite.
    pub fn apply<T: Scalar>(
        &self,
        pass: &Pass<T>,
        input: &Variable<T>,
        parameters: &[Variable<T>],
    ) -> Result<Variable<T>, TensorError> {
        let tape = pass.tape;
        let pair = |variant| tape.pair_normalize(variant, input, self.scale);
        Ok(match (self.kind, parameters) {
            (NormalizationKind::Batch, [gain, shift]) => tape.batch_normalize(input, gain, shift),
            (NormalizationKind::Layer, [gain, shift]) => tape.layer_normalize(input, gain, shift),
            (NormalizationKind::Group, [gain, shift, groups]) => {
                tape.group_normalize(input, &tape.linear(input, groups), (gain, shift), GROUP_WEIGHT)
            }
            (NormalizationKind::Pair, []) => pair(PairNormalization::Pn),
            (NormalizationKind::PairSi, []) => pair(PairNormalization::PnSi),
            (NormalizationKind::PairScs, []) => pair(PairNormalization::PnScs),
            (NormalizationKind::Mean, []) => tape.center(input),
            (NormalizationKind::Node, []) => tape.node_normalize(input, NODE_ROOT),
            (NormalizationKind::SoftGraphAin, []) => {
                let (gradient, activation) = (Gradient::Full, Activation::Identity);
                let soft = SoftNormalization { whitening: self.whitening, gradient, activation };
                tape.soft_normalize(&soft, &tape.center(input), None)?
            }
            (NormalizationKind::None, []) => input.clone(),
            (kind, parameters) => panic!("{kind:?} with {} parameters", parameters.len()),
        })
    }
}
