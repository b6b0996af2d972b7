//! Our method on other aggregations.

use abyssal_train::experiments::{Experiment, Protocol, published};

use crate::Records;
use crate::numbers::{in_brackets, strict};
use crate::table::Table;

/// A row a dataset and depth; a column a backbone and protocol, with the paper's number in brackets beside its protocol.
pub(crate) fn table(records: &Records) -> Table {
    let labels = Experiment::Backbones.labels();
    let columns = labels.iter().flat_map(|label| Protocol::ALL.map(|protocol| (label.as_str(), protocol)));
    let columns: Vec<(&str, Protocol)> = columns.collect();
    let titles = columns.iter().map(|(label, protocol)| match protocol {
        Protocol::Paper => format!("{label}, paper's protocol [paper]"),
        Protocol::Honest => format!("{label}, honest protocol"),
    });
    let mut table = Table::new(["dataset".to_string(), "layers".to_string()].into_iter().chain(titles));
    for dataset in Experiment::Backbones.datasets() {
        for layers in [32, 64] {
            let number = |&(label, protocol): &(&str, Protocol)| {
                let number = strict(records.find(Experiment::Backbones, dataset, protocol, label, layers));
                let paper = published(label, dataset, layers).filter(|_| protocol == Protocol::Paper);
                in_brackets(number, paper.as_ref())
            };
            let names = [dataset.to_string(), layers.to_string()];
            table.push(names.into_iter().chain(columns.iter().map(number)).collect());
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;

    #[test]
    fn the_papers_number_is_beside_its_protocol() {
        let records = vec![
            record(Experiment::Backbones, "cora", Protocol::Paper, "ours-gat", &[0.84; 5]),
            record(Experiment::Backbones, "cora", Protocol::Honest, "ours-gin", &[0.83; 10]),
        ];
        let text = table(&records.into()).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "| cora | 32 | 84.00 ± 0.00 [84.60] | – | – [84.18] | 83.00 ± 0.00 |");
        assert_eq!(lines[3], "| cora | 64 | – [84.68] | – | – [83.80] | – |");
        assert_eq!(lines.len(), 2 + 14);
    }
}
