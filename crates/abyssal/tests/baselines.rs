//! Baselines on Cora with their published settings: one seed each, well below what ten give on average
//! (docs/models.md), well above what a mistake leaves. Needs the files of the benchmark: set `ABYSSAL_DATA`.

mod common;

use common::real_data::data;
use common::{abyssal, succeed};
use serde_json::Value;

#[test]
fn published_settings_give_known_accuracies() {
    if data().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for (model, least) in [("gcn", 0.79), ("sgc", 0.78), ("gprgnn", 0.81), ("dagnn", 0.82)] {
        let out = directory.path().join(model);
        let mut command =
            abyssal(&["train", "--dataset", "cora", "--model", model, "--offline", "--quiet", "--json"]);
        let report: Value = serde_json::from_str(&succeed(command.arg("--out").arg(&out))).unwrap();
        let accuracy = report["mean"].as_f64().unwrap();
        assert!((least..0.87).contains(&accuracy), "{model}: {accuracy}");
    }
}
