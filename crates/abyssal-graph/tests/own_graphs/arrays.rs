//! Files as numpy and scipy write them.

use std::io::{Cursor, Write};

use abyssal_tensor::Csr;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn npy(dtype: &str, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let lengths: String = shape.iter().map(|length| format!("{length},")).collect();
    let mut header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({lengths}), }}");
    header.extend(std::iter::repeat_n(' ', 63 - (header.len() + 10) % 64));
    header.push('\n');
    let length = u16::try_from(header.len()).expect("a short header").to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

pub(crate) fn integers(shape: &[usize], values: &[i64]) -> Vec<u8> {
    npy("<i8", shape, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

pub(crate) fn floats(shape: &[usize], values: &[f32]) -> Vec<u8> {
    npy("<f4", shape, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

pub(crate) fn booleans(values: &[bool]) -> Vec<u8> {
    npy("|b1", &[values.len()], &values.iter().map(|&value| u8::from(value)).collect::<Vec<u8>>())
}

pub(crate) fn texts(shape: &[usize], values: &[&str]) -> Vec<u8> {
    let width = values.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let padded = |text: &str| {
        let letters = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
        letters.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    let data: Vec<u8> = values.iter().flat_map(|text| padded(text)).collect();
    npy(&format!("<U{width}"), shape, &data)
}

pub(crate) fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, array) in arrays {
        writer.start_file(format!("{name}.npy"), SimpleFileOptions::default()).expect("room in memory");
        writer.write_all(array).expect("room in memory");
    }
    writer.finish().expect("room in memory").into_inner()
}

/// As `scipy.sparse.save_npz` writes a CSR matrix.
pub(crate) fn scipy(matrix: &Csr<f32>) -> Vec<u8> {
    let indices: Vec<i64> = matrix.indices().iter().map(|&index| i64::from(index)).collect();
    let offsets: Vec<i64> = matrix.offsets().iter().map(|&offset| offset as i64).collect();
    npz(&[
        ("indices", integers(&[indices.len()], &indices)),
        ("indptr", integers(&[offsets.len()], &offsets)),
        ("format", npy("|S3", &[], b"csr")),
        ("shape", integers(&[2], &[matrix.rows() as i64, matrix.columns() as i64])),
        ("data", floats(&[matrix.stored()], matrix.values())),
    ])
}
