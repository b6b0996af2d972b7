//! `abyssal models`.

mod common;

use common::{abyssal, fail, succeed};
use serde_json::Value;

#[test]
fn the_list_has_every_model_with_its_year() {
    let text = succeed(&mut abyssal(&["models", "list"]));
    assert!(text.contains("gcn") && text.contains("2017") && text.contains("R-SoftGraphAIN"), "{text}");
    let list: Value = serde_json::from_str(&succeed(&mut abyssal(&["models", "list", "--json"]))).unwrap();
    let gcn = list.as_array().unwrap().iter().find(|entry| entry["name"] == "gcn").unwrap();
    assert_eq!(gcn["year"], 2017);
    // A perceptron and a set of parts are nobody's model.
    let timeless = list.as_array().unwrap().iter().filter(|entry| entry["year"].is_null());
    assert_eq!(timeless.map(|entry| entry["name"].as_str().unwrap()).collect::<Vec<_>>(), ["mlp", "modular"]);
}

#[test]
fn a_description_has_settings_that_can_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let text = succeed(&mut abyssal(&["models", "info", "r-soft-graph-ain"]));
    assert!(text.contains("strength = 0.3") && text.contains("d0 = rank"), "{text}");
    assert!(!text.contains("parameters on"), "{text}");
    let settings = text.split_once("[model]").unwrap().1.split_once("\nOther").unwrap().0;
    let path = directory.path().join("config.toml");
    std::fs::write(&path, format!("[model]{settings}")).unwrap();
    let config = path.to_str().unwrap();
    succeed(&mut abyssal(&["diagnose", "--config", config, "--layers", "2"]));
}

/// On a graph of the user's own our model has a curriculum, which is described too.
#[test]
fn a_description_has_the_curriculum_where_there_is_one() {
    let files = ["--edges", "edges.csv", "--features", "features.csv", "--labels", "labels.csv"];
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("edges.csv", "source,target\n0,1\n2,3\n"),
        ("features.csv", "id,a\n0,1\n1,2\n2,3\n3,4\n4,5\n5,6\n6,1\n7,1\n8,1\n9,2\n"),
        ("labels.csv", "id,label\n0,x\n1,x\n2,x\n3,x\n4,x\n5,y\n6,y\n7,y\n8,y\n9,y\n"),
    ] {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let mut command = abyssal(&["models", "info", "r-soft-graph-ain"]);
    let text = succeed(command.args(files).current_dir(directory.path()));
    for expected in ["[curriculum]", "# Steps of smoothing.", "steps = 10", "[teacher]", "models = ["] {
        assert!(text.contains(expected), "{expected} is missing:\n{text}");
    }
}

/// Two layers, 16 wide as published: features·16 + 16 + 16·classes + classes.
#[test]
fn parameters_are_counted_on_a_dataset() {
    let mut command = abyssal(&["models", "info", "gcn", "--dataset", "clusters", "--json"]);
    let info: Value = serde_json::from_str(&succeed(&mut command)).unwrap();
    let mut command = abyssal(&["datasets", "info", "clusters", "--json"]);
    let data: Value = serde_json::from_str(&succeed(&mut command)).unwrap();
    let (features, classes) = (data["features"].as_u64().unwrap(), data["classes"].as_u64().unwrap());
    assert_eq!(info["parameters"], features * 16 + 16 + 16 * classes + classes);
    assert_eq!(info["settings"]["hidden"], 16);
    assert_eq!(info["aliases"][0]["setting"], "layers");
}

#[test]
fn unknown_models_name_the_nearest() {
    assert!(fail(&mut abyssal(&["models", "info", "gcm"]), 1).contains("did you mean \"gcn\""));
    assert!(succeed(&mut abyssal(&["models", "--help"])).contains("Examples:"));
}
