//! The one-file layout of the Coauthor and Amazon datasets (Shchur et al. 2018, *Pitfalls of Graph Neural Network
//! Evaluation*).
//!
//! An npz archive with
//! - `adj_data`, `adj_indices`, `adj_indptr`, `adj_shape`: the adjacency matrix in compressed-sparse-row form;
//! - `attr_data`, `attr_indices`, `attr_indptr`, `attr_shape`: the features in the same form, or a dense
//!   `attr_matrix`;
//! - `labels`: the class of each node, -1 where it is unknown;
//! - if wanted, `class_names` and `node_names`, and a split in `train_mask`, `val_mask` and `test_mask`.
//!
//! Some files write `adj_matrix.` and `attr_matrix.` instead of `adj_` and `attr_`.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use abyssal_tensor::Matrix;

use super::limits::{LARGEST_CLASS, check_classes, check_columns};
use super::npy::{Array, HOLDS_OBJECTS};
use super::npz::{Npz, masks};
use super::{FormatError, RawDataset, sparse};
use crate::{Features, GraphError};

/// Reads a dataset from a file.
///
/// # Errors
/// If the file cannot be read, or as for [`parse`].
pub fn read(path: &Path) -> Result<RawDataset, GraphError> {
    let file = File::open(path).map_err(GraphError::io("read", path))?;
    let dataset = Npz::open(BufReader::new(file)).and_then(|mut npz| parse(&mut npz));
    dataset.map_err(|error| error.in_file(path))
}

/// Reads a dataset from an archive. Every stored entry of the adjacency matrix is an edge from its row to its column.
///
/// # Errors
/// If an array is missing or damaged, or the arrays do not fit together.
pub fn parse<R: Read + Seek>(npz: &mut Npz<R>) -> Result<RawDataset, FormatError> {
    let adjacency = sparse::pattern(npz, prefix(npz, "adj_", "adj_matrix."))?;
    let nodes = adjacency.rows;
    if adjacency.columns != nodes {
        let reason = format!(
            "an adjacency matrix of {nodes} rows and {} columns; it has to be square",
            adjacency.columns
        );
        return Err(FormatError::new(reason));
    }
    let features = read_features(npz)?;
    if features.rows() != nodes {
        let reason =
            format!("{} rows of features for {nodes} nodes; give every node one row", features.rows());
        return Err(FormatError::new(reason));
    }
    let labels = read_labels(npz, nodes)?;
    let class_names = read_names(npz, "class_names")?;
    let labelled = labels.iter().flatten().max().map_or(0, |&label| label as usize + 1);
    check_classes(class_names.len()).map_err(|error| error.in_member("class_names"))?;
    if !class_names.is_empty() && class_names.len() < labelled {
        let reason = format!("holds {} names, but labels run to {}", class_names.len(), labelled - 1);
        return Err(FormatError::new(reason).in_member("class_names"));
    }
    let node_names = read_names(npz, "node_names")?;
    if !node_names.is_empty() && node_names.len() != nodes {
        let reason = format!("holds {} names for {nodes} nodes", node_names.len());
        return Err(FormatError::new(reason).in_member("node_names"));
    }
    let split = masks(npz)?;
    if let Some((masked, _)) = split.as_ref().filter(|(masked, _)| *masked != nodes) {
        return Err(FormatError::new(format!("the masks cover {masked} nodes where there are {nodes}")));
    }
    Ok(RawDataset {
        nodes,
        edges: adjacency.entries,
        features,
        labels,
        classes: labelled.max(class_names.len()),
        class_names,
        node_names,
        splits: split.into_iter().map(|(_, split)| split).collect(),
    })
}

/// The longer prefix where the archive uses it.
fn prefix<R: Read + Seek>(npz: &Npz<R>, short: &'static str, long: &'static str) -> &'static str {
    if npz.names().any(|name| name.starts_with(long)) { long } else { short }
}

fn read_features<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Features, FormatError> {
    const DENSE: &str = "attr_matrix";
    if !npz.contains(DENSE) {
        let prefix = prefix(npz, "attr_", "attr_matrix.");
        let matrix = sparse::csr(npz, prefix)?;
        check_columns(matrix.columns(), matrix.stored())
            .map_err(|error| error.in_member(&format!("{prefix}shape")))?;
        return Ok(Features::Sparse(matrix));
    }
    let array = npz.array(DENSE)?;
    let in_member = |error: FormatError| error.in_member(DENSE);
    let shape = array.dimensions(2).map_err(in_member)?;
    let (rows, columns) = (shape[0], shape[1]);
    Ok(Features::Dense(Matrix::from_slice(rows, columns, &array.into_floats().map_err(in_member)?)))
}

fn read_labels<R: Read + Seek>(npz: &mut Npz<R>, nodes: usize) -> Result<Vec<Option<u32>>, FormatError> {
    const LABELS: &str = "labels";
    let labels = npz.vector(LABELS, Array::into_integers)?;
    let wrong = |reason: String| FormatError::new(reason).in_member(LABELS);
    if labels.len() != nodes {
        let labels = labels.len();
        return Err(wrong(format!("holds {labels} labels for {nodes} nodes; give every node one, or -1")));
    }
    let convert = |(node, &label): (usize, &i64)| match u32::try_from(label) {
        _ if label == -1 => Ok(None),
        // A single wild label must not decide how many classes there are.
        Ok(label) if label <= LARGEST_CLASS => Ok(Some(label)),
        _ => Err(wrong(format!(
            "node {node} has label {label}; number the classes from 0 to at most {LARGEST_CLASS}, and write -1 where \
             it is unknown"
        ))),
    };
    labels.iter().enumerate().map(convert).collect()
}

/// Names are a courtesy: the original files hold some as Python objects, and do without them just as well.
fn read_names<R: Read + Seek>(npz: &mut Npz<R>, name: &str) -> Result<Vec<String>, FormatError> {
    if !npz.contains(name) {
        return Ok(Vec::new());
    }
    match npz.vector(name, Array::into_text) {
        Err(error) if error.reason == HOLDS_OBJECTS => Ok(Vec::new()),
        names => names,
    }
}

#[cfg(test)]
mod tests {
    use abyssal_tensor::Csr;

    use super::*;
    use crate::formats::npy::tests::{floats, integers, npy};
    use crate::formats::npz::tests::{archive, npz};

    type Arrays = Vec<(&'static str, Vec<u8>)>;

    /// Three nodes, the last one without a label, edges (0, 1), (1, 0) and (2, 2), features 1, 2 and 3.
    fn arrays() -> Arrays {
        vec![
            ("adj_data", floats(&[1.0; 3])),
            ("adj_indices", integers(&[1, 0, 2])),
            ("adj_indptr", integers(&[0, 1, 2, 3])),
            ("adj_shape", integers(&[3, 3])),
            ("attr_data", floats(&[1.0, 2.0, 3.0])),
            ("attr_indices", integers(&[0, 1, 0])),
            ("attr_indptr", integers(&[0, 1, 2, 3])),
            ("attr_shape", integers(&[3, 2])),
            ("labels", integers(&[1, 0, -1])),
        ]
    }

    fn expected() -> RawDataset {
        let features = Matrix::from_rows(&[[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]);
        RawDataset {
            nodes: 3,
            edges: vec![(0, 1), (1, 0), (2, 2)],
            features: Features::Sparse(Csr::from_dense(&features)),
            labels: vec![Some(1), Some(0), None],
            classes: 2,
            class_names: vec![],
            node_names: vec![],
            splits: vec![],
        }
    }

    fn with(name: &'static str, bytes: Vec<u8>) -> Result<RawDataset, FormatError> {
        let mut arrays = arrays();
        arrays.retain(|(other, _)| *other != name);
        arrays.push((name, bytes));
        parse(&mut npz(&arrays))
    }

    fn text(values: &[&str]) -> Vec<u8> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| format!("{value:\0<4}").into_bytes()).collect();
        npy("|S4", false, &[values.len()], &bytes)
    }

    #[test]
    fn a_dataset_is_read_under_either_prefix() {
        assert_eq!(parse(&mut npz(&arrays())).unwrap(), expected());
        let names = [
            "adj_matrix.data",
            "adj_matrix.indices",
            "adj_matrix.indptr",
            "adj_matrix.shape",
            "attr_matrix.data",
            "attr_matrix.indices",
            "attr_matrix.indptr",
            "attr_matrix.shape",
            "labels",
        ];
        let renamed: Arrays =
            arrays().into_iter().zip(names).map(|((_, bytes), name)| (name, bytes)).collect();
        assert_eq!(parse(&mut npz(&renamed)).unwrap(), expected());
    }

    #[test]
    fn features_may_be_dense() {
        let mut arrays = arrays();
        arrays.retain(|(name, _)| !name.starts_with("attr"));
        let mut with = |shape: &[usize], bytes: &[u8]| {
            arrays.retain(|(name, _)| *name != "attr_matrix");
            arrays.push(("attr_matrix", npy("|u1", true, shape, bytes)));
            parse(&mut npz(&arrays))
        };
        let features = Matrix::from_rows(&[[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]);
        assert_eq!(with(&[3, 2], &[1, 0, 3, 0, 2, 0]).unwrap().features, Features::Dense(features));
        assert!(with(&[2, 3], &[0; 6]).unwrap_err().reason.starts_with("2 rows of features for 3 nodes"));
        assert_eq!(
            with(&[6], &[0; 6]).unwrap_err().to_string(),
            "an array of shape [6] where one with 2 dimensions is needed, attr_matrix"
        );
    }

    #[test]
    fn names_and_masks_come_along() {
        let mut arrays = arrays();
        arrays.push(("class_names", text(&["cat", "dog", "cow"])));
        arrays.push(("node_names", text(&["a", "b", "c"])));
        for (name, bits) in [("train_mask", [1, 0, 0]), ("val_mask", [0, 1, 0]), ("test_mask", [0, 0, 1])] {
            arrays.push((name, npy("|b1", false, &[3], &bits)));
        }
        let dataset = parse(&mut npz(&arrays)).unwrap();
        assert_eq!(dataset.classes, 3);
        assert_eq!(dataset.class_names, ["cat", "dog", "cow"]);
        assert_eq!(dataset.node_names, ["a", "b", "c"]);
        assert_eq!(dataset.splits, [crate::Split::new(vec![0], vec![1], vec![2]).unwrap()]);
    }

    #[test]
    fn names_that_are_objects_are_left_out() {
        for name in ["class_names", "node_names"] {
            assert_eq!(with(name, npy("|O", false, &[2], b"\x80\x04]\x94.")).unwrap(), expected());
        }
    }

    #[test]
    fn a_missing_array_is_named() {
        let mut arrays = arrays();
        arrays.retain(|(name, _)| !name.starts_with("attr") && *name != "labels");
        let error = parse(&mut npz(&arrays)).unwrap_err();
        let there = "adj_data, adj_indices, adj_indptr, adj_shape";
        assert_eq!(error.reason, format!("the archive has no array `attr_shape`, but {there}"));
    }

    #[test]
    fn arrays_that_do_not_fit_together_are_refused() {
        let error = |name, bytes| with(name, bytes).unwrap_err().to_string();
        let expected = "an adjacency matrix of 3 rows and 4 columns; it has to be square";
        assert_eq!(error("adj_shape", integers(&[3, 4])), expected);
        let expected = "holds 2 labels for 3 nodes; give every node one, or -1, labels";
        assert_eq!(error("labels", integers(&[0, 1])), expected);
        assert_eq!(error("class_names", text(&["cat"])), "holds 1 names, but labels run to 1, class_names");
        assert_eq!(error("node_names", text(&["a"])), "holds 1 names for 3 nodes, node_names");
    }

    #[test]
    fn wild_labels_are_refused() {
        for label in [-2, i32::MAX] {
            let error = with("labels", integers(&[0, label, 1])).unwrap_err().to_string();
            assert!(error.starts_with(&format!("node 1 has label {label}; number the classes")), "{error}");
        }
        let error = with("labels", floats(&[0.0, 0.5, 1.0])).unwrap_err().to_string();
        assert_eq!(error, "element 1 is 0.5, where an integer is needed, labels");
    }

    #[test]
    fn masks_of_another_length_are_refused() {
        let mut arrays = arrays();
        for (name, bits) in
            [("train_mask", [1, 0, 0, 0]), ("val_mask", [0, 1, 0, 0]), ("test_mask", [0, 0, 1, 0])]
        {
            arrays.push((name, npy("|b1", false, &[4], &bits)));
        }
        let error = parse(&mut npz(&arrays)).unwrap_err();
        assert_eq!(error.reason, "the masks cover 4 nodes where there are 3");
    }

    #[test]
    fn errors_name_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("graph.npz");
        let missing = read(&path).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read ") && missing.contains("graph.npz"), "{missing}");
        std::fs::write(&path, archive(&[("labels.npy", integers(&[0]))])).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.ends_with("graph.npz: the archive has no array `adj_shape`, but labels"), "{error}");
        std::fs::write(&path, "<!DOCTYPE html>").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.ends_with("graph.npz: this is an HTML page, not data; download it again"), "{error}");
    }
}
