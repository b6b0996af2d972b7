//! What can go wrong with a file of a benchmark.

use std::fmt;
use std::path::PathBuf;

/// A file that could not be fetched, or another file in its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// A file is there, but it is not the one that belongs there.
    #[error(
        "{} is not the file that belongs there: {found}; remove it, or have it replaced with --force",
        path.display()
    )]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
    },
    /// No address gave the file.
    #[error("cannot fetch {path}{}\n{}", list(failures), manual_steps(home.as_deref(), target))]
    Failed {
        /// The file, relative to the data directory.
        path: String,
        /// Where it belongs.
        target: PathBuf,
        /// The first address of its home, mirror or not.
        home: Option<String>,
        /// Each address that was tried, and why it failed.
        failures: Vec<AddressFailure>,
    },
}

/// An address, and why it did not give the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressFailure {
    /// The address.
    pub address: String,
    /// Why the last attempt failed.
    pub reason: String,
}

impl fmt::Display for AddressFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.address, self.reason)
    }
}

/// One line for each address.
fn list(failures: &[AddressFailure]) -> String {
    failures.iter().map(|failure| format!("\n  {failure}")).collect()
}

/// What a person can do.
fn manual_steps(home: Option<&str>, target: &std::path::Path) -> String {
    format!(
        "download {} with a browser and put it at {}, or name a mirror in ABYSSAL_MIRROR, or a directory that has \
         the files with --data-dir",
        home.unwrap_or("the file"),
        target.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_lists_every_address_and_what_to_do() {
        let failure = |address: &str, reason: &str| AddressFailure {
            address: address.to_string(),
            reason: reason.to_string(),
        };
        let error = FetchError::Failed {
            path: "cora/ind.cora.x".to_string(),
            target: PathBuf::from("/data/cora/ind.cora.x"),
            home: Some("https://one.example/x".to_string()),
            failures: vec![
                failure("https://one.example/x", "status 404 (Not Found)"),
                failure("https://two.example/x", "nothing arrived for 30s (5 attempts)"),
            ],
        };
        let expected = "cannot fetch cora/ind.cora.x
  https://one.example/x: status 404 (Not Found)
  https://two.example/x: nothing arrived for 30s (5 attempts)
download https://one.example/x with a browser and put it at /data/cora/ind.cora.x, or name a mirror in \
                        ABYSSAL_MIRROR, or a directory that has the files with --data-dir";
        assert_eq!(error.to_string(), expected);
    }
}
