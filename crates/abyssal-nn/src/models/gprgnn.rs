//! GPR-GNN (Chien, Peng, Li and Milenkovic: *Adaptive universal generalized PageRank graph neural network*, ICLR
//! 2021): how much each distance counts is learnt.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;
use abyssal_tensor::{Initialization, Scalar};

use super::{Model, ModelSettings, TaskShape};
use crate::error::{require_rate, require_size, require_unit};
use crate::perceptron::Perceptron;
use crate::{GraphInput, NnError, ParameterGroup, ParameterSpec, Pass};

/// How the coefficients of GPR-GNN start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoefficientStart {
    /// As in personalised PageRank: `γ_k = α(1-α)^k`, `γ_K = (1-α)^K`.
    #[default]
    PageRank,
    /// Uniform in ±√(3/(K+1)), then divided by their absolute sum.
    Random,
}

/// `Z = Σ_k γ_k·Â^k·MLP(X)`, k = 0 … K; the perceptron has two layers.
///
/// Dropout as in the released code: of the features, of the hidden embedding, and of the scores that are spread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct GprgnnConfig {
    /// `K`, how many steps the scores are spread, at least 1.
    pub layers: usize,
    /// `d`, the width of the perceptron's hidden layer, at least 1.
    pub hidden: usize,
    /// How the coefficients start: `page-rank` or `random`.
    pub start: CoefficientStart,
    /// `α` of the start `page-rank`, in [0, 1].
    pub restart: f64,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of the hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
    /// Dropout of the scores before they are spread, in [0, 1).
    pub score_dropout: f64,
}

impl Default for GprgnnConfig {
    fn default() -> Self {
        Self {
            layers: 10,
            hidden: 64,
            start: CoefficientStart::PageRank,
            restart: 0.1,
            input_dropout: 0.5,
            hidden_dropout: 0.5,
            score_dropout: 0.5,
        }
    }
}

impl ModelSettings for GprgnnConfig {
    const SUMMARY: &'static str = "perceptron, then a learnt filter of powers of Â (Chien et al., 2021)";
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("L", "layers"),
        ("K", "layers"),
        ("d", "hidden"),
        ("alpha", "restart"),
        ("dprate", "score_dropout"),
    ];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_unit("restart", self.restart)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)?;
        require_rate("score_dropout", self.score_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let GprgnnConfig { hidden, input_dropout, hidden_dropout, .. } = *self;
        let perceptron = Perceptron { layers: 2, hidden, input_dropout, hidden_dropout };
        Box::new(Gprgnn { perceptron, config: self.clone(), task })
    }
}

struct Gprgnn {
    perceptron: Perceptron,
    config: GprgnnConfig,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for Gprgnn {
    fn specs(&self) -> Vec<ParameterSpec> {
        let mut specs = self.perceptron.specs(self.task);
        let initialization = match self.config.start {
            CoefficientStart::PageRank => Initialization::PageRank(self.config.restart),
            CoefficientStart::Random => Initialization::UniformShares,
        };
        specs.push(ParameterSpec {
            name: "coefficients".to_string(),
            shape: (1, self.config.layers + 1),
            initialization,
            group: ParameterGroup::Hidden,
        });
        specs
    }

    fn has_dropout(&self) -> bool {
        self.perceptron.has_dropout() || self.config.score_dropout > 0.0
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let (of_perceptron, coefficients) = pass.parameters.split_at(self.perceptron.parameters());
        let mut scores = self.perceptron.forward(pass, graph, of_perceptron, |_| ());
        let dropout = pass.dropout(self.config.score_dropout, self.perceptron.output_place());
        if dropout.is_some() {
            scores = pass.tape.activate(&scores, None, Activation::Identity, dropout);
        }
        let mut powers = vec![scores];
        for step in 0..self.config.layers {
            let power = pass.tape.propagate(graph.adjacency(), &powers[step]);
            pass.observe(&power);
            powers.push(power);
        }
        Ok(pass.tape.mix(&coefficients[0], &powers.iter().collect::<Vec<_>>()))
    }
}
