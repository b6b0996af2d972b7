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
/// nodes; those of a table that names its nodes are found by name. So are its columns, if their names are those of the
/// classes; all others are in the order of the classes. A row of zeros says nothing about its node.
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
    let NodeFeatures { nodes, features, names } = read_features(path)?;
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
    let columns = columns_of_classes(names.as_deref(), dataset).map_err(&refuse)?;
    let mut rows = Matrix::zeros(wanted.0, wanted.1);
    for node in 0..wanted.0 {
        let place = match nodes.are_given() {
            true => {
                let name = dataset.node_name(node);
                nodes.find(&name).map_err(|_| refuse(format!("it has no row for the node `{name}`")))?
                    as usize
            }
            false => node,
        };
        let given = given.row(place);
        rows.row_mut(node).iter_mut().zip(&columns).for_each(|(value, &column)| *value = given[column]);
    }
    let negative = rows.as_slice().iter().any(|&value| value < 0.0);
    match kind {
        PredictionsKind::Logits => return Ok(probabilities_of(&rows)),
        PredictionsKind::Auto if negative => return Ok(probabilities_of(&rows)),
        PredictionsKind::Auto | PredictionsKind::Probabilities => {}
    }
    if rows.as_slice().iter().all(|&value| value == 0.0) {
        return Err(refuse("it has nothing but zeros, which say nothing about any node".to_string()));
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
        // Zeros are what a teacher says that knows nothing about a node, such as label propagation where no label gets to.
        if sum != 0.0 && (sum - 1.0).abs() > TOLERANCE {
            return Err(refuse(format!(
                "the probabilities of node {name} sum to {sum:.4}, not to 1; set teacher.predictions_kind=logits if they are \
                 logits"
            )));
        }
    }
    Ok(rows)
}

/// The column of every class: the one with its name, at least in another case, or in their order where a header has no name of a class. A header with
/// some of them says that the order is another one, but not which.
fn columns_of_classes(names: Option<&[String]>, dataset: &Dataset) -> Result<Vec<usize>, String> {
    let classes: Vec<_> = (0..dataset.classes()).map(|class| dataset.class_name(class)).collect();
    let names = names.unwrap_or_default();
    let find = |same: fn(&str, &str) -> bool| -> Vec<Option<usize>> {
        classes.iter().map(|class| names.iter().position(|name| same(name, class))).collect()
    };
    let mut found = find(|name, class| name == class);
    if found.iter().all(Option::is_none) {
        found = find(|name, class| name.to_lowercase() == class.to_lowercase());
    }
    if found.iter().all(Option::is_none) {
        return Ok((0..classes.len()).collect());
    }
    found.iter().copied().collect::<Option<Vec<usize>>>().ok_or_else(|| {
        format!(
            "its header ({}) has the names of some classes and not of others ({}); name the columns as the classes, or leave \
             the header out and put them in this order",
            names.join(", "),
            classes.join(", ")
        )
    })
}
