//! Curricula through the program: teachers, stages, interruptions, and predictions from files.

mod common;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use common::{abyssal, fail, outcome, stderr, succeed, train_small};
use serde_json::Value;

/// A teacher of 20 epochs, 40 epochs of tasks, 10 of fine-tuning.
const TAUGHT: &[&str] = &[
    "--teacher",
    "gcn",
    "--set",
    "teacher.gcn.model.layers=2",
    "--set",
    "teacher.gcn.train.epochs=20",
    "--set",
    "teacher.gcn.train.patience=0",
    "--set",
    "curriculum.steps=4",
    "--set",
    "curriculum.fine_tuning_epochs=10",
    "--set",
    "curriculum.fine_tuning_patience=0",
];

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

/// The metrics of the only teacher.
fn teachers_metrics(run: &Path) -> Option<std::path::PathBuf> {
    let mut teachers = fs::read_dir(run.join("teachers")).ok()?;
    Some(teachers.next()?.ok()?.path().join("metrics.jsonl"))
}

/// Killed while the teacher trains, in a task, and in fine-tuning, a run ends in the same bits.
#[test]
fn a_curriculum_resumes_in_any_stage() {
    let directory = tempfile::tempdir().unwrap();
    let reference = directory.path().join("uninterrupted");
    succeed(&mut train_small(&reference, TAUGHT));
    let mut killed = 0;
    for (name, teacher, student) in [("teacher", 5, 0), ("task", 0, 17), ("fine-tuning", 0, 43)] {
        let run = directory.path().join(name);
        let mut child = train_small(&run, TAUGHT).stdout(Stdio::null()).spawn().unwrap();
        let reached = || {
            let of_teacher = teachers_metrics(&run).map_or(0, |path| lines(&path));
            of_teacher >= teacher && lines(&run.join("metrics.jsonl")) >= student
        };
        while !reached() && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_micros(200));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed += usize::from(!run.join("result.json").exists());
        let mut resumed = abyssal(&["train", "--json", "--quiet", "--resume"]);
        succeed(resumed.arg(&run));
        assert!(outcome(&run) == outcome(&reference), "killed in {name}");
    }
    assert!(killed > 0, "every run was over before it could be killed");
}

#[test]
fn the_report_shows_teacher_and_stages() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("run");
    let report: Value = serde_json::from_str(&succeed(&mut train_small(&out, TAUGHT))).unwrap();
    let run = &report["runs"][0];
    assert_eq!(run["teacher"]["name"], "gcn");
    assert_eq!(run["graph"], "input");
    assert_eq!(run["stages"].as_array().unwrap().len(), 6);
    assert_eq!(run["stages"][4]["stage"]["task"], 5);
    assert_eq!(run["stages"][5]["stage"], "fine-tuning");
    // Once more as a table, from what is kept.
    let mut again = abyssal(&["train", "--quiet", "--resume"]);
    let table = succeed(again.arg(&out));
    for expected in [
        "  teacher ",
        "  after stage 1 of 5 ",
        "  after stage 5 of 5 ",
        "  after fine-tuning ",
        "taught by gcn",
    ] {
        assert!(table.contains(expected), "{expected} is missing:\n{table}");
    }
}

#[test]
fn progress_tells_teacher_stage_and_fine_tuning() {
    let directory = tempfile::tempdir().unwrap();
    let command = train_small(&directory.path().join("run"), TAUGHT);
    let arguments: Vec<_> =
        command.get_args().filter(|one| *one != "--quiet").map(|one| one.to_owned()).collect();
    let output = abyssal(&[]).args(arguments).output().unwrap();
    let progress = stderr(&output);
    for expected in ["teacher 1 of 1: gcn, 2 layers", "stage 1 of 5", "stage 5 of 5", "fine-tuning"] {
        assert!(progress.contains(expected), "{expected} is missing:\n{progress}");
    }
}

#[test]
fn teachers_that_diverge_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let too_much = [TAUGHT, &["--set", "teacher.gcn.train.learning_rate=1e30"]].concat();
    let error = fail(&mut train_small(&directory.path().join("alone"), &too_much), 1);
    let expected = "error: r-soft-graph-ain, seed 0: teacher.gcn: training diverged in epoch 1";
    assert!(error.starts_with(expected), "{error}");
    let more = ["--teacher", "mlp", "--set", "teacher.mlp.train.epochs=5"];
    let command = train_small(&directory.path().join("panel"), &[&too_much, &more[..]].concat());
    let loud = command.get_args().filter(|one| *one != "--quiet");
    let output = abyssal(&[]).args(loud).output().unwrap();
    let progress = stderr(&output);
    assert!(output.status.success(), "{progress}");
    assert!(progress.contains("not among the teachers: teacher.gcn: training diverged"), "{progress}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["runs"][0]["teacher"]["name"], "mlp");
    assert_eq!(report["runs"][0]["teacher"]["left_out"][0]["name"], "gcn");
}

#[test]
fn fine_tuning_that_diverges_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let too_much = [TAUGHT, &["--set", "curriculum.fine_tuning_learning_rate=1e30"]].concat();
    let command = train_small(&directory.path().join("run"), &too_much);
    let loud = command.get_args().filter(|one| *one != "--quiet");
    let output = abyssal(&[]).args(loud).output().unwrap();
    let progress = stderr(&output);
    assert!(output.status.success(), "{progress}");
    assert!(
        progress.contains("warning: fine-tuning ends early: training diverged in epoch 41"),
        "{progress}"
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reason = report["runs"][0]["cut_short"].as_str().unwrap();
    assert!(reason.ends_with("try a lower curriculum.fine_tuning_learning_rate"), "{reason}");
    let table = succeed(abyssal(&["train", "--quiet", "--resume"]).arg(directory.path().join("run")));
    let told = format!("fine-tuning ended early: {reason}");
    assert!(table.contains(&told), "{table}");
}

#[test]
fn teachers_that_do_not_fit_into_memory_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let too_wide =
        [TAUGHT, &["--set", "teacher.gcn.model.hidden=60000", "--memory-budget", "200MiB"]].concat();
    let error = fail(&mut train_small(&directory.path().join("alone"), &too_wide), 1);
    assert!(error.contains("teacher.gcn: training would take about"), "{error}");
    assert!(error.contains("200 MiB may be used; leave it out of teacher.models"), "{error}");
    let more = ["--teacher", "mlp", "--set", "teacher.mlp.train.epochs=5"];
    let report = succeed(&mut train_small(&directory.path().join("panel"), &[&too_wide, &more[..]].concat()));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["runs"][0]["teacher"]["name"], "mlp");
    assert_eq!(report["runs"][0]["teacher"]["left_out"][0]["name"], "gcn");
}

#[test]
fn a_model_can_do_without() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("run");
    let report = succeed(&mut train_small(&out, &["--no-curriculum"]));
    assert!(!report.contains("teacher") && !out.join("teachers").exists());
}

/// The configuration of a taught run is a start for others, and `--resume` says what is different.
#[test]
fn the_configuration_of_a_taught_run_can_be_varied() {
    let directory = tempfile::tempdir().unwrap();
    let taught = directory.path().join("taught");
    succeed(&mut train_small(&taught, TAUGHT));
    let vary = |name: &str, more: &[&str]| {
        let mut command = abyssal(&["train", "--json", "--quiet", "--config"]);
        command.arg(taught.join("config.toml")).arg("--out").arg(directory.path().join(name));
        command.args(more);
        command
    };
    let report = |text: String| serde_json::from_str::<Value>(&text).unwrap()["runs"][0].clone();
    assert!(report(succeed(&mut vary("direct", &["--no-curriculum"])))["teacher"].is_null());
    let other = ["--teacher", "mlp", "--set", "teacher.mlp.train.epochs=5"];
    assert_eq!(report(succeed(&mut vary("mlp", &other)))["teacher"]["name"], "mlp");
    let said = taught.join("teacher.npy").to_string_lossy().into_owned();
    let from_file = report(succeed(&mut vary("file", &["--teacher-predictions", &said])));
    assert_eq!(from_file["teacher"]["name"], "teacher.npy");
    let error = fail(&mut vary("preset", &["--set", "preset=reference"]), 1);
    assert!(error.contains("was written for preset = \"abyssal\""), "{error}");
    for (more, expected) in [
        (&["--no-curriculum"][..], "train.method is \"curriculum\" there and \"direct\" here"),
        (&["--set", "preset=paper"], "preset is \"abyssal\" there and \"paper\" here"),
    ] {
        let error = fail(abyssal(&["train", "--resume"]).arg(&taught).args(more), 1);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn settings_of_a_curriculum_that_cannot_be_are_named() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["--set", "curriculum.steps=3"][..], "`curriculum.steps` is about a curriculum"),
        (&["--teacher", "gcm"], "there is no model `gcm` to teach; take self, panel"),
        (&["--curriculum", "--set", "curriculum.step=3"], "did you mean `curriculum.steps`?"),
        // One of the panel starts from the student's settings; the mistake is in those all the same.
        (
            &["--teacher", "panel", "--set", "model.hiden=3"],
            "unknown setting `model.hiden`; did you mean `model.hidden`?",
        ),
        (&["--teacher", "self", "--set", "model.rank=big"], "model.rank = \"big\" cannot be used"),
        (
            &["--teacher", "self", "--set", "teacher.self.model.hiden=3"],
            "unknown setting `teacher.self.model.hiden`; did you mean `teacher.self.model.hidden`?",
        ),
        (
            &["--teacher", "gcn", "--set", "teacher.gcn.model.layer=3"],
            "did you mean `teacher.gcn.model.layers`?",
        ),
        (&["--teacher", "gcn", "--set", "teacher.gcn.train.epochs=0"], "teacher.gcn.train.epochs = 0"),
        (
            &["--teacher", "gcn", "--set", "teacher.gcn.model.layers=0"],
            "teacher.gcn.model.layers = 0 cannot be used: it must be at least 1",
        ),
        (&["--curriculum", "--set", "curriculum.mask_ratio=2"], "curriculum.filtered = 2 cannot be used"),
        (&["--curriculum", "--set", "curriculum.temperature=0"], "a number above 0, or entropy:E"),
        (&["--curriculum", "--set", "curriculum.temperature=entropy:2"], "a number above 0, or entropy:E"),
        (&["--curriculum", "--set", "curriculum.graph=nearby"], "embeddings"),
        (&["--curriculum", "--set", "curriculum.estimation=label-propagation"], "take input or features"),
        (&["--curriculum", "--set", "teacher.seeds=0"], "teacher.seeds = 0 cannot be used"),
        (&["--curriculum", "--set", "teacher.rounds=0"], "teacher.rounds = 0 cannot be used"),
        (&["--curriculum", "--set", "teacher.rounds=1000000"], "it must be from 1 to 100"),
        (
            &[
                "--curriculum",
                "--set",
                "curriculum.estimation=label-propagation",
                "--set",
                "curriculum.graph=input",
                "--set",
                "teacher.rounds=3",
            ],
            "teacher.rounds = 3 cannot be used: label propagation takes the teacher's place",
        ),
        (
            &["--teacher", "other/evil", "--set", "teacher.other/evil.model.name=gcn"],
            "teacher.models = \"other/evil\" cannot be used: a name has letters, digits, `-` and `_`",
        ),
        (&["--teacher", "seeds"], "teacher.seeds is a setting; give the candidate another name"),
        (&["--curriculum", "--set", "teacher.models=[]"], "name at least one model"),
        (&["--curriculum", "--set", "teacher.self.train.method=curriculum"], "a teacher learns directly"),
    ] {
        let out = directory.path().join("run");
        let error = fail(&mut train_small(&out, arguments), 1);
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(error.starts_with("error: ") && error.trim().lines().count() == 1, "{arguments:?}: {error}");
        assert!(!out.exists(), "{arguments:?} left a directory behind");
    }
}

/// Predictions for the 240 nodes and five classes of the small task.
fn table(row: impl Fn(usize) -> String) -> String {
    (0..240).map(|node| row(node) + "\n").collect()
}

#[test]
fn predictions_from_elsewhere_teach() {
    let directory = tempfile::tempdir().unwrap();
    let names = "node,a,b,c,d,e\n".to_string();
    let sharp = |node: usize| format!("{},1,0,0,0,0", 239 - node);
    for (name, text) in [
        ("probabilities.csv", table(|_| "0.2,0.2,0.2,0.2,0.2".to_string())),
        ("rounded.csv", table(|_| "0.21,0.21,0.2,0.2,0.2".to_string())),
        ("logits.csv", table(|node| format!("-1.5,{},0,3,2", node % 3))),
        ("named.csv", names + &table(sharp)),
    ] {
        let file = directory.path().join(name);
        fs::write(&file, text).unwrap();
        let out = directory.path().join(format!("run-{name}"));
        let given = ["--teacher-predictions", &file.to_string_lossy()];
        let report = succeed(&mut train_small(&out, &given));
        assert!(report.contains(&format!("\"name\": \"{name}\"")), "{report}");
    }
}

#[test]
fn predictions_that_cannot_be_used_are_named_with_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let with = |odd: &str| table(|node| format!("0.2,0.2,{},0.2,0.2", if node == 100 { odd } else { "0.2" }));
    for (name, text, expected) in [
        ("few.csv", "0.2,0.2,0.2,0.2,0.2\n".repeat(3), "it has 3 rows and 5 columns; csbm has 240 nodes"),
        ("narrow.csv", table(|_| "0.5,0.5".to_string()), "it has 240 rows and 2 columns"),
        ("sums.csv", table(|_| "0.9,0.9,0.1,0.1,0.1".to_string()), "node 0 sum to 2.1000, not to 1"),
        ("percent.csv", table(|_| "20,20,20,20,20".to_string()), "not to 1; divide percentages by 100"),
        (
            "half.csv",
            table(|_| "0.1,0.1,0.1,0.1,0.1".to_string()),
            "every node needs a probability for each class",
        ),
        ("zeros.csv", table(|_| "0,0,0,0,0".to_string()), "it has nothing but zeros"),
        ("text.csv", with("maybe"), "maybe"),
        ("nan.csv", with("nan"), "nan"),
        ("infinite.csv", with("inf"), "inf"),
        ("empty.csv", String::new(), "empty"),
        ("broken.npy", "no array".to_string(), "broken.npy"),
    ] {
        let file = directory.path().join(name);
        fs::write(&file, text).unwrap();
        let out = directory.path().join(format!("run-{name}"));
        let error = fail(&mut train_small(&out, &["--teacher-predictions", &file.to_string_lossy()]), 1);
        assert!(error.contains(expected) && error.contains(name), "{name}: {error}");
        assert!(!out.exists(), "{name} left a directory behind, and the corrected command would be refused");
    }
    let negative = directory.path().join("negative.csv");
    fs::write(&negative, table(|_| "-0.2,0.6,0.2,0.2,0.2".to_string())).unwrap();
    let given = [
        "--teacher-predictions",
        &negative.to_string_lossy(),
        "--set",
        "teacher.predictions_kind=probabilities",
    ];
    let error = fail(&mut train_small(&directory.path().join("negative"), &given), 1);
    assert!(error.contains("-0.2 for node 0 is no probability"), "{error}");
    let missing = directory.path().join("missing.npy");
    let error = fail(
        &mut train_small(&directory.path().join("m"), &["--teacher-predictions", &missing.to_string_lossy()]),
        1,
    );
    assert!(error.contains("missing.npy"), "{error}");
}

/// Neither do teachers and curriculum, nor the order that nodes of a large graph are put in.
#[test]
fn the_number_of_threads_does_not_change_a_bit_of_a_curriculum() {
    let directory = tempfile::tempdir().unwrap();
    let size = [
        "data.nodes=8400",
        "train.epochs=4",
        "teacher.gcn.train.epochs=4",
        "curriculum.fine_tuning_epochs=2",
    ];
    let size: Vec<&str> = size.iter().flat_map(|setting| ["--set", *setting]).collect();
    let run = |threads: &str| {
        let out = directory.path().join(threads);
        succeed(train_small(&out, TAUGHT).args(&size).args(["--threads", threads]));
        (outcome(&out), fs::read(out.join("auxiliary-graph.csv")).unwrap())
    };
    let one = run("1");
    assert!(one == run("2") && one == run("3"));
}
