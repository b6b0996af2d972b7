//! What the parsed values are, and what is refused in them.

use abyssal_graph::formats::FormatError;
use abyssal_graph::formats::pickle::Pickle;
use abyssal_tensor::{Csr, Matrix};

use crate::writer::{self, Array, Sparse};

fn read_matrix(array: &Array) -> Result<Matrix<f32>, FormatError> {
    Pickle::read(&writer::array(array))?.matrix()
}

fn read_csr(matrix: &Sparse) -> Result<Csr<f32>, FormatError> {
    Pickle::read(&writer::csr(matrix))?.csr()
}

fn read_adjacency(lists: &[(i32, Vec<i32>)]) -> Result<Vec<(u32, Vec<u32>)>, FormatError> {
    Pickle::read(&writer::adjacency(lists))?.adjacency()
}

/// `[[0, 1, 2], [0, 0, 0], [3, 0, 0]]`, for tests to spoil.
fn sparse() -> Sparse {
    Sparse {
        shape: (3, 3),
        indptr: Array::integers(&[0, 2, 2, 3]),
        indices: Array::integers(&[1, 2, 0]),
        data: Array::floats(&[1.0, 2.0, 3.0]),
    }
}

fn refused(spoiled: Sparse, member: &str, part_of_reason: &str) {
    let error = read_csr(&spoiled).expect_err("the matrix is bad");
    assert_eq!(
        error.place.to_string(),
        if member.is_empty() { String::new() } else { format!(", {member}") }
    );
    assert!(error.reason.contains(part_of_reason), "{error}");
}

#[test]
fn a_matrix_is_read_in_both_storage_orders() {
    let rows = Array::integers(&[1, 2, 3, 4, 5, 6]).shaped(&[2, 3]);
    assert_eq!(read_matrix(&rows).unwrap(), Matrix::from_rows(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]));
    let columns = Array { fortran: true, ..rows };
    assert_eq!(read_matrix(&columns).unwrap(), Matrix::from_rows(&[[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]));
}

#[test]
fn every_type_is_read_in_both_byte_orders() {
    let of = |kind, order, bytes: &[u8]| {
        let shape = vec![1, (bytes.len() / if kind == "u1" { 1 } else { 8 }) as i32];
        read_matrix(&Array { kind, order, shape, fortran: false, bytes: bytes.to_vec() }).unwrap()
    };
    assert_eq!(of("u1", "|", &[7, 255]).row(0), &[7.0, 255.0]);
    assert_eq!(of("i8", "<", &(-5i64).to_le_bytes()).row(0), &[-5.0]);
    assert_eq!(of("i8", ">", &(-5i64).to_be_bytes()).row(0), &[-5.0]);
    assert_eq!(of("f8", "<", &0.25f64.to_le_bytes()).row(0), &[0.25]);
    assert_eq!(of("f8", ">", &0.25f64.to_be_bytes()).row(0), &[0.25]);
}

#[test]
fn a_csr_matrix_is_read() {
    let expected = Matrix::from_rows(&[[0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]);
    assert_eq!(read_csr(&sparse()).unwrap(), Csr::from_dense(&expected));
}

#[test]
fn unsorted_columns_are_sorted_and_repeated_ones_added() {
    let unsorted = Sparse {
        indptr: Array::integers(&[0, 4, 4, 5]),
        indices: Array::integers(&[2, 1, 2, 0, 1]),
        data: Array::floats(&[1.0, 2.0, 3.0, 4.0, 5.0]),
        ..sparse()
    };
    let expected = Matrix::from_rows(&[[4.0, 2.0, 4.0], [0.0, 0.0, 0.0], [0.0, 5.0, 0.0]]);
    assert_eq!(read_csr(&unsorted).unwrap(), Csr::from_dense(&expected));
}

#[test]
fn columns_beyond_all_measure_are_refused() {
    let reason = "2147483647 columns of features; with 3 entries";
    refused(Sparse { shape: (3, i32::MAX), ..sparse() }, "_shape", reason);
}

#[test]
fn column_indices_out_of_range_are_refused() {
    refused(
        Sparse { indices: Array::integers(&[1, 3, 0]), ..sparse() },
        "indices",
        "entry 1 is in column 3; the matrix has 3 columns",
    );
    refused(
        Sparse { indices: Array::integers(&[-1, 2, 0]), ..sparse() },
        "indices",
        "entry 0 is in column -1",
    );
    let bytes = [1i64, 1 << 32, 0].into_iter().flat_map(i64::to_le_bytes).collect();
    let wide = Array { kind: "i8", bytes, ..Array::integers(&[0; 3]) };
    refused(Sparse { indices: wide, ..sparse() }, "indices", "column 4294967296");
}

#[test]
fn falling_row_offsets_are_refused() {
    let reason = "row 2 begins at entry 1; offsets must rise from 0 to 3";
    refused(Sparse { indptr: Array::integers(&[0, 2, 1, 3]), ..sparse() }, "indptr", reason);
}

#[test]
fn row_offsets_that_do_not_run_from_zero_to_the_end_are_refused() {
    for offsets in [[1, 2, 2, 3], [-1, 2, 2, 3], [0, 2, 2, 4], [0, 9, 2, 3]] {
        refused(
            Sparse { indptr: Array::integers(&offsets), ..sparse() },
            "indptr",
            "offsets must rise from 0 to 3",
        );
    }
    let reason = "the last row ends at entry 2 of 3";
    refused(Sparse { indptr: Array::integers(&[0, 2, 2, 2]), ..sparse() }, "indptr", reason);
}

#[test]
fn parts_of_a_csr_matrix_that_do_not_fit_are_refused() {
    refused(Sparse { shape: (2, 3), ..sparse() }, "indptr", "4 offsets for 2 rows");
    refused(Sparse { shape: (i32::MAX, 3), ..sparse() }, "indptr", "4 offsets for 2147483647 rows");
    refused(Sparse { shape: (-1, 3), ..sparse() }, "_shape", "two lengths");
    refused(Sparse { indptr: Array::integers(&[]), ..sparse() }, "indptr", "0 offsets for 3 rows");
    refused(
        Sparse { indices: Array::integers(&[1, 2]), ..sparse() },
        "indices",
        "2 column indices for 3 values",
    );
    refused(Sparse { indices: Array::floats(&[1.0; 3]), ..sparse() }, "indices", "integers (i4 or i8)");
    refused(Sparse { data: Array::floats(&[1.0; 3]).shaped(&[1, 3]), ..sparse() }, "data", "shape (1, 3)");
}

#[test]
fn a_csr_matrix_without_a_part_is_refused() {
    let bytes = writer::raw(b"cscipy.sparse._csr\ncsr_matrix\n)\x81}U\x06_shapeK\x00K\x00\x86sb");
    let error = Pickle::read(&bytes).unwrap().csr().unwrap_err();
    assert_eq!(error.to_string(), "the csr_matrix has no `data`");
}

#[test]
fn an_adjacency_is_read_in_the_order_of_the_file() {
    let lists = vec![(2, vec![0, 70_000, 2]), (0, vec![]), (1, vec![2, 2])];
    let expected = vec![(2, vec![0, 70_000, 2]), (0, vec![]), (1, vec![2, 2])];
    assert_eq!(read_adjacency(&lists), Ok(expected));
    assert_eq!(read_adjacency(&[]), Ok(vec![]));
}

#[test]
fn nodes_below_zero_and_nodes_with_two_lists_are_refused() {
    let reason = |lists: &[(i32, Vec<i32>)]| read_adjacency(lists).unwrap_err().reason;
    assert_eq!(reason(&[(0, vec![1, -7])]), "node 0 has -7 for a neighbour; nodes are numbers from 0");
    assert_eq!(reason(&[(-7, vec![])]), "a key of the dictionary is -7; nodes are numbers from 0");
    assert_eq!(reason(&[(3, vec![1]), (0, vec![]), (3, vec![2])]), "node 3 has two lists of neighbours");
}

#[test]
fn a_value_of_another_kind_is_named() {
    let bytes = writer::raw(b"]");
    let list = Pickle::read(&bytes).unwrap();
    assert_eq!(list.csr().unwrap_err().reason, "the file holds a list; a csr_matrix is expected");
    assert_eq!(list.matrix().unwrap_err().reason, "the file holds a list; a numpy array is expected");
    assert!(
        list.adjacency().unwrap_err().reason.starts_with("the file holds a list; a dictionary from nodes")
    );
    let vector = read_matrix(&Array::integers(&[1, 2])).unwrap_err();
    assert_eq!(vector.reason, "the array has shape (2,); two dimensions are expected");
}
