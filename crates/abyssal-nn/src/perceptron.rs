//! The multi-layer perceptron: a model of its own, and the first part of models that propagate its scores.

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;

use crate::models::TaskShape;
use crate::{Embedding, GraphInput, ParameterGroup, ParameterSpec, Pass, Place};

/// `H ← dropout(ReLU(H·W_t + b_t))` from `H = dropout(X)`, the last layer straight to the classes and bare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Perceptron {
    /// How many layers, at least 1.
    pub layers: usize,
    /// The width of hidden layers.
    pub hidden: usize,
    /// Dropout of the features.
    pub input_dropout: f64,
    /// Dropout of every hidden embedding.
    pub hidden_dropout: f64,
}

impl Perceptron {
    /// Weight and bias of every layer.
    pub fn specs(&self, task: TaskShape) -> Vec<ParameterSpec> {
        (0..self.layers)
            .flat_map(|layer| {
                let last = layer + 1 == self.layers;
                let inputs = if layer == 0 { task.features } else { self.hidden };
                let outputs = if last { task.classes } else { self.hidden };
                let group = ParameterGroup::of_layer(layer, self.layers);
                [
                    ParameterSpec::weight(format!("layers.{layer}.weight"), inputs, outputs),
                    ParameterSpec::bias(format!("layers.{layer}.bias"), outputs),
                ]
                .map(|spec| spec.in_group(group))
            })
            .collect()
    }

    /// How many parameters come first in a model that begins with it.
    pub fn parameters(&self) -> usize {
        2 * self.layers
    }

    /// The place of what its last layer gives, where it drops nothing itself.
    pub fn output_place(&self) -> Place {
        Place::Layer(self.layers - 1)
    }

    pub fn has_dropout(&self) -> bool {
        self.input_dropout > 0.0 || self.hidden_dropout > 0.0
    }

    /// The scores of every node, from its own features alone. Shape n×C.
    pub fn forward<T: Scalar>(
        &self,
        pass: &Pass<T>,
        graph: &GraphInput<T>,
        parameters: &[Variable<T>],
        observe: impl Fn(&Variable<T>),
    ) -> Variable<T> {
        let mut hidden = None;
        for (layer, of_layer) in parameters.chunks_exact(2).enumerate() {
            let embedding = match &hidden {
                None => Embedding::Features(pass.dropout(self.input_dropout, Place::Features)),
                Some(hidden) => Embedding::Hidden(hidden),
            };
            let product = graph.transform(pass.tape, &embedding, &of_layer[0]);
            let (activation, rate) = match layer + 1 < self.layers {
                true => (Activation::Relu, self.hidden_dropout),
                false => (Activation::Identity, 0.0),
            };
            let dropout = pass.dropout(rate, Place::Layer(layer));
            let output = pass.tape.activate(&product, Some(&of_layer[1]), activation, dropout);
            observe(&output);
            hidden = Some(output);
        }
        hidden.expect("a validated model has at least one layer")
    }
}
