//! The table of all benchmarks.

use super::{Benchmark, Format, PublishedSplits};
use crate::formats::geom_gcn::FeatureEncoding;

const PLANETOID: &[&str] = &["https://github.com/kimiyoung/planetoid/raw/master/data"];
const GNN_BENCHMARK: &[&str] = &["https://github.com/shchur/gnn-benchmark/raw/master/data/npz"];
const SNAP: &[&str] =
    &["https://snap.stanford.edu/ogb/data/nodeproppred", "http://snap.stanford.edu/ogb/data/nodeproppred"];

const GEOM_GCN_NAMES: &[&str] = &["out1_node_feature_label.txt", "out1_graph_edges.txt"];
const GEOM_GCN_VALUES: Format = Format::GeomGcn { features: FeatureEncoding::Dense };

const PLANETOID_LICENCE: &str =
    "repository MIT (2016 Zhilin Yang); the original LINQS collections state none";
const GNN_BENCHMARK_LICENCE: &str = "repository MIT; nothing stated for the underlying data";
const GEOM_GCN_LICENCE: &str = "none stated (the repository asks to cite the original data)";

/// The names of the eight files of Planetoid.
macro_rules! planetoid {
    ($name:literal) => {
        &[
            concat!("ind.", $name, ".x"),
            concat!("ind.", $name, ".tx"),
            concat!("ind.", $name, ".allx"),
            concat!("ind.", $name, ".y"),
            concat!("ind.", $name, ".ty"),
            concat!("ind.", $name, ".ally"),
            concat!("ind.", $name, ".graph"),
            concat!("ind.", $name, ".test.index"),
        ]
    };
}

/// The folders of a dataset of Geom-GCN: in the repository's first home and in the one it moved to.
macro_rules! geom_gcn {
    ($name:literal) => {
        &[
            concat!("https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/new_data/", $name),
            concat!("https://raw.githubusercontent.com/bingzhewei/geom-gcn/master/new_data/", $name),
        ]
    };
}

pub(super) const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "cora",
        title: "Cora",
        citation: "Yang et al., 2016",
        licence: PLANETOID_LICENCE,
        format: Format::Planetoid,
        directory: "cora",
        names: planetoid!("cora"),
        splits: Some(PublishedSplits { directory: "cora/splits", stem: "cora" }),
        homes: PLANETOID,
    },
    Benchmark {
        name: "citeseer",
        title: "Citeseer",
        citation: "Yang et al., 2016",
        licence: PLANETOID_LICENCE,
        format: Format::Planetoid,
        directory: "citeseer",
        names: planetoid!("citeseer"),
        splits: Some(PublishedSplits { directory: "citeseer/splits", stem: "citeseer" }),
        homes: PLANETOID,
    },
    Benchmark {
        name: "pubmed",
        title: "PubMed",
        citation: "Yang et al., 2016",
        licence: PLANETOID_LICENCE,
        format: Format::Planetoid,
        directory: "pubmed",
        names: planetoid!("pubmed"),
        splits: Some(PublishedSplits { directory: "pubmed/splits", stem: "pubmed" }),
        homes: PLANETOID,
    },
    Benchmark {
        name: "coauthor-cs",
        title: "Coauthor CS",
        citation: "Shchur et al., 2018",
        licence: GNN_BENCHMARK_LICENCE,
        format: Format::GnnBenchmark,
        directory: "coauthor-cs",
        names: &["ms_academic_cs.npz"],
        splits: None,
        homes: GNN_BENCHMARK,
    },
    Benchmark {
        name: "coauthor-physics",
        title: "Coauthor Physics",
        citation: "Shchur et al., 2018",
        licence: GNN_BENCHMARK_LICENCE,
        format: Format::GnnBenchmark,
        directory: "coauthor-physics",
        names: &["ms_academic_phy.npz"],
        splits: None,
        homes: GNN_BENCHMARK,
    },
    Benchmark {
        name: "amazon-computers",
        title: "Amazon Computers",
        citation: "Shchur et al., 2018",
        licence: GNN_BENCHMARK_LICENCE,
        format: Format::GnnBenchmark,
        directory: "amazon-computers",
        names: &["amazon_electronics_computers.npz"],
        splits: None,
        homes: GNN_BENCHMARK,
    },
    Benchmark {
        name: "amazon-photo",
        title: "Amazon Photo",
        citation: "Shchur et al., 2018",
        licence: GNN_BENCHMARK_LICENCE,
        format: Format::GnnBenchmark,
        directory: "amazon-photo",
        names: &["amazon_electronics_photo.npz"],
        splits: None,
        homes: GNN_BENCHMARK,
    },
    Benchmark {
        name: "texas",
        title: "Texas",
        citation: "Pei et al., 2020",
        licence: GEOM_GCN_LICENCE,
        format: GEOM_GCN_VALUES,
        directory: "texas",
        names: GEOM_GCN_NAMES,
        splits: Some(PublishedSplits { directory: "texas/splits", stem: "texas" }),
        homes: geom_gcn!("texas"),
    },
    Benchmark {
        name: "wisconsin",
        title: "Wisconsin",
        citation: "Pei et al., 2020",
        licence: GEOM_GCN_LICENCE,
        format: GEOM_GCN_VALUES,
        directory: "wisconsin",
        names: GEOM_GCN_NAMES,
        splits: Some(PublishedSplits { directory: "wisconsin/splits", stem: "wisconsin" }),
        homes: geom_gcn!("wisconsin"),
    },
    Benchmark {
        name: "cornell",
        title: "Cornell",
        citation: "Pei et al., 2020",
        licence: GEOM_GCN_LICENCE,
        format: GEOM_GCN_VALUES,
        directory: "cornell",
        names: GEOM_GCN_NAMES,
        splits: Some(PublishedSplits { directory: "cornell/splits", stem: "cornell" }),
        homes: geom_gcn!("cornell"),
    },
    // The first release had the features and labels of Texas. Its authors replaced it in 2022; GCNII's repository
    // still carries it unchanged, and older published numbers are about it. The splits are the same in both.
    Benchmark {
        name: "cornell-2020",
        title: "Cornell (2020 release)",
        citation: "Pei et al., 2020",
        licence: GEOM_GCN_LICENCE,
        format: GEOM_GCN_VALUES,
        directory: "cornell/legacy-2020",
        names: GEOM_GCN_NAMES,
        splits: Some(PublishedSplits { directory: "cornell/splits", stem: "cornell" }),
        homes: &["https://raw.githubusercontent.com/chennnM/GCNII/master/new_data/cornell"],
    },
    Benchmark {
        name: "actor",
        title: "Actor",
        citation: "Pei et al., 2020",
        licence: "none stated",
        format: Format::GeomGcn { features: FeatureEncoding::Indices },
        directory: "actor",
        names: GEOM_GCN_NAMES,
        splits: Some(PublishedSplits { directory: "actor/splits", stem: "film" }),
        homes: geom_gcn!("film"),
    },
    Benchmark {
        name: "ogbn-arxiv",
        title: "ogbn-arxiv",
        citation: "Hu et al., 2020",
        licence: "ODC-BY",
        format: Format::Ogb,
        directory: "ogbn-arxiv",
        names: &["arxiv.zip"],
        splits: None,
        homes: SNAP,
    },
];
