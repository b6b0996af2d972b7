//! Multi-layer perceptron: every node by its own features, without the graph. What a graph is worth shows against it.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::error::{require_rate, require_size};
use crate::perceptron::Perceptron;
use crate::{GraphInput, NnError, ParameterSpec, Pass};

/// `H ← ReLU(H·W_t + b_t)`, the last layer straight to the classes and without ReLU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct MlpConfig {
    /// `L`, how many layers, at least 1.
    pub layers: usize,
    /// `d`, the width of hidden layers, at least 1.
    pub hidden: usize,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of every hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
}

impl Default for MlpConfig {
    fn default() -> Self {
        Self { layers: 2, hidden: 64, input_dropout: 0.5, hidden_dropout: 0.5 }
    }
}

impl ModelSettings for MlpConfig {
    const SUMMARY: &'static str = "multi-layer perceptron, which does not see the graph";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("L", "layers"), ("d", "hidden")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let MlpConfig { layers, hidden, input_dropout, hidden_dropout } = *self;
        Box::new(Mlp { perceptron: Perceptron { layers, hidden, input_dropout, hidden_dropout }, task })
    }
}

struct Mlp {
    perceptron: Perceptron,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for Mlp {
    fn specs(&self) -> Vec<ParameterSpec> {
        self.perceptron.specs(self.task)
    }

    fn has_dropout(&self) -> bool {
        self.perceptron.has_dropout()
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        Ok(self.perceptron.forward(pass, graph, &pass.parameters, |hidden| pass.observe(hidden)))
    }
}
