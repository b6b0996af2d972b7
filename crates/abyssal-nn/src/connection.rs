//! What a layer takes from the layers before it.

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
    /// The classifier reads `[H_1 | … | H_t]` (jumping knowledge, Xu et al., ICML 2018).
    Jumping,
    /// The classifier reads the largest value of `H_1, …, H_t` at every place (Xu et al., ICML 2018).
    JumpingMaximum,
    /// `H_t = σ(norm(α·Agg(H_{t-1}) + β·S_last + γ·S_init))`, with sums over all layers before: `S_last ← p·S_last + H_t`,
    /// `S_init ← S_init + q^(t-1)·H_t` (the paper's fuzzy residual connections, Algorithm 1).
    Fuzzy,
}

/// A kind of connection with the weights of [`ConnectionKind::Fuzzy`], which the others do not use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// Which.
    pub kind: ConnectionKind,
    /// `(α, β, γ)`, which sum to 1.
    pub shares: (f64, f64, f64),
    /// `p`.
    pub residual_memory: f64,
    /// `q`.
    pub initial_decay: f64,
}

/// What is kept of the layers so far, for those to come.
pub struct Kept<T: Scalar> {
    outputs: Vec<Variable<T>>,
    /// `S_last`, `S_init` and `q^(t-1)` of [`ConnectionKind::Fuzzy`].
    sums: Option<(Variable<T>, Variable<T>, f64)>,
}

impl<T: Scalar> Default for Kept<T> {
    fn default() -> Self {
        Self { outputs: Vec::new(), sums: None }
    }
}

impl ConnectionKind {
    /// How many times the hidden width is read, given how many hidden layers are before (at least one) and whether the
    /// reader is the classifier.
    pub fn width(self, before: usize, classifies: bool) -> usize {
        match self {
            Self::Dense => before,
            Self::Jumping if classifies => before,
            _ => 1,
        }
    }
}

impl Connection {
    /// What a layer, or the classifier, reads of the hidden layers before it; `None` before the first of them.
    pub fn read<T: Scalar>(&self, tape: &Tape<T>, kept: &Kept<T>, classifies: bool) -> Option<Variable<T>> {
        let last = kept.outputs.last()?;
        let all = || kept.outputs.iter().collect::<Vec<_>>();
        Some(match self.kind {
            ConnectionKind::Dense => tape.concatenate(&all()),
            ConnectionKind::Jumping if classifies => tape.concatenate(&all()),
            ConnectionKind::JumpingMaximum if classifies => tape.maximum(&all()),
            _ => last.clone(),
        })
    }

    /// What is normalised, from what a layer has aggregated.
    pub fn mix<T: Scalar>(&self, tape: &Tape<T>, kept: &Kept<T>, aggregated: Variable<T>) -> Variable<T> {
        let (alpha, beta, gamma) = self.shares;
        match &kept.sums {
            Some((last, initial, _)) => {
                tape.weighted_sum(&[(alpha, &aggregated), (beta, last), (gamma, initial)])
            }
            None => aggregated,
        }
    }

    /// Connects the output of a hidden layer, keeps what later layers read, and gives the connected output.
    pub fn take_up<T: Scalar>(&self, tape: &Tape<T>, kept: &mut Kept<T>, output: Variable<T>) -> Variable<T> {
        let connected = match (self.kind, kept.outputs.as_slice()) {
            (ConnectionKind::Residual, [.., last]) => tape.weighted_sum(&[(1.0, &output), (1.0, last)]),
            (ConnectionKind::Initial, [first, ..]) => {
                tape.weighted_sum(&[(1.0 - INITIAL_WEIGHT, &output), (INITIAL_WEIGHT, first)])
            }
            _ => output,
        };
        match self.kind {
            ConnectionKind::None | ConnectionKind::Residual => kept.outputs.clear(),
            ConnectionKind::Initial => kept.outputs.truncate(1),
            ConnectionKind::Dense | ConnectionKind::Jumping | ConnectionKind::JumpingMaximum => {}
            ConnectionKind::Fuzzy => {
                kept.outputs.clear();
                kept.sums = Some(match kept.sums.take() {
                    None => (connected.clone(), connected.clone(), self.initial_decay),
                    Some((last, initial, share)) => (
                        tape.weighted_sum(&[(self.residual_memory, &last), (1.0, &connected)]),
                        tape.weighted_sum(&[(1.0, &initial), (share, &connected)]),
                        share * self.initial_decay,
                    ),
                });
            }
        }
        kept.outputs.push(connected.clone());
        connected
    }
}
