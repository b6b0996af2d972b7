//! GRAND (Feng et al.: *Graph random neural networks for semi-supervised learning on graphs*, NeurIPS 2020): a perceptron on
//! features averaged over all distances, of which whole nodes are left out at random.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::dropping::Dropping;
use crate::error::{require_rate, require_size};
use crate::perceptron::Perceptron;
use crate::{GraphInput, NnError, ParameterSpec, Pass, Place};

/// `Z = MLP(X̄)` of two layers, `X̄ = 1/(K+1) · Σ_k Â^k·X̃`, k = 0 … K. In training `X̃` are the features with a share δ of the
/// rows set to zero (DropNode), in evaluation `(1-δ)·X`.
///
/// That is the model; the other half of GRAND is how it is trained: with several passes an epoch, whose predictions for all
/// nodes should be sure and agree (`train.passes`, `train.consistency` and `train.sharpening`; its published settings have
/// them).
///
/// The perceptron's first product is taken before the features are averaged, `1/(K+1)·Σ Â^k·(X̃·W)`, so that sparse features
/// stay sparse. So dropout of features falls on X, where in the released code it falls on `X̄`. Its optional batch
/// normalisation, which it has on Pubmed, is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct GrandConfig {
    /// `K`, the farthest distance that features come from, at least 1.
    pub layers: usize,
    /// `d`, the width of the perceptron's hidden layer, at least 1.
    pub hidden: usize,
    /// `δ`, the share of nodes whose features are left out, in [0, 1).
    pub drop_node: f64,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of the hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
}

impl Default for GrandConfig {
    fn default() -> Self {
        Self { layers: 5, hidden: 32, drop_node: 0.5, input_dropout: 0.5, hidden_dropout: 0.5 }
    }
}

impl ModelSettings for GrandConfig {
    const SUMMARY: &'static str =
        "perceptron on features averaged over distances, nodes left out at random (Feng et al., 2020)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("K", "layers"), ("d", "hidden"), ("delta", "drop_node")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_rate("drop_node", self.drop_node)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let GrandConfig { layers: steps, hidden, drop_node, input_dropout, hidden_dropout } = *self;
        let perceptron = Perceptron { layers: 2, hidden, input_dropout, hidden_dropout };
        Box::new(Grand { perceptron, dropping: Dropping { nodes: drop_node, edges: 0.0 }, steps, task })
    }
}

struct Grand {
    perceptron: Perceptron,
    dropping: Dropping,
    steps: usize,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for Grand {
    fn specs(&self) -> Vec<ParameterSpec> {
        self.perceptron.specs(self.task)
    }

    fn has_dropout(&self) -> bool {
        self.perceptron.has_dropout() || !self.dropping.is_nothing()
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let [first, first_bias, last, last_bias] = [0, 1, 2, 3].map(|index| &pass.parameters[index]);
        let features = self.dropping.features(pass, self.perceptron.input_dropout);
        let mut powers = vec![graph.transform(pass.tape, &features, first)];
        for step in 0..self.steps {
            let power = pass.tape.propagate(graph.adjacency(), &powers[step]);
            if step + 1 < self.steps {
                pass.observe(&power);
            }
            powers.push(power);
        }
        // Rows that stay were divided by 1 - δ.
        let share = (1.0 - self.dropping.nodes) / powers.len() as f64;
        let mean = pass.tape.weighted_sum(&powers.iter().map(|power| (share, power)).collect::<Vec<_>>());
        let dropout = pass.dropout(self.perceptron.hidden_dropout, Place::Layer(0));
        let hidden = pass.tape.activate(&mean, Some(first_bias), Activation::Relu, dropout);
        // What a node is after all steps, near and far together, and not the farthest alone.
        pass.observe(&hidden);
        let scores = pass.tape.linear(&hidden, last);
        Ok(pass.tape.activate(&scores, Some(last_bias), Activation::Identity, None))
    }
}
