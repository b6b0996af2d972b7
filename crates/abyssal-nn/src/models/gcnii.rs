//! GCNII (Chen, Wei, Huang, Ding and Li: *Simple and deep graph convolutional networks*, ICML 2020): initial
//! connections, and weights that approach the identity with depth.

use std::sync::Arc;

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;
use abyssal_tensor::{Initialization, Matrix, Scalar};

use super::{Model, ModelSettings, TaskShape};
use crate::error::{require, require_rate, require_size, require_unit};
use crate::{Embedding, GraphInput, NnError, ParameterGroup, ParameterSpec, Pass, Place};

/// `H⁰ = ReLU(X·W_in + b_in)`, then `L` times `H ← ReLU(((1-α)·Â·H + α·H⁰)·M(W_l))`, and `Z = H·W_out + b_out`,
/// with `M(W) = (1-β_l)·I + β_l·W` and `β_l = ln(λ/l + 1)`.
///
/// GCNII* has two weights a layer: `H ← ReLU((1-α)·Â·H·M(W_l) + α·H⁰·M(W'_l))`. This is the paper's formula; in the
/// released code the weights of GCNII* see `Â·H` and `H⁰` without the factors `1-α` and `α`.
///
/// Dropout as in the released code: of the features, and of what every layer and the classifier read (the `H⁰` of
/// the connections is whole).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct GcniiConfig {
    /// `L`, how many convolutions, at least 1.
    pub layers: usize,
    /// `d`, the width of embeddings, at least 1.
    pub hidden: usize,
    /// `α`, the weight of the initial connection, in [0, 1].
    pub initial: f64,
    /// `λ`, how much the weights count in `β_l = ln(λ/l + 1)`, between 0 and 1e9.
    pub mapping: f64,
    /// Whether it is GCNII*, with a second weight a layer for the initial connection.
    pub star: bool,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of what every layer and the classifier read, in [0, 1).
    pub hidden_dropout: f64,
}

impl Default for GcniiConfig {
    fn default() -> Self {
        Self {
            layers: 64,
            hidden: 64,
            initial: 0.1,
            mapping: 0.5,
            star: false,
            input_dropout: 0.6,
            hidden_dropout: 0.6,
        }
    }
}

impl ModelSettings for GcniiConfig {
    const SUMMARY: &'static str = "GCN with initial connections and identity mapping (Chen et al., 2020)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("d", "hidden"), ("alpha", "initial"), ("lambda", "mapping")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_unit("initial", self.initial)?;
        require((0.0..=1e9).contains(&self.mapping), "mapping", self.mapping, "between 0 and 1e9")?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let identity = Arc::new(Matrix::identity(self.hidden));
        Box::new(Gcnii { config: self.clone(), task, identity })
    }
}

struct Gcnii<T> {
    config: GcniiConfig,
    task: TaskShape,
    /// `I`, d×d.
    identity: Arc<Matrix<T>>,
}

impl<T: Scalar> Model<T> for Gcnii<T> {
    fn specs(&self) -> Vec<ParameterSpec> {
        let GcniiConfig { layers, hidden, star, .. } = self.config;
        let mut specs = vec![
            ParameterSpec::weight("input.weight", self.task.features, hidden),
            ParameterSpec::bias("input.bias", hidden),
        ];
        for layer in 0..layers {
            let mut names = vec![format!("layers.{layer}.weight")];
            names.extend(star.then(|| format!("layers.{layer}.initial_weight")));
            let weights = names.into_iter().map(|name| ParameterSpec::weight(name, hidden, hidden));
            specs.extend(weights.map(|spec| spec.in_group(ParameterGroup::Hidden)));
        }
        specs.extend(ParameterSpec::classifier(hidden, self.task.classes));
        let start = |spec: ParameterSpec| match spec.initialization {
            Initialization::XavierUniform => spec.starting(Initialization::InverseRoot),
            _ => spec,
        };
        specs.into_iter().map(start).collect()
    }

    fn has_dropout(&self) -> bool {
        self.config.input_dropout > 0.0 || self.config.hidden_dropout > 0.0
    }

    fn recomputes(&self) -> bool {
        true
    }

    fn forward<'m>(
        &'m self,
        pass: &Pass<'_, 'm, T>,
        graph: &'m GraphInput<T>,
    ) -> Result<Variable<T>, NnError> {
        let GcniiConfig { layers, input_dropout, hidden_dropout, .. } = self.config;
        let (of_input, rest) = pass.parameters.split_at(2);
        let (of_layers, of_head) = rest.split_at(rest.len() - 2);
        let tape = pass.tape;
        let features = Embedding::Features(pass.dropout(input_dropout, Place::Features));
        let product = graph.transform(tape, &features, &of_input[0]);
        let initial = tape.activate(&product, Some(&of_input[1]), Activation::Relu, None);
        let dropout = pass.dropout(hidden_dropout, Place::Layer(0));
        let hidden = match dropout {
            Some(_) => tape.activate(&initial, None, Activation::Identity, dropout),
            None => initial.clone(),
        };
        let state =
            pass.through_layers(layers, of_layers, vec![hidden, initial], move |pass, range, state| {
                let mut hidden = state[0].clone();
                let each = pass.parameters.len() / range.len();
                for (index, weights) in range.zip(pass.parameters.chunks_exact(each)) {
                    hidden = self.layer(pass, graph, index, (&hidden, &state[1]), weights);
                }
                Ok(vec![hidden, state[1].clone()])
            })?;
        let scores = tape.linear(&state[0], &of_head[0]);
        Ok(tape.activate(&scores, Some(&of_head[1]), Activation::Identity, None))
    }
}

impl<T: Scalar> Gcnii<T> {
    /// One layer, counted from 0, from the embedding before it and the initial one.
    fn layer(
        &self,
        pass: &Pass<T>,
        graph: &GraphInput<T>,
        index: usize,
        (hidden, initial): (&Variable<T>, &Variable<T>),
        weights: &[Variable<T>],
    ) -> Variable<T> {
        let GcniiConfig { initial: alpha, mapping, star, hidden_dropout, .. } = self.config;
        let tape = pass.tape;
        let beta = (mapping / (index + 1) as f64).ln_1p();
        let spread = tape.propagate(graph.adjacency(), hidden);
        let combined = if star {
            let spread = tape.linear(&spread, &self.mapped(pass, beta, &weights[0]));
            let initial = tape.linear(initial, &self.mapped(pass, beta, &weights[1]));
            tape.weighted_sum(&[(1.0 - alpha, &spread), (alpha, &initial)])
        } else {
            let combined = tape.weighted_sum(&[(1.0 - alpha, &spread), (alpha, initial)]);
            tape.linear(&combined, &self.mapped(pass, beta, &weights[0]))
        };
        let dropout = pass.dropout(hidden_dropout, Place::Layer(1 + index));
        let output = tape.activate(&combined, None, Activation::Relu, dropout);
        pass.observe(&output);
        output
    }

    /// `M(W) = (1-β)·I + β·W`: d×d, so that the n×d embedding is multiplied once.
    fn mapped(&self, pass: &Pass<T>, beta: f64, weight: &Variable<T>) -> Variable<T> {
        let identity = pass.tape.constant(&self.identity);
        pass.tape.weighted_sum(&[(1.0 - beta, &identity), (beta, weight)])
    }
}
