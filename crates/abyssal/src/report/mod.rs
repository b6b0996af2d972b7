//! What a finished session says: a table for people, or one JSON object.

mod notes;
mod table;

use std::io::Write;
use std::path::{Path, PathBuf};

use abyssal_train::{Config, RunResult, Selection, StageRecord, TeacherRecord, mean, sample_deviation};
use serde::Serialize;

/// One run in the JSON report.
#[derive(Debug, Serialize)]
struct RunReport {
    seed: u64,
    split: String,
    split_fingerprint: String,
    validation_accuracy: f64,
    test_accuracy: f64,
    epoch: usize,
    /// Without those of teachers.
    seconds: f64,
    /// The edges the model propagates along.
    graph: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    teacher: Option<TeacherRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_short: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<StageRecord>,
    #[serde(skip)]
    tasks: usize,
    run_dir: PathBuf,
}

/// The runs of one model.
#[derive(Debug, Serialize)]
struct ModelReport {
    model: String,
    layers: usize,
    selection: Selection,
    /// Those with a result.
    runs: Vec<RunReport>,
    /// How many there were to be.
    #[serde(skip)]
    planned: usize,
    /// Mean test accuracy, if a run has a result.
    mean: Option<f64>,
    /// Its unbiased standard deviation over the runs.
    std: Option<f64>,
}

/// The whole session: the first model, and those it was compared with.
#[derive(Debug, Serialize)]
pub struct SessionReport {
    #[serde(flatten)]
    first: ModelReport,
    dataset: String,
    dataset_fingerprint: String,
    /// The names of all splits, in the order of their first runs.
    splits: Vec<String>,
    /// Test accuracy of always guessing the most common training class, on average over the runs.
    majority_accuracy: f64,
    compared: Vec<ModelReport>,
    /// What went wrong with runs that have no result.
    failures: Vec<String>,
}

impl SessionReport {
    /// Gathers the results of planned runs, in their order; runs of one model stand together. `None` if there are none.
    pub fn new<'a>(
        planned: impl IntoIterator<Item = &'a Config>,
        results: &[(PathBuf, RunResult)],
        failures: &[String],
    ) -> Option<Self> {
        let (_, any) = results.first()?;
        let mut reports: Vec<ModelReport> = Vec::new();
        for config in planned {
            match reports.iter_mut().find(|report| report.model == config.model.name()) {
                Some(report) => report.planned += 1,
                None => reports.push(ModelReport {
                    model: config.model.name().to_string(),
                    layers: config.model.layers(),
                    selection: config.train.selection,
                    runs: Vec::new(),
                    planned: 1,
                    mean: None,
                    std: None,
                }),
            }
        }
        let mut splits: Vec<String> = Vec::new();
        for (run_dir, result) in results {
            if !splits.contains(&result.split.name) {
                splits.push(result.split.name.clone());
            }
            let run = RunReport {
                seed: result.seed,
                split: result.split.name.clone(),
                split_fingerprint: result.split.fingerprint.clone(),
                validation_accuracy: result.selected.validation_accuracy,
                test_accuracy: result.selected.test_accuracy,
                epoch: result.selected.epoch,
                seconds: result.seconds,
                graph: result.graph.clone(),
                teacher: result.teacher.clone(),
                cut_short: result.cut_short.clone(),
                stages: result.stages.clone(),
                tasks: result.tasks,
                run_dir: run_dir.clone(),
            };
            let report = reports.iter_mut().find(|report| report.model == result.model);
            report.expect("every result is of a planned run").runs.push(run);
        }
        for report in reports.iter_mut().filter(|report| !report.runs.is_empty()) {
            let accuracies: Vec<f64> = report.runs.iter().map(|run| run.test_accuracy).collect();
            report.mean = Some(mean(&accuracies));
            report.std = Some(sample_deviation(&accuracies));
        }
        let first = reports.remove(0);
        let majorities: Vec<f64> = results.iter().map(|(_, result)| result.majority_accuracy).collect();
        Some(Self {
            first,
            dataset: any.dataset.name.clone(),
            dataset_fingerprint: any.dataset.fingerprint.clone(),
            splits,
            majority_accuracy: mean(&majorities),
            compared: reports,
            failures: failures.to_vec(),
        })
    }

    /// Writes one JSON object.
    pub fn write_json(&self, output: &mut impl Write) -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut *output, self)?;
        writeln!(output)
    }

    /// Writes a table, and below it what it says nothing about. `path` is where the session is kept.
    pub fn write_table(&self, path: &Path, output: &mut impl Write) -> std::io::Result<()> {
        table::write(self, output)?;
        notes::write(self, path, output)
    }

    /// The first model, then the others.
    fn models(&self) -> impl Iterator<Item = &ModelReport> {
        std::iter::once(&self.first).chain(&self.compared)
    }
}

impl ModelReport {
    /// Those of all runs that were taught.
    fn teachers(&self) -> Vec<&TeacherRecord> {
        self.runs.iter().filter_map(|run| run.teacher.as_ref()).collect()
    }
}

/// As people read it: `84.5 ± 0.3 %`.
fn percent(share: f64, deviation: Option<f64>) -> String {
    match deviation {
        Some(deviation) => format!("{:.1} ± {:.1} %", 100.0 * share, 100.0 * deviation),
        None => format!("{:.1} %", 100.0 * share),
    }
}

#[cfg(test)]
mod tests {
    use abyssal_train::LeftOutRecord;
    use serde_json::json;

    use super::*;

    fn result(model: &str, seed: u64, test_accuracy: f64) -> (PathBuf, RunResult) {
        let selected = json!({
            "epoch": 3, "train_accuracy": 1.0, "validation_accuracy": 0.5, "test_accuracy": test_accuracy
        });
        let stage = |task: usize, epoch: usize| {
            json!({
                "stage": {"task": task}, "epoch": epoch, "validation_accuracy": 0.5, "test_accuracy": test_accuracy
            })
        };
        let teacher = json!({
            "name": "gcn", "validation_accuracy": 0.5, "test_accuracy": 0.5, "seconds": 1.0, "temperature": 1.0, "entropy": 0.5, "candidates": []
        });
        let result = json!({
            "model": model, "layers": 2, "parameters": 10, "seed": seed, "selection": "strict", "selected": selected,
            "selected_by_strict_rule": selected, "selected_by_paper_rule": selected, "epochs": 5, "tasks": 11,
            "teacher": teacher, "stages": [stage(3, 1), stage(11, 5)],
            "dataset": {"name": "d", "fingerprint": "f", "nodes": 9, "edges": 9, "features": 9, "classes": 2},
            "split": {"name": "public", "fingerprint": "s", "train": 3, "validation": 3, "test": 3},
            "majority_accuracy": 0.5, "config_fingerprint": "c", "version": "0", "threads": 1, "seconds": 1.0
        });
        (PathBuf::from("run"), serde_json::from_value(result).expect("a result"))
    }

    fn planned(model: &str, seeds: u64) -> Vec<Config> {
        let settings = [("model.name".to_string(), model.into())];
        let config = Config::resolve(None, &settings).expect("a model");
        (0..seeds).map(|seed| Config { seed, ..config.clone() }).collect()
    }

    fn table(report: &SessionReport) -> String {
        let mut text = Vec::new();
        report.write_table(Path::new("runs"), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// A mean over fewer runs than planned says so, and a model without any result keeps its place.
    #[test]
    fn missing_runs_are_told() {
        let configs = [planned("gcn", 3), planned("gin", 3), planned("sgc", 3)].concat();
        let results = [
            result("gin", 0, 0.5),
            result("gin", 2, 0.7),
            result("sgc", 0, 0.5),
            result("sgc", 1, 0.5),
            result("sgc", 2, 0.5),
        ];
        let report = SessionReport::new(&configs, &results, &["gcn, seed 0: …".to_string()]).unwrap();
        let text = table(&report);
        let row = |model: &str| text.lines().find(|line| line.starts_with(model)).unwrap().to_string();
        assert!(row("gcn").contains("–") && row("gcn").ends_with("(0 of 3 runs)"), "{text}");
        assert!(row("gin").contains("60.0 ± 14.1 %") && row("gin").ends_with("(2 of 3 runs)"), "{text}");
        assert!(!row("sgc").contains("runs"), "{text}");
        assert!(text.contains("standard deviation of 3 seeds, split public"), "{text}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["model"], &json["mean"], &json["runs"]), (&"gcn".into(), &json!(null), &json!([])));
        assert_eq!(json["compared"][1]["mean"], 0.5);
    }

    /// With fewer epochs than tasks some are left out, and the numbers of the others stay.
    #[test]
    fn stages_are_numbered_among_all_tasks() {
        let report = SessionReport::new(&planned("gcn", 1), &[result("gcn", 0, 0.5)], &[]).unwrap();
        let text = table(&report);
        assert!(text.contains("stage 3 of 11") && text.contains("stage 11 of 11"), "{text}");
    }

    /// Names of stages are longer than those of models.
    #[test]
    fn columns_stand_under_their_names() {
        let report = SessionReport::new(&planned("gcn", 1), &[result("gcn", 0, 0.5)], &[]).unwrap();
        let text = table(&report);
        let mut rows = text.lines().take_while(|line| !line.is_empty());
        let (before, name) = rows.next().unwrap().split_once("test accuracy").expect("a header");
        let (test, validation) = (before.len() + "test accuracy".len(), "   validation".len());
        assert!(name.starts_with("   validation"), "{text}");
        let rows: Vec<&str> = rows.collect();
        assert_eq!(rows.len(), 5, "{text}");
        for row in rows {
            assert!(row[..test].ends_with(" 50.0 %"), "{text}");
            let known = row.contains("majority") || row[..test + validation].ends_with(" 50.0 %");
            assert!(known, "{text}");
        }
    }

    #[test]
    fn teachers_of_several_runs_are_told_with_those_left_out() {
        let results = [0, 1, 2].map(|seed| {
            let mut result = result("gcn", seed, 0.5);
            let teacher = result.1.teacher.as_mut().unwrap();
            teacher.name = if seed == 1 { "mlp" } else { "sgc" }.to_string();
            if seed > 0 {
                let (name, reason) = ("gcnii".to_string(), "the loss is NaN".to_string());
                teacher.left_out = vec![LeftOutRecord { name, reason }];
            }
            result
        });
        let text = table(&SessionReport::new(&planned("gcn", 3), &results, &[]).unwrap());
        let told = "taught by sgc (2 of 3 runs), mlp (1 of 3 runs); left out: gcnii (2 of 3 runs)\n";
        assert!(text.contains(told), "{text}");
        let text = table(
            &SessionReport::new(&planned("gcn", 2), &[result("gcn", 0, 0.5), result("gcn", 1, 0.5)], &[])
                .unwrap(),
        );
        assert!(text.contains("taught by gcn\n"), "{text}");
    }

    /// An ensemble that is grown by loss may leave out the most accurate candidate.
    #[test]
    fn candidates_are_told_with_their_loss() {
        let mut result = result("gcn", 0, 0.5);
        let candidate = |name: &str, accuracy: f64, loss: Option<f64>| {
            let json = json!({
                "name": name, "model": name, "layers": 2, "seeds": [0], "validation_accuracy": accuracy,
                "validation_loss": loss, "test_accuracy": 0.5
            });
            serde_json::from_value(json).expect("a candidate")
        };
        let candidates = vec![candidate("gcn", 0.8, Some(0.333)), candidate("mlp", 0.9, None)];
        result.1.teacher.as_mut().unwrap().candidates = candidates;
        let text = table(&SessionReport::new(&planned("gcn", 1), &[result], &[]).unwrap());
        let told = "taught by gcn; candidates on the validation nodes (and their loss): gcn 80.0 % (0.33), mlp 90.0 %\n";
        assert!(text.contains(told), "{text}");
    }

    #[test]
    fn a_teacher_that_is_no_worse_than_its_student_is_told() {
        let told = |accuracy: f64| {
            let mut result = result("gcn", 0, 0.5);
            result.1.teacher.as_mut().unwrap().validation_accuracy = accuracy;
            let report = SessionReport::new(&planned("gcn", 1), &[result], &[]).unwrap();
            let text = table(&report);
            ["the teacher is as good as its student", "the teacher is better than its student"]
                .map(|line| text.contains(line))
        };
        assert_eq!([0.6, 0.5, 0.4].map(told), [[false, true], [true, false], [false, false]]);
    }
}
