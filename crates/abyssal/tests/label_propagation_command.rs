//! `abyssal label-propagation`.

mod common;

use common::real_data::data;
use common::{abyssal, fail, succeed};
use serde_json::Value;

/// Clusters that are well joined give their labels away; the share is chosen by validation accuracy, and the closed form
/// says the same as enough steps.
#[test]
fn labels_spread_over_clusters() {
    let table = succeed(&mut abyssal(&["label-propagation", "--dataset", "clusters"]));
    assert!(table.contains("best on validation: share "), "{table}");
    let report = |arguments: &[&str]| -> Value {
        let all = [&["label-propagation", "--dataset", "clusters", "--json"], arguments].concat();
        serde_json::from_str(&succeed(&mut abyssal(&all))).unwrap()
    };
    let iterative = report(&[]);
    let shares = iterative["shares"].as_array().unwrap();
    assert_eq!(shares.len(), 5);
    let best = shares.iter().map(|one| one["validation_accuracy"].as_f64().unwrap()).fold(0.0, f64::max);
    assert_eq!(iterative["selected"]["validation_accuracy"], best);
    assert!(iterative["selected"]["test_accuracy"].as_f64().unwrap() > 0.6, "{iterative}");
    let closed = report(&["--closed-form"]);
    assert_eq!(closed["spreading"], "closed-form");
    let accuracies = |report: &Value| -> Vec<f64> {
        let shares = report["shares"].as_array().unwrap();
        shares.iter().map(|one| one["test_accuracy"].as_f64().unwrap()).collect()
    };
    for (steps, limit) in accuracies(&iterative).into_iter().zip(accuracies(&closed)) {
        assert!((steps - limit).abs() < 0.01, "{steps} and {limit}");
    }
}

#[test]
fn a_share_out_of_range_is_named() {
    let message = fail(&mut abyssal(&["label-propagation", "--dataset", "clusters", "--share", "1.0"]), 1);
    assert!(message.contains("share = 1 is out of range: it must be at least 0 and below 1"), "{message}");
}

/// The recipe of our model propagates along neighbours by features on Texas; the edges alone are worth less.
#[test]
fn the_given_edges_are_used_on_heterophilous_graphs() {
    let Some(data) = data() else { return };
    let report = |split: &str| -> Value {
        let arguments =
            ["label-propagation", "--dataset", "texas", "--share", "0.5", "--json", "--split", split];
        let mut command = abyssal(&arguments);
        serde_json::from_str(&succeed(command.args(["--offline", "--data-dir"]).arg(&data))).unwrap()
    };
    let first = report("geom-gcn:0");
    assert_eq!(first["split"], "geom-gcn:0");
    assert!(first["selected"]["validation_accuracy"].as_f64().unwrap() < 0.5, "{first}");
    assert_ne!(first["selected"], report("geom-gcn:1")["selected"]);
}
