//! Simplified graph convolution (Wu et al.: *Simplifying graph convolutional networks*, ICML 2019): a linear
//! classifier of smoothed features.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::error::require_size;
use crate::{Embedding, GraphInput, NnError, Operator, ParameterSpec, Pass};

/// `Z = Â^K·X·W + b`.
///
/// Nothing is dropped, as in the released code, so `Â^K·X` is constant: for dense features it is computed once, and
/// a pass is a single product. Sparse features stay sparse, `Â^K·(X·W)`: their smoothed version would be dense, and
/// classes are fewer than features. An [observing](Pass::observing) pass takes the second way too, to show every step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct SgcConfig {
    /// `K`, how many times features are smoothed, at least 1.
    pub layers: usize,
    /// The width other models have; this one has no hidden embedding, and any number from 1 on will do.
    pub hidden: usize,
}

impl Default for SgcConfig {
    fn default() -> Self {
        Self { layers: 2, hidden: 64 }
    }
}

impl ModelSettings for SgcConfig {
    const SUMMARY: &'static str =
        "simplified graph convolution: smoothed features, one weight (Wu et al., 2019)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("K", "layers"), ("d", "hidden")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        Box::new(Sgc { steps: self.layers, task })
    }
}

struct Sgc {
    steps: usize,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for Sgc {
    fn specs(&self) -> Vec<ParameterSpec> {
        vec![
            ParameterSpec::weight("head.weight", self.task.features, self.task.classes),
            ParameterSpec::bias("head.bias", self.task.classes),
        ]
    }

    fn has_dropout(&self) -> bool {
        false
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let (weight, bias) = (&pass.parameters[0], &pass.parameters[1]);
        let scores = if pass.is_observing() {
            let mut scores = graph.transform(pass.tape, &Embedding::Features(None), weight);
            for _ in 0..self.steps {
                scores = pass.tape.propagate(graph.adjacency(), &scores);
                pass.observe(&scores);
            }
            scores
        } else {
            graph.transform_propagated(pass.tape, Operator::Convolution, self.steps, weight)
        };
        Ok(pass.tape.activate(&scores, Some(bias), Activation::Identity, None))
    }
}
