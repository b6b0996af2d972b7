//! The student of the released code, taught by our teachers, beside our student.

use abyssal_train::experiments::{Experiment, OURS, Protocol, REFERENCE, published};

use crate::Records;
use crate::accuracies::teachers;
use crate::numbers::{accuracy, of_paper, strict};
use crate::table::Table;

/// The depth of both.
const LAYERS: usize = 32;

/// A row a dataset, under the paper's protocol.
pub(crate) fn table(records: &Records) -> Table {
    let mut table = Table::new([
        "dataset",
        "paper",
        "student of the released code",
        "the same, the paper's selection",
        "our student",
        "teachers of both",
    ]);
    for dataset in Experiment::Accuracies.datasets() {
        let find = |label| records.find(Experiment::Accuracies, dataset, Protocol::Paper, label, LAYERS);
        let reference = find(REFERENCE);
        table.push(vec![
            dataset.to_string(),
            of_paper(published(REFERENCE, dataset, LAYERS).as_ref()),
            strict(reference),
            accuracy(reference, |record| record.test_by_paper_rule),
            strict(find(OURS)),
            teachers(reference),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;

    #[test]
    fn both_students_stand_beside_the_papers_number() {
        let records = vec![
            record(Experiment::Accuracies, "texas", Protocol::Paper, REFERENCE, &[0.8; 5]),
            record(Experiment::Accuracies, "texas", Protocol::Paper, OURS, &[0.81; 5]),
            record(Experiment::Accuracies, "cora", Protocol::Honest, REFERENCE, &[0.85; 10]),
        ];
        let text = table(&records.into()).to_string();
        let row = |dataset: &str| text.lines().find(|line| line.starts_with(&format!("| {dataset} |")));
        assert_eq!(
            row("texas"),
            Some("| texas | 85.41 | 80.00 ± 0.00 | 81.00 ± 0.00 | 81.00 ± 0.00 | – |"),
            "{text}"
        );
        assert_eq!(row("cora"), Some("| cora | 85.12 | – | – | – | – |"), "the honest protocol is not shown");
    }
}
