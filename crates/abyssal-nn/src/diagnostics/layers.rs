//! A whole model, layer by layer.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Targets;
use abyssal_tensor::tape::{Buffer, Pool, Tape};

use super::Measures;
use crate::models::Model;
use crate::{GraphInput, Mode, NnError, Parameters, Pass};

/// What is seen at one layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerDiagnosis {
    /// The layer, counted from 1.
    pub layer: usize,
    /// The width of its output.
    pub width: usize,
    /// Measures of its output; `None` if that is not finite.
    pub measures: Option<Measures>,
    /// The length of the gradient of the training loss with respect to all parameters `layers.N.…` of this layer; `None` if
    /// it has none, or the gradient is not finite.
    pub gradient_norm: Option<f64>,
}

/// What to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examination {
    /// The layers, counted from 0, ascending.
    pub layers: Vec<usize>,
    /// How many layers are [kept](Pass::keeping) at a time; `None` if all are.
    pub kept_layers: Option<NonZeroUsize>,
}

impl Examination {
    /// At most `at_most` of `count` layers, evenly spaced, with the first and, if there is room for two, the last.
    pub fn evenly_spaced(count: usize, at_most: usize) -> Self {
        let layers = match at_most {
            _ if count <= at_most => (0..count).collect(),
            0 => Vec::new(),
            1 => vec![0],
            _ => (0..at_most).map(|step| step * (count - 1) / (at_most - 1)).collect(),
        };
        Self { layers, kept_layers: None }
    }
}

/// Goes through a model once, forward and backward and with nothing dropped, and measures some of its layers.
///
/// Costs a training pass, in buffers of the pool, and, for each measured layer, a Gram matrix and a few passes over the edges.
///
/// # Errors
/// If a normalisation meets numbers that are not finite.
pub fn diagnose<T: Scalar>(
    model: &dyn Model<T>,
    parameters: &Parameters<T>,
    input: &GraphInput<T>,
    targets: &Arc<Targets>,
    examination: &Examination,
    pool: &Pool<T>,
) -> Result<Vec<LayerDiagnosis>, NnError> {
    let layers = RefCell::new(Vec::new());
    let tape = Tape::recording(pool);
    let pass = Pass::new(&tape, parameters, Mode::Evaluation).keeping(examination.kept_layers).observing(
        |index, embedding| {
            if examination.layers.binary_search(&index).is_ok() {
                layers.borrow_mut().push(LayerDiagnosis {
                    layer: index + 1,
                    width: embedding.columns(),
                    measures: Measures::of(input.graph(), embedding).ok(),
                    gradient_norm: None,
                });
            }
        },
    );
    let scores = model.forward(&pass, input)?;
    let loss = tape.cross_entropy(&scores, targets);
    let variables = pass.parameters;
    let mut gradients = tape.backward(&loss);
    let mut layers = layers.take();
    let mut squares = vec![None; layers.last().map_or(0, |last| last.layer)];
    for ((name, _), variable) in parameters.iter().zip(&variables) {
        let square = layer_of(name).and_then(|layer| squares.get_mut(layer));
        if let (Some(square), Some(gradient)) = (square, gradients.take(variable)) {
            *square = Some(square.unwrap_or(0.0) + sum_of_squares(&gradient));
        }
    }
    for layer in &mut layers {
        layer.gradient_norm = squares[layer.layer - 1].map(f64::sqrt).filter(|norm| norm.is_finite());
    }
    Ok(layers)
}

/// The number in `layers.3.weight`.
fn layer_of(name: &str) -> Option<usize> {
    let (number, _) = name.strip_prefix("layers.")?.split_once('.')?;
    number.parse().ok()
}

fn sum_of_squares<T: Scalar>(gradient: &Buffer<T>) -> f64 {
    gradient.as_slice().iter().map(|value| value.to_f64() * value.to_f64()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spacing_is_even_and_keeps_both_ends() {
        let layers = |count, at_most| Examination::evenly_spaced(count, at_most).layers;
        assert_eq!(layers(5, 10), [0, 1, 2, 3, 4]);
        assert_eq!(layers(9, 3), [0, 4, 8]);
        assert_eq!(layers(1024, 4), [0, 341, 682, 1023]);
        assert_eq!(layers(usize::MAX / 300, 256).len(), 256);
        assert_eq!((layers(4, 1), layers(4, 0)), (vec![0], vec![]));
    }

    #[test]
    fn layers_are_told_by_the_names_of_parameters() {
        assert_eq!(layer_of("layers.31.weight"), Some(31));
        assert_eq!((layer_of("head.weight"), layer_of("layers.x.weight")), (None, None));
    }
}
