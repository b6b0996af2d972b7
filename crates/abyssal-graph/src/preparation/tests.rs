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
    // A split that loses a set is told, and no other one takes its place.
    let mut raw = raw();
    raw.splits = vec![Split::new(vec![3], vec![1], vec![2]).unwrap().with_name("given")];
    for split in [SplitRule::Stored("given".to_string()), SplitRule::Default] {
        preparation.split = split;
        let error = preparation.apply("small", raw.clone(), PaperSplit::None).unwrap_err();
        assert!(matches!(error, GraphError::SubsetLost { subset: crate::Subset::Train, .. }), "{error}");
    }
}

#[test]
fn a_graph_to_predict_is_prepared_as_one_to_learn_from() {
    let preparation = Preparation { largest_component: true, row_normalize: true, ..Preparation::default() };
    let learnt = preparation.apply("small", raw(), PaperSplit::None).unwrap();
    let unlabelled = RawDataset { labels: vec![None; raw().nodes], splits: Vec::new(), ..raw() };
    let predicted = preparation.apply_unlabelled("small", unlabelled).unwrap();
    assert_eq!((predicted.graph(), predicted.features()), (learnt.graph(), learnt.features()));
    assert_eq!((predicted.node_name(2), predicted.labels()), (learnt.node_name(2), &[None; 3][..]));
    let split = predicted.split();
    assert!([split.train(), split.validation(), split.test()].iter().all(|nodes| nodes.is_empty()));
}

/// Of those that have a label.
#[test]
fn a_rehearsal_judges_by_validation_nodes() {
    let mut raw = raw();
    raw.splits = vec![Split::new(vec![0], vec![1, 2, 3, 5], vec![4]).unwrap().with_name("given")];
    let rehearse = |rehearsal| {
        let preparation = Preparation { rehearsal, ..Preparation::default() };
        let dataset = preparation.apply("small", raw.clone(), PaperSplit::None).unwrap();
        let split = dataset.split();
        (split.validation().to_vec(), split.test().to_vec(), split.name().to_string())
    };
    // Node 3 is of class 0, nodes 1 and 2 are of class 1.
    let first = rehearse(Rehearsal::First);
    assert_eq!(first, (vec![1], vec![2, 3], "given, rehearsal first".to_string()));
    let second = rehearse(Rehearsal::Second);
    assert_eq!(second, (vec![2, 3], vec![1], "given, rehearsal second".to_string()));
    let off = rehearse(Rehearsal::Off);
    assert_eq!(off, (vec![1, 2, 3], vec![4], "given".to_string()));
    raw.splits[0] = Split::new(vec![0], vec![1], vec![2]).unwrap();
    let preparation = Preparation { rehearsal: Rehearsal::First, ..Preparation::default() };
    let error = preparation.apply("small", raw, PaperSplit::None).unwrap_err().to_string();
    assert!(error.contains("a single validation node"), "{error}");
}

/// Nodes 0 to 3 alone, 4 to 23 a ring; numbered, with labels that take turns.
fn ring_beside_isolated_nodes() -> RawDataset {
    RawDataset {
        nodes: 24,
        edges: (4..24).map(|node| (node, if node == 23 { 4 } else { node + 1 })).collect(),
        features: Features::Dense(Matrix::from_fn(24, 1, |row, _| row as f32)),
        labels: (0..24).map(|node| Some(node % 2)).collect(),
        classes: 2,
        class_names: Vec::new(),
        node_names: Vec::new(),
        splits: Vec::new(),
    }
}

/// Applies `file:` with these masks, by id.
fn apply_file(raw: RawDataset, masks: &str) -> Result<Dataset, GraphError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("masks.csv");
    std::fs::write(&path, masks).unwrap();
    let preparation =
        Preparation { largest_component: true, split: SplitRule::File(path), ..Preparation::default() };
    preparation.apply("small", raw, PaperSplit::None)
}

#[test]
fn masks_in_a_file_mean_the_nodes_of_the_data_before_the_largest_component_is_cut_out() {
    let masks = "id,set\n4,train\n5,train\n6,train\n7,train\n8,val\n9,val\n10,test\n11,test\n";
    let from_file = apply_file(ring_beside_isolated_nodes(), masks).unwrap();
    assert_eq!(from_file.split().train(), &[0, 1, 2, 3]);
    let split = Split::new(vec![4, 5, 6, 7], vec![8, 9], vec![10, 11]).unwrap();
    let stored = RawDataset { splits: vec![split], ..ring_beside_isolated_nodes() };
    let preparation = Preparation { largest_component: true, ..Preparation::default() };
    let stored = preparation.apply("small", stored, PaperSplit::None).unwrap();
    assert_eq!(from_file.split().fingerprint(), stored.split().fingerprint());
    assert_eq!(from_file.fingerprint(), stored.fingerprint());
}

#[test]
fn nodes_of_the_largest_component_keep_their_numbers_as_names() {
    let preparation = Preparation { largest_component: true, ..Preparation::default() };
    let dataset = preparation.apply("small", ring_beside_isolated_nodes(), PaperSplit::None).unwrap();
    assert_eq!((dataset.node_name(0), dataset.node_name(19)), ("4".into(), "23".into()));
    let named = preparation.apply("small", raw(), PaperSplit::None).unwrap();
    assert_eq!(named.node_name(2), "node 2");
}

#[test]
fn masks_that_lose_a_set_with_the_other_components_say_so() {
    let error = apply_file(ring_beside_isolated_nodes(), "id,set\n0,train\n8,val\n10,test\n")
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("no labelled node of the train set of the split file:"), "{error}");
    assert!(error.contains("data.largest_component=false"), "{error}");
}

#[test]
fn a_class_too_small_for_a_split_is_called_by_its_name() {
    let split = SplitRule::PerClass { train: 2, validation: 1 };
    let preparation = Preparation { split, ..Preparation::default() };
    let mut raw = raw();
    let refused = |raw| preparation.apply("small", raw, PaperSplit::None).unwrap_err().to_string();
    assert!(refused(raw.clone()).starts_with("class 0 has 2 labelled nodes where 3 are asked for; "));
    raw.class_names = vec!["baker".to_string(), "diver".to_string()];
    raw.labels[3] = Some(1);
    assert!(refused(raw).starts_with("class `baker` has 1 labelled node where 3 are asked for; "));
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
