//! The manifest against the real files.

use abyssal_graph::catalogue::{Benchmark, Format};
use abyssal_graph::fetch::{FileState, verify};

use crate::common::data;

#[test]
fn the_original_files_have_the_sums_and_sizes_of_the_manifest() {
    let Some(directory) = data() else { return };
    for benchmark in Benchmark::all() {
        for (file, state) in verify(&directory, benchmark, &|_, _| Ok(())) {
            // The archive is too large to keep with the other files; some of its members are there instead.
            let may_be_missing = benchmark.format == Format::Ogb && state == FileState::Missing;
            assert!(state == FileState::Good || may_be_missing, "{}: {state:?}", file.path);
        }
    }
}
