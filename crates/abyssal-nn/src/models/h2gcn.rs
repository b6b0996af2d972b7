//! H2GCN (Zhu et al.: *Beyond homophily in graph neural networks: current limitations and effective designs*, NeurIPS
//! 2020): a node, its neighbours and those two steps away are kept apart.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::error::{require, require_rate};
use crate::{Embedding, GraphInput, NnError, Operator, ParameterSpec, Pass, Place};

/// The most rounds: the classifier reads `(2^{K+1} - 1)·d` values of a node.
const MOST_LAYERS: usize = 6;

/// `R_0 = ReLU(X·W_in)`, then `K` times `R_k = [Ā₁·R_{k-1} | Ā₂·R_{k-1}]`, and `Z = [R_0 | … | R_K]·W_out + b_out`.
///
/// `Ā₁ = D^-½ A D^-½` is [`Operator::Neighbours`], without self-loops, and `Ā₂` the same of the nodes exactly two steps
/// apart, [`Operator::TwoHops`]. Rounds have neither weights nor a nonlinearity; `R_k` is n×(2^k·d).
///
/// Dropout as in the released code: of what the classifier reads. Dropout of the features and the bias of the
/// classifier are ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct H2gcnConfig {
    /// `K`, how many rounds, between 1 and 6: every round doubles the width.
    pub layers: usize,
    /// `d`, the width of `R_0`, at least 1.
    pub hidden: usize,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of what the classifier reads, in [0, 1).
    pub output_dropout: f64,
}

impl Default for H2gcnConfig {
    fn default() -> Self {
        Self { layers: 2, hidden: 64, input_dropout: 0.0, output_dropout: 0.5 }
    }
}

impl ModelSettings for H2gcnConfig {
    const SUMMARY: &'static str =
        "neighbours and those two steps away, side by side with the node itself (Zhu et al., 2020)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("K", "layers"), ("d", "hidden")];

    fn validate(&self) -> Result<(), NnError> {
        require(self.layers >= 1, "layers", self.layers, "at least 1")?;
        let few = self.layers <= MOST_LAYERS;
        require(few, "layers", self.layers, "between 1 and 6: the width doubles with every layer")?;
        require(self.hidden >= 1, "hidden", self.hidden, "at least 1")?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("output_dropout", self.output_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        Box::new(H2gcn { config: self.clone(), task })
    }
}

struct H2gcn {
    config: H2gcnConfig,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for H2gcn {
    fn specs(&self) -> Vec<ParameterSpec> {
        let H2gcnConfig { layers, hidden, .. } = self.config;
        let width = ((2 << layers) - 1) * hidden;
        let mut specs = vec![ParameterSpec::weight("input.weight", self.task.features, hidden)];
        specs.extend(ParameterSpec::classifier(width, self.task.classes));
        specs
    }

    fn has_dropout(&self) -> bool {
        self.config.input_dropout > 0.0 || self.config.output_dropout > 0.0
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let [input, weight, bias] = &pass.parameters[..] else { panic!("the parameters of `specs`") };
        let tape = pass.tape;
        let features = Embedding::Features(pass.dropout(self.config.input_dropout, Place::Features));
        let product = graph.transform(tape, &features, input);
        let mut rounds = vec![tape.activate(&product, None, Activation::Relu, None)];
        for round in 0..self.config.layers {
            let both = [Operator::Neighbours, Operator::TwoHops]
                .map(|operator| tape.propagate(graph.operator(operator), &rounds[round]));
            let joined = tape.concatenate(&both.each_ref());
            pass.observe(&joined);
            rounds.push(joined);
        }
        let mut all = tape.concatenate(&rounds.iter().collect::<Vec<_>>());
        let dropout = pass.dropout(self.config.output_dropout, Place::Layer(0));
        if dropout.is_some() {
            all = tape.activate(&all, None, Activation::Identity, dropout);
        }
        let scores = tape.linear(&all, weight);
        Ok(tape.activate(&scores, Some(bias), Activation::Identity, None))
    }
}
