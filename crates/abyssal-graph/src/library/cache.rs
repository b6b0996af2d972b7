//! Parsed copies of datasets, so that text and archives are read once.
//!
//! A copy is found by the contents of the files it was made from, so it can be out of date in no way: other contents,
//! another version of this program or of the file format give another name. Copies appear whole or not at all;
//! processes that make one at once write the same bytes.

use std::fs;
use std::path::Path;

use crate::formats::{RawDataset, container};
use crate::{Fingerprint, GraphError, write_atomically};

/// The name of the copy made from files, each with its path in the data directory and its SHA-256.
pub(super) fn key(dataset: &str, files: &[(String, String)]) -> String {
    let mut fingerprint = Fingerprint::new();
    let text = |fingerprint: &mut Fingerprint, text: &str| {
        fingerprint.number(text.len()).bytes(text.as_bytes());
    };
    // There may be copies from before contents were verified.
    text(&mut fingerprint, "verified");
    text(&mut fingerprint, env!("CARGO_PKG_VERSION"));
    fingerprint.number(container::VERSION as usize);
    text(&mut fingerprint, dataset);
    for (name, sum) in files {
        text(&mut fingerprint, name);
        text(&mut fingerprint, sum);
    }
    fingerprint.finish()
}

/// The copy of that name, or what `parse` gives, of which a copy is kept.
pub(super) fn get_or_parse(
    directory: Option<&Path>,
    key: &str,
    parse: impl FnOnce() -> Result<RawDataset, GraphError>,
) -> Result<RawDataset, GraphError> {
    let Some(directory) = directory else { return parse() };
    let path = directory.join(format!("{key}.safetensors"));
    // A damaged copy is as good as none.
    if let Some(raw) = fs::read(&path).ok().and_then(|bytes| container::read(&bytes).ok()) {
        return Ok(raw);
    }
    let raw = parse()?;
    // A cache that cannot be written (a full or read-only disk) costs time, not results.
    let _ = fs::create_dir_all(directory)
        .is_ok_and(|()| write_atomically(&path, &container::write(&raw)).is_ok());
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use abyssal_tensor::Matrix;

    use super::*;
    use crate::Features;

    fn raw() -> RawDataset {
        RawDataset {
            nodes: 2,
            edges: vec![(0, 1)],
            features: Features::Dense(Matrix::from_rows(&[[1.0], [2.0]])),
            labels: vec![Some(0), Some(1)],
            classes: 2,
            class_names: Vec::new(),
            node_names: Vec::new(),
            splits: Vec::new(),
        }
    }

    #[test]
    fn files_are_parsed_once_and_again_when_the_copy_is_damaged() {
        let directory = tempfile::tempdir().unwrap();
        let parsed = Cell::new(0);
        let get = || {
            get_or_parse(Some(directory.path()), "key", || {
                parsed.set(parsed.get() + 1);
                Ok(raw())
            })
            .unwrap()
        };
        assert_eq!((get(), get()), (raw(), raw()));
        assert_eq!(parsed.get(), 1);
        let copy = directory.path().join("key.safetensors");
        let mut bytes = fs::read(&copy).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&copy, bytes).unwrap();
        assert_eq!(get(), raw());
        assert_eq!(parsed.get(), 2);
        assert_eq!(get(), raw());
        assert_eq!(parsed.get(), 2);
    }

    #[test]
    fn a_cache_that_cannot_be_written_does_no_harm() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "no directory").unwrap();
        assert_eq!(get_or_parse(Some(&file.join("cache")), "key", || Ok(raw())).unwrap(), raw());
    }

    #[test]
    fn contents_and_names_decide_the_key() {
        let of = |dataset, name: &str, sum: &str| key(dataset, &[(name.to_string(), sum.to_string())]);
        let base = of("texas", "edges", "ab12");
        assert_eq!(of("texas", "edges", "ab12"), base);
        assert_ne!(of("texas", "edges", "ab13"), base);
        assert_ne!(of("texas", "nodes", "ab12"), base);
        assert_ne!(of("cornell", "edges", "ab12"), base);
    }
}
