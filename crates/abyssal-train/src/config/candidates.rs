//! The candidates of a panel of teachers, each with a complete configuration of its own.

use abyssal_nn::models::ModelConfig;
use toml::{Table, Value};

use super::resolve::{METHOD, convert, last};
use super::{CandidateConfig, CandidateGraph, Config, Same, TeacherConfig};
use crate::{Selection, TrainError};

/// The setting that names the candidates.
pub(super) const MODELS: &str = "teacher.models";
/// What a preset says about its own candidates together: whoever names others does without it.
pub(super) const TOGETHER: [&str; 2] = ["teacher.choice", "teacher.seeds"];
/// The setting that chooses an epoch.
pub(super) const SELECTION: &str = "train.selection";

/// The teacher with every candidate that is asked for; its other settings are their defaults.
pub(super) fn resolve(
    student: &Config,
    of_preset: &[(String, Value)],
    given: &[(String, Value)],
) -> Result<TeacherConfig, TrainError> {
    let mut teacher = TeacherConfig::default();
    if let Some(value) = last(given, MODELS).or_else(|| last(of_preset, MODELS)) {
        teacher.models = names(value)?;
    }
    for name in &teacher.models {
        let candidate = candidate(name, student, of_preset, given)?;
        teacher.candidates.insert(name.clone(), candidate);
    }
    Ok(teacher)
}

/// The candidates a value of `teacher.models` names.
pub(super) fn names(value: &Value) -> Result<Vec<String>, TrainError> {
    // A single name needs no list.
    let names = if value.is_str() { Value::Array(vec![value.clone()]) } else { value.clone() };
    Ok(expand(convert(MODELS, &names)?))
}

/// Whether a key is about a candidate in the table.
pub(super) fn is_of_candidate(key: &str, table: &Table) -> bool {
    let mut parts = key.split('.');
    let section = parts.next().and_then(|section| table.get(section)).and_then(Value::as_table);
    key.starts_with("teacher.")
        && section
            .zip(parts.next())
            .is_some_and(|(section, name)| section.get(name).is_some_and(Value::is_table))
}

/// `panel` replaced by what it stands for; every name once.
fn expand(names: Vec<String>) -> Vec<String> {
    let mut expanded: Vec<String> = Vec::new();
    for name in names {
        let all = match name.as_str() {
            TeacherConfig::PANEL => TeacherConfig::PANEL_MODELS.iter().map(|name| name.to_string()).collect(),
            _ => vec![name],
        };
        for name in all {
            if !expanded.contains(&name) {
                expanded.push(name);
            }
        }
    }
    expanded
}

/// One candidate: the published settings of its model, then those with its name. `self` starts as the student does.
fn candidate(
    name: &str,
    student: &Config,
    of_preset: &[(String, Value)],
    given: &[(String, Value)],
) -> Result<CandidateConfig, TrainError> {
    TeacherConfig::validate_name(name)?;
    let prefix = format!("teacher.{name}.");
    let mut own: Vec<(String, Value)> = of_preset
        .iter()
        .chain(given)
        .filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?.to_string(), value.clone())))
        .collect();
    let graph = match last(&own, "graph") {
        Some(value) => convert::<CandidateGraph>(&format!("{prefix}graph"), value)?,
        None => CandidateGraph::Same(Same::Same),
    };
    own.retain(|(key, _)| key != "graph");
    let model = match name {
        TeacherConfig::SELF => student.model.name(),
        name if last(&own, "model.name").is_none() && ModelConfig::named(name).is_none() => {
            return Err(TrainError::UnknownTeacher { name: name.to_string() });
        }
        name => name,
    };
    let mut settings = Vec::new();
    if name == TeacherConfig::SELF {
        let shared = |key: &str| key.starts_with("model.") || key.starts_with("train.");
        settings.extend(given.iter().filter(|(key, _)| shared(key)).cloned());
    }
    if last(&own, "model.name").is_none() {
        settings.push(("model.name".to_string(), model.into()));
    }
    settings.push(("preset".to_string(), student.preset.name().into()));
    settings.push(("data.name".to_string(), student.data.name().into()));
    settings.push((METHOD.to_string(), "direct".into()));
    settings.push((SELECTION.to_string(), selection(of_preset, given)));
    if name == TeacherConfig::SELF {
        // What is wrong with a setting of the student is wrong with the student, under the name that was given.
        Config::assemble(settings.clone())?;
    }
    settings.extend(own);
    let config = Config::assemble(settings).map_err(|error| error.of_teacher(name))?;
    Ok(CandidateConfig { graph, model: config.model, train: config.train })
}

/// How the student selects its epoch, and so its teachers theirs: test nodes that choose what a teacher says would enter
/// the result of a student that is strict about them.
fn selection(of_preset: &[(String, Value)], given: &[(String, Value)]) -> Value {
    let chosen = last(given, SELECTION).or_else(|| last(of_preset, SELECTION));
    chosen.cloned().unwrap_or_else(|| Selection::default().to_string().into())
}
