//! FAGCN (Bo, Wang, Shi and Shen: *Beyond low-frequency information in graph convolutional networks*, AAAI 2021):
//! attention that may also subtract a neighbour.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;

use super::{Model, ModelSettings, TaskShape};
use crate::error::{require_rate, require_size, require_unit};
use crate::{Embedding, GraphInput, NnError, Operator, ParameterGroup, ParameterSpec, Pass, Place};

/// `H_0 = ReLU(X·W_in + b_in)`, then `L` times `H_l = ε·H_0 + S_l·H_{l-1}`, and `Z = H_L·W_out + b_out`, with
/// `(S_l)_ij = tanh(⟨t_l, h_i⟩ + ⟨s_l, h_j⟩)·P_ij`, where `h` are rows of `H_{l-1}` and `P = D^-½ A D^-½` is
/// [`Operator::Neighbours`], without self-loops.
///
/// Dropout as in the released code: of the features, of `H_0`, and of the entries of `S_l`. The released code adds a
/// bias to what tanh reads; this is the paper's formula, which has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct FagcnConfig {
    /// `L`, how many layers, at least 1.
    pub layers: usize,
    /// `d`, the width of embeddings, at least 1.
    pub hidden: usize,
    /// `ε`, the weight of the initial connection, in [0, 1].
    pub initial: f64,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of the first embedding, in [0, 1).
    pub hidden_dropout: f64,
    /// Dropout of the attention weights, in [0, 1).
    pub attention_dropout: f64,
}

impl Default for FagcnConfig {
    fn default() -> Self {
        Self {
            layers: 2,
            hidden: 32,
            initial: 0.3,
            input_dropout: 0.5,
            hidden_dropout: 0.5,
            attention_dropout: 0.5,
        }
    }
}

impl ModelSettings for FagcnConfig {
    const SUMMARY: &'static str = "attention from -1 to 1 with initial connections (Bo et al., 2021)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("d", "hidden"), ("eps", "initial")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_unit("initial", self.initial)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)?;
        require_rate("attention_dropout", self.attention_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        Box::new(Fagcn { config: self.clone(), task })
    }
}

struct Fagcn {
    config: FagcnConfig,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for Fagcn {
    fn specs(&self) -> Vec<ParameterSpec> {
        let FagcnConfig { layers, hidden, .. } = self.config;
        let mut specs = vec![
            ParameterSpec::weight("input.weight", self.task.features, hidden),
            ParameterSpec::bias("input.bias", hidden),
        ];
        for layer in 0..layers {
            let vectors = ["source", "target"]
                .map(|name| ParameterSpec::weight(format!("layers.{layer}.{name}"), 1, hidden));
            specs.extend(vectors.map(|spec| spec.in_group(ParameterGroup::Hidden)));
        }
        specs.extend(ParameterSpec::classifier(hidden, self.task.classes));
        specs
    }

    fn has_dropout(&self) -> bool {
        let FagcnConfig { input_dropout, hidden_dropout, attention_dropout, .. } = self.config;
        [input_dropout, hidden_dropout, attention_dropout].iter().any(|&rate| rate > 0.0)
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let FagcnConfig { initial: epsilon, input_dropout, hidden_dropout, attention_dropout, .. } =
            self.config;
        let (of_input, rest) = pass.parameters.split_at(2);
        let (of_layers, of_head) = rest.split_at(rest.len() - 2);
        let tape = pass.tape;
        let features = Embedding::Features(pass.dropout(input_dropout, Place::Features));
        let product = graph.transform(tape, &features, &of_input[0]);
        let dropout = pass.dropout(hidden_dropout, Place::Layer(0));
        let initial = tape.activate(&product, Some(&of_input[1]), Activation::Relu, dropout);
        let mut hidden = initial.clone();
        for (layer, vectors) in of_layers.chunks_exact(2).enumerate() {
            let operator = graph.operator(Operator::Neighbours);
            let dropout = pass.dropout(attention_dropout, Place::Layer(1 + layer));
            let heard = tape.attend_signed(operator, &hidden, &vectors[0], &vectors[1], dropout);
            hidden = tape.weighted_sum(&[(epsilon, &initial), (1.0, &heard)]);
            pass.observe(&hidden);
        }
        let scores = tape.linear(&hidden, &of_head[0]);
        Ok(tape.activate(&scores, Some(&of_head[1]), Activation::Identity, None))
    }
}
