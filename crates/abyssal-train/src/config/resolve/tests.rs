use abyssal_nn::Rank;
use abyssal_nn::models::RSoftGraphAinConfig;
use abyssal_tensor::ops::Gradient;

use super::*;
use crate::Selection;
use crate::config::{AuxiliaryGraph, Choice, TeacherConfig};

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

/// A student is told all labels, whoever learns directly only a few: what suits one does not suit the other.
#[test]
fn direct_training_has_settings_of_its_own_and_so_has_self_as_a_teacher() {
    let with = |preset: &str, more: &[(&str, &str)]| {
        let given = [&[("preset", preset), ("data.name", "cora")], more].concat();
        resolve(&Vec::from_iter(given.into_iter().map(|(key, value)| (key, Value::from(value))))).unwrap()
    };
    let (direct, by_self) = (&[("train.method", "direct")][..], &[("teacher.models", "self")][..]);
    for preset in ["paper", "reference"] {
        assert_eq!(with(preset, direct).model, with(preset, by_self).model, "{preset}");
    }
    let (direct, taught) = (with("abyssal", direct), with("abyssal", by_self));
    assert_ne!(direct.model, taught.model);
    assert_ne!(direct.train.weight_decay, taught.train.weight_decay);
    let own = &taught.teacher.as_ref().unwrap().candidates["self"];
    assert_eq!((&own.model, &own.train), (&direct.model, &direct.train), "it is taught directly");
    let given = [
        ("data.name", Value::from("cora")),
        ("train.method", "direct".into()),
        ("model.head", "linear".into()),
        ("train.weight_decay", 0.5.into()),
    ];
    let config = resolve(&given).unwrap();
    assert_eq!(config.train.weight_decay, 0.5, "what is given wins");
    assert_eq!(config.table()["model"]["head"].as_str(), Some("linear"));
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

/// `--teacher panel` had trained five seeds of every candidate on Texas and let the worst of them join in, as its recipe has it for two
/// good ones.
#[test]
fn teachers_one_names_oneself_are_not_chosen_as_those_of_a_recipe() {
    let teacher = |more: &[(&str, Value)]| {
        let config = resolve(&[&[("data.name", "texas".into())], more].concat()).unwrap();
        let teacher = config.teacher.unwrap();
        (teacher.choice, teacher.seeds)
    };
    let named = ("teacher.models", Value::from("panel"));
    assert_eq!(teacher(&[]), (Choice::Ensemble, 5));
    assert_eq!(teacher(std::slice::from_ref(&named)), (Choice::Grown, 1));
    assert_eq!(teacher(&[named, ("teacher.seeds", 3.into())]), (Choice::Grown, 3));
}

/// Test nodes must not choose what a teacher says to a student that is strict about them.
#[test]
fn teachers_select_as_their_student_does() {
    let given = |more: &[(&str, Value)]| {
        let models = Value::Array(vec!["gcn".into(), "self".into()]);
        let all = [("data.name", "cora".into()), ("preset", "reference".into()), ("teacher.models", models)];
        resolve(&[&all[..], more].concat())
    };
    for (more, expected) in
        [(&[][..], Selection::Paper), (&[("train.selection", "strict".into())], Selection::Strict)]
    {
        let config = given(more).unwrap();
        assert_eq!(config.train.selection, expected);
        for (name, candidate) in config.teacher.unwrap().candidates {
            assert_eq!(candidate.train.selection, expected, "{name}");
        }
    }
    let settings =
        [("train.selection", Value::from("strict")), ("teacher.gcn.train.selection", "paper".into())];
    let error = given(&settings).unwrap_err().to_string();
    let expected = "teacher.gcn.train.selection = paper cannot be used: it must be that of the student";
    assert!(error.contains(expected), "{error}");
}

/// What a program that builds a configuration by itself can get wrong.
#[test]
fn methods_have_what_they_need() {
    let taught = resolve(&[("data.name", "cora".into())]).unwrap();
    let direct = TrainConfig { method: Method::Direct, ..taught.train.clone() };
    let nobody = TeacherConfig { candidates: Default::default(), ..taught.teacher.clone().unwrap() };
    for (config, expected) in [
        (Config { teacher: None, ..taught.clone() }, "train.method = curriculum cannot be used"),
        (Config { curriculum: None, ..taught.clone() }, "train.method = curriculum cannot be used"),
        (
            Config { curriculum: None, teacher: None, ..taught.clone() },
            "it takes a curriculum and a teacher; give both, or set it to direct",
        ),
        (Config { train: direct, ..taught.clone() }, "train.method = direct cannot be used"),
        (Config { teacher: Some(nobody), ..taught.clone() }, "no settings among the candidates"),
        (Config { teacher: Some(TeacherConfig::default()), ..taught.clone() }, "teacher.models = self"),
        (Config { seed: 1 << 63, ..taught.clone() }, "at most 9223372036854775807"),
    ] {
        let error = config.validate().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    taught.validate().unwrap();
}

#[test]
fn teachers_of_a_large_seed_have_seeds_of_their_own() {
    let large = |shared: bool| {
        resolve(&[
            ("data.name", "cora".into()),
            ("seed", i64::MAX.into()),
            ("teacher.seeds", 3.into()),
            ("teacher.shared", shared.into()),
        ])
    };
    let error = large(false).unwrap_err().to_string();
    assert!(error.contains("seed = 9223372036854775807 cannot be used: with teacher.seeds = 3"), "{error}");
    let shared = large(true).unwrap();
    let seeds: Vec<u64> = shared.teacher.unwrap().seeds_for(shared.seed).collect();
    assert_eq!(seeds, [0, 1, 2]);
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
        ("model", "model.L"),
    ] {
        let error = resolve(&[(key, 1.into())]).unwrap_err().to_string();
        let named = format!("unknown setting `{key}`");
        assert!(error.contains(&named), "{error}");
        assert!(error.contains(&format!("did you mean `{expected}`?")), "{error}");
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
        ("train.checkpoint_seconds", Value::from(1e30), "between 0 and 1e9"),
        ("train.passes", Value::from(0), "from 1 to 100"),
        ("train.passes", Value::from(2), "the model drops nothing"),
        ("train.consistency", Value::from(-0.5), "at least 0"),
        ("train.sharpening", Value::from(0), "above 0 and at most 1"),
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

/// Several passes that are all the same would only take their time, of a teacher as well.
#[test]
fn several_passes_need_something_that_is_dropped() {
    let grand = ("model.name", Value::from("grand"));
    let config = resolve(&[grand.clone(), ("data.name", "citeseer".into())]).unwrap();
    assert_eq!((config.train.passes, config.train.consistency, config.train.sharpening), (2, 0.7, 0.3));
    let nothing = ["drop_node", "input_dropout", "hidden_dropout"].map(|name| (format!("model.{name}"), 0.0));
    let mut settings = vec![grand];
    settings.extend(nothing.iter().map(|(key, value)| (key.as_str(), Value::from(*value))));
    let error = resolve(&settings).unwrap_err().to_string();
    assert!(error.contains("train.passes") && error.contains("set it to 1"), "{error}");
    settings.push(("train.passes", 1.into()));
    resolve(&settings).unwrap();
    let teacher = [
        ("train.method", Value::from("curriculum")),
        ("teacher.models", "mlp".into()),
        ("teacher.mlp.train.passes", 2.into()),
        ("teacher.mlp.model.input_dropout", 0.0.into()),
        ("teacher.mlp.model.hidden_dropout", 0.0.into()),
    ];
    let error = resolve(&teacher).unwrap_err().to_string();
    assert!(error.contains("teacher.mlp.train.passes"), "{error}");
}

#[test]
fn a_written_configuration_reads_back_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    for settings in [
        vec![("model.rank", Value::from(12)), ("train.halve_at", Value::Array(vec![]))],
        vec![("train.hidden_weight_decay", Value::from(0)), ("train.output_weight_decay", Value::from(0.5))],
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

/// A complete configuration of a run with a panel can be varied as its command could.
#[test]
fn a_written_configuration_can_be_varied() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    let panel = [
        ("data.name", Value::from("cora")),
        ("teacher.models", Value::from("panel")),
        ("teacher.mlp.model.hidden", Value::from(5)),
    ];
    std::fs::write(&path, resolve(&panel).unwrap().to_toml()).unwrap();
    let vary = |settings: &[(&str, Value)]| {
        let settings: Vec<_> = settings.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
        Config::resolve(Some(&path), &settings)
    };
    let direct = vary(&[("train.method", "direct".into())]).unwrap();
    assert_eq!((&direct.curriculum, &direct.teacher), (&None, &None));
    let teacher = vary(&[("teacher.models", "mlp".into())]).unwrap().teacher.unwrap();
    assert_eq!((teacher.models.as_slice(), teacher.candidates.len()), (&["mlp".to_string()][..], 1));
    assert_eq!(teacher.candidates["mlp"].model.hidden(), 5, "what the file says about it counts");
    let file = [("teacher.models", Value::Array(vec![])), ("teacher.predictions", "p.npy".into())];
    let from_file = vary(&file).unwrap();
    assert!(from_file.teacher.as_ref().unwrap().candidates.is_empty());
    std::fs::write(&path, from_file.to_toml()).unwrap();
    let teacher = vary(&[("teacher.models", "gcn".into())]).unwrap().teacher.unwrap();
    assert_eq!((teacher.predictions.as_str(), teacher.candidates.len()), ("", 1), "a model in its place");
}

/// Settings that only the former model or dataset has are gone, those that both have stay, and mistakes are told.
#[test]
fn a_written_configuration_can_be_about_another_model_or_dataset() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    let taught = [
        ("data.classes", Value::from(7)),
        ("model.layers", Value::from(5)),
        ("train.method", Value::from("curriculum")),
    ];
    std::fs::write(&path, resolve(&taught).unwrap().to_toml()).unwrap();
    let with = |key: &str, value: &str| Config::resolve(Some(&path), &[(key.to_string(), value.into())]);
    let gcn = with("model.name", "gcn").unwrap();
    assert_eq!((gcn.model.name(), gcn.model.layers()), ("gcn", 5));
    assert_eq!(gcn.teacher.unwrap().candidates["self"].model.name(), "gcn");
    let cora = with("data.name", "cora").unwrap();
    assert_eq!((cora.data.name(), cora.model.layers()), ("cora", 5));
    std::fs::write(&path, "[model]\nname = \"gcnii\"\nlayerz = 3\n").unwrap();
    let error = with("model.name", "gcn").unwrap_err().to_string();
    assert!(error.contains("unknown setting `model.layerz`"), "{error}");
}

#[test]
fn a_written_configuration_keeps_its_preset() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    let written = resolve(&[("data.name", "cora".into()), ("preset", "reference".into())]).unwrap();
    std::fs::write(&path, written.to_toml()).unwrap();
    let with = |key: &str, value: &str| Config::resolve(Some(&path), &[(key.to_string(), value.into())]);
    let error = with("preset", "paper").unwrap_err().to_string();
    assert!(error.contains("preset = \"paper\" cannot be used") && error.contains("config.toml"), "{error}");
    assert!(error.contains("was written for preset = \"reference\""), "{error}");
    assert_eq!(with("preset", "reference").unwrap(), written);
    let strict = with("train.selection", "strict").unwrap();
    let rules = strict.teacher.unwrap().candidates.into_values().map(|one| one.train.selection);
    assert!(rules.chain([strict.train.selection]).all(|rule| rule == Selection::Strict));
}

#[test]
fn who_names_a_file_of_edges_means_a_graph_of_files() {
    let edges = ("data.edges", Value::from("edges.csv"));
    let config = resolve(&[edges.clone(), ("data.labels", "labels.csv".into())]).unwrap();
    assert_eq!(config.data.name(), "files");
    assert_eq!(config.table()["data"]["edges"].as_str(), Some("edges.csv"));
    let error = resolve(&[("data.name", "cora".into()), edges]).unwrap_err().to_string();
    assert!(error.contains("unknown setting `data.edges`"), "{error}");
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
