//! Our method beside the paper's numbers and the best baseline.

use std::fmt;

use abyssal_train::experiments::{BASELINES, Experiment, OURS, Protocol, Record, RunRecord, published};
use abyssal_train::mean;

use crate::Records;
use crate::numbers::{NOTHING, accuracy, difference, number_of_runs, of_paper, strict, strict_with_runs};
use crate::table::Table;

/// A row a dataset.
pub(crate) fn table(records: &Records, layers: usize) -> Table {
    let mut table = Table::new([
        "dataset",
        "paper",
        "paper's protocol, strict selection",
        "paper's protocol and selection",
        "strict − paper",
        "honest protocol",
        "its teachers",
        "best baseline, honest protocol",
        "smallest lead",
    ]);
    for dataset in Experiment::Accuracies.datasets() {
        let find = |protocol, label| records.find(Experiment::Accuracies, dataset, protocol, label, layers);
        let paper = published(OURS, dataset, layers);
        let as_paper = find(Protocol::Paper, OURS);
        let honest = find(Protocol::Honest, OURS);
        let baselines: Vec<&Record> =
            BASELINES.iter().filter_map(|label| find(Protocol::Honest, label)).collect();
        let best = best(baselines.iter().copied());
        table.push(vec![
            dataset.to_string(),
            of_paper(paper.as_ref()),
            strict(as_paper),
            accuracy(as_paper, |record| record.test_by_paper_rule),
            difference(as_paper, paper.as_ref()),
            strict_with_runs(honest),
            teachers(honest),
            best.map_or(NOTHING.to_string(), |best| format!("{} {}", best.label, strict(Some(best)))),
            smallest_lead(honest, &baselines),
        ]);
    }
    table
}

/// The record with the largest mean.
fn best<'a>(records: impl Iterator<Item = &'a Record>) -> Option<&'a Record> {
    let known = records.filter_map(|record| Some((record, record.test?.mean)));
    known.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(record, _)| record)
}

/// How far ours is ahead of the baseline that comes closest, over the runs that both have: splits differ more than models do.
/// `+0.27 over gprgnn (10 runs)`, or `0.69 behind gcnii (10 runs)`.
fn smallest_lead(ours: Option<&Record>, baselines: &[&Record]) -> String {
    let Some(ours) = ours else { return NOTHING.to_string() };
    let leads: Vec<Lead> = baselines.iter().filter_map(|baseline| Lead::over(baseline, ours)).collect();
    let Some(smallest) = leads.iter().min_by(|one, other| one.points.total_cmp(&other.points)) else {
        return NOTHING.to_string();
    };
    let mut text = smallest.to_string();
    if leads.len() < BASELINES.len() {
        text += &format!(", {} of {} baselines", leads.len(), BASELINES.len());
    }
    // A run that failed has no accuracy to compare.
    if !ours.failures.is_empty() {
        text += &format!(", {} of ours failed", ours.failures.len());
    }
    text
}

/// The difference of two mean test accuracies over runs with the same seed and split.
struct Lead<'a> {
    baseline: &'a str,
    points: f64,
    runs: usize,
}

impl<'a> Lead<'a> {
    /// `None` if no run has the same seed and split.
    fn over(baseline: &'a Record, ours: &Record) -> Option<Self> {
        let same = |one: &RunRecord, other: &RunRecord| {
            (one.seed, &one.split_fingerprint) == (other.seed, &other.split_fingerprint)
        };
        let differences: Vec<f64> = ours
            .runs
            .iter()
            .filter_map(|one| Some((one, baseline.runs.iter().find(|other| same(one, other))?)))
            .map(|(one, other)| 100.0 * (one.strict.test_accuracy - other.strict.test_accuracy))
            .collect();
        let (points, runs) = (mean(&differences), differences.len());
        (runs > 0).then_some(Self { baseline: &baseline.label, points, runs })
    }
}

impl fmt::Display for Lead<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { baseline, points, runs } = self;
        match *points < 0.0 {
            true => write!(formatter, "{:.2} behind", -points)?,
            false => write!(formatter, "+{points:.2} over")?,
        }
        write!(formatter, " {baseline} ({})", number_of_runs(*runs))
    }
}

/// The mean test accuracy of the teachers of a record's runs.
pub(crate) fn teachers(record: Option<&Record>) -> String {
    let runs = record.map_or(&[][..], |record| &record.runs);
    let accuracies: Vec<f64> =
        runs.iter().filter_map(|run| Some(run.teacher.as_ref()?.test_accuracy)).collect();
    if accuracies.is_empty() { NOTHING.to_string() } else { format!("{:.2}", 100.0 * mean(&accuracies)) }
}

#[cfg(test)]
mod tests {
    use abyssal_train::TeacherRecord;

    use super::*;
    use crate::testing::{failed, record};

    fn rows(records: Vec<Record>) -> Vec<String> {
        table(&records.into(), 32).to_string().lines().map(str::to_string).collect()
    }

    #[test]
    fn numbers_stand_beside_those_of_the_paper() {
        let rows = rows(vec![
            record(Experiment::Accuracies, "cora", Protocol::Paper, OURS, &[0.84, 0.85, 0.86, 0.85, 0.85]),
            record(Experiment::Accuracies, "cora", Protocol::Honest, OURS, &[0.85; 10]),
            record(Experiment::Accuracies, "cora", Protocol::Honest, "gcn", &[0.3; 10]),
            record(Experiment::Accuracies, "cora", Protocol::Honest, "gcnii", &[0.848, 0.852]),
            failed(Experiment::Accuracies, "cora", Protocol::Honest, "bernnet"),
        ]);
        assert_eq!(rows.len(), 2 + Experiment::Accuracies.datasets().len());
        assert_eq!(
            rows[2],
            "| cora | 85.12 | 85.00 ± 0.71 | 86.00 ± 0.71 | -0.12 | 85.00 ± 0.00 (10 runs) | – | gcnii 85.00 ± 0.28 (2 runs) | +0.00 over gcnii (2 runs), 2 of 6 baselines |"
        );
    }

    /// Two splits, an easy and a hard one. The baseline has seen the easy one only.
    #[test]
    fn only_runs_that_both_have_are_compared() {
        let honest = |label, accuracies: &[f64]| {
            record(Experiment::Accuracies, "cora", Protocol::Honest, label, accuracies)
        };
        let rows = rows(vec![honest(OURS, &[0.9, 0.7]), honest("gcn", &[0.85])]);
        let lead = |rows: &[String]| rows[2].rsplit_once(" | ").map(|(_, last)| last.to_string());
        assert_eq!(lead(&rows).unwrap(), "+5.00 over gcn (1 run), 1 of 6 baselines |");
        let rows =
            self::rows(vec![honest(OURS, &[0.9, 0.7]), honest("gcn", &[0.85]), honest("gcnii", &[0.95])]);
        assert_eq!(lead(&rows).unwrap(), "5.00 behind gcnii (1 run), 2 of 6 baselines |");
    }

    #[test]
    fn teachers_and_failures_of_ours_are_told() {
        let teacher = |test_accuracy| TeacherRecord {
            name: "mlp".to_string(),
            validation_accuracy: 0.9,
            test_accuracy,
            seconds: 1.0,
            temperature: 1.0,
            entropy: 0.5,
            candidates: Vec::new(),
            left_out: Vec::new(),
            teacher: None,
        };
        let honest = |label| record(Experiment::Accuracies, "cora", Protocol::Honest, label, &[0.9, 0.7]);
        let mut ours = honest(OURS);
        for (run, accuracy) in ours.runs.iter_mut().zip([0.92, 0.9]) {
            run.teacher = Some(teacher(accuracy));
        }
        ours.failures = failed(Experiment::Accuracies, "cora", Protocol::Honest, OURS).failures;
        let rows = rows(vec![ours, honest("gcn")]);
        let told = "(2 runs, 1 failed) | 91.00 | gcn 80.00 ± 14.14 (2 runs) | +0.00 over gcn (2 runs), 1 of 6 baselines, 1 of ours failed |";
        assert!(rows[2].ends_with(told), "{}", rows[2]);
    }

    #[test]
    fn what_is_missing_is_a_dash() {
        let rows = rows(vec![record(Experiment::Accuracies, "texas", Protocol::Honest, OURS, &[0.8])]);
        assert_eq!(rows[2], "| cora | 85.12 | – | – | – | – | – | – | – |");
        assert_eq!(rows[9], "| texas | 85.41 | – | – | – | 80.00 (1 run) | – | – | – |");
    }

    #[test]
    fn other_depths_have_other_records() {
        let records = vec![record(Experiment::Accuracies, "cora", Protocol::Honest, OURS, &[0.8])];
        assert!(
            table(&records.into(), 64).to_string().contains("| cora | 84.87 | – | – | – | – | – | – | – |")
        );
    }
}
