//! The table of a session: a row a model, below it its teachers and the stages of its curriculum.

use std::io::Write;

use abyssal_train::curriculum::Stage;
use abyssal_train::{StageRecord, TeacherRecord, mean, sample_deviation};

use super::{ModelReport, SessionReport, percent};

/// Stages of a curriculum in the table; of more, as many evenly spaced ones.
const SHOWN_STAGES: usize = 8;
/// What stands in a cell that should have a number.
const NONE: &str = "–";

/// One line; cells may be empty.
#[derive(Default)]
struct Row {
    name: String,
    layers: String,
    test: String,
    validation: String,
    epoch: String,
    seconds: String,
    note: String,
}

/// Writes the table. Its first column is as wide as its longest name.
pub(super) fn write(report: &SessionReport, output: &mut impl Write) -> std::io::Result<()> {
    let mut rows = vec![header()];
    for model in report.models() {
        rows.push(of_model(model));
        rows.extend(of_teachers(&model.teachers()));
        if let [run] = model.runs.as_slice() {
            let shown = evenly_spaced(&run.stages, SHOWN_STAGES);
            rows.extend(shown.map(|stage| of_stage(stage, run.tasks)));
        }
    }
    let test = percent(report.majority_accuracy, None);
    rows.push(Row { name: "(majority class)".to_string(), test, ..Row::default() });
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    rows.iter().try_for_each(|row| writeln!(output, "{}", row.line(width)))
}

impl Row {
    fn line(&self, width: usize) -> String {
        let Self { name, layers, test, validation, epoch, seconds, note } = self;
        let line = format!(
            "{name:width$}  {layers:>6}  {test:>13}  {validation:>11}  {epoch:>6}  {seconds:>7}  {note}"
        );
        line.trim_end().to_string()
    }
}

fn header() -> Row {
    let [name, layers, test, validation, epoch, seconds] =
        ["model", "layers", "test accuracy", "validation", "epoch", "seconds"].map(str::to_string);
    Row { name, layers, test, validation, epoch, seconds, note: String::new() }
}

fn of_model(model: &ModelReport) -> Row {
    let (name, layers) = (model.model.clone(), model.layers.to_string());
    // A mean over other runs than those of the model beside it says so.
    let note = match model.runs.len() {
        count if count == model.planned => String::new(),
        count => format!("({count} of {} runs)", model.planned),
    };
    let Some(test) = model.mean else {
        let [test, validation, epoch, seconds] = [NONE; 4].map(str::to_string);
        return Row { name, layers, test, validation, epoch, seconds, note };
    };
    let validations: Vec<f64> = model.runs.iter().map(|run| run.validation_accuracy).collect();
    let seconds: f64 = model.runs.iter().map(|run| run.seconds).sum();
    Row {
        name,
        layers,
        test: percent(test, model.std.filter(|_| model.runs.len() > 1)),
        validation: percent(mean(&validations), None),
        epoch: match model.runs.as_slice() {
            [run] => run.epoch.to_string(),
            _ => NONE.to_string(),
        },
        seconds: format!("{seconds:.1}"),
        note,
    }
}

/// How well all teachers of a model did together; nothing if it has none.
fn of_teachers(teachers: &[&TeacherRecord]) -> Option<Row> {
    let name = match teachers.len() {
        0 => return None,
        1 => "  teacher",
        _ => "  teachers",
    };
    let of_all = |share: fn(&TeacherRecord) -> f64| -> Vec<f64> {
        teachers.iter().map(|teacher| share(teacher)).collect()
    };
    let (tests, validations) =
        (of_all(|teacher| teacher.test_accuracy), of_all(|teacher| teacher.validation_accuracy));
    let deviation = (tests.len() > 1).then(|| sample_deviation(&tests));
    let seconds = TeacherRecord::seconds_of(teachers.iter().copied());
    Some(Row {
        name: name.to_string(),
        test: percent(mean(&tests), deviation),
        validation: percent(mean(&validations), None),
        seconds: format!("{seconds:.1}"),
        ..Row::default()
    })
}

/// How well a model did at the end of a stage of its curriculum, of so many tasks.
fn of_stage(record: &StageRecord, tasks: usize) -> Row {
    Row {
        name: match record.stage {
            Stage::Task(task) => format!("  after stage {task} of {}", tasks.max(task)),
            Stage::FineTuning | Stage::Direct => "  after fine-tuning".to_string(),
        },
        test: percent(record.test_accuracy, None),
        validation: percent(record.validation_accuracy, None),
        epoch: record.epoch.to_string(),
        ..Row::default()
    }
}

/// At most so many items, with the first and the last.
fn evenly_spaced<T>(items: &[T], at_most: usize) -> impl Iterator<Item = &T> {
    let shown = items.len().min(at_most);
    (0..shown).map(move |step| &items[step * (items.len() - 1) / (shown - 1).max(1)])
}
