use abyssal_tensor::Matrix;

use super::*;

/// A path 0 → 1 → 2, an edge 3 → 4, a loop at 5.
fn raw() -> RawDataset {
    RawDataset {
        nodes: 6,
        edges: vec![(0, 1), (1, 2), (3, 4), (5, 5)],
        features: Features::Dense(Matrix::from_fn(6, 3, |row, column| ((row + column) % 4) as f32)),
        labels: vec![Some(0), Some(1), Some(1), Some(0), Some(1), None],
        classes: 2,
        class_names: Vec::new(),
        node_names: (0..6).map(|node| format!("node {node}")).collect(),
        splits: vec![Split::new(vec![0, 3], vec![1], vec![2, 4, 5]).expect("disjoint").with_name("given")],
    }
}

fn apply(preparation: Preparation) -> Result<Dataset, GraphError> {
    preparation.apply("small", raw(), PaperSplit::None)
}

#[test]
fn the_default_drops_directions_and_unlabelled_nodes_of_splits() {
    let dataset = apply(Preparation::default()).unwrap();
    assert_eq!(*dataset.graph(), Graph::from_edges(6, [(0, 1), (1, 2), (3, 4)]).unwrap());
    assert_eq!(*dataset.features(), raw().features);
    assert_eq!((dataset.split().name(), dataset.split().test()), ("given", &[2, 4][..]));
}

#[test]
fn directions_and_self_loops_can_be_kept_and_left_out() {
    let dataset =
        apply(Preparation { symmetrize: false, self_loops: false, ..Preparation::default() }).unwrap();
    assert_eq!(
        *dataset.graph(),
        Graph::from_directed_edges(6, [(0, 1), (1, 2), (3, 4)]).unwrap().with_self_loops(false)
    );
}

#[test]
fn the_largest_component_takes_features_labels_and_splits_with_it() {
    let mut preparation = Preparation { largest_component: true, ..Preparation::default() };
    let dataset = apply(preparation.clone()).unwrap();
    assert_eq!(dataset.nodes(), 3);
    assert_eq!(dataset.labels(), &[Some(0), Some(1), Some(1)]);
    assert_eq!(*dataset.features(), raw().features.select_rows(&[0, 1, 2]));
    assert_eq!((dataset.split().train(), dataset.split().test()), (&[0][..], &[2][..]));
    // A split that loses a set is not there any more.
    preparation.split = SplitRule::Stored("given".to_string());
    let mut raw = raw();
    raw.splits = vec![Split::new(vec![3], vec![1], vec![2]).unwrap().with_name("given")];
    let error = preparation.apply("small", raw, PaperSplit::None).unwrap_err();
    assert!(matches!(error, GraphError::NoSuchSplit { .. }), "{error}");
}

#[test]
fn noise_depends_on_the_seed_and_on_nothing_else() {
    let noise = |seed| {
        let preparation = Preparation { noise_features: true, seed, ..Preparation::default() };
        apply(preparation).unwrap().features().clone()
    };
    assert_eq!(noise(1), noise(1));
    assert_ne!(noise(1), noise(2));
    let features = transforms::noise(400, 50, 3);
    let Features::Dense(matrix) = &features else { panic!("noise is dense") };
    let values = matrix.as_slice().iter().map(|&value| f64::from(value));
    let count = values.len() as f64;
    let (mean, square) = values
        .fold((0.0, 0.0), |(mean, square), value| (mean + value / count, square + value * value / count));
    assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.04, "mean {mean}, square {square}");
}

#[test]
fn transforms_follow_each_other() {
    let preparation = Preparation { binarize: true, row_normalize: true, ..Preparation::default() };
    let dataset = apply(preparation).unwrap();
    assert_eq!(*dataset.features(), raw().features.binarized().row_normalized());
    let dataset = apply(Preparation { standardize: true, ..Preparation::default() }).unwrap();
    assert_eq!(*dataset.features(), raw().features.standardized());
}

#[test]
fn the_graph_of_neighbours_is_that_of_the_transformed_features() {
    let graph: GraphRule = "knn:2".parse().unwrap();
    let dataset = apply(Preparation { graph, row_normalize: true, ..Preparation::default() }).unwrap();
    let expected = neighbour_graph(&raw().features.row_normalized(), 2, crate::Distance::Euclidean).unwrap();
    assert_eq!(*dataset.graph(), expected);
}

#[test]
fn random_splits_depend_on_the_seed_and_carry_it_in_their_name() {
    let mut raw = raw();
    raw.splits.clear();
    raw.labels = vec![Some(0), Some(0), Some(0), Some(1), Some(1), Some(1)];
    let draw = |raw: &RawDataset, rule: &str, seed| {
        let split = rule.parse().unwrap();
        let preparation = Preparation { split, seed, ..Preparation::default() };
        preparation.apply("small", raw.clone(), PaperSplit::None).unwrap().split().clone()
    };
    let split = |seed| draw(&raw, "per-class:1,1", seed);
    assert_eq!(split(3).name(), "per-class:1,1, seed 3");
    assert_eq!(split(3), split(3));
    assert!((0..20).any(|seed| split(seed).train() != split(3).train()));
    // Without a split that came with the data, shares are drawn.
    let raw =
        RawDataset { labels: vec![Some(0), Some(0), Some(0), Some(0), Some(0), Some(1)], ..raw.clone() };
    assert_eq!(draw(&raw, "default", 1).name(), "fractions:0.6,0.2, seed 1");
}

#[test]
fn a_number_that_is_none_is_told_before_sums_spread_it() {
    let mut raw = raw();
    let mut matrix = Matrix::zeros(6, 3);
    matrix.set(4, 2, f32::NAN);
    raw.features = Features::Dense(matrix);
    let preparation = Preparation { row_normalize: true, standardize: true, ..Preparation::default() };
    let error = preparation.apply("small", raw, PaperSplit::None).unwrap_err();
    assert!(matches!(error, GraphError::FeatureNotFinite { row: 4, column: 2, .. }), "{error}");
}
