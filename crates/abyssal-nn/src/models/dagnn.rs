//! DAGNN (Liu, Gao and Ji: *Towards deeper graph neural networks*, KDD 2020): every node chooses how far it listens.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::error::{require_rate, require_size};
use crate::perceptron::Perceptron;
use crate::{GraphInput, NnError, ParameterGroup, ParameterSpec, Pass};

/// `Z_k = Â^k·MLP(X)`, k = 0 … K, and `Z = Σ_k diag(σ(Z_k·s))·Z_k` with the logistic σ; the perceptron has two layers.
///
/// Dropout as in the released code: of the features, and of the hidden embedding. The released code adds a bias to
/// `Z_k·s`; this is the paper's formula, which has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct DagnnConfig {
    /// `K`, how many steps the scores are spread, at least 1.
    pub layers: usize,
    /// `d`, the width of the perceptron's hidden layer, at least 1.
    pub hidden: usize,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of the hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
}

impl Default for DagnnConfig {
    fn default() -> Self {
        Self { layers: 10, hidden: 64, input_dropout: 0.8, hidden_dropout: 0.8 }
    }
}

impl ModelSettings for DagnnConfig {
    const SUMMARY: &'static str =
        "perceptron, then a sum over distances gated by every node (Liu et al., 2020)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("K", "layers"), ("d", "hidden")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let DagnnConfig { layers: steps, hidden, input_dropout, hidden_dropout } = *self;
        let perceptron = Perceptron { layers: 2, hidden, input_dropout, hidden_dropout };
        Box::new(Dagnn { perceptron, steps, task })
    }
}

struct Dagnn {
    perceptron: Perceptron,
    steps: usize,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for Dagnn {
    fn specs(&self) -> Vec<ParameterSpec> {
        let mut specs = self.perceptron.specs(self.task);
        let gate = ParameterSpec::weight("gate.weight", self.task.classes, 1);
        specs.push(gate.in_group(ParameterGroup::Hidden));
        specs
    }

    fn has_dropout(&self) -> bool {
        self.perceptron.has_dropout()
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let (of_perceptron, gate) = pass.parameters.split_at(self.perceptron.parameters());
        let mut powers = vec![self.perceptron.forward(pass, graph, of_perceptron, |_| ())];
        for step in 0..self.steps {
            let power = pass.tape.propagate(graph.adjacency(), &powers[step]);
            pass.observe(&power);
            powers.push(power);
        }
        Ok(pass.tape.gate(&gate[0], &powers.iter().collect::<Vec<_>>()))
    }
}
