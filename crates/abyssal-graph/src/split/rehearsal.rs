//! Judging a recipe without its test nodes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Split;
use crate::GraphError;

/// Whether half of the validation nodes take the place of the test nodes, which are in no set then.
///
/// Whoever compares recipes by the validation accuracy of the epochs they select compares luck as well: the same nodes chose
/// the epoch. In a rehearsal one half chooses, and the other, which chose nothing, judges; the two rehearsals together
/// judge by every validation node, and test nodes are never read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rehearsal {
    /// Test nodes judge.
    #[default]
    Off,
    /// The first half of the validation nodes judges.
    First,
    /// The second half does.
    Second,
}

impl fmt::Display for Rehearsal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Off => "off",
            Self::First => "first",
            Self::Second => "second",
        })
    }
}

impl Split {
    /// The split of a rehearsal, with its name. Every class is halved, so the halves are alike; classes of an odd number
    /// of nodes give the odd one to the first half and to the second in turns.
    ///
    /// # Errors
    /// If there is a single validation node, or as for [`Split::check_labels`].
    pub(crate) fn rehearsed(self, rehearsal: Rehearsal, labels: &[Option<u32>]) -> Result<Self, GraphError> {
        let judging = match rehearsal {
            Rehearsal::Off => return Ok(self),
            Rehearsal::First => 0,
            Rehearsal::Second => 1,
        };
        self.check_labels(labels)?;
        if self.validation.len() < 2 {
            return Err(GraphError::NothingToHalve);
        }
        let mut by_class = self.validation;
        by_class.sort_by_key(|&node| (labels[node as usize], node));
        let half = |first: usize| by_class.iter().copied().skip(first).step_by(2).collect();
        let name = format!("{}, rehearsal {rehearsal}", self.name);
        Ok(Self::new(self.train, half(1 - judging), half(judging))?.with_name(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the validation nodes, 3 and 6 are of class 0 and 2, 4 and 5 of class 1.
    const LABELS: [Option<u32>; 8] = [Some(0), Some(1), Some(1), Some(0), Some(1), Some(1), Some(0), Some(1)];

    fn split() -> Split {
        Split::new(vec![0, 1], vec![2, 3, 4, 5, 6], vec![7]).unwrap().with_name("given")
    }

    #[test]
    fn without_a_rehearsal_a_split_stays_what_it_is() {
        assert_eq!(split().rehearsed(Rehearsal::Off, &LABELS).unwrap(), split());
    }

    #[test]
    fn one_half_of_every_class_chooses_and_the_other_judges() {
        let first = split().rehearsed(Rehearsal::First, &LABELS).unwrap();
        assert_eq!(
            (first.train(), first.validation(), first.test()),
            (&[0, 1][..], &[4, 6][..], &[2, 3, 5][..])
        );
        assert_eq!(first.name(), "given, rehearsal first");
        let second = split().rehearsed(Rehearsal::Second, &LABELS).unwrap();
        assert_eq!((second.validation(), second.test()), (first.test(), first.validation()));
        assert_ne!(first.fingerprint(), second.fingerprint());
    }

    #[test]
    fn test_nodes_are_in_no_set_of_a_rehearsal() {
        for rehearsal in [Rehearsal::First, Rehearsal::Second] {
            let split = split().rehearsed(rehearsal, &LABELS).unwrap();
            for nodes in [split.train(), split.validation(), split.test()] {
                assert!(!nodes.contains(&7), "{rehearsal}");
            }
        }
    }

    #[test]
    fn a_single_validation_node_cannot_be_halved() {
        let split = Split::new(vec![0], vec![1], vec![2]).unwrap();
        assert_eq!(split.rehearsed(Rehearsal::First, &LABELS), Err(GraphError::NothingToHalve));
    }
}
