//! Text formats from outside: hostile tables, and the files of geom-gcn and OGB, made up and real.

#[path = "../common/mod.rs"]
mod common;
mod datasets;
mod hostile_ogb;
mod real;
mod tables;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use abyssal_graph::GraphError;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(contents).and_then(|()| encoder.finish()).expect("room in memory")
}

fn write(directory: &Path, name: &str, contents: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().expect("a file in a directory")).expect("a new directory");
    fs::write(&path, contents).expect("a new file");
    path
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// An error without the name of the directory.
fn short(error: &GraphError, directory: &Path) -> String {
    error.to_string().replace(&format!("{}/", directory.display()), "")
}
