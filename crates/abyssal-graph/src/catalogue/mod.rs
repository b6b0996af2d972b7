//! The benchmarks of the field: what they are, where their files come from, and what those must be.
//!
//! The files are never part of this program. They are fetched from their homes by [`fetch`](crate::fetch) and lie in
//! a data directory as `<directory>/<file>` and `<directory>/splits/<file>`.

mod table;

use crate::formats::geom_gcn::FeatureEncoding;

/// SHA-256, bytes and path of each file, one a line.
const MANIFEST: &str = include_str!("manifest.txt");

/// Where the ten splits of Geom-GCN come from: its first home and the one it moved to.
const SPLIT_HOMES: &[&str] = &[
    "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits",
    "https://raw.githubusercontent.com/bingzhewei/geom-gcn/master/splits",
];

/// How many splits Geom-GCN has for each of its datasets.
const SPLITS: usize = 10;

/// A dataset many papers report numbers on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// What to call it in a configuration or on the command line, such as `coauthor-cs`.
    pub name: &'static str,
    /// What to call it in a table, such as `Coauthor CS`.
    pub title: &'static str,
    /// Who made it, in short.
    pub citation: &'static str,
    /// The terms its makers state, which its user has to keep to.
    pub licence: &'static str,
    /// How its files are to be read.
    pub format: Format,
    /// Where its files lie, relative to the data directory.
    pub directory: &'static str,
    /// Names of its files, splits apart.
    pub names: &'static [&'static str],
    /// The splits that are published for it as files.
    pub splits: Option<PublishedSplits>,
    /// Where its files come from: addresses that become complete with `/` and the name of a file.
    homes: &'static [&'static str],
}

/// How the files of a benchmark are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Python pickles of Planetoid: `ind.<name>.{x,tx,allx,y,ty,ally,graph,test.index}`.
    Planetoid,
    /// One npz file with adjacency, attributes and labels.
    GnnBenchmark,
    /// Text files of Geom-GCN: one with features and labels, one with edges.
    GeomGcn {
        /// What the field of a node's features lists.
        features: FeatureEncoding,
    },
    /// A zip archive of compressed tables.
    Ogb,
}

/// Where the ten splits of Geom-GCN for a dataset lie: `<directory>/<stem>_split_0.6_0.2_{0..9}.npz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedSplits {
    /// Relative to the data directory.
    pub directory: &'static str,
    /// How the name of each file begins.
    pub stem: &'static str,
}

/// A file to be fetched, and how to know that it is the right one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    /// Where it lies, relative to the data directory and with `/` on every system.
    pub path: String,
    /// Where it comes from, the first address first.
    pub addresses: Vec<String>,
    /// Its SHA-256 in lower-case hexadecimal digits; `None` if only its contents can tell that it is right.
    pub sha256: Option<&'static str>,
    /// Its size; `None` if it is not known.
    pub bytes: Option<u64>,
}

impl Benchmark {
    /// All benchmarks.
    pub fn all() -> &'static [Self] {
        table::BENCHMARKS
    }

    /// The benchmark of this name; `None` if there is none.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|benchmark| benchmark.name == name)
    }

    /// Everything to fetch: its files in the order of [`names`](Self::names), then its splits in their order.
    pub fn files(&self) -> Vec<RemoteFile> {
        let data = self.names.iter().map(|name| RemoteFile::of(self.directory, name, self.homes));
        let splits = self.splits.iter().flat_map(PublishedSplits::files);
        data.chain(splits).collect()
    }
}

impl PublishedSplits {
    /// The files of the splits, in their order.
    pub fn files(&self) -> Vec<RemoteFile> {
        let name = |index| format!("{}_split_0.6_0.2_{index}.npz", self.stem);
        (0..SPLITS).map(|index| RemoteFile::of(self.directory, &name(index), SPLIT_HOMES)).collect()
    }
}

impl RemoteFile {
    /// A file that has the same name in the data directory and in each of its homes.
    fn of(directory: &str, name: &str, homes: &[&str]) -> Self {
        let path = format!("{directory}/{name}");
        let addresses = homes.iter().map(|home| format!("{home}/{name}")).collect();
        let known = MANIFEST.lines().filter_map(entry).find(|entry| entry.2 == path);
        let (sha256, bytes) = known.map(|(sha256, bytes, _)| (sha256, bytes)).unzip();
        Self { path, addresses, sha256, bytes }
    }
}

/// Sum, size and path in a line of the manifest; `None` for comments.
fn entry(line: &'static str) -> Option<(&'static str, u64, &'static str)> {
    let mut fields = line.split_whitespace();
    let (sum, bytes, path) = (fields.next()?, fields.next()?, fields.next()?);
    Some((sum, bytes.parse().ok()?, path))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// The names are written in configurations and papers: they stay.
    #[test]
    fn the_names_of_all_benchmarks() {
        let names: Vec<&str> = Benchmark::all().iter().map(|benchmark| benchmark.name).collect();
        let expected = [
            "cora",
            "citeseer",
            "pubmed",
            "coauthor-cs",
            "coauthor-physics",
            "amazon-computers",
            "amazon-photo",
            "texas",
            "wisconsin",
            "cornell",
            "cornell-2020",
            "actor",
            "ogbn-arxiv",
        ];
        assert_eq!(names, expected);
        assert_eq!(Benchmark::named("actor").unwrap().title, "Actor");
        assert_eq!(Benchmark::named("reddit"), None);
    }

    #[test]
    fn every_line_of_the_manifest_is_a_comment_or_well_formed() {
        for line in MANIFEST.lines().filter(|line| !line.starts_with('#')) {
            let (sum, bytes, path) = entry(line).unwrap();
            assert_eq!(sum.len(), 64, "{path}");
            assert!(sum.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{path}");
            assert!(bytes > 0, "{path}");
            assert_eq!(line.split_whitespace().count(), 3, "{path}");
        }
    }

    #[test]
    fn the_manifest_has_every_file_but_those_checked_by_their_contents_and_no_other() {
        let listed: Vec<&str> = MANIFEST.lines().filter_map(entry).map(|entry| entry.2).collect();
        let mut needed = BTreeSet::new();
        for benchmark in Benchmark::all() {
            for file in benchmark.files() {
                let by_contents = benchmark.format == Format::GnnBenchmark;
                assert_eq!(file.sha256.is_none(), by_contents, "{}", file.path);
                assert_eq!(file.bytes.is_none(), by_contents, "{}", file.path);
                needed.extend((!by_contents).then_some(file.path));
            }
        }
        assert_eq!(listed.len(), needed.len(), "a file is listed twice");
        assert_eq!(listed.into_iter().map(String::from).collect::<BTreeSet<_>>(), needed);
    }

    #[test]
    fn a_path_means_the_same_file_in_every_benchmark() {
        let mut files = BTreeMap::new();
        for file in Benchmark::all().iter().flat_map(Benchmark::files) {
            assert_eq!(*files.entry(file.path.clone()).or_insert_with(|| file.clone()), file);
        }
    }

    #[test]
    fn files_lie_where_the_data_directory_has_them_and_come_from_their_homes() {
        let file = |name: &str, index: usize| {
            let file = Benchmark::named(name).unwrap().files().swap_remove(index);
            (file.path, file.addresses)
        };
        let geom_gcn = |path: &str| {
            ["graphdml-uiuc-jlu", "bingzhewei"]
                .map(|owner| format!("https://raw.githubusercontent.com/{owner}/geom-gcn/master/{path}"))
                .to_vec()
        };
        let one = |address: &str| vec![address.to_string()];

        let (path, addresses) = file("citeseer", 7);
        assert_eq!(path, "citeseer/ind.citeseer.test.index");
        let home = "https://github.com/kimiyoung/planetoid/raw/master/data/ind.citeseer.test.index";
        assert_eq!(addresses, one(home));
        let (path, addresses) = file("citeseer", 17);
        assert_eq!(path, "citeseer/splits/citeseer_split_0.6_0.2_9.npz");
        assert_eq!(addresses, geom_gcn("splits/citeseer_split_0.6_0.2_9.npz"));

        let (path, addresses) = file("coauthor-physics", 0);
        assert_eq!(path, "coauthor-physics/ms_academic_phy.npz");
        let home = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/ms_academic_phy.npz";
        assert_eq!(addresses, one(home));

        let (path, addresses) = file("actor", 1);
        assert_eq!(path, "actor/out1_graph_edges.txt");
        assert_eq!(addresses, geom_gcn("new_data/film/out1_graph_edges.txt"));
        let (path, addresses) = file("actor", 2);
        assert_eq!(path, "actor/splits/film_split_0.6_0.2_0.npz");
        assert_eq!(addresses, geom_gcn("splits/film_split_0.6_0.2_0.npz"));

        let (path, addresses) = file("cornell-2020", 0);
        assert_eq!(path, "cornell/legacy-2020/out1_node_feature_label.txt");
        let home = "https://raw.githubusercontent.com/chennnM/GCNII/master/new_data/cornell/\
                    out1_node_feature_label.txt";
        assert_eq!(addresses, one(home));
        assert_eq!(file("cornell-2020", 5), file("cornell", 5));

        let (path, addresses) = file("ogbn-arxiv", 0);
        assert_eq!(path, "ogbn-arxiv/arxiv.zip");
        let home = "snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip";
        assert_eq!(addresses, [format!("https://{home}"), format!("http://{home}")]);
    }

    #[test]
    fn every_benchmark_has_all_its_files() {
        let count = |format| match format {
            Format::Planetoid => 8 + 10,
            Format::GeomGcn { .. } => 2 + 10,
            Format::GnnBenchmark | Format::Ogb => 1,
        };
        for benchmark in Benchmark::all() {
            assert_eq!(benchmark.files().len(), count(benchmark.format), "{}", benchmark.name);
        }
    }
}
