//! Made-up graphs in the layouts of geom-gcn and OGB, read back.

use std::io::{Cursor, Write};
use std::path::Path;

use abyssal_graph::formats::RawDataset;
use abyssal_graph::formats::geom_gcn::{self, FeatureEncoding};
use abyssal_graph::formats::ogb;
use abyssal_graph::{Features, Split};
use abyssal_tensor::{Csr, Matrix};
use proptest::prelude::*;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::{directory, gzip, write};

/// Made-up data: nodes in order, features as rows, labels, edges.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) features: Matrix<f32>,
    pub(crate) labels: Vec<u32>,
    pub(crate) edges: Vec<(u32, u32)>,
    pub(crate) order: Vec<usize>,
}

fn made(values: impl Strategy<Value = f32> + Clone + 'static) -> impl Strategy<Value = Made> {
    (3usize..8, 1usize..6).prop_flat_map(move |(nodes, columns)| {
        let node = 0..nodes as u32;
        (
            prop::collection::vec(values.clone(), nodes * columns),
            prop::collection::vec(0u32..4, nodes),
            prop::collection::vec((node.clone(), node), 1..12),
            Just((0..nodes).collect::<Vec<_>>()).prop_shuffle(),
        )
            .prop_map(move |(values, labels, edges, order)| Made {
                features: Matrix::from_slice(nodes, columns, &values),
                labels,
                edges,
                order,
            })
    })
}

impl Made {
    fn dataset(&self, features: Features) -> RawDataset {
        RawDataset {
            nodes: self.labels.len(),
            edges: self.edges.clone(),
            features,
            labels: self.labels.iter().copied().map(Some).collect(),
            classes: self.labels.iter().max().map_or(0, |&label| label as usize + 1),
            class_names: Vec::new(),
            node_names: Vec::new(),
            splits: Vec::new(),
        }
    }

    fn write_geom_gcn(&self, directory: &Path, field: impl Fn(&[f32]) -> String) {
        let mut nodes = "node_id\tfeature\tlabel\n".to_owned();
        for &node in &self.order {
            let label = self.labels[node];
            nodes += &format!("{node}\t{}\t{label}\n", field(self.features.row(node)));
        }
        let edges: String =
            self.edges.iter().map(|(source, target)| format!("{source}\t{target}\n")).collect();
        write(directory, "out1_node_feature_label.txt", nodes.as_bytes());
        write(directory, "out1_graph_edges.txt", format!("node_id\tnode_id\n{edges}").as_bytes());
    }

    /// The files of an OGB dataset; a label of 3 is written as unknown.
    pub(crate) fn ogb(&self) -> Vec<(&'static str, String)> {
        let lines = |lines: Vec<String>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let rows = (0..self.labels.len())
            .map(|node| self.features.row(node).iter().map(f32::to_string).collect::<Vec<_>>().join(","));
        let label = |&label: &u32| if label == 3 { "nan".to_owned() } else { label.to_string() };
        vec![
            ("raw/num-node-list.csv.gz", format!("{}\n", self.labels.len())),
            ("raw/num-edge-list.csv.gz", format!("{}\n", self.edges.len())),
            ("raw/edge.csv.gz", lines(self.edges.iter().map(|(from, to)| format!("{from},{to}")).collect())),
            ("raw/node-feat.csv.gz", lines(rows.collect())),
            ("raw/node-label.csv.gz", lines(self.labels.iter().map(label).collect())),
            ("split/time/train.csv.gz", lines(self.order[2..].iter().map(usize::to_string).collect())),
            ("split/time/valid.csv.gz", format!("{}\n", self.order[0])),
            ("split/time/test.csv.gz", format!("{}\n", self.order[1])),
            (
                "mapping/labelidx2arxivcategeory.csv.gz",
                "label idx,arxiv category\n0,a\n1,\"b, c\"\n2,d\n".to_owned(),
            ),
        ]
    }
}

pub(crate) fn write_ogb(directory: &Path, files: &[(&str, String)]) {
    for (name, contents) in files {
        write(directory, name, &gzip(contents.as_bytes()));
    }
}

pub(crate) fn zipped(files: &[(&str, String)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.add_directory("arxiv/", SimpleFileOptions::default()).expect("room in memory");
    for (name, contents) in files {
        writer.start_file(format!("arxiv/{name}"), SimpleFileOptions::default()).expect("room in memory");
        writer.write_all(&gzip(contents.as_bytes())).expect("room in memory");
    }
    writer.finish().expect("room in memory").into_inner()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_graph_in_geom_gcn_text_is_read_as_it_was_written(
        made in made(prop::sample::select(vec![0.0f32, 0.0, 1.0])),
    ) {
        let directory = directory();
        made.write_geom_gcn(directory.path(), |row| {
            row.iter().map(f32::to_string).collect::<Vec<_>>().join(",")
        });
        let expected = made.dataset(Features::Sparse(Csr::from_dense(&made.features)));
        prop_assert_eq!(geom_gcn::read(directory.path(), FeatureEncoding::Dense).unwrap(), expected);

        made.write_geom_gcn(directory.path(), |row| {
            let indices = (0..row.len()).rev().filter(|&column| row[column] == 1.0);
            indices.map(|index| index.to_string()).collect::<Vec<_>>().join(",")
        });
        let mut sparse = Csr::from_dense(&made.features);
        // The width is not written: it follows from the largest index.
        let width = sparse.indices().iter().max().map_or(0, |&last| last as usize + 1);
        let (offsets, indices, values) = (sparse.offsets().to_vec(), sparse.indices().to_vec(), sparse.values().to_vec());
        sparse = Csr::new(sparse.rows(), width, offsets, indices, values).unwrap();
        let expected = made.dataset(Features::Sparse(sparse));
        prop_assert_eq!(geom_gcn::read(directory.path(), FeatureEncoding::Indices).unwrap(), expected);
    }

    #[test]
    fn any_graph_in_the_layout_of_ogb_is_read_as_it_was_written(made in made(-1e6f32..1e6)) {
        let mut expected = made.dataset(Features::Dense(made.features.clone()));
        expected.labels.iter_mut().for_each(|label| *label = label.filter(|&label| label != 3));
        (expected.classes, expected.class_names) = (3, ["a", "b, c", "d"].map(str::to_owned).to_vec());
        let node = |place: usize| made.order[place] as u32;
        let train = (2..made.order.len()).map(node).collect();
        expected.splits = vec![Split::new(train, vec![node(0)], vec![node(1)]).unwrap().with_name("official")];

        let directory = directory();
        write_ogb(directory.path(), &made.ogb());
        prop_assert_eq!(&ogb::read(directory.path()).unwrap(), &expected);
        let path = write(directory.path(), "arxiv.zip", &zipped(&made.ogb()));
        prop_assert_eq!(&ogb::read(&path).unwrap(), &expected);
    }
}
