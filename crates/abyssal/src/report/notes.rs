//! What stands below the table of a session: its splits and edges, who taught, what ended early, where it is kept.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use abyssal_graph::DatasetConfig;
use abyssal_train::{CandidateRecord, Selection};

use super::{ModelReport, SessionReport, percent};

/// Writes all of it. `path` is where the session is kept.
pub(super) fn write(report: &SessionReport, path: &Path, output: &mut impl Write) -> std::io::Result<()> {
    write_splits(report, output)?;
    let runs = || report.models().flat_map(|model| &model.runs);
    let graphs: BTreeSet<&str> = runs().map(|run| run.graph.as_str()).collect();
    writeln!(output, "propagation graph: {}", Vec::from_iter(graphs).join(", "))?;
    write_teachers(&report.first, output)?;
    write_comparison(&report.first, output)?;
    write_cut_short(&report.first, output)?;
    if report.first.selection == Selection::Paper {
        writeln!(
            output,
            "\nselection = \"paper\": ties went to the larger test accuracy. For comparison with the released \
             code only."
        )?;
    }
    let path = path.display();
    writeln!(output, "\nkept in {path}")?;
    // Whoever brings a graph wants its classes, and its next nodes to have some.
    if report.dataset == DatasetConfig::FILES && report.failures.is_empty() {
        writeln!(output, "classes of all nodes, also new ones: abyssal predict --run {path}")?;
    }
    Ok(())
}

/// What means are over.
fn write_splits(report: &SessionReport, output: &mut impl Write) -> std::io::Result<()> {
    let seeds: BTreeSet<u64> = report.models().flat_map(|model| &model.runs).map(|run| run.seed).collect();
    match (report.splits.as_slice(), report.first.planned) {
        ([], _) => Ok(()),
        ([split], 1) => writeln!(output, "\nsplit {split}"),
        ([split], _) => {
            writeln!(output, "\nmean ± standard deviation of {} seeds, split {split}", seeds.len())
        }
        ([first, .., last], runs) => {
            let splits = report.splits.len();
            let seeds = match seeds.len() {
                1 => "one seed".to_string(),
                several => format!("{several} seeds"),
            };
            writeln!(
                output,
                "\nmean ± standard deviation of {runs} runs: {seeds} on each of {splits} splits, {first} to {last}"
            )
        }
    }
}

/// Who taught, and how often; of a single run also what its candidates were worth on the validation nodes.
fn write_teachers(model: &ModelReport, output: &mut impl Write) -> std::io::Result<()> {
    let teachers = model.teachers();
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
            let all: Vec<String> = first.candidates.iter().map(examined).collect();
            write!(output, "; candidates on the validation nodes (and their loss): {}", all.join(", "))?;
        }
    }
    let with_earlier = teachers.iter().flat_map(|teacher| std::iter::once(*teacher).chain(teacher.earlier()));
    let left_out = with_earlier.flat_map(|teacher| &teacher.left_out).map(|one| one.name.as_str());
    let left_out = counted(left_out, teachers.len());
    if !left_out.is_empty() {
        write!(output, "; left out: {left_out}")?;
    }
    writeln!(output)
}

/// A candidate with its accuracy and its loss on the validation nodes. Ensembles are grown by loss: without it nobody understands
/// why the most accurate candidate is not heard.
fn examined(candidate: &CandidateRecord) -> String {
    let accuracy = percent(candidate.validation_accuracy, None);
    let loss = candidate.validation_loss.map(|loss| format!(" ({loss:.2})")).unwrap_or_default();
    format!("{} {accuracy}{loss}", candidate.name)
}

/// Of a single run, whether its teacher is no worse than itself: whoever came for predictions should know.
fn write_comparison(model: &ModelReport, output: &mut impl Write) -> std::io::Result<()> {
    let teachers = model.teachers();
    let ([run], [teacher]) = (model.runs.as_slice(), teachers.as_slice()) else { return Ok(()) };
    // The student's epoch was chosen among many on the very nodes they are compared on, so that at a tie the teacher is to be
    // preferred.
    let compared = match teacher.validation_accuracy.total_cmp(&run.validation_accuracy) {
        Ordering::Less => return Ok(()),
        Ordering::Equal => "as good as",
        Ordering::Greater => "better than",
    };
    let file = run.run_dir.join("teacher.npy");
    let file = file.display();
    writeln!(output, "the teacher is {compared} its student on the validation nodes; {file} has what it says")
}

/// How many runs have not been fine-tuned to the end, and why the first one was not.
fn write_cut_short(model: &ModelReport, output: &mut impl Write) -> std::io::Result<()> {
    let reasons: Vec<&str> = model.runs.iter().filter_map(|run| run.cut_short.as_deref()).collect();
    match reasons.first() {
        None => Ok(()),
        Some(reason) => {
            let count = match (reasons.len(), model.runs.len()) {
                (1, 1) => String::new(),
                (count, runs) => format!(" in {count} of {runs} runs"),
            };
            writeln!(output, "\nfine-tuning ended early{count}: {reason}")
        }
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
