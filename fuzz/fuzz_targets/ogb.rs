//! Any bytes as the archive of an OGB dataset, or, after a zero, as the files in one, separated by zeros.
#![no_main]

use std::io::{Cursor, Write};
use std::path::Path;

use abyssal_graph::formats::ogb;
use libfuzzer_sys::fuzz_target;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const NAMES: [&str; 9] = [
    "a/raw/num-node-list.csv.gz",
    "a/raw/num-edge-list.csv.gz",
    "a/raw/node-label.csv.gz",
    "a/raw/edge.csv.gz",
    "a/raw/node-feat.csv.gz",
    "a/split/s/train.csv.gz",
    "a/split/s/valid.csv.gz",
    "a/split/s/test.csv.gz",
    "a/mapping/labelidx2arxivcategeory.csv.gz",
];

fn archive(files: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, contents) in NAMES.iter().zip(files.split(|&byte| byte == 0)) {
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        writer.start_file(*name, stored).expect("a member");
        writer.write_all(contents).expect("room in memory");
    }
    writer.finish().expect("an archive").into_inner()
}

fuzz_target!(|data: &[u8]| {
    let archive = match data {
        [0, files @ ..] => archive(files),
        _ => data.to_vec(),
    };
    if let Ok(dataset) = ogb::read_archive(Cursor::new(archive), Path::new("fuzz.zip")) {
        assert_eq!((dataset.features.rows(), dataset.labels.len()), (dataset.nodes, dataset.nodes));
        assert!(dataset.labels.iter().flatten().all(|&label| (label as usize) < dataset.classes));
    }
});
