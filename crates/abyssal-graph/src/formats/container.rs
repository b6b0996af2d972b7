//! Abyssal's own file: a whole dataset in one safetensors file. The cache and imported graphs use it.
//!
//! | tensor | type and shape | meaning |
//! | --- | --- | --- |
//! | `edges` | u32, m×2 | source and target of each edge, as listed |
//! | `features` | f32, n×f | dense features, or |
//! | `feature_offsets`, `feature_columns`, `feature_values` | u64, u32, f32 | sparse ones, in CSR |
//! | `labels` | u32, n | label plus one; 0 is unknown |
//! | `split.K.train`, `.validation`, `.test` | u32 | the nodes of the K-th split |
//!
//! Everything else is in the metadata, with the SHA-256 of it and of all tensors.

use std::collections::HashMap;

use abyssal_tensor::{Csr, Matrix};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};

use super::{FormatError, RawDataset};
use crate::{Features, Fingerprint, Split};

/// Raised when the layout changes; files of another version are not read.
pub const VERSION: u32 = 2;
/// The entry of the metadata that holds [`Header`].
const HEADER: &str = "abyssal_dataset";

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    version: u32,
    nodes: usize,
    feature_columns: usize,
    classes: usize,
    class_names: Vec<String>,
    node_names: Vec<String>,
    splits: Vec<String>,
    /// [`checksum`] of the file; empty while it is computed.
    sha256: String,
}

impl Header {
    fn text(&self) -> String {
        serde_json::to_string(self).expect("a header is plain data")
    }
}

/// A tensor on its way into a file.
struct Part {
    name: String,
    kind: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// The file of a dataset.
pub fn write(raw: &RawDataset) -> Vec<u8> {
    sealed(header_of(raw), parts_of(raw))
}

/// The same file with a checksum that fits whatever it says; `None` if it has no header to write one to. Without it,
/// no fuzzer would get past the checksum.
#[doc(hidden)]
pub fn resealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let tensors = SafeTensors::deserialize(bytes).ok()?;
    let (_, metadata) = SafeTensors::read_metadata(bytes).ok()?;
    let header = serde_json::from_str(metadata.metadata().as_ref()?.get(HEADER)?).ok()?;
    let part = |(name, view): (String, TensorView)| Part {
        name,
        kind: view.dtype(),
        shape: view.shape().to_vec(),
        bytes: view.data().to_vec(),
    };
    Some(sealed(header, tensors.tensors().into_iter().map(part).collect()))
}

fn header_of(raw: &RawDataset) -> Header {
    Header {
        version: VERSION,
        nodes: raw.nodes,
        feature_columns: raw.features.columns(),
        classes: raw.classes,
        class_names: raw.class_names.clone(),
        node_names: raw.node_names.clone(),
        splits: raw.splits.iter().map(|split| split.name().to_string()).collect(),
        sha256: String::new(),
    }
}

fn parts_of(raw: &RawDataset) -> Vec<Part> {
    let numbers = |name: &str, values: &[u32]| Part {
        name: name.to_string(),
        kind: Dtype::U32,
        shape: vec![values.len()],
        bytes: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    };
    let floats = |name: &str, shape: Vec<usize>, values: &[f32]| Part {
        name: name.to_string(),
        kind: Dtype::F32,
        shape,
        bytes: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    };
    let ends: Vec<u32> = raw.edges.iter().flat_map(|&(source, target)| [source, target]).collect();
    let labels: Vec<u32> = raw.labels.iter().map(|label| label.map_or(0, |label| label + 1)).collect();
    let mut parts = vec![numbers("labels", &labels)];
    parts.push(Part { shape: vec![raw.edges.len(), 2], ..numbers("edges", &ends) });
    match &raw.features {
        Features::Dense(matrix) => {
            parts.push(floats("features", vec![matrix.rows(), matrix.columns()], matrix.as_slice()));
        }
        Features::Sparse(matrix) => {
            parts.push(Part {
                name: "feature_offsets".to_string(),
                kind: Dtype::U64,
                shape: vec![matrix.offsets().len()],
                bytes: matrix.offsets().iter().flat_map(|&offset| (offset as u64).to_le_bytes()).collect(),
            });
            parts.push(numbers("feature_columns", matrix.indices()));
            parts.push(floats("feature_values", vec![matrix.stored()], matrix.values()));
        }
    }
    for (number, split) in raw.splits.iter().enumerate() {
        let sets = [("train", split.train()), ("validation", split.validation()), ("test", split.test())];
        parts.extend(sets.map(|(set, nodes)| numbers(&format!("split.{number}.{set}"), nodes)));
    }
    parts
}

/// The file of a header and tensors, with their checksum.
fn sealed(mut header: Header, mut parts: Vec<Part>) -> Vec<u8> {
    parts.sort_by(|left, right| left.name.cmp(&right.name));
    header.sha256.clear();
    header.sha256 = checksum(&header, parts.iter().map(|part| part.bytes.as_slice()));
    let views = parts.iter().map(|part| {
        let view = TensorView::new(part.kind, part.shape.clone(), &part.bytes);
        (part.name.as_str(), view.expect("bytes of the shape that is declared"))
    });
    serialize(views, Some(HashMap::from([(HEADER.to_string(), header.text())])))
        .expect("tensors of different names")
}

/// Reads the file of a dataset and checks everything in it.
///
/// # Errors
/// If it is damaged, not such a file, or of another version.
pub fn read(bytes: &[u8]) -> Result<RawDataset, FormatError> {
    let broken = |error: safetensors::SafeTensorError| FormatError::new(error.to_string());
    let tensors = SafeTensors::deserialize(bytes).map_err(broken)?;
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
    let header = metadata.metadata().as_ref().and_then(|entries| entries.get(HEADER));
    let header = header.ok_or_else(|| FormatError::new("this is no dataset of Abyssal"))?;
    let mut header: Header =
        serde_json::from_str(header).map_err(|error| FormatError::new(format!("damaged header: {error}")))?;
    if header.version != VERSION {
        return Err(FormatError::new(format!(
            "the file has version {}, this program reads {VERSION}: import the graph again, with --force",
            header.version
        )));
    }
    let mut names = tensors.names();
    names.sort_unstable();
    let views =
        names.iter().map(|name| tensors.tensor(name)).collect::<Result<Vec<_>, _>>().map_err(broken)?;
    let written = std::mem::take(&mut header.sha256);
    if checksum(&header, views.iter().map(TensorView::data)) != written {
        return Err(FormatError::new("the file is damaged: its checksum does not fit"));
    }
    let numbers = |name: &str| words(&tensors, name, Dtype::U32, u32::from_le_bytes);
    let edges = read_edges(&tensors)?;
    let labels = numbers("labels")?;
    let features = match tensors.tensor("features") {
        Ok(_) => {
            let values = words(&tensors, "features", Dtype::F32, f32::from_le_bytes)?;
            if header.nodes.checked_mul(header.feature_columns) != Some(values.len()) {
                return Err(FormatError::new("the features have another shape than the header says"));
            }
            Features::Dense(Matrix::from_slice(header.nodes, header.feature_columns, &values))
        }
        Err(_) => {
            let offsets: Vec<u64> = words(&tensors, "feature_offsets", Dtype::U64, u64::from_le_bytes)?;
            let offsets = offsets.into_iter().map(|offset| offset as usize).collect();
            let values = words(&tensors, "feature_values", Dtype::F32, f32::from_le_bytes)?;
            let matrix =
                Csr::new(header.nodes, header.feature_columns, offsets, numbers("feature_columns")?, values);
            Features::Sparse(matrix.map_err(|error| FormatError::new(error.to_string()))?)
        }
    };
    let mut splits = Vec::with_capacity(header.splits.len());
    for (number, name) in header.splits.iter().enumerate() {
        let set = |set: &str| numbers(&format!("split.{number}.{set}"));
        let split = Split::new(set("train")?, set("validation")?, set("test")?);
        splits.push(split.map_err(|error| FormatError::new(error.to_string()))?.with_name(name));
    }
    let raw = RawDataset {
        nodes: header.nodes,
        edges,
        features,
        labels: labels.into_iter().map(|label| label.checked_sub(1)).collect(),
        classes: header.classes,
        class_names: header.class_names,
        node_names: header.node_names,
        splits,
    };
    raw.check()?;
    Ok(raw)
}

/// SHA-256 over a header that has none yet, and over tensors in the order of their names.
fn checksum<'a>(header: &Header, parts: impl Iterator<Item = &'a [u8]>) -> String {
    let header = header.text();
    let mut fingerprint = Fingerprint::new();
    fingerprint.number(header.len()).bytes(header.as_bytes());
    for part in parts {
        fingerprint.number(part.len()).bytes(part);
    }
    fingerprint.finish()
}

/// Source and target of each edge, from a tensor of shape m×2.
fn read_edges(tensors: &SafeTensors) -> Result<Vec<(u32, u32)>, FormatError> {
    let ends = words(tensors, "edges", Dtype::U32, u32::from_le_bytes)?;
    let shape = tensors.tensor("edges").map(|view| view.shape().to_vec()).unwrap_or_default();
    let (pairs, rest) = ends.as_chunks::<2>();
    if !rest.is_empty() || shape != [pairs.len(), 2] {
        return Err(FormatError::new(format!("edges has the shape {shape:?}; two columns are expected")));
    }
    Ok(pairs.iter().map(|&[source, target]| (source, target)).collect())
}

fn words<const N: usize, T>(
    tensors: &SafeTensors,
    name: &str,
    kind: Dtype,
    word: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>, FormatError> {
    let view = tensors.tensor(name).map_err(|error| FormatError::new(format!("{name}: {error}")))?;
    if view.dtype() != kind {
        return Err(FormatError::new(format!("{name} has another type than it should")));
    }
    Ok(view.data().as_chunks::<N>().0.iter().map(|bytes| word(*bytes)).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::raw_dataset;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_written_reads_back_the_same(raw in raw_dataset()) {
            prop_assert_eq!(read(&write(&raw)).unwrap(), raw);
        }

        #[test]
        fn no_flipped_bit_changes_the_data(raw in raw_dataset(), place: prop::sample::Index, bit in 0u8..8) {
            let mut bytes = write(&raw);
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
            // Some flips are harmless: one that makes white space of other white space, say.
            if let Ok(read) = read(&bytes) {
                prop_assert_eq!(read, raw);
            }
        }
    }

    fn two_nodes() -> RawDataset {
        RawDataset {
            nodes: 2,
            edges: vec![(0, 1)],
            features: Features::Dense(Matrix::from_rows(&[[1.0, 2.0], [3.0, 4.0]])),
            labels: vec![Some(0), None],
            classes: 2,
            class_names: Vec::new(),
            node_names: Vec::new(),
            splits: Vec::new(),
        }
    }

    #[test]
    fn no_single_bit_of_a_file_can_flip_and_change_the_data() {
        let sparse = Features::Sparse(Csr::from_dense(&Matrix::from_rows(&[[1.0, 0.0], [3.0, 4.0]])));
        let names = |kind: &str| vec![format!("{kind} a"), format!("{kind} b")];
        let named = RawDataset { class_names: names("class"), node_names: names("node"), ..two_nodes() };
        for raw in [two_nodes(), RawDataset { features: sparse, ..two_nodes() }, named] {
            let mut bytes = write(&raw);
            for place in 0..bytes.len() {
                for bit in 0..8 {
                    bytes[place] ^= 1 << bit;
                    if let Ok(read) = read(&bytes) {
                        assert_eq!(read, raw, "bit {bit} of byte {place}");
                    }
                    bytes[place] ^= 1 << bit;
                }
            }
        }
    }

    /// What is said about a file with a header that was changed and summed anew.
    fn refused(raw: &RawDataset, change: impl FnOnce(&mut Header)) -> String {
        let mut header = header_of(raw);
        change(&mut header);
        read(&sealed(header, parts_of(raw))).unwrap_err().to_string()
    }

    #[test]
    fn classes_beyond_all_measure_are_refused() {
        let error = refused(&two_nodes(), |header| header.classes = 10_000_000_000_000);
        assert!(error.contains("10000000000000 classes"), "{error}");
    }

    #[test]
    fn sparse_columns_beyond_all_measure_are_refused() {
        let sparse = Features::Sparse(Csr::from_dense(&Matrix::from_rows(&[[1.0, 0.0], [3.0, 4.0]])));
        let raw = RawDataset { features: sparse, ..two_nodes() };
        let error = refused(&raw, |header| header.feature_columns = 1 << 40);
        assert!(error.contains("1099511627776 columns of features; with 3 entries"), "{error}");
        let error = refused(&raw, |header| header.nodes = usize::MAX);
        assert!(error.contains("offsets"), "{error}");
    }

    #[test]
    fn edges_have_two_columns() {
        let with_edges = |shape: Vec<usize>, ends: &[u32]| {
            let raw = two_nodes();
            let mut parts = parts_of(&raw);
            let edges = parts.iter_mut().find(|part| part.name == "edges").expect("edges");
            (edges.shape, edges.bytes) = (shape, ends.iter().flat_map(|end| end.to_le_bytes()).collect());
            read(&sealed(header_of(&raw), parts))
        };
        assert_eq!(with_edges(vec![2, 2], &[0, 1, 1, 0]).unwrap().edges, [(0, 1), (1, 0)]);
        assert!(with_edges(vec![0, 2], &[]).unwrap().edges.is_empty());
        for (shape, ends) in [(vec![3], &[0, 1, 1][..]), (vec![1, 3], &[0, 1, 1]), (vec![4], &[0, 1, 1, 0])] {
            let error = with_edges(shape.clone(), ends).unwrap_err().to_string();
            assert!(error.contains(&format!("edges has the shape {shape:?}")), "{error}");
        }
    }

    #[test]
    fn a_file_that_was_changed_can_be_sealed_anew() {
        let mut bytes = write(&two_nodes());
        assert_eq!(resealed(&bytes).as_deref(), Some(bytes.as_slice()));
        // The last bytes are those of a label.
        *bytes.last_mut().expect("a file") ^= 1;
        assert!(read(&bytes).unwrap_err().to_string().contains("checksum"));
        let error = read(&resealed(&bytes).expect("a header")).unwrap_err().to_string();
        assert!(error.contains("a label is not below the 2 classes"), "{error}");
        assert_eq!(resealed(b"no such file"), None);
    }

    #[test]
    fn files_of_another_version_say_what_to_do() {
        let mut bytes = write(&two_nodes());
        let field = br#"\"version\":"#;
        let place = bytes.windows(field.len()).position(|bytes| bytes == field).expect("a version");
        bytes[place + field.len()] = b'1';
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains("version 1") && error.contains("import the graph again"), "{error}");
    }

    #[test]
    fn files_cut_short_are_refused() {
        let bytes = write(&two_nodes());
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
    }
}
