//! From defaults, a preset, a file and settings of the command line to one complete configuration.

use std::path::Path;

use abyssal_graph::DatasetConfig;
use abyssal_nn::models::ModelConfig;
use toml::{Table, Value};

use super::{
    Config, CurriculumConfig, Method, Preset, Temperature, TrainConfig, candidates, presets, varied,
};
use crate::TrainError;

/// The setting that decides whether there is a curriculum.
pub(super) const METHOD: &str = "train.method";
/// The model our own recipes are for.
const OURS: &str = "r-soft-graph-ain";

impl Config {
    /// Builds a configuration: defaults, then the preset, then what was published for the model on the dataset, then
    /// the file, then `settings` in their order.
    ///
    /// Settings are `("model.strength", value)`; the paper's letters (`model.a`) work as well. Which model, dataset
    /// and preset it is about, whether there is a curriculum and who may teach it is decided first, since their defaults
    /// come first. `("teacher.NAME.model.layers", value)` is about one of the teachers. What the file says about a curriculum
    /// or about teachers that `settings` do without does not count.
    ///
    /// # Errors
    /// If the file cannot be read or was written for another preset, a key is unknown (the nearest known one is named),
    /// or a value does not fit.
    pub fn resolve(file: Option<&Path>, settings: &[(String, Value)]) -> Result<Self, TrainError> {
        let mut given = match file {
            Some(path) => varied::remaining(path, flatten(&read_table(path)?), settings)?,
            None => Vec::new(),
        };
        given.extend_from_slice(settings);
        let config = Self::assemble(given)?;
        config.validate()?;
        Ok(config)
    }

    /// Defaults, preset and what was published, then what was given; ranges are not checked yet.
    pub(super) fn assemble(given: Vec<(String, Value)>) -> Result<Self, TrainError> {
        let base = Config::default();
        let preset = match last(&given, "preset") {
            Some(value) => convert::<Preset>("preset", value)?,
            None => base.preset,
        };
        let data = match last(&given, "data.name") {
            Some(name) => dataset_named(name)?,
            // No other data has files to be told.
            None if last(&given, "data.edges").is_some() => dataset_named(&DatasetConfig::FILES.into())?,
            None => base.data,
        };
        let model = match last(&given, "model.name") {
            Some(name) => named("model.name", name, ModelConfig::NAMES, ModelConfig::named)?,
            None => base.model,
        };
        let mut of_preset = preset_settings(preset, model.name(), &data, &given)?;
        if last(&given, candidates::MODELS).is_some() {
            of_preset.retain(|(key, _)| !candidates::TOGETHER.contains(&key.as_str()));
        }
        let mut config = Config { preset, data, model, ..base };
        if method(&of_preset, &given)? == Method::Curriculum {
            config.curriculum = Some(CurriculumConfig::default());
            config.teacher = Some(candidates::resolve(&config, &of_preset, &given)?);
        }
        let mut table = config.table();
        let applicable =
            of_preset.into_iter().filter(|(key, _)| get(&table, key).is_some()).collect::<Vec<_>>();
        for (key, value) in applicable.into_iter().chain(given) {
            let key = canonical(&key, &config);
            // They are resolved already, and in the table as they are.
            if candidates::is_of_candidate(&key, &table) || key == candidates::MODELS {
                continue;
            }
            let Some(current) = get(&table, &key) else {
                return Err(unknown(key, &table, &config));
            };
            let value = fit(&key, current, value)?;
            set(&mut table, &key, value.clone());
            // One setting at a time, so that a value that does not fit is blamed on its own key.
            config = convert_table(&key, &value, &table)?;
        }
        Ok(config)
    }
}

/// How the model is taught, from the preset and what was given.
fn method(of_preset: &[(String, Value)], given: &[(String, Value)]) -> Result<Method, TrainError> {
    let chosen = last(given, METHOD).or_else(|| last(of_preset, METHOD));
    chosen.map_or(Ok(Method::default()), |value| convert(METHOD, value))
}

/// All settings of a table as `("section.key", value)`, sections in sections as well; an empty section stands for itself.
pub(super) fn flatten(table: &Table) -> Vec<(String, Value)> {
    let mut settings = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(section) if !section.is_empty() => {
                settings.extend(
                    flatten(section).into_iter().map(|(name, value)| (format!("{key}.{name}"), value)),
                );
            }
            value => settings.push((key.clone(), value.clone())),
        }
    }
    settings
}

fn read_table(path: &Path) -> Result<Table, TrainError> {
    let text = std::fs::read_to_string(path).map_err(TrainError::io("read", path))?;
    text.parse().map_err(|error: toml::de::Error| TrainError::InvalidFile {
        path: path.to_path_buf(),
        message: error.to_string(),
    })
}

/// What a preset says about a model on a dataset, in the way it will be taught.
fn preset_settings(
    preset: Preset,
    model: &str,
    data: &DatasetConfig,
    given: &[(String, Value)],
) -> Result<Vec<(String, Value)>, TrainError> {
    let dataset = data.name();
    let published = presets::published(model, dataset);
    let ours = preset == Preset::Abyssal && model == OURS;
    let mut settings: Vec<_> = match preset {
        // What was found for a dataset says more than what was published for it.
        Preset::Abyssal if ours => published.into_iter().chain(presets::abyssal(dataset)).collect(),
        Preset::Abyssal | Preset::Paper => published,
        Preset::Reference => {
            let defaults = presets::reference_defaults();
            defaults.into_iter().chain(published).chain(presets::reference(dataset)).collect()
        }
    };
    if matches!(data, DatasetConfig::Generated(_)) {
        // Generated graphs are for a first look and for tests, where training a teacher first would be in the way.
        settings.retain(|(key, _)| key != METHOD);
    }
    if ours && method(&settings, given)? == Method::Direct {
        // What suits a student, which is told all labels, does not suit whoever learns from a few.
        settings.extend(presets::abyssal_direct(dataset));
    }
    Ok(settings)
}

/// The key with an alias (the paper's letter) replaced by the name it stands for.
pub(super) fn canonical(key: &str, config: &Config) -> String {
    let (section, name) = key.split_once('.').unwrap_or(("", key));
    let aliases = aliases(section, config);
    let name = aliases.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    if section.is_empty() { name.to_string() } else { format!("{section}.{name}") }
}

fn aliases(section: &str, config: &Config) -> &'static [(&'static str, &'static str)] {
    match section {
        "model" => config.model.aliases(),
        "train" => TrainConfig::ALIASES,
        "curriculum" => CurriculumConfig::ALIASES,
        _ => &[],
    }
}

/// The error for a key that is not in the table.
fn unknown(key: String, table: &Table, config: &Config) -> TrainError {
    let section = key.split('.').next().unwrap_or_default();
    if config.curriculum.is_none() && ["curriculum", "teacher"].contains(&section) {
        return TrainError::NoCurriculum { key };
    }
    TrainError::UnknownKey { nearest: nearest(&key, table, config), key }
}

/// The known key most like an unknown one. A bare name is also compared with the last part of known keys.
fn nearest(key: &str, table: &Table, config: &Config) -> String {
    let mut known: Vec<String> = flatten(table).into_iter().map(|(key, _)| key).collect();
    for section in ["model", "train", "curriculum"].into_iter().filter(|section| table.contains_key(*section))
    {
        known.extend(aliases(section, config).iter().map(|(alias, _)| format!("{section}.{alias}")));
    }
    let distance = |candidate: &String| {
        let whole = strsim::damerau_levenshtein(key, candidate);
        let name = candidate.split_once('.').map_or(candidate.as_str(), |(_, name)| name);
        // Half a point, so that a key with the right section wins over one in another section.
        (2 * whole).min(2 * strsim::damerau_levenshtein(key, name) + 1)
    };
    known.into_iter().min_by_key(distance).unwrap_or_default()
}

/// The value as the setting needs it: numbers where numbers are, a single value where a list is.
fn fit(key: &str, current: &Value, value: Value) -> Result<Value, TrainError> {
    match (current, value) {
        // `model.rank` tells a count from a ratio by the point, so its kind is the user's choice.
        (Value::Float(_), Value::Integer(number)) if key != "model.rank" => Ok(Value::Float(number as f64)),
        (Value::Array(_), value @ Value::Integer(_)) => Ok(Value::Array(vec![value])),
        // 1e3 is a whole number, though TOML calls it a float.
        (Value::Integer(_), Value::Float(number))
            if key != "model.rank" && number.fract() == 0.0 && number.abs() < 1e15 =>
        {
            Ok(Value::Integer(number as i64))
        }
        (Value::Integer(_), Value::Float(number)) if key != "model.rank" => Err(TrainError::InvalidValue {
            key: key.to_string(),
            value: number.to_string(),
            reason: "it must be a whole number".to_string(),
        }),
        (_, value) => Ok(value),
    }
}

/// The value of a dotted key, unless it is a section.
pub(super) fn get<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        Some((section, rest)) => get(table.get(section)?.as_table()?, rest),
        None => table.get(key).filter(|value| !value.is_table()),
    }
}

fn set(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        Some((section, rest)) => {
            if let Some(Value::Table(section)) = table.get_mut(section) {
                set(section, rest, value);
            }
        }
        None => {
            table.insert(key.to_string(), value);
        }
    }
}

pub(super) fn last<'a>(settings: &'a [(String, Value)], key: &str) -> Option<&'a Value> {
    settings.iter().rev().find(|(given, _)| given == key).map(|(_, value)| value)
}

/// Any name may be one of an imported graph; whether it is, is seen when the data is loaded.
fn dataset_named(name: &Value) -> Result<DatasetConfig, TrainError> {
    name.as_str().and_then(DatasetConfig::named).ok_or_else(|| TrainError::InvalidValue {
        key: "data.name".to_string(),
        value: name.to_string(),
        reason: "it must be the name of a dataset: letters, digits, `-`, `_` and `.`".to_string(),
    })
}

fn named<C>(
    key: &str,
    name: &Value,
    names: &[&str],
    find: impl Fn(&str) -> Option<C>,
) -> Result<C, TrainError> {
    let text = name.as_str().unwrap_or_default();
    find(text).ok_or_else(|| {
        let nearest = names.iter().min_by_key(|known| strsim::damerau_levenshtein(known, text));
        TrainError::InvalidValue {
            key: key.to_string(),
            value: name.to_string(),
            reason: format!(
                "did you mean \"{}\"? there are {}",
                nearest.copied().unwrap_or_default(),
                names.join(", ")
            ),
        }
    })
}

pub(super) fn convert<C: serde::de::DeserializeOwned>(key: &str, value: &Value) -> Result<C, TrainError> {
    value.clone().try_into().map_err(|error: toml::de::Error| invalid(key, value, &error))
}

fn convert_table(key: &str, value: &Value, table: &Table) -> Result<Config, TrainError> {
    table.clone().try_into().map_err(|error: toml::de::Error| invalid(key, value, &error))
}

fn invalid(key: &str, value: &Value, error: &toml::de::Error) -> TrainError {
    let reason = match key {
        "model.rank" => "it must be a count, such as 48, or a ratio, such as 0.8".to_string(),
        "train.hidden_weight_decay" | "train.output_weight_decay" => {
            "it must be `same`, or a number of at least 0".to_string()
        }
        "curriculum.temperature" => Temperature::RANGE.to_string(),
        _ => error.message().to_string(),
    };
    TrainError::InvalidValue { key: key.to_string(), value: value.to_string(), reason }
}

#[cfg(test)]
mod tests;
