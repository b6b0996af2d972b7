//! Any bytes as an archive of arrays, as a dataset in one file, and as a sparse matrix of scipy.

#![no_main]

use std::io::Cursor;

use abyssal_graph::formats::npz::Npz;
use abyssal_graph::formats::{gnn_benchmark, sparse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
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
});
