//! `abyssal diagnose`.

mod common;

use common::{abyssal, fail, succeed, train_small};
use serde_json::Value;

const SMALL: [&str; 6] =
    ["--set", "data.nodes=240", "--set", "data.validation=60", "--set", "model.hidden=16"];

fn json(arguments: &[&str]) -> Value {
    let text = succeed(abyssal(&["diagnose", "--json"]).args(arguments));
    serde_json::from_str(&text).expect("one JSON object")
}

#[test]
fn a_gcn_stands_beside_the_model_and_collapses() {
    let report = json(&[&SMALL[..], &["--layers", "48"]].concat());
    let [ours, gcn] = report["models"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((&ours["model"], &gcn["model"]), (&"r-soft-graph-ain".into(), &"gcn".into()));
    assert_eq!((&ours["trained"], &ours["layers"].as_array().unwrap().len()), (&false.into(), &48));
    let rank = |model: &Value| model["layers"][46]["measures"]["effective_rank"].as_f64().unwrap();
    assert!(rank(gcn) < 1.5 && rank(ours) > 4.0, "{} and {}", rank(gcn), rank(ours));
    assert!(ours["layers"][0]["gradient_norm"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_table_has_forty_layers_unless_all_are_wanted() {
    let diagnose = |more: &[&str]| {
        let mut command = abyssal(&["diagnose", "--model", "gcn", "--layers", "100", "--seed", "3"]);
        succeed(command.args(SMALL).args(more))
    };
    let rows =
        |text: &str| text.lines().filter(|line| line.trim_start().starts_with(char::is_numeric)).count();
    let text = diagnose(&[]);
    assert_eq!(rows(&text), 40, "{text}");
    assert!(text.contains("gcn on csbm, initial weights, seed 3") && text.contains('█'), "{text}");
    assert_eq!(rows(&diagnose(&["--all"])), 100);
    assert_eq!(diagnose(&["--threads", "1"]), diagnose(&["--threads", "3"]));
}

/// The diagnosis of a run is that of its kept weights, which it has written beside its result.
#[test]
fn a_trained_run_is_diagnosed_as_it_was_at_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("session");
    succeed(&mut train_small(&out, &["--seeds", "2", "--compare", "gcn", "--set", "train.epochs=5"]));
    let report = json(&["--run", out.to_str().unwrap()]);
    let models = report["models"].as_array().unwrap();
    assert_eq!(models.len(), 2, "the first run of each model");
    for model in models {
        let run = out.join(model["model"].as_str().unwrap()).join("seed-0");
        let kept = std::fs::read_to_string(run.join("diagnosis.json")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), model["layers"]);
        assert_eq!(model["trained"], true);
        std::fs::write(run.join("model.safetensors"), b"no weights").unwrap();
        let error = fail(abyssal(&["diagnose", "--run"]).arg(&run), 1);
        assert!(error.contains("model.safetensors cannot be used"), "{error}");
        std::fs::remove_file(run.join("model.safetensors")).unwrap();
        assert!(fail(abyssal(&["diagnose", "--run"]).arg(&run), 1).contains("no weights yet"));
    }
}

#[test]
fn wrong_usage_is_told() {
    assert!(fail(&mut abyssal(&["diagnose", "--run", "x", "--model", "gcn"]), 2).contains("cannot be used"));
    assert!(fail(&mut abyssal(&["diagnose", "--run", "not-here"]), 1).contains("no run"));
    assert!(succeed(&mut abyssal(&["diagnose", "--help"])).contains("Examples:"));
}
