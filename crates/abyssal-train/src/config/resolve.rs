//! From defaults, a preset, a file and settings of the command line to one complete configuration.

use std::path::Path;

use abyssal_graph::DatasetConfig;
use abyssal_nn::models::ModelConfig;
use toml::{Table, Value};

use super::{Config, CurriculumConfig, Method, Preset, Temperature, TrainConfig, presets, teachers};
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
    /// come first. `("teacher.NAME.model.layers", value)` is about one of the teachers.
    ///
    /// # Errors
    /// If the file cannot be read, a key is unknown (the nearest known one is named), or a value does not fit.
    pub fn resolve(file: Option<&Path>, settings: &[(String, Value)]) -> Result<Self, TrainError> {
        let mut given = match file {
            Some(path) => flatten(&read_table(path)?),
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
            None => base.data,
        };
        let model = match last(&given, "model.name") {
            Some(name) => named("model.name", name, ModelConfig::NAMES, ModelConfig::named)?,
            None => base.model,
        };
        let of_preset = preset_settings(preset, model.name(), &data);
        let mut config = Config { preset, data, model, ..base };
        if method(&of_preset, &given)? == Method::Curriculum {
            config.curriculum = Some(CurriculumConfig::default());
            config.teacher = Some(teachers::resolve(&config, &of_preset, &given)?);
        }
        let mut table = config.table();
        let applicable =
            of_preset.into_iter().filter(|(key, _)| get(&table, key).is_some()).collect::<Vec<_>>();
        for (key, value) in applicable.into_iter().chain(given) {
            let key = canonical(&key, &config);
            // They are resolved already, and in the table as they are.
            if teachers::is_of_candidate(&key, &table) || key == teachers::MODELS {
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

fn preset_settings(preset: Preset, model: &str, data: &DatasetConfig) -> Vec<(String, Value)> {
    let dataset = data.name();
    let published = presets::published(model, dataset);
    let mut settings: Vec<_> = match preset {
        // What was found for a dataset says more than what was published for it.
        Preset::Abyssal if model == OURS => published.into_iter().chain(presets::abyssal(dataset)).collect(),
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
    settings
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
mod tests {
    use abyssal_nn::Rank;
    use abyssal_nn::models::RSoftGraphAinConfig;
    use abyssal_tensor::ops::Gradient;

    use super::*;
    use crate::Selection;
    use crate::config::{AuxiliaryGraph, TeacherConfig};

    fn resolve(settings: &[(&str, Value)]) -> Result<Config, TrainError> {
        let settings: Vec<_> = settings.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
        Config::resolve(None, &settings)
    }

    fn ours(config: &Config) -> &RSoftGraphAinConfig {
        match &config.model {
            ModelConfig::RSoftGraphAin(config) => config,
            other => panic!("{} is another model", other.name()),
        }
    }

    #[test]
    fn nothing_given_is_the_default() {
        assert_eq!(resolve(&[]).unwrap(), Config::default());
    }

    #[test]
    fn letters_of_the_paper_and_whole_numbers_work() {
        let config = resolve(&[
            ("model.a", 1.into()),
            ("model.alpha", 0.25.into()),
            ("model.d0", 7.into()),
            ("train.lr_decay", 30.into()),
            ("train.epochs", 1e3.into()),
            ("train.lr", 0.5.into()),
        ])
        .unwrap();
        assert_eq!((ours(&config).strength, ours(&config).aggregated), (1.0, 0.25));
        assert_eq!(ours(&config).rank, Rank::Count(7));
        assert_eq!((config.train.halve_at, config.train.learning_rate), (vec![30], 0.5));
        assert_eq!(config.train.epochs, 1000);
    }

    #[test]
    fn later_settings_win_whatever_name_they_use() {
        let config = resolve(&[("model.strength", 0.9.into()), ("model.a", 0.1.into())]).unwrap();
        assert_eq!(ours(&config).strength, 0.1);
    }

    #[test]
    fn the_reference_preset_turns_everything_on_and_settings_win_over_it() {
        let config = resolve(&[("model.gradient", "full".into()), ("preset", "reference".into())]).unwrap();
        assert_eq!(ours(&config).gradient, Gradient::Full);
        assert_eq!(ours(&config).head, abyssal_nn::models::Head::Convolution);
        assert_eq!(config.train.selection, Selection::Paper);
    }

    #[test]
    fn the_reference_preset_fits_other_models() {
        let config = resolve(&[("preset", "reference".into()), ("model.name", "gcn".into())]).unwrap();
        assert_eq!(config.model.name(), "gcn");
    }

    #[test]
    fn published_settings_are_the_defaults_of_a_benchmark() {
        let paper = ("preset", Value::from("paper"));
        let config = resolve(&[paper, ("data.name", "cora".into()), ("train.epochs", 7.into())]).unwrap();
        assert_eq!((ours(&config).strength, ours(&config).aggregated), (0.01, 0.9));
        assert_eq!((config.train.weight_decay, config.train.epochs), (1e-4, 7));
        let reference = resolve(&[("data.name", "cora".into()), ("preset", "reference".into())]).unwrap();
        assert_eq!(ours(&reference).output_dropout, 0.7);
        let other = resolve(&[("data.name", "cora".into()), ("model.name", "gcn".into())]).unwrap();
        assert_eq!((other.train.epochs, other.train.weight_decay), (200, 5e-4));
        let unpublished = resolve(&[("data.name", "texas".into()), ("model.name", "gin".into())]).unwrap();
        assert_eq!(unpublished.train, TrainConfig::default());
        for benchmark in abyssal_graph::catalogue::Benchmark::all() {
            for preset in ["paper", "reference"] {
                let settings = [("data.name", benchmark.name.into()), ("preset", preset.into())];
                resolve(&settings).unwrap_or_else(|error| panic!("{}: {error}", benchmark.name));
            }
        }
    }

    /// The supplement's table, by three of its rows.
    #[test]
    fn the_papers_curricula_are_published_settings() {
        for (dataset, steps, filtered, neighbours, exponent, graph) in [
            ("cora", 10, 1e-4, 7, 0.1, AuxiliaryGraph::Embeddings),
            ("coauthor-physics", 50, 0.4, 7, 0.3, AuxiliaryGraph::Embeddings),
            ("cornell", 10, 1e-3, 1, 0.5, AuxiliaryGraph::Features),
        ] {
            for backbone in ["gcn", "gat", "gin"] {
                let settings = [
                    ("data.name", dataset.into()),
                    ("preset", "paper".into()),
                    ("model.backbone", backbone.into()),
                ];
                let config = resolve(&settings).unwrap();
                let curriculum = config.curriculum.unwrap();
                assert_eq!((curriculum.steps, curriculum.filtered), (steps, filtered), "{dataset}");
                assert_eq!(
                    (curriculum.neighbours, curriculum.weight_exponent),
                    (neighbours, exponent),
                    "{dataset}"
                );
                assert_eq!(curriculum.graph, graph, "{dataset}");
                assert_eq!(config.teacher.unwrap().models, ["self"]);
            }
        }
    }

    #[test]
    fn the_released_code_has_its_own_curriculum() {
        let config = resolve(&[("data.name", "coauthor-cs".into()), ("preset", "reference".into())]).unwrap();
        let curriculum = config.curriculum.unwrap();
        assert!(curriculum.self_loops && config.teacher.unwrap().shared);
        assert_eq!((curriculum.mixing, curriculum.filtered, curriculum.fine_tuning_epochs), (0.2, 0.0, 0));
        assert_eq!((curriculum.steps, curriculum.neighbours), (10, 2), "the paper's");
    }

    #[test]
    fn only_our_model_has_a_curriculum_by_default_and_not_on_generated_graphs() {
        for (data, model, expected) in [
            ("cora", "r-soft-graph-ain", Method::Curriculum),
            ("my-graph", "r-soft-graph-ain", Method::Curriculum),
            ("cora", "gcn", Method::Direct),
            ("csbm", "r-soft-graph-ain", Method::Direct),
        ] {
            let config = resolve(&[("data.name", data.into()), ("model.name", model.into())]).unwrap();
            assert_eq!(config.train.method, expected, "{model} on {data}");
            assert_eq!(config.curriculum.is_some(), expected == Method::Curriculum);
            assert_eq!(config.teacher.is_some(), expected == Method::Curriculum);
        }
    }

    #[test]
    fn teachers_have_settings_of_their_own() {
        let config = resolve(&[
            ("data.name", "cora".into()),
            ("model.layers", 5.into()),
            ("train.epochs", 77.into()),
            ("teacher.models", Value::Array(vec!["gcnii".into(), "self".into(), "shallow".into()])),
            ("teacher.gcnii.model.layers", 9.into()),
            ("teacher.gcnii.graph", "knn:3".into()),
            ("teacher.self.train.lr", 0.5.into()),
            ("teacher.shallow.model.name", "gcn".into()),
            ("teacher.shallow.model.layers", 2.into()),
        ])
        .unwrap();
        let teacher = config.teacher.clone().unwrap();
        let (gcnii, own) = (&teacher.candidates["gcnii"], &teacher.candidates["self"]);
        assert_eq!((gcnii.model.name(), gcnii.model.layers()), ("gcnii", 9));
        let rule = gcnii.config(&config, 3).data.preparation().unwrap().graph.to_string();
        assert_eq!(rule, "knn:3");
        assert_ne!(gcnii.train.epochs, 77, "its own published epochs");
        assert_eq!((own.model.layers(), own.train.epochs), (5, 77), "as the student");
        assert_eq!((own.train.learning_rate, own.train.method), (0.5, Method::Direct));
        assert_eq!(teacher.candidates["shallow"].model.name(), "gcn");
        let panel = resolve(&[("data.name", "cora".into()), ("teacher.models", "panel".into())]).unwrap();
        assert_eq!(panel.teacher.unwrap().models, TeacherConfig::PANEL_MODELS);
    }

    #[test]
    fn the_released_code_joins_heterophilous_graphs_by_features() {
        let graph = |preset: &str| {
            let config = resolve(&[("data.name", "texas".into()), ("preset", preset.into())]).unwrap();
            config.data.preparation().unwrap().graph.to_string()
        };
        assert_eq!((graph("paper").as_str(), graph("reference").as_str()), ("given", "knn:2"));
    }

    #[test]
    fn unknown_keys_name_the_nearest_known_one() {
        for (key, expected) in [
            ("model.layer", "model.layers"),
            ("train.epocs", "train.epochs"),
            ("modle.hidden", "model.hidden"),
            ("learning_rate", "train.learning_rate"),
            ("model", "model.a"),
        ] {
            let error = resolve(&[(key, 1.into())]).unwrap_err().to_string();
            let named = format!("unknown setting `{key}`");
            assert!(error.contains(&named), "{error}");
            assert!(error.contains(expected) || key == "model", "{error}");
        }
    }

    #[test]
    fn values_that_do_not_fit_are_blamed_on_their_key() {
        for (key, value, expected) in [
            ("model.gradient", Value::from("ful"), "expected"),
            ("model.rank", Value::from("half"), "a count, such as 48"),
            ("train.epochs", Value::from(1.5), "whole number"),
            ("train.epochs", Value::from(-1), "train.epochs"),
            ("model.strength", Value::from("much"), "model.strength"),
            ("model.strength", Value::from(1.5), "between 0 and 1"),
            ("model.layers", Value::from(0), "at least 1"),
            ("train.epochs", Value::from(0), "at least 1"),
            ("train.learning_rate", Value::from(f64::NAN), "above 0"),
            ("train.hidden_weight_decay", Value::from("some"), "`same`, or a number"),
            ("train.output_weight_decay", Value::from(-1), "`same`, or a number"),
            ("model.name", Value::from("gcm"), "did you mean \"gcn\""),
            ("data.name", Value::from("../cora"), "the name of a dataset"),
            ("data.name", Value::from(3), "the name of a dataset"),
            ("data.classes", Value::from(1), "classes"),
            ("data.nodes", Value::from("many"), "data.nodes"),
            ("preset", Value::from("refrence"), "reference"),
        ] {
            let error = resolve(&[(key, value)]).unwrap_err().to_string();
            assert!(error.contains(expected), "{key}: {error}");
        }
    }

    #[test]
    fn a_written_configuration_reads_back_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        for settings in [
            vec![("model.rank", Value::from(12)), ("train.halve_at", Value::Array(vec![]))],
            vec![
                ("train.hidden_weight_decay", Value::from(0)),
                ("train.output_weight_decay", Value::from(0.5)),
            ],
            vec![("model.rank", Value::from(1.0)), ("preset", Value::from("reference"))],
            vec![("model.name", Value::from("gcn")), ("data.name", Value::from("clusters"))],
            vec![("data.name", Value::from("cora")), ("data.split", Value::from("per-class:20,30"))],
            vec![("data.name", Value::from("files")), ("data.edges", Value::from("my edges.csv"))],
            vec![
                ("data.name", Value::from("cora")),
                ("teacher.models", Value::from("panel")),
                ("teacher.mlp.model.hidden", Value::from(5)),
                ("teacher.gcn.graph", Value::from("knn:4")),
                ("curriculum.temperature", Value::from("entropy:0.7")),
            ],
            vec![("data.name", Value::from("cora")), ("train.method", Value::from("direct"))],
        ] {
            let config = resolve(&settings).unwrap();
            std::fs::write(&path, config.to_toml()).unwrap();
            let again = Config::resolve(Some(&path), &[]).unwrap();
            assert_eq!(again, config);
            assert_eq!(again.fingerprint(), config.fingerprint());
        }
    }

    #[test]
    fn files_that_are_missing_or_not_toml_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("broken.toml");
        let error = Config::resolve(Some(&path), &[]).unwrap_err().to_string();
        assert!(error.contains("cannot read") && error.contains("broken.toml"), "{error}");
        std::fs::write(&path, "[model\nlayers = 3").unwrap();
        let error = Config::resolve(Some(&path), &[]).unwrap_err().to_string();
        assert!(error.contains("not a valid TOML file"), "{error}");
    }

    #[test]
    fn the_difference_of_two_configurations_is_named() {
        let ours = resolve(&[]).unwrap();
        let theirs = resolve(&[("model.hidden", 16.into())]).unwrap();
        assert_eq!(ours.difference(&theirs).unwrap(), "model.hidden is 64 there and 16 here");
        assert_eq!(ours.difference(&ours), None);
    }
}
