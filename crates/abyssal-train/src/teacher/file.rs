//! Predictions of a model from elsewhere.

use std::path::Path;

use abyssal_graph::Dataset;
use abyssal_graph::formats::own::{NodeFeatures, read_features};
use abyssal_tensor::Matrix;

use super::probabilities_of;
use crate::TrainError;
use crate::config::PredictionsKind;

/// How far from 1 the probabilities of a node may sum.
const TOLERANCE: f64 = 1e-2;

/// Reads the probabilities of all classes for all nodes, n×C, from an npy, npz or csv file. Rows are in the order of the
/// nodes; those of a table that names its nodes are found by name.
///
/// # Errors
/// If the file cannot be read, has other nodes or classes, or holds no probabilities where it should.
pub fn read_predictions(
    path: &Path,
    kind: PredictionsKind,
    dataset: &Dataset,
) -> Result<Matrix<f32>, TrainError> {
    let refuse =
        |reason: String| TrainError::InvalidTeacher { reason: format!("{}: {reason}", path.display()) };
    let NodeFeatures { nodes, features } = read_features(path)?;
    let given = features.to_dense();
    let (wanted, shape) = ((dataset.nodes(), dataset.classes()), given.shape());
    if shape != wanted {
        return Err(refuse(format!(
            "it has {} rows and {} columns; {} has {} nodes (rows) and {} classes (columns)",
            shape.0,
            shape.1,
            dataset.name(),
            wanted.0,
            wanted.1
        )));
    }
    let mut rows = Matrix::zeros(wanted.0, wanted.1);
    for node in 0..wanted.0 {
        let place = match nodes.are_given() {
            true => nodes.find(&dataset.node_name(node)).map_err(&refuse)? as usize,
            false => node,
        };
        rows.row_mut(node).copy_from_slice(given.row(place));
    }
    let negative = rows.as_slice().iter().any(|&value| value < 0.0);
    match kind {
        PredictionsKind::Logits => return Ok(probabilities_of(&rows)),
        PredictionsKind::Auto if negative => return Ok(probabilities_of(&rows)),
        PredictionsKind::Auto | PredictionsKind::Probabilities => {}
    }
    for node in 0..wanted.0 {
        let row = rows.row(node);
        let name = dataset.node_name(node);
        if let Some(value) = row.iter().find(|value| **value < 0.0) {
            return Err(refuse(format!(
                "{value} for node {name} is no probability; set teacher.predictions_kind=logits if it is a logit"
            )));
        }
        let sum: f64 = row.iter().map(|&value| f64::from(value)).sum();
        if (sum - 1.0).abs() > TOLERANCE {
            return Err(refuse(format!(
                "the probabilities of node {name} sum to {sum:.4}, not to 1; set teacher.predictions_kind=logits if they are \
                 logits"
            )));
        }
    }
    Ok(rows)
}
