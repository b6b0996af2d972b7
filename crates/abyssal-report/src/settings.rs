//! How the student of the default recipe differs from the paper's.

use std::collections::BTreeMap;

use abyssal_train::Config;
use abyssal_train::experiments::{Experiment, Protocol};
use toml::Value;

use crate::table::Table;

/// What is not the student's own: who teaches, how a run is called, and how it is repeated.
const OTHERS: [&str; 4] = ["teacher.", "preset", "seed", "data.split"];

/// A row a setting in which some dataset differs, a column a dataset: `0.6 → 0.1`.
pub(crate) fn table() -> Table {
    let datasets = Experiment::Accuracies.datasets();
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (column, dataset) in datasets.iter().enumerate() {
        let [paper, ours] = ["paper", "abyssal"].map(|preset| student(dataset, preset));
        for (setting, before, after) in paper.changes(&ours) {
            if OTHERS.iter().any(|other| setting.starts_with(other)) {
                continue;
            }
            let row = rows.entry(setting).or_insert_with(|| vec![String::new(); datasets.len()]);
            row[column] = format!("{} → {}", written(before), written(after));
        }
    }
    let mut table =
        Table::new(std::iter::once("setting".to_string()).chain(datasets.iter().map(ToString::to_string)));
    for (setting, cells) in rows {
        table.push(std::iter::once(format!("`{setting}`")).chain(cells).collect());
    }
    table
}

/// A value without the quotes around text.
fn written(value: Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text,
        Some(value) => value.to_string(),
        None => "none".to_string(),
    }
}

/// Our model on a dataset, as a preset has it.
fn student(dataset: &str, preset: &str) -> Config {
    let name = Protocol::Honest.dataset(dataset);
    let settings = [("data.name", name), ("model.name", "r-soft-graph-ain"), ("preset", preset)];
    let settings = settings.map(|(key, value)| (key.to_string(), value.into()));
    Config::resolve(None, &settings).expect("presets fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_the_student_are_told_and_those_of_teachers_are_not() {
        let text = table().to_string();
        let row = |setting: &str| text.lines().find(|line| line.starts_with(&format!("| `{setting}` |")));
        assert!(row("model.strength").unwrap().contains("0.6 → 0.1"), "{text}");
        assert!(row("data.graph").unwrap().ends_with("given → knn:1 |"), "{text}");
        assert!(!text.contains("teacher") && !text.contains("split"), "{text}");
        assert_eq!(row("model.exponent"), None, "the paper's everywhere");
    }
}
