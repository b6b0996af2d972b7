//! `abyssal reproduce`: cells of experiments, and tables of their records.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::real_data::data;
use common::{abyssal, fail, succeed};
use serde_json::Value;

const PLACES: [&str; 8] = [
    "accuracies-32",
    "accuracies-64",
    "baselines-32",
    "baselines-64",
    "reference",
    "backbones",
    "ablation",
    "settings",
];

/// A page with nothing in its places.
fn empty_page(directory: &Path) -> PathBuf {
    let place = |name: &str| format!("About {name}.\n\n<!-- begin {name} -->\n<!-- end {name} -->\n\n");
    let path = directory.join("page.md");
    fs::write(&path, PLACES.map(place).concat()).expect("a new file");
    path
}

fn tables(results: &Path, page: &Path) -> Command {
    let mut command = abyssal(&["reproduce", "tables"]);
    command.arg("--results").arg(results).arg("--page").arg(page);
    command
}

#[test]
fn cells_are_listed_and_nothing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let list = |arguments: &[&str]| {
        let mut command = abyssal(&["reproduce"]);
        succeed(command.args(arguments).arg("--list").current_dir(directory.path()))
    };
    let text = list(&["accuracies", "--datasets", "coauthor-physics", "texas", "--labels", "ours", "gcn"]);
    assert_eq!(
        text,
        "coauthor-physics paper ours 32: 5 runs, 0 finished\n\
         coauthor-physics honest ours 32: 3 runs, 0 finished\n\
         coauthor-physics honest gcn 32: 3 runs, 0 finished\n\
         texas paper ours 32: 5 runs, 0 finished\n\
         texas honest ours 32: 10 runs, 0 finished\n\
         texas honest gcn 32: 10 runs, 0 finished\n"
    );
    let text = list(&["backbones", "--protocol", "both", "--layers", "32", "64", "--runs-per-cell", "1"]);
    assert_eq!(text.lines().count(), 7 * 2 * 2 * 2);
    assert!(text.lines().all(|line| line.ends_with(": 1 run, 0 finished")), "{text}");
    assert_eq!(list(&["ablation"]).lines().count(), 3 * 2 * 6);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn what_there_is_not_is_refused() {
    let error = fail(&mut abyssal(&["reproduce", "accuracies", "--list", "--datasets", "coral"]), 1);
    assert!(error.contains("--datasets = coral") && error.contains("there are cora, citeseer"), "{error}");
    let error = fail(&mut abyssal(&["reproduce", "ablation", "--list", "--labels", "ours"]), 1);
    assert!(error.contains("without-smoothing"), "{error}");
    for wrong in [["--layers", "0"], ["--runs-per-cell", "0"], ["--protocol", "unfair"]] {
        fail(abyssal(&["reproduce", "backbones", "--list"]).args(wrong), 2);
    }
}

#[test]
fn a_page_is_checked_and_brought_up_to_date() {
    let directory = tempfile::tempdir().unwrap();
    let (results, page) = (directory.path().join("results"), empty_page(directory.path()));
    let error = fail(&mut tables(&results, &page), 1);
    assert!(error.contains("cannot read the records in") && error.contains("results"), "{error}");
    fs::create_dir(&results).unwrap();
    let before = fs::read_to_string(&page).unwrap();
    let error = fail(tables(&results, &page).arg("--check"), 1);
    assert!(error.contains("page.md is not up to date"), "{error}");
    assert_eq!(fs::read_to_string(&page).unwrap(), before);
    assert!(succeed(&mut tables(&results, &page)).contains("has new tables"));
    assert!(fs::read_to_string(&page).unwrap().contains("| cora | 85.12 | – |"));
    assert!(succeed(tables(&results, &page).arg("--check")).contains("is up to date"));
    fs::write(&page, before.replace("<!-- end backbones -->", "")).unwrap();
    let error = fail(&mut tables(&results, &page), 1);
    assert!(error.contains("page.md: the page has no `<!-- end backbones -->`"), "{error}");
}

/// The page of this repository shows the records of this repository.
#[test]
fn the_documentation_is_up_to_date() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    succeed(abyssal(&["reproduce", "tables", "--check"]).current_dir(repository));
}

/// From a benchmark to a table. Needs its files: set `ABYSSAL_DATA`.
#[test]
fn a_cell_is_computed_once_and_shown() {
    if data().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let compute = || {
        let cell =
            ["reproduce", "accuracies", "--datasets", "texas", "--labels", "gcn", "--runs-per-cell", "1"];
        let mut command = abyssal(&cell);
        command.args(["--offline", "--quiet"]).current_dir(directory.path());
        command
    };
    let first = succeed(&mut compute());
    assert!(first.starts_with("texas honest gcn 32: ") && first.contains("(1 run, "), "{first}");
    let path = directory.path().join("results/accuracies/texas-honest-gcn-32.json");
    let bytes = fs::read(&path).unwrap();
    assert_eq!(succeed(&mut compute()), first);
    assert_eq!(fs::read(&path).unwrap(), bytes, "a finished cell gives the same record");
    assert_eq!(succeed(compute().arg("--list")), "texas honest gcn 32: 1 run, 1 finished\n");

    let record: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(record["runs"][0]["split"], "geom-gcn:0");
    let expected = format!("{:.2} (1 run)", 100.0 * record["test"]["mean"].as_f64().unwrap());
    let page = empty_page(directory.path());
    succeed(&mut tables(&directory.path().join("results"), &page));
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains(&format!("| texas | – | {expected} | – |")), "{text}");
    assert!(text.contains(&format!("| gcn {expected} | – |")), "{text}");

    let config =
        directory.path().join("runs/reproduce/accuracies/texas-honest-gcn-32/geom-gcn-0/seed-0/config.toml");
    let edited = fs::read_to_string(&config).unwrap().replace("epochs = 200", "epochs = 3");
    fs::write(&config, edited).unwrap();
    let error = fail(&mut compute(), 1);
    assert!(error.contains("train.epochs is 3 there and 200 here"), "{error}");
}
