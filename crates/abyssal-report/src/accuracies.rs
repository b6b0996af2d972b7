//! Our method beside the paper's numbers and the best baseline.

use abyssal_train::experiments::{BASELINES, Experiment, OURS, Protocol, Record, published};

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
            ahead(honest, best, baselines.len()),
        ]);
    }
    table
}

/// The record with the largest mean.
fn best<'a>(records: impl Iterator<Item = &'a Record>) -> Option<&'a Record> {
    let known = records.filter_map(|record| Some((record, record.test?.mean)));
    known.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(record, _)| record)
}

fn ahead(ours: Option<&Record>, best: Option<&Record>, baselines: usize) -> String {
    let mean = |record: Option<&Record>| record.and_then(|record| record.test).map(|test| test.mean);
    let verdict = match mean(ours).zip(mean(best)) {
        Some((ours, best)) if ours > best => "yes",
        Some(_) => "no",
        None => return NOTHING.to_string(),
    };
    match BASELINES.len() {
        all if baselines < all => format!("{verdict}, of {baselines} of {all}"),
        _ => verdict.to_string(),
    }
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
            "| cora | 85.12 | 85.00 ± 0.71 | 86.00 ± 0.71 | -0.12 | 85.00 ± 0.00 (10 runs) | gcnii 85.00 ± 0.28 (2 runs) | no, of 3 of 6 |"
        );
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
