//! Arrays that make no sense, each refused with file and array.

use abyssal_tensor::Csr;

use crate::arrays::{booleans, floats, integers, npz, scipy, texts};
use crate::read;

/// Two nodes with a feature, an edge, two labels, no masks; `name` gives one file other contents.
fn refused(name: &str, contents: &[u8]) -> String {
    let (features, edges, labels) =
        (floats(&[2, 1], &[1.0, 2.0]), integers(&[1, 2], &[0, 1]), integers(&[2], &[4, 5]));
    let mut files =
        [("features.npy", &features[..]), ("edges.npy", &edges), ("labels.npy", &labels), ("", &[])];
    assert!(read(files).is_ok());
    let stem = |name: &str| name.split('.').next().map(str::to_owned);
    let place = files.iter().position(|(other, _)| stem(other) == stem(name)).unwrap_or(3);
    files[place] = (name, contents);
    read(files).expect_err("a hostile graph").to_string()
}

#[test]
fn features_of_another_shape_are_refused() {
    let expected = "features.npy: an array of shape [2] where one with 2 dimensions is needed";
    assert_eq!(refused("features.npy", &floats(&[2], &[1.0, 2.0])), expected);
    let expected = "features.npy: features of shape 0×3; every node needs at least one number";
    assert_eq!(refused("features.npy", &floats(&[0, 3], &[])), expected);
    let expected = "features.npz, x: an array of shape [2] where one with 2 dimensions is needed";
    assert_eq!(refused("features.npz", &npz(&[("x", floats(&[2], &[1.0, 2.0]))])), expected);
}

#[test]
fn features_that_are_not_finite_are_refused() {
    let expected = "features.npy: the feature in row 1, column 0 is NaN; replace it by a finite number";
    assert_eq!(refused("features.npy", &floats(&[2, 1], &[1.0, f32::NAN])), expected);
    let matrix = Csr::new(2, 1, vec![0, 1, 2], vec![0, 0], vec![1.0, f32::INFINITY]).unwrap();
    assert_eq!(
        refused("features.npz", &scipy(&matrix)),
        expected.replace("NaN", "inf").replace("npy", "npz")
    );
}

#[test]
fn text_for_features_is_refused() {
    let expected = "features.npy: holds text where numbers are needed";
    assert_eq!(refused("features.npy", &texts(&[2, 1], &["a", "b"])), expected);
}

#[test]
fn archives_of_several_arrays_are_refused() {
    let array = floats(&[2, 1], &[1.0, 2.0]);
    let expected = "features.npz: the archive has 2 arrays (x, y); it needs one with two dimensions, or a matrix saved \
                    by scipy.sparse.save_npz";
    assert_eq!(refused("features.npz", &npz(&[("x", array.clone()), ("y", array)])), expected);
}

#[test]
fn edges_of_another_shape_or_to_nowhere_are_refused() {
    let expected = "edges.npy: an array of shape [3, 1] where m×2 or 2×m is needed";
    assert_eq!(refused("edges.npy", &integers(&[3, 1], &[0, 1, 0])), expected);
    for (value, edge) in [(2, 1), (-1, 1), (i64::MAX, 1)] {
        let expected = format!(
            "edges.npy: edge {edge}: `{value}` is no node; the features have no ids, so nodes are numbered 0 to 1"
        );
        assert_eq!(refused("edges.npy", &integers(&[2, 2], &[0, 1, 1, value])), expected);
    }
    let expected = "edges.npy: element 1 is 0.5, where an integer is needed";
    assert_eq!(refused("edges.npy", &floats(&[1, 2], &[0.0, 0.5])), expected);
}

#[test]
fn adjacency_matrices_with_weights_or_of_another_size_are_refused() {
    let matrix = Csr::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![1.0, 0.5]).unwrap();
    let expected =
        "edges.npz: 0.5 in row 1, column 0, but weights of edges are not supported; make every entry 1";
    assert_eq!(refused("edges.npz", &scipy(&matrix)), expected);
    let matrix = Csr::new(2, 3, vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0]).unwrap();
    assert_eq!(
        refused("edges.npz", &scipy(&matrix)),
        "edges.npz: a matrix of 2×3 where the features have 2 rows"
    );
}

#[test]
fn labels_of_the_wrong_size_are_refused() {
    let expected =
        "labels.npy: 3 labels for 2 nodes; give every node one, or `?`, or use two columns, id and label";
    assert_eq!(refused("labels.npy", &integers(&[3], &[1, 2, 3])), expected);
    let expected = "labels.npz, y: an array of shape [2, 1] where one with 1 dimensions is needed";
    assert_eq!(refused("labels.npz", &npz(&[("y", integers(&[2, 1], &[1, 2]))])), expected);
}

#[test]
fn masks_that_are_none_are_refused() {
    let expected =
        "masks.npy: one array cannot hold three masks; give an npz with train_mask, val_mask and test_mask";
    assert_eq!(refused("masks.npy", &booleans(&[true, false])), expected);
    let expected = "masks.npz: the archive needs train_mask, val_mask and test_mask; it has x";
    assert_eq!(refused("masks.npz", &npz(&[("x", booleans(&[true, false]))])), expected);
    let mask = |node: usize| booleans(&[0, 1, 2].map(|other| other == node));
    let expected = "masks.npz: masks of 3 entries for 2 nodes; each node needs one";
    let masks = npz(&[("train_mask", mask(0)), ("val_mask", mask(1)), ("test_mask", mask(2))]);
    assert_eq!(refused("masks.npz", &masks), expected);
}

#[test]
fn files_cut_short_are_refused() {
    let whole = floats(&[2, 1], &[1.0, 2.0]);
    let archive = npz(&[("x", whole.clone())]);
    for (name, whole) in [("features.npy", whole), ("features.npz", archive)] {
        for length in 0..whole.len() {
            let error = refused(name, &whole[..length]);
            assert!(error.starts_with(name), "{error}");
        }
    }
}
