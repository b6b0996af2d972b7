//! Whether a file that is there is the right one.

use std::fs::File;
use std::io;
use std::path::Path;

use super::Check;
use crate::Fingerprint;
use crate::catalogue::{Benchmark, RemoteFile};

/// How a file of a benchmark is found in a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// It is there, and it is the right one.
    Good,
    /// It is not there.
    Missing,
    /// Something else is there.
    Wrong {
        /// What is wrong with it.
        found: String,
    },
    /// It is there, but the system does not let us read it.
    Unreadable {
        /// What the system said.
        reason: String,
    },
}

/// Compares every file of a benchmark with what it must be, fetching nothing.
pub fn verify(
    data_directory: &Path,
    benchmark: &Benchmark,
    check: &Check<'_>,
) -> Vec<(RemoteFile, FileState)> {
    let files = benchmark.files().into_iter();
    files
        .map(|file| {
            let state = state(&file, &data_directory.join(&file.path), check);
            (file, state)
        })
        .collect()
}

/// How a file is found at a path.
pub(super) fn state(file: &RemoteFile, path: &Path, check: &Check<'_>) -> FileState {
    match fault(file, path, check) {
        Ok(None) => FileState::Good,
        Ok(Some(found)) => FileState::Wrong { found },
        Err(error) if error.kind() == io::ErrorKind::NotFound => FileState::Missing,
        Err(error) => FileState::Unreadable { reason: error.to_string() },
    }
}

/// What is wrong with the file at a path; `None` if it is the right one.
pub(super) fn fault(file: &RemoteFile, path: &Path, check: &Check<'_>) -> io::Result<Option<String>> {
    let mut contents = File::open(path)?;
    let length = contents.metadata()?.len();
    if let Some(expected) = file.bytes.filter(|&expected| expected != length) {
        return Ok(Some(format!("it has {length} bytes instead of {expected}")));
    }
    let Some(expected) = file.sha256 else { return Ok(check(file, path).err()) };
    let found = Fingerprint::of_reader(&mut contents)?;
    Ok((found != expected).then(|| format!("its SHA-256 is {found} instead of {expected}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abc() -> RemoteFile {
        RemoteFile {
            path: "example/abc".to_string(),
            addresses: Vec::new(),
            sha256: Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            bytes: Some(3),
        }
    }

    fn state_of(contents: &[u8], file: &RemoteFile, check: &Check<'_>) -> FileState {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let path = directory.path().join("file");
        std::fs::write(&path, contents).expect("the directory is writable");
        state(file, &path, check)
    }

    fn never_asked(_: &RemoteFile, _: &Path) -> Result<(), String> {
        panic!("the sum is known")
    }

    #[test]
    fn a_known_sum_decides() {
        assert_eq!(state_of(b"abc", &abc(), &never_asked), FileState::Good);
        let FileState::Wrong { found } = state_of(b"abd", &abc(), &never_asked) else { panic!("not wrong") };
        assert!(
            found.contains("a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9"),
            "{found}"
        );
        assert!(
            found.contains("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            "{found}"
        );
    }

    #[test]
    fn a_wrong_size_is_told_without_the_sum() {
        let found = "it has 4 bytes instead of 3".to_string();
        assert_eq!(state_of(b"abcd", &abc(), &never_asked), FileState::Wrong { found });
    }

    #[test]
    fn without_a_sum_the_contents_decide() {
        let file = RemoteFile { sha256: None, bytes: None, ..abc() };
        assert_eq!(state_of(b"", &file, &|_, _| Ok(())), FileState::Good);
        let found = "node 7 has another label".to_string();
        assert_eq!(
            state_of(b"", &file, &|_, _| Err(found.clone())),
            FileState::Wrong { found: found.clone() }
        );
    }

    #[test]
    fn a_directory_in_place_of_the_file_is_unreadable() {
        let directory = tempfile::tempdir().unwrap();
        let file = RemoteFile { bytes: None, ..abc() };
        let state = state(&file, directory.path(), &never_asked);
        assert!(matches!(state, FileState::Unreadable { .. }), "{state:?}");
    }

    #[test]
    fn every_file_of_a_benchmark_is_missing_in_an_empty_directory() {
        let directory = tempfile::tempdir().unwrap();
        let cora = Benchmark::named("cora").unwrap();
        let states = verify(directory.path(), cora, &never_asked);
        assert_eq!(states.len(), 18);
        assert!(states.iter().all(|(_, state)| *state == FileState::Missing));
    }
}
