//! Splits drawn at random.

use abyssal_tensor::random::{Purpose, Stream};

use super::Split;
use crate::GraphError;

impl Split {
    /// A random split: `train_per_class` nodes of each class to train, `validation_total` of the other labelled
    /// nodes for validation, all that remain to test. Its name is `random-` and the seed.
    ///
    /// # Errors
    /// If a label is out of range, a class has too few nodes, or a set would be empty.
    pub fn per_class(
        labels: &[Option<u32>],
        classes: usize,
        train_per_class: usize,
        validation_total: usize,
        seed: u64,
    ) -> Result<Self, GraphError> {
        let mut train = Vec::with_capacity(classes.saturating_mul(train_per_class).min(labels.len()));
        let mut remaining = Vec::new();
        for (class, members) in shuffled_members(labels, classes, seed)?.iter().enumerate() {
            let Some((chosen, others)) = members.split_at_checked(train_per_class) else {
                return Err(too_small(class, members, train_per_class));
            };
            train.extend_from_slice(chosen);
            remaining.extend_from_slice(others);
        }
        if remaining.len() <= validation_total {
            let remaining = remaining.len();
            return Err(GraphError::NothingToTest { remaining, validation: validation_total });
        }
        let order = Stream::new(seed, Purpose::Split, 0, 1).permutation(remaining.len());
        let (validation, test) = order.split_at(validation_total);
        let nodes = |places: &[usize]| places.iter().map(|&place| remaining[place]).collect();
        Ok(Self::new(train, nodes(validation), nodes(test))?.with_name(format!("random-{seed}")))
    }

    /// A random split with as many nodes of every class: `train` of each class to train, `validation` of each
    /// class for validation, all others to test.
    ///
    /// # Errors
    /// If a label is out of range, a class has too few nodes, or a set would be empty.
    pub fn balanced(
        labels: &[Option<u32>],
        classes: usize,
        train: usize,
        validation: usize,
        seed: u64,
    ) -> Result<Self, GraphError> {
        let members = shuffled_members(labels, classes, seed)?;
        let needed = train.saturating_add(validation);
        if let Some(class) = members.iter().position(|members| members.len() < needed) {
            return Err(too_small(class, &members[class], needed));
        }
        cut(&members, |_| (train, validation))
    }

    /// A random split by shares: of the labelled nodes of every class the share `train` trains, the share
    /// `validation` validates, and all others test. Shares of a class are rounded to whole nodes.
    ///
    /// # Errors
    /// If a label is out of range or a set would be empty.
    pub fn fractions(
        labels: &[Option<u32>],
        classes: usize,
        train: f64,
        validation: f64,
        seed: u64,
    ) -> Result<Self, GraphError> {
        let members = shuffled_members(labels, classes, seed)?;
        cut(&members, |available| {
            let share = |fraction: f64| (fraction * available as f64).round() as usize;
            // Rounding the sum, not both parts, leaves the rest its share.
            (share(train), share(train + validation).saturating_sub(share(train)))
        })
    }
}

/// The labelled nodes of each class in random order; every class has random numbers of its own.
fn shuffled_members(labels: &[Option<u32>], classes: usize, seed: u64) -> Result<Vec<Vec<u32>>, GraphError> {
    let mut members = members(labels, classes)?;
    for (class, members) in members.iter_mut().enumerate() {
        let order = Stream::new(seed, Purpose::Split, class as u32, 0).permutation(members.len());
        *members = order.iter().map(|&place| members[place]).collect();
    }
    Ok(members)
}

/// The labelled nodes of each class, ascending.
pub(super) fn members(labels: &[Option<u32>], classes: usize) -> Result<Vec<Vec<u32>>, GraphError> {
    let mut members = vec![Vec::new(); classes];
    for (node, label) in labels.iter().enumerate() {
        let Some(label) = *label else { continue };
        let Some(class) = members.get_mut(label as usize) else {
            return Err(GraphError::LabelOutOfRange { node, label, classes });
        };
        class.push(node as u32);
    }
    Ok(members)
}

/// Cuts each class, in its order, into `(train, validation)` nodes and the rest, which tests.
pub(super) fn cut(
    members: &[Vec<u32>],
    sizes: impl Fn(usize) -> (usize, usize),
) -> Result<Split, GraphError> {
    let [mut train, mut validation, mut test] = [const { Vec::new() }; 3];
    for members in members {
        let (first, second) = sizes(members.len());
        let (chosen, others) = members.split_at(first.min(members.len()));
        train.extend_from_slice(chosen);
        let (chosen, others) = others.split_at(second.min(others.len()));
        validation.extend_from_slice(chosen);
        test.extend_from_slice(others);
    }
    Split::new(train, validation, test)
}

fn too_small(class: usize, members: &[u32], needed: usize) -> GraphError {
    GraphError::ClassTooSmall { class, name: None, available: members.len(), needed }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Subset;

    /// Twenty nodes of each of three classes, in turns, and five nodes without a label.
    fn labels() -> Vec<Option<u32>> {
        (0..65).map(|node| (node < 60).then_some(node % 3)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn random_splits_take_what_was_asked_for(per_class in 1usize..=15, validation in 1usize..=14, seed: u64) {
            let labels = labels();
            let split = Split::per_class(&labels, 3, per_class, validation, seed).unwrap();
            for class in 0..3 {
                let count = split.train().iter().filter(|&&node| labels[node as usize] == Some(class)).count();
                prop_assert_eq!(count, per_class);
            }
            prop_assert_eq!(split.validation().len(), validation);
            prop_assert_eq!(split.test().len(), 60 - 3 * per_class - validation);
            prop_assert!(split.check_labels(&labels).is_ok());
            for (_, nodes) in split.subsets() {
                prop_assert!(nodes.is_sorted());
            }
        }
    }

    #[test]
    fn the_seed_decides_and_the_fingerprint_tells() {
        let split = |seed| Split::per_class(&labels(), 3, 5, 10, seed).unwrap();
        assert_eq!(split(1), split(1));
        assert_eq!(split(1).name(), "random-1");
        assert_ne!(split(1).fingerprint(), split(2).fingerprint());
        assert_eq!(split(1).fingerprint(), split(1).with_name("other").fingerprint());
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let split = |train, validation| Split::per_class(&labels(), 3, train, validation, 0).unwrap_err();
        assert_eq!(
            split(21, 5),
            GraphError::ClassTooSmall { class: 0, name: None, available: 20, needed: 21 }
        );
        assert_eq!(split(15, 15), GraphError::NothingToTest { remaining: 15, validation: 15 });
        assert_eq!(split(0, 5), GraphError::EmptySubset { subset: Subset::Train });
        assert_eq!(split(5, 0), GraphError::EmptySubset { subset: Subset::Validation });
        // A class nobody belongs to, and a label beyond the classes.
        let error = Split::per_class(&labels(), 4, 1, 5, 0).unwrap_err();
        assert_eq!(error, GraphError::ClassTooSmall { class: 3, name: None, available: 0, needed: 1 });
        let error = Split::per_class(&labels(), 2, 1, 5, 0).unwrap_err();
        assert_eq!(error, GraphError::LabelOutOfRange { node: 2, label: 2, classes: 2 });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn balanced_splits_take_as_many_of_every_class(train in 1usize..10, validation in 1usize..10, seed: u64) {
            let labels = labels();
            let split = Split::balanced(&labels, 3, train, validation, seed).unwrap();
            for (nodes, expected) in
                [(split.train(), train), (split.validation(), validation), (split.test(), 20 - train - validation)]
            {
                for class in 0..3 {
                    let count = nodes.iter().filter(|&&node| labels[node as usize] == Some(class)).count();
                    prop_assert_eq!(count, expected);
                }
            }
        }

        #[test]
        fn fractions_are_those_of_every_class(train in 0.05f64..0.6, validation in 0.05f64..0.3, seed: u64) {
            let labels = labels();
            let split = Split::fractions(&labels, 3, train, validation, seed).unwrap();
            for class in 0..3 {
                let share = |nodes: &[u32]| {
                    nodes.iter().filter(|&&node| labels[node as usize] == Some(class)).count() as f64 / 20.0
                };
                prop_assert!((share(split.train()) - train).abs() <= 0.025 + 1e-9);
                prop_assert!((share(split.validation()) - validation).abs() <= 0.05 + 1e-9);
            }
            prop_assert_eq!(split.train().len() + split.validation().len() + split.test().len(), 60);
        }
    }

    #[test]
    fn halves_of_odd_classes_leave_no_node_out_and_take_none_twice() {
        let labels: Vec<Option<u32>> = (0..10).map(|node| Some(node / 5)).collect();
        assert_eq!(
            Split::fractions(&labels, 2, 0.5, 0.5, 0),
            Err(GraphError::EmptySubset { subset: Subset::Test })
        );
        let split = Split::fractions(&labels, 2, 0.5, 0.3, 0).unwrap();
        assert_eq!((split.train().len(), split.validation().len(), split.test().len()), (6, 2, 2));
    }

    #[test]
    fn classes_too_small_for_a_balanced_split_are_named() {
        let error = Split::balanced(&labels(), 3, 15, 6, 0).unwrap_err();
        assert_eq!(error, GraphError::ClassTooSmall { class: 0, name: None, available: 20, needed: 21 });
        assert!(Split::balanced(&labels(), 3, usize::MAX, 6, 0).is_err());
        let error = Split::balanced(&labels(), 3, 10, 10, 0).unwrap_err();
        assert_eq!(error, GraphError::EmptySubset { subset: Subset::Test });
    }
}
