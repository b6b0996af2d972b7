//! Any graph is read as it was written.

use std::io::Write;

use abyssal_graph::Features;
use abyssal_graph::formats::RawDataset;
use abyssal_graph::formats::own::{self, NodeNames, OwnFiles};
use abyssal_tensor::Csr;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use crate::arrays::{booleans, floats, integers, npz, scipy, texts};
use crate::graphs::{Made, made};
use crate::{directory, read, write};

/// How tables are written.
#[derive(Clone, Copy, Debug)]
struct Style {
    separator: u8,
    header: bool,
    ids: bool,
    /// Labels and masks in one column, in the order of the nodes.
    in_order: bool,
    compressed: bool,
}

fn style() -> impl Strategy<Value = Style> {
    let separator = prop::sample::select(vec![b',', b'\t', b';']);
    (separator, any::<[bool; 4]>()).prop_map(|(separator, [header, ids, in_order, compressed])| Style {
        separator,
        header,
        ids,
        in_order,
        compressed,
    })
}

impl Style {
    fn table(self, header: &[String], rows: &[Vec<String>]) -> Vec<u8> {
        // Without a header, an id may begin as a comment does; and a single column does not tell its separator.
        let plain = self.header && rows.first().is_some_and(|row| row.len() > 1);
        let quotes = if plain { csv::QuoteStyle::Necessary } else { csv::QuoteStyle::Always };
        let mut writer =
            csv::WriterBuilder::new().delimiter(self.separator).quote_style(quotes).from_writer(Vec::new());
        for row in self.header.then_some(header).into_iter().chain(rows.iter().map(Vec::as_slice)) {
            writer.write_record(row).expect("room in memory");
        }
        let text = writer.into_inner().expect("room in memory");
        if !self.compressed {
            return text;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text).and_then(|()| encoder.finish()).expect("room in memory")
    }

    fn id(self, made: &Made, node: usize) -> String {
        if self.ids { made.ids[node].clone() } else { node.to_string() }
    }

    fn features(self, made: &Made) -> Vec<u8> {
        let columns = made.features.columns();
        let id = |text: String| self.ids.then_some(text);
        let header: Vec<String> =
            id("id".to_owned()).into_iter().chain((0..columns).map(|column| format!("f{column}"))).collect();
        let row = |node: usize| {
            let values = made.features.row(node).iter().map(f32::to_string);
            id(made.ids[node].clone()).into_iter().chain(values).collect()
        };
        self.table(&header, &(0..made.nodes()).map(row).collect::<Vec<_>>())
    }

    fn edges(self, made: &Made) -> Vec<u8> {
        let id = |node: u32| self.id(made, node as usize);
        let rows: Vec<_> = made.edges.iter().map(|&(source, target)| vec![id(source), id(target)]).collect();
        self.table(&["source", "target"].map(str::to_owned), &rows)
    }

    /// One value a node, with ids or in order.
    fn values(self, made: &Made, header: &str, value: impl Fn(usize) -> String) -> Vec<u8> {
        let row = |node: usize| match self.in_order {
            true => vec![value(node)],
            false => vec![self.id(made, node), value(node)],
        };
        let header = [vec!["node".to_owned(); usize::from(!self.in_order)], vec![header.to_owned()]].concat();
        self.table(&header, &(0..made.nodes()).map(row).collect::<Vec<_>>())
    }

    fn labels(self, made: &Made) -> Vec<u8> {
        let missing = ["", "?", "NA", "nan", "NaN", "None", "null"];
        self.values(made, "label", |node| match &made.labels[node] {
            Some(label) => label.clone(),
            None => missing[node % missing.len()].to_owned(),
        })
    }

    fn masks(self, made: &Made) -> Vec<u8> {
        let words = [
            ["", "train", "val", "test"],
            ["none", "Train", "valid", "TEST"],
            ["", "train", "validation", "test"],
        ];
        self.values(made, "split", |node| words[node % 3][made.sets[node]].to_owned())
    }
}

fn masks_of(made: &Made) -> Vec<u8> {
    let mask = |set: usize| booleans(&made.sets.iter().map(|&own| own == set).collect::<Vec<_>>());
    npz(&[("train_mask", mask(1)), ("val_mask", mask(2)), ("test_mask", mask(3))])
}

fn labels_of(made: &Made) -> Vec<u8> {
    let numbers: Option<Vec<i64>> =
        made.labels.iter().map(|label| label.as_ref().map_or(Some(-1), |label| label.parse().ok())).collect();
    match numbers {
        Some(numbers) => integers(&[numbers.len()], &numbers),
        None => {
            let labels: Vec<&str> = made.labels.iter().map(|label| label.as_deref().unwrap_or("?")).collect();
            texts(&[labels.len()], &labels)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_graph_in_tables_is_read_as_it_was_written(made in made(), style in style()) {
        let (features, edges) = (style.features(&made), style.edges(&made));
        let (labels, masks) = (style.labels(&made), style.masks(&made));
        let names = ["features.csv", "edges.tsv", "labels.txt.gz", "masks"];
        let read = read([(names[0], &features), (names[1], &edges), (names[2], &labels), (names[3], &masks)]).unwrap();
        prop_assert_eq!(&read, &made.expected(style.ids));

        let directory = directory();
        let masks = write(directory.path(), "masks.csv", &masks);
        let split = own::read_masks(&masks, &NodeNames::of(&read).unwrap()).unwrap();
        prop_assert_eq!(&[split], &made.expected(style.ids).splits[..]);
    }

    #[test]
    fn without_labels_and_masks_nodes_are_the_same(made in made(), style in style()) {
        let directory = directory();
        let files = OwnFiles {
            edges: write(directory.path(), "edges.csv", &style.edges(&made)),
            features: Some(write(directory.path(), "features.csv", &style.features(&made))),
            // What the configuration of a run names may be gone.
            labels: Some(directory.path().join("labels.csv")),
            masks: None,
        };
        let classes = ["b", "a"].map(str::to_owned).to_vec();
        let expected = RawDataset {
            labels: vec![None; made.nodes()],
            classes: 2,
            class_names: classes.clone(),
            splits: Vec::new(),
            ..made.expected(style.ids)
        };
        prop_assert_eq!(own::read_unlabelled(&files, &classes).unwrap(), expected);
    }

    #[test]
    fn any_graph_in_arrays_is_read_as_it_was_written(made in made(), transposed: bool, archived: bool) {
        let shape = [made.features.rows(), made.features.columns()];
        let features = floats(&shape, made.features.as_slice());
        let (sources, targets): (Vec<i64>, Vec<i64>) =
            made.edges.iter().map(|&(source, target)| (i64::from(source), i64::from(target))).unzip();
        let count = made.edges.len();
        // A square is read row by row.
        let edges = match transposed && count != 2 {
            true => integers(&[2, count], &[sources, targets].concat()),
            false => {
                let pairs: Vec<i64> = sources.iter().zip(&targets).flat_map(|(&source, &target)| [source, target]).collect();
                integers(&[count, 2], &pairs)
            }
        };
        let masks = masks_of(&made);
        let [features, edges, labels] = [features, edges, labels_of(&made)].map(|array| match archived {
            true => npz(&[("anything", array)]),
            false => array,
        });
        // The first bytes tell the format where the extension does not.
        let files = [("features", &features[..]), ("edges.bin", &edges), ("labels", &labels), ("masks.npz", &masks)];
        prop_assert_eq!(read(files).unwrap(), made.expected(false));
    }

    #[test]
    fn any_graph_in_matrices_of_scipy_is_read_as_it_was_written(mut made in made()) {
        made.edges.sort_unstable();
        made.edges.dedup();
        let nodes = made.nodes();
        let entries = made.edges.iter().map(|&(source, target)| (source, target, 1.0)).collect();
        let adjacency = scipy(&Csr::from_entries(nodes, nodes, entries).unwrap());
        let sparse = Csr::from_dense(&made.features);
        let (features, labels, masks) = (scipy(&sparse), labels_of(&made), masks_of(&made));
        let mut expected = made.expected(false);
        expected.features = Features::Sparse(sparse);
        let files = [("f.npz", &features[..]), ("e.npz", &adjacency), ("l.npy", &labels), ("m.npz", &masks)];
        prop_assert_eq!(read(files).unwrap(), expected);
    }

    #[test]
    fn arrays_name_nodes_by_the_ids_of_the_features(made in made()) {
        let style = Style { separator: b',', header: true, ids: true, in_order: true, compressed: false };
        let pairs: Vec<&str> = made
            .edges
            .iter()
            .flat_map(|&(source, target)| [source, target].map(|node| made.ids[node as usize].as_str()))
            .collect();
        let (features, edges) = (style.features(&made), texts(&[made.edges.len(), 2], &pairs));
        let (labels, masks) = (style.labels(&made), style.masks(&made));
        let files = [("f.csv", &features[..]), ("e.npy", &edges), ("l.csv", &labels), ("m.csv", &masks)];
        prop_assert_eq!(read(files).unwrap(), made.expected(true));
    }
}
