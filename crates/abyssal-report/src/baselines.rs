//! Ours and the baselines side by side, under the honest protocol.

use abyssal_train::experiments::{BASELINES, Experiment, OURS, Protocol};

use crate::Records;
use crate::numbers::strict;
use crate::table::Table;

/// A row a dataset, a column a model.
pub(crate) fn table(records: &Records, layers: usize) -> Table {
    let labels: Vec<&str> = std::iter::once(OURS).chain(BASELINES).collect();
    let mut table = Table::new(std::iter::once("dataset").chain(labels.iter().copied()));
    for dataset in Experiment::Accuracies.datasets() {
        let find = |label| records.find(Experiment::Accuracies, dataset, Protocol::Honest, label, layers);
        let numbers = labels.iter().map(|label| strict(find(label)));
        table.push(std::iter::once(dataset.to_string()).chain(numbers).collect());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{failed, record};

    #[test]
    fn runs_are_told_where_they_are_not_those_of_the_protocol() {
        let records = vec![
            record(Experiment::Accuracies, "cora", Protocol::Honest, "ours", &[0.85; 10]),
            record(Experiment::Accuracies, "cora", Protocol::Honest, "gcn", &[0.3; 3]),
            record(Experiment::Accuracies, "cora", Protocol::Paper, "gcnii", &[0.85; 5]),
            failed(Experiment::Accuracies, "cora", Protocol::Honest, "bernnet"),
        ];
        let text = table(&records.into(), 32).to_string();
        assert!(text.starts_with(
            "| dataset | ours | gcn | gcnii | appnp | dagnn | gprgnn | bernnet |\n| --- | ---: |"
        ));
        let row = "| cora | 85.00 ± 0.00 | 30.00 ± 0.00 (3 runs) | – | – | – | – | failed |";
        assert_eq!(text.lines().nth(2), Some(row));
    }
}
