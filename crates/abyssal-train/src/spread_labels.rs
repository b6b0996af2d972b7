//! How well label propagation does on a dataset: what its edges alone are worth.

use serde::Serialize;

use abyssal_graph::Dataset;
use abyssal_nn::{GraphInput, LabelPropagation, Operator};

use crate::TrainError;
use crate::metrics::{accuracy, targets};

/// How the scores of label propagation are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spreading {
    /// Step by step, until nothing changes.
    Iterative,
    /// As the solution of a dense system of equations, on small graphs.
    ClosedForm,
}

/// What label propagation reaches with one share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpreadAccuracy {
    /// `α`, how much a node takes from its neighbours.
    pub share: f64,
    /// On the validation nodes.
    pub validation_accuracy: f64,
    /// On the test nodes. Never used for a decision.
    pub test_accuracy: f64,
}

/// Spreads the labels of the training nodes with `D^-½ A D^-½` and compares validation and test nodes.
///
/// # Errors
/// If a setting is out of range, or the closed form is asked for on a graph that is too large or has no limit.
pub fn spread_labels(
    dataset: &Dataset,
    settings: &LabelPropagation,
    spreading: Spreading,
) -> Result<SpreadAccuracy, TrainError> {
    settings.validate()?;
    let input = GraphInput::<f32>::new(dataset.graph(), dataset.features());
    let (operator, classes) = (input.operator(Operator::Neighbours), dataset.classes());
    let split = dataset.split();
    let known = targets(dataset, split.train());
    let scores = match spreading {
        Spreading::Iterative => settings.iterate(operator, &known, classes),
        Spreading::ClosedForm => settings.limit(operator, &known, classes)?.cast(),
    };
    Ok(SpreadAccuracy {
        share: settings.share,
        validation_accuracy: accuracy(&scores, &targets(dataset, split.validation())),
        test_accuracy: accuracy(&scores, &targets(dataset, split.test())),
    })
}
