//! Where numbers left the finite range and what may help, for the message of a failed run.

use std::cell::Cell;

use abyssal_nn::models::Model;
use abyssal_nn::{GraphInput, Mode, Parameters, Pass};
use abyssal_tensor::tape::{Pool, Tape};

/// What may help a run that diverged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Steps were too large.
    LowerLearningRate,
    /// Steps of fine-tuning, which has a rate of its own, were too large.
    LowerFineTuningRate,
    /// It had not made a step yet.
    FewerLayers,
}

impl Remedy {
    /// What to do about settings that begin with a prefix: none, or that of a teacher, such as `teacher.gcn.`.
    pub fn advice(self, prefix: &str) -> String {
        match self {
            Self::LowerLearningRate => format!("try a lower {prefix}train.learning_rate"),
            Self::LowerFineTuningRate => "try a lower curriculum.fine_tuning_learning_rate".to_string(),
            Self::FewerLayers => {
                "it starts that way: look for very large features (data.standardize scales them), take \
                                  fewer layers, or a model that normalises them"
                    .to_string()
            }
        }
    }
}

/// Names the first weights and the first layer that are not finite, going through the model once with nothing dropped.
pub(crate) fn locate(
    model: &dyn Model<f32>,
    parameters: &Parameters<f32>,
    input: &GraphInput<f32>,
    pool: &Pool<f32>,
) -> String {
    let weights = match parameters.iter().find(|(_, value)| !value.is_finite()) {
        Some((name, _)) => format!("the weights {name} are the first that are not finite"),
        None => "all weights are finite".to_string(),
    };
    let first = Cell::new(None);
    let tape = Tape::inference(pool);
    let pass = Pass::new(&tape, parameters, Mode::Evaluation).observing(|layer, output| {
        if first.get().is_none() && !output.is_finite() {
            first.set(Some(layer));
        }
    });
    let scores = model.forward(&pass, input);
    let outputs = match (first.get(), scores) {
        (Some(index), _) => format!("the output of layer {} is the first that is not finite", index + 1),
        (None, Err(error)) => error.to_string(),
        (None, Ok(scores)) if !scores.is_finite() => {
            "of all outputs only the class scores are not finite".to_string()
        }
        (None, Ok(_)) => "all outputs of layers are finite".to_string(),
    };
    format!("{weights}, {outputs}")
}
