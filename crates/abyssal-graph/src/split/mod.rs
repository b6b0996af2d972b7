//! Which nodes teach, which choose the model, and which judge it.

mod paper;
mod random;
mod rehearsal;
mod rule;

use std::fmt;

use crate::{Fingerprint, GraphError};

pub use rehearsal::Rehearsal;
pub use rule::SplitRule;

/// One of the three sets of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subset {
    /// Nodes whose labels the model learns from.
    Train,
    /// Nodes whose labels choose epoch and hyper-parameters.
    Validation,
    /// Nodes whose labels are read once, at the end.
    Test,
}

impl fmt::Display for Subset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        })
    }
}

/// Three disjoint sets of nodes, which may leave nodes out. None is empty, but for those of a graph that is only to be predicted,
/// where all are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    name: String,
    train: Vec<u32>,
    validation: Vec<u32>,
    test: Vec<u32>,
}

impl Split {
    /// A split from node ids in any order; ids repeated within a set count once. Its name is `given`.
    ///
    /// # Errors
    /// If a set is empty or two of them share a node.
    pub fn new(train: Vec<u32>, validation: Vec<u32>, test: Vec<u32>) -> Result<Self, GraphError> {
        let mut split = Self { name: "given".to_owned(), train, validation, test };
        for nodes in [&mut split.train, &mut split.validation, &mut split.test] {
            nodes.sort_unstable();
            nodes.dedup();
        }
        let subsets = split.subsets();
        if let Some(&(subset, _)) = subsets.iter().find(|(_, nodes)| nodes.is_empty()) {
            return Err(GraphError::EmptySubset { subset });
        }
        for (left, right) in [(0, 1), (0, 2), (1, 2)] {
            let ((first, nodes), (second, others)) = (subsets[left], subsets[right]);
            if let Some(&node) = nodes.iter().find(|node| others.binary_search(node).is_ok()) {
                return Err(GraphError::OverlappingSubsets { node, first, second });
            }
        }
        Ok(split)
    }

    /// A split from three masks with one entry a node. Its name is `given`.
    ///
    /// # Errors
    /// If the masks differ in length, or as for [`Split::new`].
    pub fn from_masks(train: &[bool], validation: &[bool], test: &[bool]) -> Result<Self, GraphError> {
        if train.len() != validation.len() || train.len() != test.len() {
            let (train, validation, test) = (train.len(), validation.len(), test.len());
            return Err(GraphError::MaskLength { train, validation, test });
        }
        let nodes = |mask: &[bool]| (0..).zip(mask).filter(|(_, set)| **set).map(|(node, _)| node).collect();
        Self::new(nodes(train), nodes(validation), nodes(test))
    }

    /// The split of a graph that is only to be predicted: all sets are empty.
    pub(crate) fn nobody() -> Self {
        Self { name: "none".to_owned(), train: Vec::new(), validation: Vec::new(), test: Vec::new() }
    }

    /// The same split under another name.
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// What to call it in reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Training nodes, ascending.
    pub fn train(&self) -> &[u32] {
        &self.train
    }

    /// Validation nodes, ascending.
    pub fn validation(&self) -> &[u32] {
        &self.validation
    }

    /// Test nodes, ascending.
    pub fn test(&self) -> &[u32] {
        &self.test
    }

    /// The same split without nodes that have no label: stored masks of Citeseer name its fifteen unlabelled nodes.
    ///
    /// # Errors
    /// If a set names a node that does not exist, or nothing is left of it.
    pub fn labelled(self, labels: &[Option<u32>]) -> Result<Self, GraphError> {
        for (subset, nodes) in self.subsets() {
            if let Some(&node) = nodes.iter().find(|&&node| node as usize >= labels.len()) {
                return Err(GraphError::SubsetOutOfRange { subset, node, nodes: labels.len() });
            }
        }
        let keep =
            |nodes: Vec<u32>| nodes.into_iter().filter(|&node| labels[node as usize].is_some()).collect();
        let Self { name, train, validation, test } = self;
        Ok(Self::new(keep(train), keep(validation), keep(test))?.with_name(name))
    }

    /// Checks that every node of the three sets exists and has a label.
    ///
    /// # Errors
    /// With the first node that does not, and its set.
    pub fn check_labels(&self, labels: &[Option<u32>]) -> Result<(), GraphError> {
        for (subset, nodes) in self.subsets() {
            for &node in nodes {
                match labels.get(node as usize) {
                    None => return Err(GraphError::SubsetOutOfRange { subset, node, nodes: labels.len() }),
                    Some(None) => return Err(GraphError::Unlabelled { subset, node }),
                    Some(Some(_)) => {}
                }
            }
        }
        Ok(())
    }

    /// SHA-256 of the three sets, in hexadecimal; the name does not matter.
    pub fn fingerprint(&self) -> String {
        let mut fingerprint = Fingerprint::new();
        fingerprint.bytes(b"abyssal split 1");
        for (_, nodes) in self.subsets() {
            fingerprint.numbers(nodes);
        }
        fingerprint.finish()
    }

    fn subsets(&self) -> [(Subset, &[u32]); 3] {
        [(Subset::Train, &self.train), (Subset::Validation, &self.validation), (Subset::Test, &self.test)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with Python: `sha256(b"abyssal split 1" + struct.pack("<Q2IQIQ2I", 2, 0, 2, 1, 1, 2, 4, 5)).hexdigest()`.
    #[test]
    fn fingerprints_stay_what_they_are() {
        let split = Split::new(vec![2, 0, 2], vec![1], vec![5, 4]).unwrap();
        assert_eq!(split.train(), &[0, 2]);
        assert_eq!(split.fingerprint(), "a356f017242fcd0e242dca195c093c788f6a8063c1cdf3cdcd0670f0be11e7f6");
    }

    #[test]
    fn masks_that_overlap_are_refused() {
        let error = |masks: [[bool; 3]; 3]| Split::from_masks(&masks[0], &masks[1], &masks[2]).unwrap_err();
        let (first, second, third) = ([true, false, false], [false, true, false], [false, true, true]);
        assert_eq!(
            error([first, second, third]).to_string(),
            "node 1 is in the validation set and in the test set; leave it in one of them"
        );
        let expected = GraphError::OverlappingSubsets { node: 0, first: Subset::Train, second: Subset::Test };
        assert_eq!(error([first, second, first]), expected);
    }

    #[test]
    fn empty_masks_are_refused() {
        let (some, other, none) = ([true, false], [false, true], [false, false]);
        for (masks, subset) in [
            ([none, some, other], Subset::Train),
            ([some, none, other], Subset::Validation),
            ([some, other, none], Subset::Test),
        ] {
            let error = Split::from_masks(&masks[0], &masks[1], &masks[2]).unwrap_err();
            assert_eq!(error, GraphError::EmptySubset { subset });
        }
        assert!(Split::from_masks(&[], &[], &[]).is_err());
    }

    #[test]
    fn masks_of_different_length_are_refused() {
        let error = Split::from_masks(&[true], &[false, true], &[false, false]).unwrap_err();
        assert_eq!(error, GraphError::MaskLength { train: 1, validation: 2, test: 2 });
    }

    #[test]
    fn nodes_need_to_exist_and_to_be_labelled() {
        let labels = [Some(0), Some(1), None];
        let split = |test| Split::new(vec![0], vec![1], vec![test]).unwrap();
        let error = split(2).check_labels(&labels).unwrap_err();
        assert_eq!(error, GraphError::Unlabelled { subset: Subset::Test, node: 2 });
        let error = split(3).check_labels(&labels).unwrap_err();
        assert_eq!(error, GraphError::SubsetOutOfRange { subset: Subset::Test, node: 3, nodes: 3 });
    }
}
