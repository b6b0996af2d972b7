//! Baselines on Cora with their published settings: one seed each, well below what ten give on average
//! (docs/models.md), well above what a mistake leaves. Needs the files of the benchmark: set `ABYSSAL_DATA`.

mod common;

use common::{abyssal, succeed};
use serde_json::Value;

#[test]
fn published_settings_give_known_accuracies() {
    if std::env::var_os("ABYSSAL_DATA").is_none() {
        // A test that passes shows nothing of what it prints.
        std::io::Write::write_all(&mut std::io::stderr(), b"skipped: ABYSSAL_DATA is not set\n").ok();
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
