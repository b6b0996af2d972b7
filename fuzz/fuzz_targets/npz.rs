//! Any bytes as an archive of arrays, as a dataset in one file, and as a sparse matrix of scipy; and any numbers in
//! the arrays of such files, which a checksum would keep mutations away from.

#![no_main]

use std::io::{Cursor, Write};

use abyssal_graph::formats::npz::Npz;
use abyssal_graph::formats::{gnn_benchmark, sparse};
use libfuzzer_sys::fuzz_target;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The arrays of a dataset and of a matrix of scipy.
const NAMES: [&str; 22] = [
    "adj_data",
    "adj_indices",
    "adj_indptr",
    "adj_shape",
    "attr_data",
    "attr_indices",
    "attr_indptr",
    "attr_shape",
    "attr_matrix",
    "labels",
    "class_names",
    "node_names",
    "train_mask",
    "val_mask",
    "test_mask",
    "format",
    "data",
    "indices",
    "indptr",
    "shape",
    "row",
    "col",
];

const DTYPES: [(&str, usize); 8] =
    [("|i1", 1), ("<i2", 2), (">i4", 4), ("<i8", 8), ("<f4", 4), ("<f8", 8), ("|b1", 1), ("|S3", 3)];

fuzz_target!(|data: &[u8]| {
    read(data);
    read(&assembled(data));
});

fn read(data: &[u8]) {
    let Ok(mut npz) = Npz::open(Cursor::new(data)) else { return };
    let names: Vec<String> = npz.names().map(str::to_owned).collect();
    for name in names {
        let _ = npz.array(&name);
    }
    if let Ok(dataset) = gnn_benchmark::parse(&mut npz) {
        assert_eq!(dataset.features.rows(), dataset.nodes);
        assert_eq!(dataset.labels.len(), dataset.nodes);
        assert!(dataset.edges.iter().all(|&(source, target)| (source.max(target) as usize) < dataset.nodes));
        assert!(dataset.labels.iter().flatten().all(|&label| (label as usize) < dataset.classes));
    }
    let _ = sparse::read_scipy(&mut npz);
}

/// An archive of one-dimensional arrays: a byte each for name, dtype and number of elements, then the elements.
fn assembled(mut data: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    while let [name, dtype, count, rest @ ..] = data {
        let name = NAMES[usize::from(*name) % NAMES.len()];
        let (dtype, item) = DTYPES[usize::from(*dtype) % DTYPES.len()];
        let (elements, rest) = rest.split_at(rest.len().min(usize::from(*count) * item));
        data = rest;
        let count = elements.len() / item;
        let shape = if name == "attr_matrix" { format!("{count}, 1") } else { format!("{count},") };
        let text = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({shape}), }}");
        // A name that comes twice keeps its first array.
        if writer.start_file(format!("{name}.npy"), options).is_ok() {
            let parts =
                [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), elements];
            writer.write_all(&parts.concat()).expect("memory can be written to");
        }
    }
    writer.finish().expect("memory can be written to").into_inner()
}
