use std::io::Cursor;

use abyssal_tensor::Matrix;

use super::*;
use crate::formats::npy::tests::{floats, integers, npy};
use crate::formats::npz::tests::npz;

type Arrays = Vec<(&'static str, Vec<u8>)>;

/// Two rows of three columns: `[[0, 5, 1], [0, 0, 2]]`, the first row not in order.
fn matrix() -> Arrays {
    vec![
        ("data", floats(&[1.0, 5.0, 2.0])),
        ("indices", integers(&[2, 1, 2])),
        ("indptr", integers(&[0, 2, 3])),
        ("shape", integers(&[2, 3])),
    ]
}

fn replaced(name: &str, bytes: Vec<u8>) -> Arrays {
    let mut arrays = matrix();
    arrays.iter_mut().filter(|(other, _)| *other == name).for_each(|(_, old)| *old = bytes.clone());
    arrays
}

/// What is wrong with the matrix, and where, if one of its arrays is another one.
fn error(name: &str, bytes: Vec<u8>) -> String {
    csr(&mut npz(&replaced(name, bytes)), "").expect_err("the matrix is wrong").to_string()
}

fn scipy(format: &str, arrays: &[(&'static str, Vec<u8>)]) -> Npz<Cursor<Vec<u8>>> {
    let mut arrays = arrays.to_vec();
    arrays.push(("format", npy("|S3", false, &[], format.as_bytes())));
    npz(&arrays)
}

fn expected() -> Csr<f32> {
    Csr::from_dense(&Matrix::from_rows(&[[0.0, 5.0, 1.0], [0.0, 0.0, 2.0]]))
}

#[test]
fn columns_are_sorted_and_entries_at_one_place_added() {
    assert_eq!(csr(&mut npz(&matrix()), "").unwrap(), expected());
    let matrix = csr(&mut npz(&replaced("indices", integers(&[1, 1, 1]))), "").unwrap();
    assert_eq!(matrix.to_dense(), Matrix::from_rows(&[[0.0, 6.0, 0.0], [0.0, 2.0, 0.0]]));
    assert_eq!(matrix.stored(), 2);
}

#[test]
fn a_pattern_keeps_the_order_of_the_file() {
    let mut arrays = npz(&matrix()
        .into_iter()
        .map(|(name, bytes)| match name {
            "data" => ("adj_data", bytes),
            "indices" => ("adj_indices", bytes),
            "indptr" => ("adj_indptr", bytes),
            _ => ("adj_shape", bytes),
        })
        .collect::<Vec<_>>());
    let pattern = pattern(&mut arrays, "adj_").unwrap();
    assert_eq!(pattern, Pattern { rows: 2, columns: 3, entries: vec![(0, 2), (0, 1), (1, 2)] });
}

#[test]
fn an_index_out_of_range_is_refused() {
    let expected = "row 1 has an entry at 3; with a width of 3, indices run from 0 to one less, indices";
    assert_eq!(error("indices", integers(&[2, 1, 3])), expected);
}

#[test]
fn a_negative_index_is_refused() {
    let expected = "row 0 has an entry at -1; with a width of 3, indices run from 0 to one less, indices";
    assert_eq!(error("indices", integers(&[2, -1, 2])), expected);
}

#[test]
fn an_indptr_that_falls_is_refused() {
    assert_eq!(
        error("indptr", integers(&[0, 4, 3])),
        "row 1 begins at 4 and ends at 3; it must not fall, indptr"
    );
}

#[test]
fn an_indptr_that_does_not_end_at_the_number_of_entries_is_refused() {
    assert_eq!(error("indptr", integers(&[0, 2, 2])), "has 3 elements, where indptr tells of 2, indices");
    assert_eq!(error("indptr", integers(&[0, 2, 4])), "has 3 elements, where indptr tells of 4, indices");
}

#[test]
fn an_indptr_that_does_not_begin_at_0_is_refused() {
    assert_eq!(error("indptr", integers(&[1, 2, 3])), "begins with 1; it has to begin with 0, indptr");
    assert_eq!(error("indptr", integers(&[-1, 2, 3])), "begins with -1; it has to begin with 0, indptr");
}

#[test]
fn an_indptr_of_another_length_is_refused() {
    assert_eq!(error("indptr", integers(&[0, 3])), "has 2 elements; 2 rows need 3, indptr");
    assert_eq!(error("indptr", integers(&[])), "has 0 elements; 2 rows need 3, indptr");
}

#[test]
fn arrays_of_different_length_are_refused() {
    assert_eq!(error("indices", integers(&[1])), "has 1 elements, where indptr tells of 3, indices");
    assert_eq!(error("data", floats(&[1.0])), "has 1 elements, where indptr tells of 3, data");
}

#[test]
fn a_shape_that_is_none_is_refused() {
    for shape in [&[2][..], &[2, 3, 4], &[-2, 3], &[]] {
        let error = error("shape", integers(shape));
        assert!(error.contains("where the numbers of rows and columns are needed"), "{error}");
    }
    let error = error("shape", npy("<i8", false, &[2], &[0xff; 16]));
    assert!(error.starts_with("is [-1, -1], where"), "{error}");
}

#[test]
fn columns_beyond_all_measure_are_refused() {
    for columns in [i32::MAX, 10_000_000, (1 << 20) + 4] {
        let error = error("shape", integers(&[2, columns]));
        assert!(error.starts_with(&format!("tells of {columns} rows or columns for 3 entries")), "{error}");
    }
}

#[test]
fn features_of_hashed_words_may_be_wide() {
    let wide = csr(&mut npz(&replaced("shape", integers(&[2, 1 << 20]))), "").unwrap();
    assert_eq!(wide.columns(), 1 << 20);
}

#[test]
fn rows_beyond_all_measure_are_refused() {
    // Rows without an `indptr` in the file would take memory all the same.
    let shape = integers(&[i32::MAX, 3]);
    let arrays = [
        ("data", floats(&[1.0])),
        ("row", integers(&[0])),
        ("col", integers(&[0])),
        ("shape", shape.clone()),
    ];
    assert!(
        read_scipy(&mut scipy("coo", &arrays)).unwrap_err().reason.starts_with("tells of 2147483647 rows")
    );
    let arrays = [
        ("data", floats(&[1.0])),
        ("indices", integers(&[0])),
        ("indptr", integers(&[0, 1, 1, 1])),
        ("shape", shape),
    ];
    assert!(
        read_scipy(&mut scipy("csc", &arrays)).unwrap_err().reason.starts_with("tells of 2147483647 rows")
    );
}

#[test]
fn scipys_formats_are_one_matrix() {
    assert_eq!(read_scipy(&mut scipy("csr", &matrix())).unwrap(), expected());
    let columns = [
        ("data", floats(&[5.0, 1.0, 2.0])),
        ("indices", integers(&[0, 0, 1])),
        ("indptr", integers(&[0, 0, 1, 3])),
        ("shape", integers(&[2, 3])),
    ];
    assert_eq!(read_scipy(&mut scipy("csc", &columns)).unwrap(), expected());
    let entries = [
        ("data", floats(&[1.5, 5.0, 0.5, 1.0])),
        ("row", integers(&[1, 0, 1, 0])),
        ("col", integers(&[2, 1, 2, 2])),
        ("shape", integers(&[2, 3])),
    ];
    assert_eq!(read_scipy(&mut scipy("coo", &entries)).unwrap(), expected());
}

#[test]
fn entries_outside_of_the_matrix_are_refused() {
    let with = |row: &[i32], column: &[i32]| {
        let arrays = [
            ("data", floats(&[1.0, 2.0])),
            ("row", integers(row)),
            ("col", integers(column)),
            ("shape", integers(&[2, 3])),
        ];
        read_scipy(&mut scipy("coo", &arrays)).expect_err("the matrix is wrong").to_string()
    };
    assert_eq!(with(&[0, 2], &[0, 0]), "entry 1 is 2; with 2 of them, they run from 0 to one less, row");
    assert_eq!(with(&[0, 1], &[-1, 0]), "entry 0 is -1; with 3 of them, they run from 0 to one less, col");
    assert_eq!(with(&[0], &[0, 0]), "has 2 elements, where row tells of 1, col");
}

#[test]
fn other_formats_of_scipy_are_refused() {
    for format in ["bsr", "dia"] {
        let error = read_scipy(&mut scipy(format, &matrix())).unwrap_err().to_string();
        assert!(error.contains("call `.tocsr()` on it") && error.contains(format), "{error}");
    }
    let error = read_scipy(&mut npz(&matrix())).unwrap_err();
    assert_eq!(error.reason, "the archive has no array `format`, but data, indices, indptr, shape");
}
