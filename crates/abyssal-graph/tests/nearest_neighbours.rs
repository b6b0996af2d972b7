//! Nearest neighbours equal a search that compares every two rows by the definition in double precision.

use abyssal_graph::{
    Distance, Features, GraphError, Neighbours, nearest_neighbours, neighbour_graph, similarity_weights,
};
use abyssal_tensor::parallel::with_threads;
use abyssal_tensor::random::{Purpose, Stream};
use abyssal_tensor::{Csr, Matrix};
use proptest::prelude::*;

const DISTANCES: [Distance; 2] = [Distance::Euclidean, Distance::Cosine];

fn inner_product(left: &[f32], right: &[f32]) -> f64 {
    left.iter().zip(right).fold(0.0, |sum, (&left, &right)| sum + f64::from(left) * f64::from(right))
}

/// The definition, as [`Distance`] documents it, of two rows with their squared norms.
fn distance_between(
    (left, left_norm): (&[f32], f64),
    (right, right_norm): (&[f32], f64),
    distance: Distance,
) -> f64 {
    let product = inner_product(left, right);
    match distance {
        Distance::Euclidean if left == right => 0.0,
        Distance::Euclidean => {
            let squared = left_norm + right_norm - 2.0 * product;
            if squared > 0.0 { squared } else { f64::MIN_POSITIVE }
        }
        Distance::Cosine if left_norm == 0.0 || right_norm == 0.0 => 1.0,
        Distance::Cosine => {
            let similarity = product.signum() * (product.powi(2) / (left_norm * right_norm)).sqrt();
            (1.0 - similarity).max(0.0)
        }
    }
}

/// All other nodes of every node, ascending by (distance, index).
fn all_neighbours(matrix: &Matrix<f32>, distance: Distance) -> Vec<Vec<u32>> {
    let rows: Vec<(&[f32], f64)> = (0..matrix.rows())
        .map(|row| (matrix.row(row), inner_product(matrix.row(row), matrix.row(row))))
        .collect();
    let others_of = |node: usize| {
        let mut others: Vec<(f64, u32)> = (0..matrix.rows())
            .filter(|&other| other != node)
            .map(|other| (distance_between(rows[node], rows[other], distance), other as u32))
            .collect();
        others.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        others.into_iter().map(|(_, other)| other).collect()
    };
    (0..matrix.rows()).map(others_of).collect()
}

fn both(matrix: &Matrix<f32>) -> [Features; 2] {
    [Features::Dense(matrix.clone()), Features::Sparse(Csr::from_dense(matrix))]
}

/// Compares both storages and both distances with the definition, for several k.
fn assert_equals_definition(matrix: &Matrix<f32>, counts: &[usize]) {
    for distance in DISTANCES {
        let expected = all_neighbours(matrix, distance);
        for features in both(matrix) {
            for &k in counts {
                let found = nearest_neighbours(&features, k, distance).expect("a valid request");
                for (node, expected) in expected.iter().enumerate() {
                    assert_eq!(found.of(node), &expected[..k], "{distance:?}, k = {k}, node {node}");
                }
            }
        }
    }
}

/// Rows that are copies of each other: row i of the result is row `sources[i]` of the matrix.
fn repeated(matrix: &Matrix<f32>, sources: &[usize]) -> Matrix<f32> {
    let rows: Vec<&[f32]> = sources.iter().map(|&source| matrix.row(source % matrix.rows())).collect();
    Matrix::from_rows(&rows)
}

/// Small whole numbers: ties, duplicates, rows of zeros, rows without a common column.
fn words() -> impl Strategy<Value = Matrix<f32>> {
    (2usize..40, 1usize..12).prop_flat_map(|(rows, columns)| {
        let value = prop_oneof![3 => Just(0.0f32), 1 => (-2i8..4).prop_map(f32::from)];
        prop::collection::vec(value, rows * columns)
            .prop_map(move |values| Matrix::from_slice(rows, columns, &values))
    })
}

/// Real numbers on which single precision fails: common offsets, tiny differences, huge and tiny scales, also within one
/// matrix, and duplicates.
fn adversarial() -> impl Strategy<Value = Matrix<f32>> {
    let offset = prop::sample::select(vec![0.0f64, 1.0, 1e4, -1e4, 1e8]);
    let spread = prop::sample::select(vec![1e-7f64, 1e-3, 1.0, 1e3]);
    let scale = prop::sample::select(vec![1e-42f64, 1e-30, 1e-20, 1.0, 1e10, 1e28]);
    let row_scales = prop::sample::select(vec![vec![1.0f64], vec![1.0, 1e-4], vec![1.0, 1e-12, 1e-25]]);
    (2usize..90, 1usize..50, offset, spread, (scale, row_scales)).prop_flat_map(
        |(rows, columns, offset, spread, (scale, row_scales))| {
            let values = prop::collection::vec(-1.0..1.0f64, rows * columns);
            let sources = prop::collection::vec(0..2 * rows, rows);
            (values, sources).prop_map(move |(values, sources)| {
                let matrix = Matrix::from_fn(rows, columns, |row, column| {
                    let value = offset + spread * values[row * columns + column];
                    (value * scale * row_scales[row % row_scales.len()]) as f32
                });
                repeated(&matrix, &sources)
            })
        },
    )
}

fn normal(rows: usize, columns: usize, seed: u64) -> Matrix<f32> {
    let stream = Stream::new(seed, Purpose::Generation, 0, 0);
    Matrix::from_fn(rows, columns, |row, column| stream.normal((row * columns + column) as u64) as f32)
}

/// A few ones a row, as in a bag of words.
fn sparse(rows: usize, columns: usize, entries: usize) -> Csr<f32> {
    let stream = Stream::new(3, Purpose::Generation, 0, 0);
    let entry = |index: usize| {
        (stream.below(2 * index as u64, rows) as u32, stream.below(2 * index as u64 + 1, columns) as u32, 1.0)
    };
    Csr::from_entries(rows, columns, (0..entries).map(entry).collect()).expect("entries inside the matrix")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn ties_and_duplicates_are_in_the_order_of_the_definition(matrix in words()) {
        let counts: Vec<usize> = (1..matrix.rows()).collect();
        assert_equals_definition(&matrix, &counts);
    }

    #[test]
    fn numbers_that_single_precision_confuses_are_in_the_order_of_the_definition(
        matrix in adversarial(),
        k in 1usize..90,
    ) {
        assert_equals_definition(&matrix, &[1, k.min(matrix.rows() - 1), matrix.rows() - 1]);
    }

    #[test]
    fn weights_are_symmetric_to_the_last_bit(matrix in words(), factor in 0.1..3.0f32, power in 0.0..3.0f64) {
        let values: Vec<f32> = matrix.as_slice().iter().map(|value| value * factor).collect();
        let matrix = Matrix::from_slice(matrix.rows(), matrix.columns(), &values);
        let graph = neighbour_graph(&Features::Dense(matrix.clone()), 1, Distance::Euclidean).unwrap();
        let [dense, sparse] = both(&matrix).map(|features| similarity_weights(&graph, &features, power, true).unwrap());
        prop_assert_eq!(&dense.transposed().0, &dense);
        prop_assert_eq!(&dense, &sparse);
    }
}

/// Several blocks of rows and of columns, a last one that is not full, and neighbours in all of them.
#[test]
fn blocks_do_not_show() {
    assert_equals_definition(&normal(2500, 6, 1), &[7, 300]);
    let first = normal(1100, 3, 2);
    let sources: Vec<usize> = (0..2300).map(|row| row * 7919).collect();
    assert_equals_definition(&repeated(&first, &sources), &[5]);
}

/// The order in which nearer and nearer rows come later.
#[test]
fn sorted_rows_are_as_good_as_any() {
    let matrix = Matrix::from_fn(2200, 2, |row, column| if column == 0 { row as f32 } else { 1.0 });
    assert_equals_definition(&matrix, &[4]);
}

#[test]
fn bags_of_words_with_few_common_words() {
    assert_equals_definition(&sparse(1200, 150, 3000).to_dense(), &[3, 40]);
}

#[test]
fn the_number_of_threads_does_not_show() {
    let dense = normal(2600, 9, 4);
    let features = [Features::Dense(dense), Features::Sparse(sparse(2600, 300, 8000))];
    for (features, distance, k) in features
        .iter()
        .flat_map(|features| DISTANCES.map(|distance| [1, 200].map(|k| (features, distance, k))))
        .flatten()
    {
        let run =
            |threads| with_threads(threads, || nearest_neighbours(features, k, distance)).unwrap().unwrap();
        let one = run(1);
        assert_eq!(run(2), one);
        assert_eq!(run(3), one);
    }
}

#[test]
fn thousands_of_equal_rows_have_the_smallest_indices_as_neighbours() {
    let matrix = Matrix::from_fn(5000, 8, |_, column| 0.1 + column as f32);
    for (features, distance) in both(&matrix)
        .iter()
        .zip([DISTANCES; 2])
        .flat_map(|(features, distances)| distances.map(|distance| (features, distance)))
    {
        let found = nearest_neighbours(features, 3, distance).unwrap();
        for node in 0..5000u32 {
            let expected: Vec<u32> = (0..4).filter(|&other| other != node).take(3).collect();
            assert_eq!(found.of(node as usize), expected);
        }
    }
}

#[test]
fn a_graph_joins_nodes_if_one_is_near_the_other() {
    // The nearest of 0 is 1, of 1 is 2, of 2 is 1, of 3 is 2.
    for features in both(&Matrix::from_rows(&[[-10.0], [1.0], [3.0], [9.0]])) {
        let neighbours = nearest_neighbours(&features, 1, Distance::Euclidean).unwrap();
        assert_eq!(neighbours, Neighbours { k: 1, indices: vec![1, 2, 1, 2] });
        let graph = neighbour_graph(&features, 1, Distance::Euclidean).unwrap();
        assert_eq!(graph.pairs().collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3)]);
    }
}

#[test]
fn a_number_of_neighbours_outside_its_range_is_named() {
    for features in both(&normal(4, 2, 5)) {
        for k in [0, 4, usize::MAX] {
            let error = nearest_neighbours(&features, k, Distance::Cosine).unwrap_err();
            let expected = format!("k = {k} is out of range: k nearest neighbours of 4 nodes need 1 ≤ k < 4");
            assert_eq!(error.to_string(), expected);
            assert_eq!(neighbour_graph(&features, k, Distance::Cosine), Err(error));
        }
    }
    for features in both(&normal(1, 2, 5)) {
        assert!(nearest_neighbours(&features, 1, Distance::Euclidean).is_err());
    }
}

#[test]
fn features_without_columns_are_refused() {
    for features in both(&Matrix::zeros(3, 0)) {
        assert_eq!(nearest_neighbours(&features, 1, Distance::Euclidean), Err(GraphError::NoFeatures));
    }
}

#[test]
fn features_that_are_no_numbers_are_refused() {
    for bad in [f32::NAN, f32::INFINITY] {
        for features in both(&Matrix::from_rows(&[[1.0, 2.0], [3.0, bad], [1.0, 1.0]])) {
            let error = nearest_neighbours(&features, 1, Distance::Euclidean).unwrap_err();
            assert!(matches!(error, GraphError::FeatureNotFinite { row: 1, column: 1, .. }));
        }
    }
}

#[test]
fn distances_have_names_in_lower_case() {
    for (distance, name) in [(Distance::Euclidean, "\"euclidean\""), (Distance::Cosine, "\"cosine\"")] {
        assert_eq!(serde_json::to_string(&distance).unwrap(), name);
        assert_eq!(serde_json::from_str::<Distance>(name).unwrap(), distance);
    }
}
