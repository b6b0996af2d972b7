//! All records of a directory of results.

use std::fs;
use std::path::Path;

use abyssal_train::experiments::{Experiment, Protocol, Record};

use crate::ReportError;

/// Records, found by what they are about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records(Vec<Record>);

impl Records {
    /// Reads `EXPERIMENT/*.json` of a directory. An experiment that is not there has no records yet.
    ///
    /// # Errors
    /// If there is no such directory, or a file in it is no record, or is another one than its name says.
    pub fn read(results: &Path) -> Result<Self, ReportError> {
        // A wrong name must not pass for a directory without records: tables would lose their numbers.
        files(results)?;
        let mut records = Vec::new();
        for experiment in Experiment::ALL {
            let directory = results.join(experiment.name());
            if !directory.is_dir() {
                continue;
            }
            for name in files(&directory)?.iter().filter(|name| name.ends_with(".json")) {
                let path = directory.join(name);
                let record = Record::read(&path)?;
                if results.join(record.path()) != path {
                    return Err(ReportError::Misplaced { path, expected: record.path() });
                }
                records.push(record);
            }
        }
        Ok(Self(records))
    }

    /// The record of a cell.
    pub(crate) fn find(
        &self,
        experiment: Experiment,
        dataset: &str,
        protocol: Protocol,
        label: &str,
        layers: usize,
    ) -> Option<&Record> {
        self.0.iter().find(|record| {
            (record.experiment, record.protocol, record.layers) == (experiment, protocol, layers)
                && (record.dataset.as_str(), record.label.as_str()) == (dataset, label)
        })
    }
}

impl From<Vec<Record>> for Records {
    fn from(records: Vec<Record>) -> Self {
        Self(records)
    }
}

/// The names of the files in a directory, in alphabetical order; hidden ones are being written.
fn files(directory: &Path) -> Result<Vec<String>, ReportError> {
    let refuse = |source| ReportError::Directory { path: directory.to_path_buf(), source };
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let names =
        entries.map_err(refuse)?.into_iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{failed, record};

    #[test]
    fn what_was_written_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let written = [
            record(Experiment::Accuracies, "cora", Protocol::Honest, "ours", &[0.1, 0.7]),
            record(Experiment::Accuracies, "cora", Protocol::Paper, "ours", &[0.2]),
            failed(Experiment::Ablation, "cora", Protocol::Honest, "full"),
        ];
        for record in &written {
            record.write(directory.path()).unwrap();
        }
        let records = Records::read(directory.path()).unwrap();
        for record in &written {
            let Record { experiment, dataset, protocol, label, .. } = record;
            assert_eq!(records.find(*experiment, dataset, *protocol, label, 32), Some(record));
            assert_eq!(records.find(*experiment, dataset, *protocol, label, 64), None);
        }
        assert_eq!(records.0.len(), 3);
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Records::read(directory.path()).unwrap(), Records::default());
        let error = Records::read(&directory.path().join("reslts")).unwrap_err().to_string();
        assert!(error.contains("reslts"), "{error}");
    }

    #[test]
    fn files_that_are_damaged_or_misplaced_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let record = record(Experiment::Backbones, "cora", Protocol::Honest, "ours-gat", &[0.1]);
        record.write(directory.path()).unwrap();
        let path = directory.path().join(record.path());
        let copy = path.with_file_name("citeseer-honest-ours-gat-32.json");
        fs::copy(&path, &copy).unwrap();
        let error = Records::read(directory.path()).unwrap_err().to_string();
        assert!(
            error.contains("citeseer-honest") && error.contains("belongs in backbones/cora-honest"),
            "{error}"
        );
        fs::remove_file(copy).unwrap();
        fs::write(&path, "{\"experiment\": \"backbones\"").unwrap();
        let error = Records::read(directory.path()).unwrap_err().to_string();
        assert!(error.contains("cora-honest-ours-gat-32.json"), "{error}");
    }
}
