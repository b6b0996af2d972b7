//! The layer of Fuzzy R-SoftGraphAIN, usable with any aggregation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use abyssal_tensor::ops::{
    self, Activation, Dropout, Gradient, Memory, Mixture, SoftConvolution, SoftNormalization,
};
use abyssal_tensor::spectral::Whitening;
use abyssal_tensor::tape::{Tape, Variable};
use abyssal_tensor::{Scalar, SparseOperator, TensorError};

use crate::NnError;
use crate::error::require;

/// How many eigen-directions are whitened.
///
/// In a configuration, a whole number is a count (`rank = 48`) and a number with a point is a share of the width
/// (`rank = 0.8`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Rank {
    /// This many.
    Count(usize),
    /// This share of the width.
    Ratio(f64),
}

/// How a rank given as a ratio becomes a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankRounding {
    /// `d₀ = ⌈d · ratio⌉`.
    #[default]
    Ceiling,
    /// `d₀ = ⌊d · ratio⌋ + 1`, as in the released code.
    FloorPlusOne,
}

impl Rank {
    /// The count for embeddings of this width, between 1 and the width.
    pub fn count(self, width: usize, rounding: RankRounding) -> usize {
        let count = match (self, rounding) {
            (Rank::Count(count), _) => count,
            (Rank::Ratio(ratio), RankRounding::Ceiling) => {
                // 100·0.07 is a little more than 7 in floating point, and means 7.
                (width as f64 * ratio * (1.0 - 2.0 * f64::EPSILON)).ceil() as usize
            }
            (Rank::Ratio(ratio), RankRounding::FloorPlusOne) => (width as f64 * ratio).floor() as usize + 1,
        };
        count.clamp(1, width)
    }

    /// Checks it against the width of embeddings.
    pub(crate) fn validate(self, width: usize) -> Result<(), NnError> {
        match self {
            Rank::Count(count) => {
                require((1..=width).contains(&count), "rank", count, "a count from 1 to model.hidden")
            }
            Rank::Ratio(ratio) => {
                require(ratio > 0.0 && ratio <= 1.0, "rank", ratio, "a ratio above 0 and at most 1")
            }
        }
    }
}

/// One layer of Fuzzy R-SoftGraphAIN (paper, Algorithm 1), after its aggregation:
///
/// `B = α·T·Agg(H; W_t) + β·S_last + γ·S_init`, `H ← σ(B·M)`, `M = a·U f(Λ) Uᵀ + (1-a)·I` with `BᵀB = U Λ Uᵀ`,
/// `S_last ← p·S_last + H`, `S_init ← S_init + q^(t-1)·H`.
///
/// Its special cases are the paper's other methods: `p = q = 0` is R-SoftGraphAIN with vanilla connections,
/// `(α, β, γ) = (1, 0, 0)` is SoftGraphAIN, and with `a = b = 1` at full rank it is hard GraphAIN.
#[derive(Clone, Copy, Debug)]
pub struct SoftLayer {
    /// `(α, β, γ)`, which sum to 1, and what is centred.
    pub mixture: Mixture,
    /// `p`: how much of the older residual connections is kept.
    pub residual_memory: f64,
    /// `q`: how fast later layers fade from the initial connection.
    pub initial_decay: f64,
    /// `a`: how far towards whitened embeddings to go.
    pub strength: f64,
    /// `b`: the exponent of the whitening.
    pub exponent: f64,
    /// `d₀`: how many eigen-directions are whitened.
    pub rank: usize,
    /// Whether gradients flow through the whitening matrix.
    pub gradient: Gradient,
    /// `σ`.
    pub activation: Activation,
}

/// What a layer hands to the next: its output, the fuzzy connections without it, and its weight `q^(t-1)` in them.
pub struct Connections<T: Scalar> {
    hidden: Variable<T>,
    earlier: Option<ops::Connections<T>>,
    decay: f64,
}

impl<T: Scalar> Connections<T> {
    /// The variables within: the output of the layer, then what came before it.
    pub(crate) fn into_variables(self) -> Vec<Variable<T>> {
        let earlier = self.earlier.map(ops::Connections::into_variables);
        [self.hidden].into_iter().chain(earlier.into_iter().flatten()).collect()
    }
}

impl SoftLayer {
    /// The connections that some layers, at least one, have handed on as [`Connections::into_variables`]; `None` before
    /// the first layer.
    pub(crate) fn connections_after<T: Scalar>(
        &self,
        layers: usize,
        variables: &[Variable<T>],
    ) -> Option<Connections<T>> {
        let (hidden, earlier) = variables.split_first()?;
        let earlier = match earlier {
            [last, initial] => Some(ops::Connections::from_variables(last.clone(), initial.clone())),
            _ => None,
        };
        let decay = (1..layers).fold(1.0, |decay, _| decay * self.initial_decay);
        Some(Connections { hidden: hidden.clone(), earlier, decay })
    }

    /// Applies the layer to an aggregated embedding and moves the connections on.
    ///
    /// In the first layer `connections` are `None`: there is nothing to connect to, and `B = T·Agg(X; W₁)`.
    ///
    /// # Errors
    /// If the embedding holds infinity or NaN.
    pub fn apply<T: Scalar>(
        &self,
        tape: &Tape<T>,
        aggregated: &Variable<T>,
        connections: &mut Option<Connections<T>>,
        dropout: Option<Dropout>,
    ) -> Result<Variable<T>, TensorError> {
        let (combined, earlier, decay) = match connections.take() {
            None => (tape.center(aggregated), None, 1.0),
            Some(Connections { hidden, earlier, decay }) => {
                let memory = Memory { keep: self.residual_memory, share: decay };
                let (combined, earlier) = tape.combine(&self.mixture, aggregated, &hidden, memory, earlier);
                (combined, Some(earlier), decay * self.initial_decay)
            }
        };
        let hidden = tape.soft_normalize(&self.normalization(), &combined, dropout)?;
        *connections = Some(Connections { hidden: hidden.clone(), earlier, decay });
        Ok(hidden)
    }

    /// As [`SoftLayer::apply`] to the convolution `Â·H·W` of the embedding the connections end with, in one operation.
    ///
    /// `None`, and connections as they were, where that is not possible: in the first layer, where the whole combination is
    /// centred, and where nothing is whitened.
    ///
    /// # Errors
    /// If the embedding holds infinity or NaN.
    pub fn apply_to_convolution<T: Scalar>(
        &self,
        tape: &Tape<T>,
        convolution: (&Arc<SparseOperator<T>>, &Variable<T>),
        connections: &mut Option<Connections<T>>,
        dropout: Option<Dropout>,
    ) -> Result<Option<Variable<T>>, TensorError> {
        let layer = SoftConvolution { mixture: self.mixture, normalization: self.normalization() };
        let possible = |connections: &mut Connections<T>| layer.is_possible(connections.hidden.columns());
        let Some(Connections { hidden, earlier, decay }) = connections.take_if(possible) else {
            return Ok(None);
        };
        let memory = Memory { keep: self.residual_memory, share: decay };
        let (hidden, earlier) =
            tape.soft_convolve(&layer, convolution, &hidden, (memory, earlier), dropout)?;
        let decay = decay * self.initial_decay;
        *connections = Some(Connections { hidden: hidden.clone(), earlier: Some(earlier), decay });
        Ok(Some(hidden))
    }

    fn normalization(&self) -> SoftNormalization {
        SoftNormalization {
            whitening: Whitening { strength: self.strength, exponent: self.exponent, rank: self.rank },
            gradient: self.gradient,
            activation: self.activation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A share `count / width`, however it was rounded, means this count.
    #[test]
    fn rounding_errors_do_not_raise_a_rank() {
        for width in 1..=512 {
            for count in 1..=width {
                let ratio = Rank::Ratio(count as f64 / width as f64);
                assert_eq!(ratio.count(width, RankRounding::Ceiling), count, "{count} of {width}");
            }
        }
    }

    #[test]
    fn ranks_become_counts() {
        assert_eq!(Rank::Ratio(0.99).count(64, RankRounding::Ceiling), 64);
        assert_eq!(Rank::Ratio(0.8).count(64, RankRounding::Ceiling), 52);
        assert_eq!(Rank::Ratio(0.8).count(64, RankRounding::FloorPlusOne), 52);
        assert_eq!(Rank::Ratio(0.5).count(64, RankRounding::Ceiling), 32);
        assert_eq!(Rank::Ratio(0.5).count(64, RankRounding::FloorPlusOne), 33);
        assert_eq!(Rank::Ratio(1.0).count(64, RankRounding::FloorPlusOne), 64);
        for (ratio, count) in [(0.07, 7), (0.14, 14), (0.55, 55), (0.551, 56), (1.0, 100)] {
            assert_eq!(Rank::Ratio(ratio).count(100, RankRounding::Ceiling), count, "{ratio}");
        }
        assert_eq!(Rank::Count(10).count(64, RankRounding::Ceiling), 10);
        assert_eq!(Rank::Count(100).count(64, RankRounding::Ceiling), 64);
    }
}
