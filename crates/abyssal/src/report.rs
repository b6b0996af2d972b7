//! What a finished session says: a table for people, or one JSON object.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use abyssal_graph::DatasetConfig;
use abyssal_train::curriculum::Stage;
use abyssal_train::{
    CandidateRecord, Config, RunResult, Selection, StageRecord, TeacherRecord, mean, sample_deviation,
};
use serde::Serialize;

/// Stages of a curriculum in the table; of more, as many evenly spaced ones.
const SHOWN_STAGES: usize = 8;

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

    /// Writes a table.
    pub fn write_table(&self, path: &Path, output: &mut impl Write) -> std::io::Result<()> {
        let models = || std::iter::once(&self.first).chain(&self.compared);
        let width = models().map(|report| report.model.len()).max().unwrap_or(0).max(16);
        writeln!(output, "{:width$}  layers  test accuracy   validation   epoch  seconds", "model")?;
        for report in models() {
            let none = || "–".to_string();
            let validations: Vec<f64> = report.runs.iter().map(|run| run.validation_accuracy).collect();
            let seconds: f64 = report.runs.iter().map(|run| run.seconds).sum();
            let seconds = report.mean.map_or_else(none, |_| format!("{seconds:.1}"));
            let epoch = match report.runs.as_slice() {
                [run] => run.epoch.to_string(),
                _ => none(),
            };
            let deviation = report.std.filter(|_| report.runs.len() > 1);
            let test = report.mean.map_or_else(none, |mean| percent(mean, deviation));
            let validation = report.mean.map_or_else(none, |_| percent(mean(&validations), None));
            // Means of other runs than those of the model beside it.
            let short = match report.runs.len() {
                count if count == report.planned => String::new(),
                count => format!("  ({count} of {} runs)", report.planned),
            };
            writeln!(
                output,
                "{:width$}  {:>6}  {test:>13}  {validation:>11}  {epoch:>6}  {seconds:>7}{short}",
                report.model, report.layers,
            )?;
            report.write_curriculum(width, output)?;
        }
        let graphs: BTreeSet<&str> =
            models().flat_map(|report| &report.runs).map(|run| run.graph.as_str()).collect();
        let majority = percent(self.majority_accuracy, None);
        writeln!(output, "{:width$}  {:>6}  {majority:>13}", "(majority class)", "")?;
        let seeds: BTreeSet<u64> = models().flat_map(|report| &report.runs).map(|run| run.seed).collect();
        match (self.splits.as_slice(), self.first.planned) {
            ([split], 1) => writeln!(output, "\nsplit {split}")?,
            ([split], _) => {
                writeln!(output, "\nmean ± standard deviation of {} seeds, split {split}", seeds.len())?;
            }
            ([first, .., last], runs) => {
                let splits = self.splits.len();
                let seeds = match seeds.len() {
                    1 => "one seed".to_string(),
                    several => format!("{several} seeds"),
                };
                writeln!(
                    output,
                    "\nmean ± standard deviation of {runs} runs: {seeds} on each of {splits} splits, {first} to {last}"
                )?;
            }
            ([], _) => {}
        }
        let graphs: Vec<&str> = graphs.into_iter().collect();
        writeln!(output, "propagation graph: {}", graphs.join(", "))?;
        self.first.write_teacher(output)?;
        self.first.write_cut_short(output)?;
        if self.first.selection == Selection::Paper {
            writeln!(
                output,
                "\nselection = \"paper\": ties went to the larger test accuracy. For comparison with the released \
                 code only."
            )?;
        }
        writeln!(output, "\nkept in {}", path.display())?;
        // Whoever brings a graph wants its classes, and its next nodes to have some.
        if self.dataset == DatasetConfig::FILES && self.failures.is_empty() {
            writeln!(
                output,
                "classes of all nodes, also new ones: abyssal predict --run {}",
                path.display()
            )?;
        }
        Ok(())
    }
}

impl ModelReport {
    /// Who taught the model, and how well it did at the end of the stages of its curriculum.
    fn write_curriculum(&self, width: usize, output: &mut impl Write) -> std::io::Result<()> {
        let teachers = self.teachers();
        if teachers.is_empty() {
            return Ok(());
        }
        let mut row = |name: &str, tests: &[f64], validations: &[f64], epoch: &str, seconds: &str| {
            let test = percent(mean(tests), (tests.len() > 1).then(|| sample_deviation(tests)));
            let validation = percent(mean(validations), None);
            let name = format!("  {name}");
            let row =
                format!("{name:width$}  {:>6}  {test:>13}  {validation:>11}  {epoch:>6}  {seconds:>7}", "");
            writeln!(output, "{}", row.trim_end())
        };
        let share =
            |value: fn(&TeacherRecord) -> f64| teachers.iter().map(|one| value(one)).collect::<Vec<_>>();
        let seconds = TeacherRecord::seconds_of(teachers.iter().copied());
        row(
            if teachers.len() == 1 { "teacher" } else { "teachers" },
            &share(|teacher| teacher.test_accuracy),
            &share(|teacher| teacher.validation_accuracy),
            "",
            &format!("{seconds:.1}"),
        )?;
        if let [run] = self.runs.as_slice() {
            for record in evenly_spaced(&run.stages, SHOWN_STAGES) {
                let name = match record.stage {
                    Stage::Task(task) => format!("after stage {task} of {}", run.tasks.max(task)),
                    Stage::FineTuning | Stage::Direct => "after fine-tuning".to_string(),
                };
                let (test, validation) = ([record.test_accuracy], [record.validation_accuracy]);
                row(&name, &test, &validation, &record.epoch.to_string(), "")?;
            }
        }
        Ok(())
    }

    /// Who taught, and how often; of a single run also what its candidates were worth on the validation nodes.
    fn write_teacher(&self, output: &mut impl Write) -> std::io::Result<()> {
        let teachers = self.teachers();
        if teachers.is_empty() {
            return Ok(());
        }
        let names = teachers.iter().map(|teacher| teacher.name.as_str());
        write!(output, "\ntaught by {}", counted(names, teachers.len()))?;
        if let [teacher] = teachers.as_slice() {
            for earlier in teacher.earlier() {
                write!(output, ", taught by {}", earlier.name)?;
            }
            let first = teacher.earlier().last().unwrap_or(teacher);
            if first.candidates.len() > 1 {
                let candidate = |one: &CandidateRecord| {
                    format!("{} {}", one.name, percent(one.validation_accuracy, None))
                };
                let all: Vec<String> = first.candidates.iter().map(candidate).collect();
                write!(output, "; candidates on the validation nodes: {}", all.join(", "))?;
            }
        }
        let with_earlier =
            teachers.iter().flat_map(|teacher| std::iter::once(*teacher).chain(teacher.earlier()));
        let left_out = with_earlier.flat_map(|teacher| &teacher.left_out).map(|one| one.name.as_str());
        let left_out = counted(left_out, teachers.len());
        if !left_out.is_empty() {
            write!(output, "; left out: {left_out}")?;
        }
        writeln!(output)?;
        if let ([run], [teacher]) = (self.runs.as_slice(), teachers.as_slice()) {
            // Whoever came for predictions should know. The student's epoch was chosen among many on the very nodes they are
            // compared on, so that at a tie the teacher is to be preferred.
            let compared = match teacher.validation_accuracy.total_cmp(&run.validation_accuracy) {
                Ordering::Less => return Ok(()),
                Ordering::Equal => "as good as",
                Ordering::Greater => "better than",
            };
            let file = run.run_dir.join("teacher.npy");
            writeln!(
                output,
                "the teacher is {compared} its student on the validation nodes; {} has what it says",
                file.display()
            )?;
        }
        Ok(())
    }

    /// How many runs have not been fine-tuned to the end, and why the first one was not.
    fn write_cut_short(&self, output: &mut impl Write) -> std::io::Result<()> {
        let reasons: Vec<&str> = self.runs.iter().filter_map(|run| run.cut_short.as_deref()).collect();
        match reasons.first() {
            None => Ok(()),
            Some(reason) => {
                let count = match (reasons.len(), self.runs.len()) {
                    (1, 1) => String::new(),
                    (count, runs) => format!(" in {count} of {runs} runs"),
                };
                writeln!(output, "\nfine-tuning ended early{count}: {reason}")
            }
        }
    }

    /// Those of all runs that were taught.
    fn teachers(&self) -> Vec<&TeacherRecord> {
        self.runs.iter().filter_map(|run| run.teacher.as_ref()).collect()
    }
}

/// Names with how often each comes, the most frequent first: `gcnii (4 of 5 runs), gcn (1 of 5 runs)`, or `gcn` if it always does.
fn counted<'a>(names: impl Iterator<Item = &'a str>, runs: usize) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| Reverse(count));
    let told = counts.into_iter().map(|(name, count)| match count == runs {
        true => name.to_string(),
        false => format!("{name} ({count} of {runs} runs)"),
    });
    told.collect::<Vec<_>>().join(", ")
}

/// At most so many items, with the first and the last.
fn evenly_spaced<T>(items: &[T], at_most: usize) -> impl Iterator<Item = &T> {
    let shown = items.len().min(at_most);
    (0..shown).map(move |step| &items[step * (items.len() - 1) / (shown - 1).max(1)])
}

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
