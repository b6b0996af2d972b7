//! What is written is read back.

use abyssal_graph::formats::npy::{self, Array, Values};
use abyssal_graph::formats::{RawDataset, gnn_benchmark, sparse};
use abyssal_graph::{Features, Split};
use abyssal_tensor::{Csr, Matrix};
use proptest::prelude::*;

use crate::writer::{Arrays, bools, floats, integers, npy, npz, text};

/// The bytes of each element, little-endian, and the element as it should be read.
type Elements = (&'static str, Vec<Vec<u8>>, Values);

/// Elements of any dtype.
fn elements(count: usize) -> impl Strategy<Value = Elements> {
    let widths = prop_oneof![Just(1usize), Just(2), Just(4), Just(8)];
    let numbers = (any::<bool>(), widths, prop::collection::vec(any::<i64>(), count));
    let integers = numbers.prop_map(|(signed, width, numbers)| {
        let dtypes = if signed { ["i1", "i2", "i4", "i8"] } else { ["u1", "u2", "u4", "u8"] };
        // An arithmetic shift right leaves what fits into the width.
        let shift = 64 - 8 * width as u32 + u32::from(!signed);
        let numbers: Vec<i64> =
            numbers.iter().map(|n| if signed { n >> shift } else { (n >> shift).abs() }).collect();
        let bytes = numbers.iter().map(|number| number.to_le_bytes()[..width].to_vec()).collect();
        (dtypes[width.ilog2() as usize], bytes, Values::Integers(numbers))
    });
    let singles = prop::collection::vec(any::<f32>(), count).prop_map(|numbers| {
        ("f4", numbers.iter().map(|number| number.to_le_bytes().to_vec()).collect(), Values::Floats(numbers))
    });
    let doubles = prop::collection::vec(any::<f64>(), count).prop_map(|numbers| {
        ("f8", numbers.iter().map(|number| number.to_le_bytes().to_vec()).collect(), Values::Doubles(numbers))
    });
    let truths = prop::collection::vec(any::<bool>(), count).prop_map(|truths| {
        ("b1", truths.iter().map(|&truth| vec![u8::from(truth)]).collect(), Values::Bool(truths))
    });
    let words = prop::collection::vec("[a-zäß→図 ]{0,3}", count).prop_map(|words| {
        let padded = |word: &String| {
            let symbols = word.chars().chain(std::iter::repeat('\0')).take(3);
            symbols.flat_map(|symbol| (symbol as u32).to_le_bytes()).collect::<Vec<u8>>()
        };
        ("U3", words.iter().map(padded).collect(), Values::Text(words))
    });
    prop_oneof![4 => integers, 1 => singles, 1 => doubles, 1 => truths, 1 => words]
}

/// Where element number `place` of a file in Fortran order stands in C order.
fn c_place(mut place: usize, shape: &[usize]) -> usize {
    let mut result = 0;
    for (dimension, length) in shape.iter().enumerate() {
        result += place % length * shape[dimension + 1..].iter().product::<usize>();
        place /= length;
    }
    result
}

/// The arrays of a compressed matrix; entries stay in the order of the list within their lines.
fn compressed(lines: usize, shape: (usize, usize), entries: &[(u32, u32, f32)]) -> Arrays {
    let mut sorted = entries.to_vec();
    sorted.sort_by_key(|&(line, ..)| line);
    let offset = |line: usize| sorted.iter().filter(|entry| (entry.0 as usize) < line).count() as i64;
    vec![
        ("data", floats(sorted.iter().map(|entry| entry.2))),
        ("indices", integers(sorted.iter().map(|entry| i64::from(entry.1)))),
        ("indptr", integers((0..=lines).map(offset))),
        ("shape", integers([shape.0 as i64, shape.1 as i64])),
    ]
}

/// Small whole values, so that any order of adding gives the same sums.
fn entries(rows: usize, columns: usize) -> impl Strategy<Value = Vec<(u32, u32, f32)>> {
    let entry = (0..rows as u32, 0..columns as u32, (-8i8..8).prop_map(f32::from));
    prop::collection::vec(entry, 0..20)
}

fn dataset() -> impl Strategy<Value = RawDataset> {
    (1usize..8, 1usize..6).prop_flat_map(|(nodes, columns)| {
        let edges = prop::collection::vec((0..nodes as u32, 0..nodes as u32), 0..20);
        let labels = prop::collection::vec(prop::option::of(0u32..4), nodes);
        let class_names = prop_oneof![Just(vec![]), prop::collection::vec("[a-zäß ]{1,4}", 4..6)];
        let node_names = prop_oneof![Just(vec![]), prop::collection::vec("[a-zäß ]{1,4}", nodes)];
        let parts =
            (Just(nodes), Just(columns), edges, entries(nodes, columns), labels, class_names, node_names);
        (parts, any::<bool>(), any::<bool>()).prop_map(|(parts, dense, with_split)| {
            let (nodes, columns, mut edges, entries, labels, class_names, node_names) = parts;
            edges.sort_by_key(|&(source, _)| source);
            let features = Csr::from_entries(nodes, columns, entries).expect("entries are inside");
            let features =
                if dense { Features::Dense(features.to_dense()) } else { Features::Sparse(features) };
            let labelled = labels.iter().flatten().max().map_or(0, |&label| label as usize + 1);
            let splits = match with_split && nodes >= 3 {
                true => vec![Split::new(vec![0], vec![1], vec![2]).expect("the sets differ")],
                false => vec![],
            };
            let classes = labelled.max(class_names.len());
            RawDataset { nodes, edges, features, labels, classes, class_names, node_names, splits }
        })
    })
}

/// The dataset in the one-file layout.
fn one_file(dataset: &RawDataset) -> Arrays {
    let renamed = |arrays: Arrays, names: [&'static str; 4]| {
        arrays.into_iter().zip(names).map(|((_, bytes), name)| (name, bytes)).collect::<Arrays>()
    };
    let edges: Vec<_> = dataset.edges.iter().map(|&(source, target)| (source, target, 1.0)).collect();
    let adjacency = compressed(dataset.nodes, (dataset.nodes, dataset.nodes), &edges);
    let mut arrays = renamed(adjacency, ["adj_data", "adj_indices", "adj_indptr", "adj_shape"]);
    match &dataset.features {
        Features::Dense(matrix) => {
            let data: Vec<u8> = matrix.as_slice().iter().flat_map(|value| value.to_le_bytes()).collect();
            arrays.push(("attr_matrix", npy("<f4", false, &[matrix.rows(), matrix.columns()], &data)));
        }
        Features::Sparse(matrix) => {
            let row = |row: usize| {
                let (columns, values) = matrix.row(row);
                columns.iter().zip(values).map(move |(&column, &value)| (row as u32, column, value))
            };
            let entries: Vec<_> = (0..matrix.rows()).flat_map(row).collect();
            let matrix = compressed(matrix.rows(), (matrix.rows(), matrix.columns()), &entries);
            arrays.extend(renamed(matrix, ["attr_data", "attr_indices", "attr_indptr", "attr_shape"]));
        }
    }
    arrays.push(("labels", integers(dataset.labels.iter().map(|label| label.map_or(-1, i64::from)))));
    for (name, names) in [("class_names", &dataset.class_names), ("node_names", &dataset.node_names)] {
        if !names.is_empty() {
            arrays.push((name, text(names)));
        }
    }
    for split in &dataset.splits {
        for (name, set) in
            [("train_mask", split.train()), ("val_mask", split.validation()), ("test_mask", split.test())]
        {
            let mask: Vec<bool> = (0..dataset.nodes as u32).map(|node| set.contains(&node)).collect();
            arrays.push((name, bools(&mask)));
        }
    }
    arrays
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_array_is_read_back(
        (shape, (dtype, bytes, values)) in prop::collection::vec(0usize..5, 0..4).prop_flat_map(|shape| {
            let count = shape.iter().product();
            (Just(shape), elements(count))
        }),
        big: bool, fortran: bool, compressed: bool,
    ) {
        let mut data = Vec::new();
        for place in 0..bytes.len() {
            let mut element = bytes[if fortran { c_place(place, &shape) } else { place }].clone();
            // The bytes of a number, or of each of its symbols.
            let unit = if dtype == "U3" { 4 } else { element.len() };
            if big {
                element.chunks_mut(unit).for_each(<[u8]>::reverse);
            }
            data.extend(element);
        }
        let dtype = format!("{}{dtype}", if big { '>' } else { '<' });
        let file = npy(&dtype, fortran, &shape, &data);
        let expected = Array { shape, values };
        prop_assert_eq!(&npy::read(&file[..], 1 << 20).unwrap(), &expected);
        prop_assert_eq!(&npz(&[("array", file)], compressed).array("array").unwrap(), &expected);
    }

    #[test]
    fn any_matrix_is_read_from_each_format_of_scipy(
        (rows, columns, entries) in (0usize..6, 0usize..6).prop_flat_map(|(rows, columns)| {
            let any = entries(rows.max(1), columns.max(1));
            (Just(rows), Just(columns), any.prop_map(move |any| if rows * columns == 0 { vec![] } else { any }))
        }),
        deflate: bool,
    ) {
        let mut expected = Matrix::<f32>::zeros(rows, columns);
        let mut places = std::collections::BTreeSet::new();
        for &(row, column, value) in &entries {
            places.insert((row, column));
            let (row, column) = (row as usize, column as usize);
            expected.set(row, column, expected.get(row, column) + value);
        }
        let shape = (rows, columns);
        let turned: Vec<_> = entries.iter().map(|&(row, column, value)| (column, row, value)).collect();
        let coordinates = vec![
            ("data", floats(entries.iter().map(|entry| entry.2))),
            ("row", integers(entries.iter().map(|entry| i64::from(entry.0)))),
            ("col", integers(entries.iter().map(|entry| i64::from(entry.1)))),
            ("shape", integers([rows as i64, columns as i64])),
        ];
        for (format, mut arrays) in [
            ("csr", compressed(rows, shape, &entries)),
            ("csc", compressed(columns, shape, &turned)),
            ("coo", coordinates),
        ] {
            arrays.push(("format", npy("|S3", false, &[], format.as_bytes())));
            arrays.push(("_is_array", npy("|b1", false, &[], &[1])));
            let matrix = sparse::read_scipy(&mut npz(&arrays, deflate)).unwrap();
            prop_assert_eq!(&matrix.to_dense(), &expected, "{}", format);
            prop_assert_eq!(matrix.stored(), places.len());
        }
    }

    #[test]
    fn any_dataset_is_read_back(dataset in dataset(), compressed: bool) {
        let read = gnn_benchmark::parse(&mut npz(&one_file(&dataset), compressed)).unwrap();
        prop_assert_eq!(read, dataset);
    }
}
