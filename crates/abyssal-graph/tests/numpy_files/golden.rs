//! Files that numpy and scipy wrote, by `golden/make_numpy_golden.py`.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use abyssal_graph::formats::npy::{self, Values};
use abyssal_graph::formats::npz::Npz;
use abyssal_graph::formats::sparse;
use abyssal_tensor::Matrix;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn open(name: &str) -> Npz<BufReader<File>> {
    let file = File::open(path(name)).expect("golden files are part of the repository");
    Npz::open(BufReader::new(file)).expect("scipy and numpy write honest archives")
}

#[test]
fn numpys_arrays_are_read() {
    let mut npz = open("numpy_arrays.npz");
    for name in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"] {
        for order in ["little", "big"] {
            let array = npz.array(&format!("{name}_{order}")).unwrap();
            assert_eq!(array.shape, [2, 3]);
            assert_eq!(array.into_integers().unwrap(), [0, 1, 2, 3, 4, 5], "{name} {order}");
        }
    }
    assert!(matches!(npz.array("f4_big").unwrap().values, Values::Floats(_)));
    assert!(matches!(npz.array("f8_big").unwrap().values, Values::Doubles(_)));
    assert_eq!(npz.array("bool").unwrap().into_bools().unwrap(), [true, false, true]);
    let fortran = npz.array("fortran").unwrap();
    assert_eq!(fortran.shape, [2, 3, 4]);
    assert_eq!(fortran.into_integers().unwrap(), (0..24).collect::<Vec<_>>());
    let scalar = npz.array("scalar").unwrap();
    assert_eq!((scalar.shape.len(), scalar.into_floats().unwrap()), (0, vec![2.5]));
    assert_eq!(npz.array("empty").unwrap().shape, [0, 4]);
    for name in ["unicode", "unicode_big"] {
        assert_eq!(npz.array(name).unwrap().into_text().unwrap(), ["graph", "Größe", "図", ""]);
    }
    assert_eq!(npz.array("bytes").unwrap().into_text().unwrap(), ["csr", "a", ""]);
}

#[test]
fn numpys_arrays_that_cannot_be_read_say_so() {
    let mut npz = open("numpy_arrays.npz");
    let mut reason = |name| npz.array(name).unwrap_err().reason;
    assert!(reason("half").starts_with("dtype <f2 cannot be read"));
    assert!(reason("objects").starts_with("holds Python objects"));
    assert!(reason("structured").starts_with("a structured array"));
}

#[test]
fn a_single_array_is_read() {
    let array = npy::read(File::open(path("numpy_array.npy")).unwrap(), 1000).unwrap();
    assert_eq!(array.shape, [2, 3]);
    assert_eq!(array.values, Values::Floats(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
}

#[test]
fn scipys_matrices_are_read() {
    let expected = Matrix::from_rows(&[
        [4.0, 0.0, 0.0, -2.0, 0.0],
        [0.0, 0.0, 3.0, 0.0, 0.0],
        [0.0, 2.0, 0.0, 0.0, 0.0],
        [0.0; 5],
    ]);
    for name in ["scipy_coo.npz", "scipy_csr.npz", "scipy_csc.npz", "scipy_csr_array.npz"] {
        let matrix = sparse::read_scipy(&mut open(name)).unwrap();
        assert_eq!(matrix.to_dense(), expected, "{name}");
        assert_eq!(matrix.stored(), 4, "{name}");
    }
    assert!(sparse::read_scipy(&mut open("scipy_dia.npz")).unwrap_err().reason.contains("call `.tocsr()`"));
}
