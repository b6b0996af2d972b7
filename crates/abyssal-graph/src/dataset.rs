//! A node classification task: graph, features, labels and split, checked to fit together.

use std::borrow::Cow;

use crate::{Features, Fingerprint, Graph, GraphError, Split};

/// Everything a model learns from. Whoever holds one can rely on it: features are finite with one row a node,
/// labels are in range, and every node of the split has one.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    name: String,
    graph: Graph,
    features: Features,
    labels: Vec<Option<u32>>,
    classes: usize,
    split: Split,
    class_names: Vec<String>,
    node_names: Vec<String>,
}

impl Dataset {
    /// A dataset from its parts. A label of `None` is unknown, to be predicted.
    ///
    /// # Errors
    /// If features or labels are not one a node, a feature is infinite or NaN, there are fewer than two classes, a
    /// label is out of range, or the split names a node that does not exist or has no label.
    pub fn new(
        name: impl Into<String>,
        graph: Graph,
        features: Features,
        labels: Vec<Option<u32>>,
        classes: usize,
        split: Split,
    ) -> Result<Self, GraphError> {
        let nodes = graph.nodes();
        check_features(&features, nodes)?;
        if labels.len() != nodes {
            return Err(GraphError::LabelCount { labels: labels.len(), nodes });
        }
        if classes < 2 {
            return Err(GraphError::TooFewClasses { classes });
        }
        for (node, label) in labels.iter().enumerate() {
            if let Some(label) = label.filter(|&label| label as usize >= classes) {
                return Err(GraphError::LabelOutOfRange { node, label, classes });
            }
        }
        split.check_labels(&labels)?;
        let (class_names, node_names) = (Vec::new(), Vec::new());
        Ok(Self { name: name.into(), graph, features, labels, classes, split, class_names, node_names })
    }

    /// The same dataset with names of its classes and nodes; an empty list leaves them their numbers.
    ///
    /// # Errors
    /// If there is another number of names than of classes or nodes.
    pub fn with_names(self, class_names: Vec<String>, node_names: Vec<String>) -> Result<Self, GraphError> {
        for (what, names, count) in
            [("classes", &class_names, self.classes), ("nodes", &node_names, self.nodes())]
        {
            if !names.is_empty() && names.len() != count {
                return Err(GraphError::NameCount { names: names.len(), count, what });
            }
        }
        Ok(Self { class_names, node_names, ..self })
    }

    /// The same dataset with another split.
    ///
    /// # Errors
    /// If the split names a node that does not exist or has no label.
    pub fn with_split(self, split: Split) -> Result<Self, GraphError> {
        split.check_labels(&self.labels)?;
        Ok(Self { split, ..self })
    }

    /// The same dataset with other features, say [`Features::row_normalized`] ones.
    ///
    /// # Errors
    /// If the features are not one row a node, or not finite.
    pub fn with_features(self, features: Features) -> Result<Self, GraphError> {
        check_features(&features, self.nodes())?;
        Ok(Self { features, ..self })
    }

    /// What to call it in reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.graph.nodes()
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The features, one row a node.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The label of each node; `None` where it is unknown.
    pub fn labels(&self) -> &[Option<u32>] {
        &self.labels
    }

    /// Number of classes; labels run from 0 to one less.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// What a class is called: its name, or its number.
    pub fn class_name(&self, class: usize) -> Cow<'_, str> {
        name_or_number(&self.class_names, class)
    }

    /// What all classes are called, in their order.
    pub fn class_names(&self) -> Vec<String> {
        (0..self.classes).map(|class| self.class_name(class).into_owned()).collect()
    }

    /// What a node is called: its name, or its number.
    pub fn node_name(&self, node: usize) -> Cow<'_, str> {
        name_or_number(&self.node_names, node)
    }

    /// The names of classes and of nodes; nothing where they have only numbers.
    pub(crate) fn names(&self) -> (&[String], &[String]) {
        (&self.class_names, &self.node_names)
    }

    /// Which nodes teach, which choose the model, and which judge it.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// How many bytes of memory it takes, but for what the allocator adds.
    pub fn bytes(&self) -> usize {
        let split = &self.split;
        let split = [split.train(), split.validation(), split.test()].map(size_of_val);
        let names = self.class_names.iter().chain(&self.node_names);
        let names: usize = names.map(|name| size_of_val(name) + name.len()).sum();
        let labels = size_of_val(&*self.labels);
        self.graph.bytes() + self.features.bytes() + labels + split.iter().sum::<usize>() + names
    }

    /// The accuracy, on the labelled ones of `nodes`, of always guessing the most common class of the training
    /// set: what a model has to beat. Many splits have as many training nodes of each class: of equally common ones it
    /// is the most common of the validation set, and of those that are equally common there too, any, on average.
    /// 0 where none of the nodes has a label.
    pub fn majority_share(&self, nodes: &[u32]) -> f64 {
        let counts = |nodes: &[u32]| {
            let mut counts = vec![0usize; self.classes];
            for label in nodes.iter().filter_map(|&node| self.labels[node as usize]) {
                counts[label as usize] += 1;
            }
            counts
        };
        let (train, validation) = (counts(self.split.train()), counts(self.split.validation()));
        let frequency = |class: usize| (train[class], validation[class]);
        let largest = (0..self.classes).map(frequency).max();
        let guessed: Vec<usize> =
            (0..self.classes).filter(|&class| Some(frequency(class)) == largest).collect();
        let seen = counts(nodes);
        let hits: usize = guessed.iter().map(|&class| seen[class]).sum();
        hits as f64 / (guessed.len() * seen.iter().sum::<usize>()).max(1) as f64
    }

    /// SHA-256, in hexadecimal, of what there is to learn: nodes, edges, features, labels and classes. Name and
    /// split do not matter, nor whether features are stored dense or sparse.
    ///
    /// The bytes are, with numbers little-endian: the ASCII text `abyssal dataset 1`; nodes and edges (64 bits
    /// each); each edge once as (smaller, larger) node (32 bits each) in ascending order; rows and columns of the
    /// features (64 bits each); for each row twice the number of its non-zero values (64 bits), then column and
    /// value (32 bits each); for each node its label plus one, or zero (64 bits); classes (64 bits). Edges of a
    /// directed graph are (target, source), and the texts `directed` and `without self-loops` follow where they
    /// apply.
    pub fn fingerprint(&self) -> String {
        let mut fingerprint = Fingerprint::new();
        fingerprint.bytes(b"abyssal dataset 1").number(self.nodes()).number(self.graph.edges());
        for (smaller, larger) in self.graph.pairs() {
            fingerprint.bytes(&smaller.to_le_bytes()).bytes(&larger.to_le_bytes());
        }
        self.features.fingerprint_into(&mut fingerprint);
        for label in &self.labels {
            fingerprint.number(label.map_or(0, |label| label as usize + 1));
        }
        fingerprint.number(self.classes);
        if self.graph.is_directed() {
            fingerprint.bytes(b"directed");
        }
        if !self.graph.has_self_loops() {
            fingerprint.bytes(b"without self-loops");
        }
        fingerprint.finish()
    }
}

fn name_or_number(names: &[String], number: usize) -> Cow<'_, str> {
    names.get(number).map_or_else(|| Cow::Owned(number.to_string()), |name| Cow::Borrowed(name.as_str()))
}

fn check_features(features: &Features, nodes: usize) -> Result<(), GraphError> {
    if features.rows() != nodes {
        return Err(GraphError::FeatureRows { rows: features.rows(), nodes });
    }
    if features.columns() == 0 {
        return Err(GraphError::NoFeatures);
    }
    features.check_finite()
}

#[cfg(test)]
mod tests {
    use abyssal_tensor::{Csr, Matrix};

    use super::*;

    /// The parts of a good dataset, for tests to spoil one.
    struct Parts {
        edges: Vec<(u32, u32)>,
        features: Features,
        labels: Vec<Option<u32>>,
        classes: usize,
        split: [Vec<u32>; 3],
    }

    fn parts() -> Parts {
        Parts {
            edges: vec![(0, 1), (1, 2), (3, 4)],
            features: Features::Dense(Matrix::from_fn(5, 2, |row, column| (row * column) as f32)),
            labels: vec![Some(1), Some(1), Some(0), Some(1), None],
            classes: 2,
            split: [vec![0, 1], vec![2], vec![3]],
        }
    }

    fn build(parts: Parts) -> Result<Dataset, GraphError> {
        let graph = Graph::from_edges(5, parts.edges)?;
        let [train, validation, test] = parts.split;
        let split = Split::new(train, validation, test)?;
        Dataset::new("small", graph, parts.features, parts.labels, parts.classes, split)
    }

    #[test]
    fn nan_in_the_features_is_refused() {
        let mut matrix = Matrix::zeros(5, 2);
        matrix.set(3, 1, f32::NAN);
        let error = build(Parts { features: Features::Dense(matrix.clone()), ..parts() }).unwrap_err();
        assert!(matches!(error, GraphError::FeatureNotFinite { row: 3, column: 1, .. }), "{error}");
        assert!(build(parts()).unwrap().with_features(Features::Dense(matrix)).is_err());
    }

    #[test]
    fn features_of_another_shape_are_refused() {
        let error = |rows, columns| {
            build(Parts { features: Features::Dense(Matrix::zeros(rows, columns)), ..parts() }).unwrap_err()
        };
        assert_eq!(error(4, 2), GraphError::FeatureRows { rows: 4, nodes: 5 });
        assert_eq!(error(5, 0), GraphError::NoFeatures);
    }

    #[test]
    fn a_label_out_of_range_is_named() {
        let mut labels = parts().labels;
        labels[2] = Some(2);
        let error = build(Parts { labels, ..parts() }).unwrap_err();
        assert_eq!(error.to_string(), "node 2 has label 2; with 2 classes, labels run from 0 to 1");
    }

    #[test]
    fn labels_and_classes_are_counted() {
        let error = build(Parts { labels: vec![Some(0); 4], ..parts() }).unwrap_err();
        assert_eq!(error, GraphError::LabelCount { labels: 4, nodes: 5 });
        let error = build(Parts { labels: vec![Some(0); 5], classes: 1, ..parts() }).unwrap_err();
        assert_eq!(error.to_string(), "1 class leaves nothing to learn; at least 2 are needed");
    }

    #[test]
    fn the_split_has_to_fit() {
        let with_test = |node: u32| build(Parts { split: [vec![0, 1], vec![2], vec![node]], ..parts() });
        assert!(matches!(with_test(4), Err(GraphError::Unlabelled { node: 4, .. })));
        assert!(matches!(with_test(5), Err(GraphError::SubsetOutOfRange { node: 5, .. })));
        let other = Split::new(vec![3], vec![0], vec![9]).unwrap();
        assert!(build(parts()).unwrap().with_split(other).is_err());
        let other = Split::new(vec![3], vec![0], vec![1]).unwrap();
        assert_eq!(build(parts()).unwrap().with_split(other.clone()).unwrap().split(), &other);
    }

    #[test]
    fn classes_and_nodes_have_names_or_numbers() {
        let dataset = build(parts()).unwrap();
        assert_eq!((dataset.class_name(1), dataset.node_name(4)), ("1".into(), "4".into()));
        let names = |count: usize| (0..count).map(|number| format!("n{number}")).collect::<Vec<_>>();
        let named = dataset.clone().with_names(names(2), names(5)).unwrap();
        assert_eq!((named.class_name(1), named.node_name(4)), ("n1".into(), "n4".into()));
        assert_eq!(named.fingerprint(), dataset.fingerprint());
        let error = dataset.with_names(names(2), names(4)).unwrap_err();
        assert_eq!(error.to_string(), "4 names for 5 nodes; give each a name, or none");
    }

    #[test]
    fn bytes_of_all_parts_are_counted() {
        // Offsets, two ends of three edges, features, labels, nodes of the split.
        let expected = 6 * size_of::<usize>() + 6 * 4 + 10 * 4 + 5 * 8 + 4 * 4;
        let dataset = build(parts()).unwrap();
        assert_eq!(dataset.bytes(), expected);
        let Features::Dense(dense) = parts().features else { unreachable!("the parts are dense") };
        let sparse = Features::Sparse(Csr::from_dense(&dense));
        let sparse = build(Parts { features: sparse, ..parts() }).unwrap();
        assert_eq!(sparse.bytes(), expected - 10 * 4 + 6 * size_of::<usize>() + 4 * (4 + 4));
        let named = dataset.with_names(Vec::new(), vec!["node".to_string(); 5]).unwrap();
        assert_eq!(named.bytes(), expected + 5 * (size_of::<String>() + 4));
    }

    #[test]
    fn the_majority_is_that_of_the_training_set() {
        let dataset = build(parts()).unwrap();
        assert_eq!(dataset.majority_share(&[0, 1, 2, 3, 4]), 0.75);
        assert_eq!(dataset.majority_share(&[2]), 0.0);
        assert_eq!(dataset.majority_share(&[4]), 0.0);
        // Of two equally common classes, the one that is more common in the validation set.
        let tied = build(Parts { split: [vec![0, 2], vec![1], vec![3]], ..parts() }).unwrap();
        assert_eq!((tied.majority_share(&[2]), tied.majority_share(&[3])), (0.0, 1.0));
        // Of classes that are equally common there too, either; the test set is not asked.
        let labels = vec![Some(1), Some(0), Some(0), Some(1), Some(1)];
        let split = [vec![0, 1], vec![2, 3], vec![4]];
        let tied = build(Parts { labels, split, ..parts() }).unwrap();
        assert_eq!((tied.majority_share(&[2]), tied.majority_share(&[0, 3, 4])), (0.5, 0.5));
    }

    #[test]
    fn the_fingerprint_sees_every_part_but_name_and_split() {
        let base = build(parts()).unwrap().fingerprint();
        let mut labels = parts().labels;
        labels[4] = Some(0);
        for other in [
            Parts { edges: vec![(0, 1), (1, 2), (3, 2)], ..parts() },
            Parts { features: parts().features.row_normalized(), ..parts() },
            Parts { labels, ..parts() },
            Parts { classes: 3, ..parts() },
        ] {
            assert_ne!(build(other).unwrap().fingerprint(), base);
        }
        let other = Parts { split: [vec![3], vec![0], vec![1]], ..parts() };
        assert_eq!(build(other).unwrap().fingerprint(), base);
        let dataset = build(parts()).unwrap();
        let graphs = [
            Graph::from_directed_edges(5, parts().edges).unwrap(),
            dataset.graph.clone().with_self_loops(false),
        ];
        for graph in graphs {
            assert_ne!(Dataset { graph, ..dataset.clone() }.fingerprint(), base);
        }
    }

    #[test]
    fn the_fingerprint_does_not_depend_on_storage() {
        let Features::Dense(dense) = parts().features else { unreachable!("the parts are dense") };
        let sparse = Parts { features: Features::Sparse(Csr::from_dense(&dense)), ..parts() };
        assert_eq!(build(sparse).unwrap().fingerprint(), build(parts()).unwrap().fingerprint());
    }

    /// Made with Python: `sha256(b"abyssal dataset 1" + struct.pack("<2Q6I3Q" + "QIf" * 4 + "6Q", 5, 3, 0, 1, 1, 2,
    /// 3, 4, 5, 2, 0, 2, 1, 1, 2, 1, 2, 2, 1, 3, 2, 1, 4, 2, 2, 1, 2, 0, 2)).hexdigest()`.
    #[test]
    fn fingerprints_stay_what_they_are() {
        assert_eq!(
            build(parts()).unwrap().fingerprint(),
            "b84b590c2bd1c77df16cf76bfd8b322acc68eb7dbfd057aef7f100b9adbe4320"
        );
    }
}
