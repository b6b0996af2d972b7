//! What a finished session says: a table for people, or one JSON object.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use abyssal_train::curriculum::Stage;
use abyssal_train::{
    CandidateRecord, RunResult, Selection, StageRecord, TeacherRecord, mean, sample_deviation,
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<StageRecord>,
    run_dir: PathBuf,
}

/// The runs of one model.
#[derive(Debug, Serialize)]
struct ModelReport {
    model: String,
    layers: usize,
    selection: Selection,
    runs: Vec<RunReport>,
    /// Mean test accuracy.
    mean: f64,
    /// Its unbiased standard deviation over the runs.
    std: f64,
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
    /// Gathers results, in the order of their runs; runs of one model stand together. `None` if there are none.
    pub fn new(results: &[(PathBuf, RunResult)], failures: &[String]) -> Option<Self> {
        let (_, any) = results.first()?;
        let mut reports: Vec<ModelReport> = Vec::new();
        for (run_dir, result) in results {
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
                stages: result.stages.clone(),
                run_dir: run_dir.clone(),
            };
            match reports.iter_mut().find(|report| report.model == result.model) {
                Some(report) => report.runs.push(run),
                None => reports.push(ModelReport {
                    model: result.model.clone(),
                    layers: result.layers,
                    selection: result.selection,
                    runs: vec![run],
                    mean: 0.0,
                    std: 0.0,
                }),
            }
        }
        for report in &mut reports {
            let accuracies: Vec<f64> = report.runs.iter().map(|run| run.test_accuracy).collect();
            report.mean = mean(&accuracies);
            report.std = sample_deviation(&accuracies);
        }
        let first = reports.remove(0);
        let mut splits: Vec<String> = Vec::new();
        for run in &first.runs {
            if !splits.contains(&run.split) {
                splits.push(run.split.clone());
            }
        }
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
            let validations: Vec<f64> = report.runs.iter().map(|run| run.validation_accuracy).collect();
            let seconds: f64 = report.runs.iter().map(|run| run.seconds).sum();
            let epoch = match report.runs.as_slice() {
                [run] => run.epoch.to_string(),
                _ => "–".to_string(),
            };
            writeln!(
                output,
                "{:width$}  {:>6}  {:>13}  {:>11}  {epoch:>6}  {seconds:>7.1}",
                report.model,
                report.layers,
                percent(report.mean, (report.runs.len() > 1).then_some(report.std)),
                percent(mean(&validations), None),
            )?;
            report.write_curriculum(width, output)?;
        }
        let graphs: BTreeSet<&str> =
            models().flat_map(|report| &report.runs).map(|run| run.graph.as_str()).collect();
        let majority = percent(self.majority_accuracy, None);
        writeln!(output, "{:width$}  {:>6}  {majority:>13}", "(majority class)", "")?;
        match (self.splits.as_slice(), self.first.runs.len()) {
            ([split], 1) => writeln!(output, "\nsplit {split}")?,
            ([split], seeds) => {
                writeln!(output, "\nmean ± standard deviation of {seeds} seeds, split {split}")?;
            }
            ([first, .., last], runs) => {
                let count = self.splits.len();
                writeln!(
                    output,
                    "\nmean ± standard deviation of {runs} runs: {} seeds on each of {count} splits, {first} to {last}",
                    runs / count
                )?;
            }
            ([], _) => {}
        }
        let graphs: Vec<&str> = graphs.into_iter().collect();
        writeln!(output, "propagation graph: {}", graphs.join(", "))?;
        self.first.write_teacher(output)?;
        if self.first.selection == Selection::Paper {
            writeln!(
                output,
                "\nselection = \"paper\": ties went to the larger test accuracy. For comparison with the released \
                 code only."
            )?;
        }
        writeln!(output, "\nkept in {}", path.display())
    }
}

impl ModelReport {
    /// Who taught the model, and how well it did at the end of the stages of its curriculum.
    fn write_curriculum(&self, width: usize, output: &mut impl Write) -> std::io::Result<()> {
        let teachers: Vec<&TeacherRecord> = self.runs.iter().filter_map(|run| run.teacher.as_ref()).collect();
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
        let seconds: f64 = share(|teacher| teacher.seconds).iter().sum();
        row(
            if teachers.len() == 1 { "teacher" } else { "teachers" },
            &share(|teacher| teacher.test_accuracy),
            &share(|teacher| teacher.validation_accuracy),
            "",
            &format!("{seconds:.1}"),
        )?;
        if let [run] = self.runs.as_slice() {
            let tasks = run.stages.iter().filter(|record| record.stage != Stage::FineTuning).count();
            for record in evenly_spaced(&run.stages, SHOWN_STAGES) {
                let name = match record.stage {
                    Stage::Task(task) => format!("stage {task} of {tasks}"),
                    Stage::FineTuning | Stage::Direct => "fine-tuning".to_string(),
                };
                let (test, validation) = ([record.test_accuracy], [record.validation_accuracy]);
                row(&name, &test, &validation, &record.epoch.to_string(), "")?;
            }
        }
        Ok(())
    }

    /// Who taught, and what its candidates were worth on the validation nodes.
    fn write_teacher(&self, output: &mut impl Write) -> std::io::Result<()> {
        let [run] = self.runs.as_slice() else { return Ok(()) };
        let Some(teacher) = &run.teacher else { return Ok(()) };
        write!(output, "\ntaught by {}", teacher.name)?;
        if teacher.candidates.len() > 1 {
            let candidate =
                |one: &CandidateRecord| format!("{} {}", one.name, percent(one.validation_accuracy, None));
            let all: Vec<String> = teacher.candidates.iter().map(candidate).collect();
            write!(output, "; candidates on the validation nodes: {}", all.join(", "))?;
        }
        writeln!(output)
    }
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
