//! How numbers are written: in percent, with two digits after the point, as the paper prints its own.

use abyssal_train::experiments::{Published, Record, Summary};

/// What stands where there is no number.
pub(crate) const NOTHING: &str = "–";

/// A mean with its deviation: `84.91 ± 0.42`; of a single run, `84.91`.
fn mean(summary: Summary, runs: usize) -> String {
    let percent = format!("{:.2}", 100.0 * summary.mean);
    if runs > 1 { format!("{percent} ± {:.2}", 100.0 * summary.deviation) } else { percent }
}

/// A record under a rule of selection, with the number of runs where it is not the protocol's: `84.91 ± 0.42 (3 runs)`.
pub(crate) fn accuracy(record: Option<&Record>, summary: impl Fn(&Record) -> Option<Summary>) -> String {
    let Some(record) = record else { return NOTHING.to_string() };
    let Some(summary) = summary(record) else { return "failed".to_string() };
    let runs = record.runs.len();
    let text = mean(summary, runs);
    if runs == record.protocol_runs { text } else { format!("{text} ({})", count(record)) }
}

/// A record under strict selection.
pub(crate) fn strict(record: Option<&Record>) -> String {
    accuracy(record, |record| record.test)
}

/// A record under strict selection, always with the number of runs: `84.91 ± 0.42 (10 runs)`.
pub(crate) fn strict_with_runs(record: Option<&Record>) -> String {
    match record.and_then(|record| Some((record, record.test?))) {
        Some((record, test)) => format!("{} ({})", mean(test, record.runs.len()), count(record)),
        None => strict(record),
    }
}

/// How many runs a record has, and how many of them failed.
fn count(record: &Record) -> String {
    let runs = number_of_runs(record.runs.len());
    match record.failures.len() {
        0 => runs,
        failed => format!("{runs}, {failed} failed"),
    }
}

/// `1 run`, `10 runs`.
pub(crate) fn number_of_runs(runs: usize) -> String {
    if runs == 1 { "1 run".to_string() } else { format!("{runs} runs") }
}

/// A number of the paper.
pub(crate) fn of_paper(published: Option<&Published>) -> String {
    published.map_or(NOTHING.to_string(), |published| format!("{:.2}", published.percent))
}

/// What is behind a number: the paper's in brackets, if there is one.
pub(crate) fn in_brackets(text: String, published: Option<&Published>) -> String {
    match published {
        Some(published) => format!("{text} [{:.2}]", published.percent),
        None => text,
    }
}

/// How far a record under strict selection is ahead of the paper, in points: `+0.12`.
pub(crate) fn difference(record: Option<&Record>, published: Option<&Published>) -> String {
    let test = record.and_then(|record| record.test);
    match test.zip(published) {
        Some((test, published)) => format!("{:+.2}", 100.0 * test.mean - published.percent),
        None => NOTHING.to_string(),
    }
}
