//! APPNP (Gasteiger, Bojchevski and Günnemann: *Predict then propagate: graph neural networks meet personalized
//! PageRank*, ICLR 2019): scores of a perceptron, spread by a walk that returns.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::error::{require_rate, require_size, require_unit};
use crate::perceptron::Perceptron;
use crate::{GraphInput, NnError, ParameterSpec, Pass};

/// `Z⁰ = MLP(X)`, then `K` times `Z ← (1-α)·Â·Z + α·Z⁰`; the perceptron has two layers.
///
/// Dropout as in the released code: of the features, and of the hidden embedding. Its optional dropout of the entries
/// of `Â` is left out; the biases of the perceptron are ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct AppnpConfig {
    /// `K`, how many steps the scores are spread, at least 1.
    pub layers: usize,
    /// `d`, the width of the perceptron's hidden layer, at least 1.
    pub hidden: usize,
    /// `α`, the probability to return to the node itself, in [0, 1].
    pub restart: f64,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of the hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
}

impl Default for AppnpConfig {
    fn default() -> Self {
        Self { layers: 10, hidden: 64, restart: 0.1, input_dropout: 0.5, hidden_dropout: 0.5 }
    }
}

impl ModelSettings for AppnpConfig {
    const SUMMARY: &'static str = "perceptron, then personalised PageRank (Gasteiger et al., 2019)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("K", "layers"), ("d", "hidden"), ("alpha", "restart")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_unit("restart", self.restart)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let AppnpConfig { layers: steps, hidden, restart, input_dropout, hidden_dropout } = *self;
        let perceptron = Perceptron { layers: 2, hidden, input_dropout, hidden_dropout };
        Box::new(Appnp { perceptron, steps, restart, task })
    }
}

struct Appnp {
    perceptron: Perceptron,
    steps: usize,
    restart: f64,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for Appnp {
    fn specs(&self) -> Vec<ParameterSpec> {
        self.perceptron.specs(self.task)
    }

    fn has_dropout(&self) -> bool {
        self.perceptron.has_dropout()
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let initial = self.perceptron.forward(pass, graph, &pass.parameters, |_| ());
        let mut scores = initial.clone();
        for _ in 0..self.steps {
            let spread = pass.tape.propagate(graph.adjacency(), &scores);
            scores = pass.tape.weighted_sum(&[(1.0 - self.restart, &spread), (self.restart, &initial)]);
            pass.observe(&scores);
        }
        Ok(scores)
    }
}
