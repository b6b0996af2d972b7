//! Graphs of one's own: any graph in any of the formats is read as it was written, and hostile files are refused.

mod arrays;
mod graphs;
mod hostile_arrays;
mod hostile_tables;
mod ids_and_headers;
mod round_trips;

use std::fs;
use std::path::{Path, PathBuf};

use abyssal_graph::GraphError;
use abyssal_graph::formats::RawDataset;
use abyssal_graph::formats::own::{self, OwnFiles};
use tempfile::TempDir;

/// The files of a graph with their names: features, edges, labels, masks.
type Contents<'a> = [(&'a str, &'a [u8]); 4];

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn write(directory: &Path, name: &str, contents: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, contents).expect("a new file");
    path
}

/// Writes the files and reads the graph; a file without a name is left out.
fn read(contents: Contents) -> Result<RawDataset, GraphError> {
    let directory = directory();
    let [features, edges, labels, masks] = contents.map(|(name, contents)| match name {
        "" => None,
        _ => Some(write(directory.path(), name, contents)),
    });
    let edges = edges.expect("edges are never left out");
    own::read(&OwnFiles { edges, features, labels, masks }).map_err(|error| match error {
        // Names of temporary directories change.
        GraphError::Malformed { path, place, reason } => {
            let path = PathBuf::from(path.file_name().expect("a file"));
            GraphError::Malformed { path, place, reason }
        }
        other => other,
    })
}
