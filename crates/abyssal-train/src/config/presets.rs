//! Settings that come with the program: published ones for a model on a dataset, and those of the released code.

macro_rules! files {
    ($($folder:literal: [$($name:literal),* $(,)?],)*) => {
        /// Every file of `presets/`, as `(folder, name, contents)`.
        const FILES: &[(&str, &str, &str)] = &[
            $($(($folder, $name, include_str!(concat!("../../presets/", $folder, "/", $name, ".toml"))),)*)*
        ];
    };
}

files! {
    "reference": ["all", "texas", "wisconsin", "cornell", "cornell-2020", "actor"],
    "gcn": ["cora", "citeseer", "pubmed"],
    "r-soft-graph-ain": [
        "cora", "citeseer", "pubmed", "coauthor-cs", "coauthor-physics", "amazon-computers", "amazon-photo", "texas",
        "wisconsin", "cornell", "cornell-2020", "actor", "ogbn-arxiv",
    ],
}

/// The published settings of a model on a dataset, if there are some.
pub(super) fn published(model: &str, dataset: &str) -> Option<&'static str> {
    find(model, dataset)
}

/// What the released code does differently: on every dataset, then on this one.
pub(super) fn reference(dataset: &str) -> impl Iterator<Item = &'static str> {
    ["all", dataset].into_iter().filter_map(|name| find("reference", name))
}

fn find(folder: &str, name: &str) -> Option<&'static str> {
    let file = FILES.iter().find(|(in_folder, of_name, _)| *in_folder == folder && *of_name == name);
    file.map(|(_, _, contents)| *contents)
}

#[cfg(test)]
mod tests {
    use abyssal_graph::catalogue::Benchmark;
    use abyssal_nn::models::ModelConfig;

    use super::*;

    #[test]
    fn files_are_about_models_and_datasets_there_are() {
        for (folder, name, _) in FILES {
            assert!(*folder == "reference" || ModelConfig::named(folder).is_some(), "{folder}");
            assert!(*name == "all" || Benchmark::named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn our_model_has_settings_for_every_benchmark() {
        for benchmark in Benchmark::all() {
            assert!(published("r-soft-graph-ain", benchmark.name).is_some(), "{}", benchmark.name);
        }
    }
}
