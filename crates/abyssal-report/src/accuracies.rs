//! Our method beside the paper's numbers and the best baseline.

use abyssal_train::experiments::{BASELINES, Experiment, OURS, Protocol, Record, RunRecord, published};

use crate::Records;
use crate::numbers::{NOTHING, accuracy, difference, of_paper, strict, strict_with_runs};
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
        "best baseline, honest protocol",
        "ahead?",
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
            best.map_or(NOTHING.to_string(), |best| format!("{} {}", best.label, strict(Some(best)))),
            ahead(honest, &baselines),
        ]);
    }
    table
}

/// The record with the largest mean.
fn best<'a>(records: impl Iterator<Item = &'a Record>) -> Option<&'a Record> {
    let known = records.filter_map(|record| Some((record, record.test?.mean)));
    known.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(record, _)| record)
}

/// Whether ours has the larger mean beside every baseline, over the runs that both have: splits differ more than models do.
fn ahead(ours: Option<&Record>, baselines: &[&Record]) -> String {
    let Some(ours) = ours else { return NOTHING.to_string() };
    let compared: Vec<bool> = baselines
        .iter()
        .filter_map(|baseline| common_means(ours, baseline))
        .map(|(ours, theirs)| ours > theirs)
        .collect();
    let verdict = match compared.iter().all(|&ahead| ahead) {
        _ if compared.is_empty() => return NOTHING.to_string(),
        true => "yes",
        false => "no",
    };
    match BASELINES.len() {
        all if compared.len() < all => format!("{verdict}, of {} of {all}", compared.len()),
        _ => verdict.to_string(),
    }
}

/// The mean test accuracies of two records over runs with the same seed and split; `None` if there are none.
fn common_means(first: &Record, second: &Record) -> Option<(f64, f64)> {
    let same = |one: &RunRecord, other: &RunRecord| {
        (one.seed, &one.split_fingerprint) == (other.seed, &other.split_fingerprint)
    };
    let pairs: Vec<(f64, f64)> = first
        .runs
        .iter()
        .filter_map(|one| Some((one, second.runs.iter().find(|other| same(one, other))?)))
        .map(|(one, other)| (one.strict.test_accuracy, other.strict.test_accuracy))
        .collect();
    let count = pairs.len() as f64;
    let sums = pairs.iter().fold((0.0, 0.0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1));
    (!pairs.is_empty()).then(|| (sums.0 / count, sums.1 / count))
}

#[cfg(test)]
mod tests {
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
            "| cora | 85.12 | 85.00 ± 0.71 | 86.00 ± 0.71 | -0.12 | 85.00 ± 0.00 (10 runs) | gcnii 85.00 ± 0.28 (2 runs) | no, of 2 of 6 |"
        );
    }

    /// Two splits, an easy and a hard one. The baseline has seen the easy one only.
    #[test]
    fn only_runs_that_both_have_are_compared() {
        let honest = |label, accuracies: &[f64]| {
            record(Experiment::Accuracies, "cora", Protocol::Honest, label, accuracies)
        };
        let rows = rows(vec![honest(OURS, &[0.9, 0.7]), honest("gcn", &[0.85])]);
        assert!(rows[2].ends_with("| gcn 85.00 (1 run) | yes, of 1 of 6 |"), "{}", rows[2]);
    }

    #[test]
    fn what_is_missing_is_a_dash() {
        let rows = rows(vec![record(Experiment::Accuracies, "texas", Protocol::Honest, OURS, &[0.8])]);
        assert_eq!(rows[2], "| cora | 85.12 | – | – | – | – | – | – |");
        assert_eq!(rows[9], "| texas | 85.41 | – | – | – | 80.00 (1 run) | – | – |");
    }

    #[test]
    fn other_depths_have_other_records() {
        let records = vec![record(Experiment::Accuracies, "cora", Protocol::Honest, OURS, &[0.8])];
        assert!(table(&records.into(), 64).to_string().contains("| cora | 84.87 | – | – | – | – | – | – |"));
    }
}
