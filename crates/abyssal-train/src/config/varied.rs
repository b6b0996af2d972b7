//! A file whose settings others vary: what it says about things they do away with no longer counts.

use std::path::Path;

use abyssal_graph::DatasetConfig;
use abyssal_nn::models::ModelConfig;
use toml::Value;

use super::candidates::{self, MODELS, SELECTION};
use super::resolve::{METHOD, canonical, get, last};
use super::{Config, TeacherConfig};
use crate::TrainError;

/// The settings of a file that count beside later ones. The `config.toml` of a run has those of its data and model, of its
/// curriculum and of all its teachers; a run with other ones, or with none, has no place for them.
///
/// # Errors
/// If the later settings name another preset, or teachers that are no names.
pub(super) fn remaining(
    path: &Path,
    file: Vec<(String, Value)>,
    later: &[(String, Value)],
) -> Result<Vec<(String, Value)>, TrainError> {
    check_preset(path, &file, later)?;
    let direct = last(later, METHOD).and_then(Value::as_str) == Some("direct");
    let teachers = last(later, MODELS).map(candidates::names).transpose()?;
    let selects = last(later, SELECTION).is_some();
    // A file that names no model or dataset is about those of the later settings.
    let (before, after) = (named(&[later, &file].concat()), named(&[&file, later].concat()));
    let other_model = before.model.name() != after.model.name();
    let other_data = before.data.name() != after.data.name();
    let gone = |key: &str| {
        direct && is_of_curriculum(key)
            || has(&before, key) && !has(&after, key)
            || other_model && (key == "model.name" || is_of_student_as_teacher(key))
            || other_data && key == "data.name"
            || teachers.as_ref().is_some_and(|names| is_of_other_teachers(key, names))
            || selects && is_selection_of_teacher(key)
    };
    Ok(file.into_iter().filter(|(key, _)| !gone(key)).collect())
}

/// The settings of a file win over a preset, so that another one than the file was written for would be a false label.
fn check_preset(path: &Path, file: &[(String, Value)], later: &[(String, Value)]) -> Result<(), TrainError> {
    match (last(file, "preset"), last(later, "preset")) {
        (Some(written), Some(wanted)) if written != wanted => Err(TrainError::InvalidValue {
            key: "preset".to_string(),
            value: wanted.to_string(),
            reason: format!(
                "{} was written for preset = {written}, and its settings win over those of a preset; leave the file out, or \
                 remove `preset` from it and what the other one is to decide",
                path.display()
            ),
        }),
        _ => Ok(()),
    }
}

/// A configuration with the model and the dataset that settings name; where they name none that there is, with the default.
fn named(settings: &[(String, Value)]) -> Config {
    let name = |key| last(settings, key).and_then(Value::as_str);
    let base = Config::default();
    Config {
        model: name("model.name").and_then(ModelConfig::named).unwrap_or(base.model),
        data: name("data.name").and_then(DatasetConfig::named).unwrap_or(base.data),
        ..base
    }
}

/// Whether model or data have a setting.
fn has(config: &Config, key: &str) -> bool {
    get(&config.table(), &canonical(key, config)).is_some()
}

/// The teacher `self` is as the student.
fn is_of_student_as_teacher(key: &str) -> bool {
    key.strip_prefix("teacher.").and_then(|key| key.split('.').next()) == Some(TeacherConfig::SELF)
}

fn is_of_curriculum(key: &str) -> bool {
    ["curriculum", "teacher"].contains(&key.split('.').next().unwrap_or_default())
}

/// Whether a key is about a candidate that is not among these, or about predictions in the place of any.
fn is_of_other_teachers(key: &str, names: &[String]) -> bool {
    let mut parts = key.splitn(3, '.');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("teacher"), Some(name), Some(_)) => !names.iter().any(|one| one == name),
        (Some("teacher"), Some("predictions" | "predictions_kind"), None) => !names.is_empty(),
        _ => false,
    }
}

/// Teachers select as their student does.
fn is_selection_of_teacher(key: &str) -> bool {
    key.starts_with("teacher.") && key.ends_with(&format!(".{SELECTION}"))
}
