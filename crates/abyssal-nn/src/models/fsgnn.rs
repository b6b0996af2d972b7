//! FSGNN (Maurya, Liu and Murata: *Improving graph neural networks with simple architecture design*, 2021): features
//! smoothed to every distance, with and without the node itself, each with a weight of its own.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;
use abyssal_tensor::{Initialization, Scalar};

use super::{Model, ModelSettings, TaskShape};
use crate::error::{require_rate, require_size};
use crate::{GraphInput, NnError, Operator, ParameterGroup, ParameterSpec, Pass, Place};

/// `Z = ReLU([α_0·N(X_0·W_0) | … | α_2K·N(X_2K·W_2K)])·W + b`, `α = softmax(a)`, where `N` divides every row by its
/// length and the `X_i` are `X`, then `P^k·X` and `Â^k·X` for k = 1 … K; `P = D^-½ A D^-½` has no self-loops.
///
/// Dropout as in the released code: of what the last weight reads. Its biases before `N` are left out here.
///
/// Nothing is dropped from the features, so the `X_i` are constant: dense ones are computed once and kept, which takes
/// `2K` times the memory of `X`, and a pass is `2K+1` products. Sparse features stay sparse, `P^k·(X·W_i)`. Since every
/// term is normalised on its own, terms cannot share their steps: a pass takes `K·(K+1)` of them, of width d.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct FsgnnConfig {
    /// `K`, the farthest distance, at least 1.
    pub layers: usize,
    /// `d`, the width of every term, at least 1.
    pub hidden: usize,
    /// Dropout of what the last weight reads, in [0, 1).
    pub hidden_dropout: f64,
}

impl Default for FsgnnConfig {
    fn default() -> Self {
        Self { layers: 3, hidden: 64, hidden_dropout: 0.5 }
    }
}

impl ModelSettings for FsgnnConfig {
    const SUMMARY: &'static str =
        "features smoothed to every distance, weighted by learnt shares (Maurya et al., 2021)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("K", "layers"), ("d", "hidden")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_rate("hidden_dropout", self.hidden_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        Box::new(Fsgnn { config: self.clone(), task })
    }
}

struct Fsgnn {
    config: FsgnnConfig,
    task: TaskShape,
}

impl Fsgnn {
    /// How many terms there are, `2K+1`.
    fn terms(&self) -> usize {
        2 * self.config.layers + 1
    }
}

impl<T: Scalar> Model<T> for Fsgnn {
    fn specs(&self) -> Vec<ParameterSpec> {
        let (terms, hidden) = (self.terms(), self.config.hidden);
        let weight = |term| ParameterSpec::weight(format!("terms.{term}.weight"), self.task.features, hidden);
        let mut specs: Vec<ParameterSpec> = (0..terms).map(weight).collect();
        specs.push(ParameterSpec {
            name: "attention".to_string(),
            shape: (1, terms),
            initialization: Initialization::Ones,
            group: ParameterGroup::Hidden,
        });
        specs.extend(ParameterSpec::classifier(terms * hidden, self.task.classes));
        specs
    }

    fn has_dropout(&self) -> bool {
        self.config.hidden_dropout > 0.0
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let (weights, rest) = pass.parameters.split_at(self.terms());
        let [attention, head, bias] = rest else { panic!("the parameters of `specs`") };
        let tape = pass.tape;
        let term = |operator, steps, weight| {
            tape.row_normalize(&graph.transform_propagated(tape, operator, steps, weight))
        };
        let mut terms = vec![term(Operator::Convolution, 0, &weights[0])];
        for (index, weights) in weights[1..].chunks_exact(2).enumerate() {
            terms.push(term(Operator::Neighbours, index + 1, &weights[0]));
            let smoothed = term(Operator::Convolution, index + 1, &weights[1]);
            pass.observe(&smoothed);
            terms.push(smoothed);
        }
        let shares = tape.concatenate_shares(attention, &terms.iter().collect::<Vec<_>>());
        let dropout = pass.dropout(self.config.hidden_dropout, Place::Features);
        let hidden = tape.activate(&shares, None, Activation::Relu, dropout);
        let scores = tape.linear(&hidden, head);
        Ok(tape.activate(&scores, Some(bias), Activation::Identity, None))
    }
}
