//! What a layer reads of the layers before it.

use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::tape::{Tape, Variable};

/// `α` of [`ConnectionKind::Initial`], as in GCNII (Chen et al., ICML 2020).
const INITIAL_WEIGHT: f64 = 0.1;

/// The connections between layers, where `F_t` is the hidden layer t without them and `H_t` what it gives with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionKind {
    /// `H_t = F_t(H_{t-1})`.
    #[default]
    None,
    /// `H_t = F_t(H_{t-1}) + H_{t-1}` (He et al., 2016; Kipf and Welling, 2017, appendix B).
    Residual,
    /// `H_t = (1-α)·F_t(H_{t-1}) + α·H_1` with α = 0.1 (Chen et al., 2020).
    Initial,
    /// `H_t = F_t([H_1 | … | H_{t-1}])`: a layer reads all hidden layers before it, side by side (Huang et al., 2017;
    /// Li et al., 2019). Its weight grows with the depth, so its cost with the square of it.
    Dense,
    /// The last layer reads `[H_1 | … | H_{L-1}]` (jumping knowledge, Xu et al., ICML 2018).
    Jumping,
    /// The last layer reads the largest value of `H_1, …, H_{L-1}` at every place (Xu et al., ICML 2018).
    JumpingMaximum,
}

impl ConnectionKind {
    /// How many times the hidden width a layer reads, given how many hidden layers are before it (at least one) and
    /// whether it is the last one.
    pub fn width(self, before: usize, last: bool) -> usize {
        match self {
            Self::Dense => before,
            Self::Jumping if last => before,
            _ => 1,
        }
    }

    /// What a layer reads, from what [`ConnectionKind::take_up`] has kept.
    pub fn read<T: Scalar>(self, tape: &Tape<T>, kept: &[Variable<T>], last: bool) -> Variable<T> {
        let all = || kept.iter().collect::<Vec<_>>();
        match self {
            Self::Dense => tape.concatenate(&all()),
            Self::Jumping if last => tape.concatenate(&all()),
            Self::JumpingMaximum if last => tape.maximum(&all()),
            _ => kept.last().expect("a hidden layer before").clone(),
        }
    }

    /// Connects the output of a hidden layer, and keeps of it and of those before what later layers read.
    pub fn take_up<T: Scalar>(self, tape: &Tape<T>, kept: &mut Vec<Variable<T>>, output: Variable<T>) {
        let connected = match (self, kept.as_slice()) {
            (Self::Residual, [.., last]) => tape.weighted_sum(&[(1.0, &output), (1.0, last)]),
            (Self::Initial, [first, ..]) => {
                tape.weighted_sum(&[(1.0 - INITIAL_WEIGHT, &output), (INITIAL_WEIGHT, first)])
            }
            _ => output,
        };
        match self {
            Self::None | Self::Residual => kept.clear(),
            Self::Initial => kept.truncate(1),
            Self::Dense | Self::Jumping | Self::JumpingMaximum => {}
        }
        kept.push(connected);
    }
}
