//! Writes what numpy would write.

use std::io::{Cursor, Write};

use abyssal_graph::formats::npz::Npz;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Arrays of an archive, each with its name.
pub type Arrays = Vec<(&'static str, Vec<u8>)>;

/// An npy file.
pub fn npy(dtype: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let lengths: String = shape.iter().map(|length| format!("{length}, ")).collect();
    let order = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': ({lengths}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

/// A one-dimensional array of 64-bit integers.
pub fn integers(values: impl IntoIterator<Item = i64>) -> Vec<u8> {
    let data: Vec<u8> = values.into_iter().flat_map(i64::to_le_bytes).collect();
    npy("<i8", false, &[data.len() / 8], &data)
}

/// A one-dimensional array of 32-bit floats.
pub fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    let data: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
    npy("<f4", false, &[data.len() / 4], &data)
}

/// A one-dimensional array of booleans.
pub fn bools(values: &[bool]) -> Vec<u8> {
    npy("|b1", false, &[values.len()], &values.iter().map(|&value| u8::from(value)).collect::<Vec<_>>())
}

/// A one-dimensional array of text.
pub fn text(values: &[String]) -> Vec<u8> {
    let width = values.iter().map(|value| value.chars().count()).max().unwrap_or(0).max(1);
    let padded =
        |value: &String| value.chars().chain(std::iter::repeat('\0')).take(width).collect::<Vec<_>>();
    let data: Vec<u8> =
        values.iter().flat_map(padded).flat_map(|symbol| (symbol as u32).to_le_bytes()).collect();
    npy(&format!("<U{width}"), false, &[values.len()], &data)
}

/// An archive of arrays, opened.
pub fn npz(arrays: &[(&'static str, Vec<u8>)], compressed: bool) -> Npz<Cursor<Vec<u8>>> {
    let method = if compressed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let options = SimpleFileOptions::default().compression_method(method);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        writer.start_file(format!("{name}.npy"), options).expect("names differ");
        writer.write_all(bytes).expect("memory can be written to");
    }
    Npz::open(writer.finish().expect("memory can be written to")).expect("the archive was just made")
}
