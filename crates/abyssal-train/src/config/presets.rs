//! Settings that come with the program: published ones for a model on a dataset, and those of the released code.

use toml::{Table, Value};

use super::resolve::flatten;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// Every file of `presets/`, as `(name, contents)`.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../presets/", $name, ".toml"))),)*];
    };
}

files! {
    "abyssal", "abyssal-direct", "reference", "r-soft-graph-ain", "gcn", "gat", "sgc", "appnp", "gprgnn", "dagnn", "gcnii",
    "jknet", "chebnet", "bernnet", "h2gcn", "fagcn", "fsgnn", "grand", "pairnorm", "modular",
}

/// The published settings of a model: for every dataset, then for this one.
pub(super) fn published(model: &str, dataset: &str) -> Vec<(String, Value)> {
    settings(model, &["all", dataset])
}

/// What the released code does differently where nothing was published.
pub(super) fn reference_defaults() -> Vec<(String, Value)> {
    settings("reference", &["all"])
}

/// What the released code does differently whatever was published: always, then on this dataset.
pub(super) fn reference(dataset: &str) -> Vec<(String, Value)> {
    settings("reference", &["always", dataset])
}

/// The best recipe found: on every dataset, then on this one.
pub(super) fn abyssal(dataset: &str) -> Vec<(String, Value)> {
    settings("abyssal", &["all", dataset])
}

/// The best settings found for our model without a curriculum on this dataset.
pub(super) fn abyssal_direct(dataset: &str) -> Vec<(String, Value)> {
    settings("abyssal-direct", &[dataset])
}

/// Sections of a file, in this order; each may be missing.
fn settings(file: &str, sections: &[&str]) -> Vec<(String, Value)> {
    let Some((_, contents)) = FILES.iter().find(|(name, _)| *name == file) else { return Vec::new() };
    let table = parse(contents);
    let section = |name: &str| table.get(name).and_then(Value::as_table).map(flatten).unwrap_or_default();
    let mut settings = Vec::new();
    for name in sections {
        // Both releases of Cornell share their settings, unless the first one has its own.
        if *name == "cornell-2020" && !table.contains_key(*name) {
            settings.extend(section("cornell"));
        }
        settings.extend(section(name));
    }
    settings
}

fn parse(contents: &str) -> Table {
    contents.parse().expect("presets are part of the program and tested")
}

#[cfg(test)]
mod tests {
    use abyssal_graph::catalogue::Benchmark;
    use abyssal_nn::models::ModelConfig;

    use super::*;
    use crate::Config;

    /// Files that are about no single model.
    const RECIPES: [&str; 3] = ["abyssal", "abyssal-direct", "reference"];

    #[test]
    fn files_are_about_models_and_datasets_there_are() {
        for (file, contents) in FILES {
            assert!(RECIPES.contains(file) || ModelConfig::named(file).is_some(), "{file}");
            assert!(contents.starts_with('#'), "{file}: the source comes first");
            for dataset in parse(contents).keys() {
                assert!(
                    ["all", "always"].contains(&dataset.as_str()) || Benchmark::named(dataset).is_some(),
                    "{file}: {dataset}"
                );
            }
        }
    }

    /// Every published setting is one its model has, and is in effect.
    #[test]
    fn published_settings_are_taken_whole() {
        for (file, _) in FILES.iter().filter(|(file, _)| !RECIPES.contains(file)) {
            for benchmark in Benchmark::all() {
                let chosen = [("model.name", *file), ("data.name", benchmark.name), ("preset", "paper")];
                require_in_effect(&published(file, benchmark.name), &chosen);
            }
        }
    }

    #[test]
    fn settings_for_direct_training_are_taken_whole() {
        for benchmark in Benchmark::all() {
            let chosen = [("data.name", benchmark.name), ("train.method", "direct")];
            require_in_effect(&abyssal_direct(benchmark.name), &chosen);
        }
        assert!(!abyssal_direct("cora").is_empty());
    }

    /// Whoever chooses so gets all settings of a file, but for those that a later section of it overrules.
    fn require_in_effect(of_file: &[(String, Value)], chosen: &[(&str, &str)]) {
        let settings: Vec<_> =
            chosen.iter().map(|(key, value)| (key.to_string(), Value::from(*value))).collect();
        let config = Config::resolve(None, &settings).unwrap_or_else(|error| panic!("{chosen:?}: {error}"));
        let resolved = flatten(&config.table());
        for (index, (key, value)) in of_file.iter().enumerate() {
            let overruled = of_file[index + 1..].iter().any(|(later, _)| later == key);
            let found = resolved.iter().find(|(name, _)| name == key);
            let (_, found) = found.unwrap_or_else(|| panic!("{chosen:?}: there is no {key}"));
            assert!(overruled || found == value, "{chosen:?}: {key} is {found}");
        }
    }

    #[test]
    fn our_model_has_settings_for_every_benchmark() {
        for benchmark in Benchmark::all() {
            assert!(!published("r-soft-graph-ain", benchmark.name).is_empty(), "{}", benchmark.name);
        }
    }
}
