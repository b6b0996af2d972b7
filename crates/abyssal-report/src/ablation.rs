//! Our method with parts taken away.

use abyssal_train::experiments::{Experiment, Protocol, published};

use crate::Records;
use crate::numbers::{in_brackets, strict};
use crate::table::Table;

/// A row a variant, a column a dataset and depth, with the paper's number in brackets.
pub(crate) fn table(records: &Records) -> Table {
    let experiment = Experiment::Ablation;
    let columns = experiment
        .datasets()
        .iter()
        .flat_map(|dataset| experiment.layers().iter().map(move |&layers| (*dataset, layers)));
    let columns: Vec<(&str, usize)> = columns.collect();
    let titles = columns.iter().map(|(dataset, layers)| format!("{dataset}, {layers}"));
    let mut table = Table::new(std::iter::once("variant".to_string()).chain(titles));
    for label in experiment.labels() {
        let number = |&(dataset, layers): &(&str, usize)| {
            let number = strict(records.find(experiment, dataset, Protocol::Honest, &label, layers));
            in_brackets(number, published(&label, dataset, layers).as_ref())
        };
        let numbers: Vec<String> = columns.iter().map(number).collect();
        table.push(std::iter::once(label.replace('-', " ")).chain(numbers).collect());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;

    #[test]
    fn variants_stand_below_each_other() {
        let experiment = Experiment::Ablation;
        let records = vec![
            record(experiment, "cora", Protocol::Honest, "full", &[0.85; 5]),
            record(experiment, "pubmed", Protocol::Honest, "without-both", &[0.4, 0.5]),
        ];
        let text = table(&records.into()).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("| variant | cora, 32 | cora, 64 | citeseer, 32 |"));
        assert!(lines[2].starts_with("| full | 85.00 ± 0.00 [85.12] | – [84.87] | – [74.42] |"));
        assert!(
            lines[5].contains("| without both | – [40.22]")
                && lines[5].contains("45.00 ± 7.07 (2 runs) [46.28]")
        );
        assert_eq!(lines.len(), 2 + 6);
    }
}
