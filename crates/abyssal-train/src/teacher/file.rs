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
/// How far each of them may be off because it was rounded to two digits.
const ROUNDING: f64 = 5.1e-3;

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
            "it has {} rows and {} columns; {} has {} nodes (rows) and {} classes (columns){}",
            shape.0,
            shape.1,
            dataset.name(),
            wanted.0,
            wanted.1,
            if shape.0 == wanted.0 + 1 {
                "; if its first line is a header of numbers, leave it out and put the columns in the order of the classes"
            } else {
                ""
            }
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
    require_probabilities(&rows, dataset).map_err(refuse)?;
    Ok(rows)
}

/// Checks that every row is a distribution, or zeros, which are what a teacher says that knows nothing about a node, such as
/// label propagation where no label gets to.
fn require_probabilities(rows: &Matrix<f32>, dataset: &Dataset) -> Result<(), String> {
    if rows.as_slice().iter().all(|&value| value == 0.0) {
        return Err("it has nothing but zeros, which say nothing about any node".to_string());
    }
    let tolerance = TOLERANCE.max(ROUNDING * dataset.classes() as f64);
    for node in 0..rows.rows() {
        let (row, name) = (rows.row(node), dataset.node_name(node));
        if let Some(value) = row.iter().find(|value| **value < 0.0) {
            return Err(format!(
                "{value} for node {name} is no probability; set teacher.predictions_kind=logits if it is a logit"
            ));
        }
        let sum: f64 = row.iter().map(|&value| f64::from(value)).sum();
        if sum != 0.0 && (sum - 1.0).abs() > tolerance {
            let way_out = match row.iter().any(|&value| value > 1.0) {
                true if (sum - 100.0).abs() <= 100.0 * tolerance => "divide percentages by 100",
                true => "set teacher.predictions_kind=logits if they are logits",
                false => "every node needs a probability for each class",
            };
            return Err(format!("the probabilities of node {name} sum to {sum:.4}, not to 1; {way_out}"));
        }
    }
    Ok(())
}

/// The column of every class: the one with its name, at least in another case or between what all names have in common, as
/// in `p(red)` and `p(blue)`; in their order where a header has no name of a class. A header with some of them says that the
/// order is another one, but not which.
fn columns_of_classes(names: Option<&[String]>, dataset: &Dataset) -> Result<Vec<usize>, String> {
    let classes = dataset.class_names();
    let names = names.unwrap_or_default();
    let lower = |texts: &[String]| texts.iter().map(|text| text.to_lowercase()).collect::<Vec<_>>();
    let (lower_names, lower_classes) = (lower(names), lower(&classes));
    let find = |names: &[String], classes: &[String]| -> Vec<Option<usize>> {
        classes.iter().map(|class| names.iter().position(|name| name == class)).collect()
    };
    let mut found = find(names, &classes);
    if found.iter().all(Option::is_none) {
        found = find(&lower_names, &lower_classes);
    }
    if found.iter().all(Option::is_none) {
        let in_order = || (0..classes.len()).collect();
        return Ok(framed(&lower_names, &lower_classes).unwrap_or_else(in_order));
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

/// The places of the names that have a class each between the same beginning and the same end, in the order of the classes.
fn framed(names: &[String], classes: &[String]) -> Option<Vec<usize>> {
    let first = classes.first()?;
    let frames = names.iter().flat_map(|name| {
        name.match_indices(first).map(|(begin, found)| (&name[..begin], &name[begin + found.len()..]))
    });
    let place = |framed: String| names.iter().position(|name| *name == framed);
    let places = |(beginning, end): (&str, &str)| {
        classes.iter().map(|class| place(format!("{beginning}{class}{end}"))).collect::<Option<Vec<_>>>()
    };
    frames.into_iter().find_map(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_found_between_what_all_names_have_in_common() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let places = |names: &[&str], classes: &[&str]| framed(&texts(names), &texts(classes));
        assert_eq!(places(&["p(diver)", "p(baker)"], &["baker", "diver"]), Some(vec![1, 0]));
        assert_eq!(places(&["class 1", "class 0", "class 10"], &["0", "1", "10"]), Some(vec![1, 0, 2]));
        assert_eq!(places(&["grün", "größe"], &["größe", "grün"]), Some(vec![1, 0]));
        assert_eq!(places(&["p(baker)", "diver"], &["baker", "diver"]), None);
        assert_eq!(places(&["first", "second"], &["baker", "diver"]), None);
        assert_eq!(places(&[], &["baker"]), None);
    }
}
