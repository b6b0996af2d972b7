//! The twelve benchmarks on disk.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::catalogue::{Benchmark, Format, RemoteFile};
use crate::formats::npz::{self, Npz};
use crate::formats::{FormatError, RawDataset, geom_gcn, gnn_benchmark, ogb, planetoid};
use crate::preparation::{PaperSplit, Preparation};
use crate::{Fingerprint, GraphError, Split, SplitRule};

/// What the four files whose sums nobody published must say: path and [`RawDataset::fingerprint`].
///
/// They were taken from copies that were saved anew without their Python objects, with equal arrays; `abyssal datasets
/// info NAME` prints them.
const CONTENTS: &[(&str, &str)] = &[
    ("coauthor-cs/ms_academic_cs.npz", "666c912b071899df7fe965037b9ee085f85f386ef75096050425ff880d5479a6"),
    (
        "coauthor-physics/ms_academic_phy.npz",
        "eb5e4570b125cdf1ed789e7ffda26cab317691de6c2d8e28ab9225ba94283b79",
    ),
    (
        "amazon-computers/amazon_electronics_computers.npz",
        "1331668d007c14c0b93bbbbed0816371700037be21a3700a974f9ef1d75b35de",
    ),
    (
        "amazon-photo/amazon_electronics_photo.npz",
        "aea2672f4497e9f3cc08e3c1e356b935655cc2562daf0c4d7b3c7b7ea5fe1d26",
    ),
];

/// Checks a file by what it says, where its sum is not known.
///
/// # Errors
/// If it cannot be read, or says something else than it should.
pub fn check_contents(file: &RemoteFile, path: &Path) -> Result<(), String> {
    let Some(expected) = contents_of(&file.path) else {
        return Err(format!("{} has no known sum and no known contents", file.path));
    };
    let raw = gnn_benchmark::read(path).map_err(|error| error.to_string())?;
    match raw.fingerprint() {
        found if found == expected => Ok(()),
        found => Err(format!("its contents have the fingerprint {found} instead of {expected}")),
    }
}

/// A file a benchmark is read from.
struct LocalFile {
    /// Its path inside the data directory, or inside the directory an archive was unpacked to.
    name: String,
    path: PathBuf,
    /// The SHA-256 it must have; `None` where that is not known.
    expected: Option<&'static str>,
}

/// Path and SHA-256 of every file a benchmark is read from. Numbers bear the name of the benchmark, so files that are
/// not the published ones are refused; where no sum is known, [`verify_contents`] tells.
///
/// # Errors
/// If a file cannot be read, or has another sum than it must have.
pub(super) fn verified_sums(data: &Path, benchmark: &Benchmark) -> Result<Vec<(String, String)>, GraphError> {
    let sum = |LocalFile { name, path, expected }| {
        let mut file = File::open(&path).map_err(GraphError::io("read", &path))?;
        let found = Fingerprint::of_reader(&mut file).map_err(GraphError::io("read", &path))?;
        match expected {
            Some(expected) if expected != found => Err(GraphError::AlteredFile {
                name: benchmark.name.to_string(),
                path,
                what: "its SHA-256",
                found,
                expected: expected.to_string(),
            }),
            _ => Ok((name, found)),
        }
    };
    local_files(data, benchmark)?.into_iter().map(sum).collect()
}

/// Checks what was read from a file whose sum is not known.
///
/// # Errors
/// If it is something else than the published file says.
pub(super) fn verify_contents(
    data: &Path,
    benchmark: &Benchmark,
    raw: &RawDataset,
) -> Result<(), GraphError> {
    let path = format!("{}/{}", benchmark.directory, benchmark.names[0]);
    let Some(expected) = contents_of(&path) else { return Ok(()) };
    match raw.fingerprint() {
        found if found == expected => Ok(()),
        found => Err(GraphError::AlteredFile {
            name: benchmark.name.to_string(),
            path: data.join(path),
            what: "the fingerprint of its contents",
            found,
            expected: expected.to_string(),
        }),
    }
}

/// The fingerprint of what a file must say; `None` if its sum is known instead.
fn contents_of(path: &str) -> Option<&'static str> {
    CONTENTS.iter().find(|(name, _)| *name == path).map(|&(_, expected)| expected)
}

/// Every file a benchmark is read from. Nobody published the sums of what an archive is unpacked to.
fn local_files(data: &Path, benchmark: &Benchmark) -> Result<Vec<LocalFile>, GraphError> {
    if let Some(directory) = unpacked(data, benchmark) {
        let mut files = Vec::new();
        files_below(&directory, "", &mut files).map_err(GraphError::io("read", &directory))?;
        let file = |(name, path)| LocalFile { name, path, expected: None };
        return Ok(files.into_iter().map(file).collect());
    }
    let files = benchmark.files().into_iter().map(|file| {
        let path = data.join(&file.path);
        LocalFile { name: file.path, path, expected: file.sha256 }
    });
    Ok(files.filter(|file| file.path.is_file()).collect())
}

/// Checks that the files are there. Files of splits may be missing: then the dataset has none of these splits.
pub(super) fn check_present(data: &Path, benchmark: &Benchmark) -> Result<(), GraphError> {
    if unpacked(data, benchmark).is_some() {
        return Ok(());
    }
    let paths = benchmark.names.iter().map(|name| format!("{}/{name}", benchmark.directory));
    match paths.into_iter().find(|path| !data.join(path).is_file()) {
        None => Ok(()),
        Some(missing) => Err(GraphError::NotFetched {
            name: benchmark.name.to_string(),
            directory: data.to_path_buf(),
            missing,
        }),
    }
}

/// Reads a benchmark with all its splits.
pub(super) fn parse(data: &Path, benchmark: &Benchmark) -> Result<RawDataset, GraphError> {
    let directory = data.join(benchmark.directory);
    let file = directory.join(benchmark.names[0]);
    let mut raw = match benchmark.format {
        Format::Planetoid => planetoid::read(&directory, benchmark.name)?,
        Format::GnnBenchmark => gnn_benchmark::read(&file)?,
        Format::GeomGcn { features } => geom_gcn::read(&directory, features)?,
        Format::Ogb => ogb::read(&unpacked(data, benchmark).unwrap_or(file))?,
    };
    let splits = benchmark.splits.iter().flat_map(|splits| splits.files());
    for (number, file) in splits.enumerate() {
        let path = data.join(&file.path);
        if path.is_file() {
            let split = read_split(&path, raw.nodes)?;
            let SplitRule::Stored(name) = SplitRule::geom_gcn(number) else { continue };
            raw.splits.push(split.with_name(name));
        }
    }
    Ok(raw)
}

/// How the paper's loader prepares a benchmark: features of the npz files are binarised, those of all but ogbn-arxiv
/// divided by their sum in every row.
pub(crate) fn default_preparation(benchmark: &Benchmark) -> Preparation {
    Preparation {
        binarize: benchmark.format == Format::GnnBenchmark,
        row_normalize: benchmark.format != Format::Ogb,
        split: match benchmark.format {
            Format::Planetoid => SplitRule::Stored("public".to_string()),
            Format::GnnBenchmark => SplitRule::PerClass { train: 20, validation: 30 },
            Format::GeomGcn { .. } => SplitRule::geom_gcn(0),
            Format::Ogb => SplitRule::Stored("official".to_string()),
        },
        ..Preparation::default()
    }
}

/// The split of the paper's results.
pub(crate) fn paper_split(benchmark: &Benchmark) -> PaperSplit {
    match benchmark.format {
        Format::Planetoid => PaperSplit::Stored("public"),
        Format::GnnBenchmark if benchmark.name.starts_with("amazon") => PaperSplit::DrawnInLargestComponent,
        Format::GnnBenchmark => PaperSplit::Drawn,
        Format::GeomGcn { .. } => PaperSplit::Stored("geom-gcn:0"),
        Format::Ogb => PaperSplit::Stored("official"),
    }
}

/// The directory an archive of OGB was unpacked to, if there is one and no archive.
fn unpacked(data: &Path, benchmark: &Benchmark) -> Option<PathBuf> {
    let directory = data.join(benchmark.directory);
    let has = |name: &str| directory.join(name).is_file();
    let complete = || has("raw/edge.csv.gz") && has("raw/node-feat.csv.gz") && !has(benchmark.names[0]);
    (benchmark.format == Format::Ogb && complete()).then_some(directory)
}

/// All files below a directory in the order of their names, with their paths inside it.
fn files_below(directory: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> std::io::Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            files_below(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}

/// A split of geom-gcn: masks over all nodes.
fn read_split(path: &Path, nodes: usize) -> Result<Split, GraphError> {
    let file = File::open(path).map_err(GraphError::io("read", path))?;
    let masks = Npz::open(BufReader::new(file)).and_then(|mut npz| npz::masks(&mut npz));
    let (length, split) = masks
        .and_then(|masks| {
            masks.ok_or_else(|| FormatError::new("it has no train_mask, val_mask and test_mask"))
        })
        .map_err(|error| error.in_file(path))?;
    if length != nodes {
        let message = format!("masks over {length} nodes for a graph of {nodes}");
        return Err(FormatError::new(message).in_file(path));
    }
    Ok(split)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Library;

    #[test]
    fn every_file_has_a_known_sum_or_known_contents() {
        for file in Benchmark::all().iter().flat_map(|benchmark| benchmark.files()) {
            assert!(contents_of(&file.path).is_some() != file.sha256.is_some(), "{}", file.path);
        }
    }

    /// A benchmark's files as others would have them: a graph of three nodes in the format of Texas.
    fn write_texas(data: &Path) {
        let directory = data.join("texas");
        fs::create_dir_all(&directory).unwrap();
        let nodes = "node_id\tfeature\tlabel\n0\t1,0\t0\n1\t0,1\t1\n2\t1,1\t0\n";
        fs::write(directory.join("out1_node_feature_label.txt"), nodes).unwrap();
        fs::write(directory.join("out1_graph_edges.txt"), "node_id\tnode_id\n0\t1\n1\t2\n").unwrap();
    }

    #[test]
    fn files_that_are_not_the_published_ones_are_named() {
        let data = tempfile::tempdir().unwrap();
        write_texas(data.path());
        let error = Library::new(data.path(), None).read("texas").unwrap_err();
        let text = error.to_string();
        let GraphError::AlteredFile { path, what, found, expected, .. } = error else { panic!("{text}") };
        assert_eq!(path, data.path().join("texas/out1_node_feature_label.txt"));
        assert_eq!((what, found.len(), expected.len()), ("its SHA-256", 64, 64));
        assert!(
            text.contains("abyssal datasets fetch texas --force") && text.contains("datasets import"),
            "{text}"
        );
    }

    #[test]
    fn contents_that_are_not_the_published_ones_are_named() {
        let data = tempfile::tempdir().unwrap();
        write_texas(data.path());
        let texas = data.path().join("texas");
        let raw = geom_gcn::read(&texas, geom_gcn::FeatureEncoding::Dense).unwrap();
        let photo = Benchmark::named("amazon-photo").unwrap();
        let error = verify_contents(data.path(), photo, &raw).unwrap_err().to_string();
        assert!(error.contains("amazon_electronics_photo.npz is not the file amazon-photo"), "{error}");
        assert!(verify_contents(data.path(), Benchmark::named("texas").unwrap(), &raw).is_ok());
    }

    #[test]
    fn a_directory_that_was_unpacked_is_read_and_the_archive_is_preferred() {
        let data = tempfile::tempdir().unwrap();
        let benchmark = Benchmark::named("ogbn-arxiv").unwrap();
        let directory = data.path().join("ogbn-arxiv");
        assert!(check_present(data.path(), benchmark).is_err());
        fs::create_dir_all(directory.join("raw")).unwrap();
        fs::create_dir_all(directory.join("split/time")).unwrap();
        fs::write(directory.join("raw/edge.csv.gz"), "").unwrap();
        assert!(check_present(data.path(), benchmark).is_err(), "there are no features yet");
        for name in ["raw/node-feat.csv.gz", "split/time/test.csv.gz", "split/time/train.csv.gz"] {
            fs::write(directory.join(name), "").unwrap();
        }
        let names = |data: &Path| -> Vec<String> {
            local_files(data, benchmark).unwrap().into_iter().map(|file| file.name).collect()
        };
        assert!(check_present(data.path(), benchmark).is_ok());
        assert_eq!(
            names(data.path()),
            ["raw/edge.csv.gz", "raw/node-feat.csv.gz", "split/time/test.csv.gz", "split/time/train.csv.gz"]
        );
        fs::write(directory.join("arxiv.zip"), "").unwrap();
        assert_eq!(names(data.path()), ["ogbn-arxiv/arxiv.zip"]);
    }
}
