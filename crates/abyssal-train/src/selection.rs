//! Which epoch's weights are the result.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::EpochMetrics;

/// The rule that chooses an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selection {
    /// The first epoch with the best validation accuracy, ties by lower validation loss. Test nodes play no part.
    #[default]
    Strict,
    /// Ties in validation accuracy go to the larger *test* accuracy, as in the released code. For comparison only:
    /// it looks at the test set, and is worth up to a point.
    Paper,
}

impl fmt::Display for Selection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Strict => "strict",
            Self::Paper => "paper",
        })
    }
}

impl Selection {
    /// Whether `candidate` beats `best` under this rule.
    fn prefers(self, candidate: &EpochMetrics, best: &EpochMetrics) -> bool {
        if candidate.validation_accuracy != best.validation_accuracy {
            return candidate.validation_accuracy > best.validation_accuracy;
        }
        match self {
            Self::Strict => candidate.validation_loss < best.validation_loss,
            Self::Paper => candidate.test_accuracy > best.test_accuracy,
        }
    }
}

/// The best epoch so far under each rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// Under strict selection.
    pub strict: Option<EpochMetrics>,
    /// Under the paper's selection.
    pub paper: Option<EpochMetrics>,
    /// The first one with the lowest validation loss.
    pub lowest_loss: Option<EpochMetrics>,
}

impl Best {
    /// The best epoch under a rule.
    pub fn under(&self, selection: Selection) -> Option<&EpochMetrics> {
        match selection {
            Selection::Strict => self.strict.as_ref(),
            Selection::Paper => self.paper.as_ref(),
        }
    }

    /// The last epoch that was better than all before it, in validation accuracy (under strict selection, whichever
    /// chooses the result: when to stop is no business of test nodes) or in validation loss; 0 before the first one.
    /// Patience counts from here: the loss often still falls where accuracy rests.
    pub fn last_progress(&self) -> usize {
        let epochs = [self.strict.as_ref(), self.lowest_loss.as_ref()];
        epochs.into_iter().flatten().map(|metrics| metrics.epoch).max().unwrap_or(0)
    }

    /// Looks at a new epoch; tells whether it is the best under the given rule.
    pub fn update(&mut self, metrics: &EpochMetrics, selection: Selection) -> bool {
        let mut improved = false;
        for (rule, best) in [(Selection::Strict, &mut self.strict), (Selection::Paper, &mut self.paper)] {
            if best.as_ref().is_none_or(|best| rule.prefers(metrics, best)) {
                *best = Some(*metrics);
                improved |= rule == selection;
            }
        }
        if self.lowest_loss.as_ref().is_none_or(|best| metrics.validation_loss < best.validation_loss) {
            self.lowest_loss = Some(*metrics);
        }
        improved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curriculum::Stage;

    fn metrics(epoch: usize, validation: f64, loss: f64, test: f64) -> EpochMetrics {
        EpochMetrics {
            epoch,
            stage: Stage::Direct,
            learning_rate: 0.01,
            loss: 1.0,
            validation_loss: loss,
            train_accuracy: 1.0,
            validation_accuracy: validation,
            test_accuracy: test,
        }
    }

    #[test]
    fn strict_selection_never_looks_at_the_test_set() {
        let mut best = Best::default();
        assert!(best.update(&metrics(1, 0.7, 1.0, 0.6), Selection::Strict));
        assert!(best.update(&metrics(2, 0.8, 0.9, 0.5), Selection::Strict), "better validation accuracy");
        assert!(!best.update(&metrics(3, 0.8, 0.9, 0.9), Selection::Strict), "a tie, the first stays");
        assert!(best.update(&metrics(4, 0.8, 0.8, 0.4), Selection::Strict), "a tie with lower loss");
        assert_eq!(best.strict.unwrap().epoch, 4);
        assert_eq!(best.paper.unwrap().epoch, 3, "the paper's rule took the larger test accuracy");
    }

    #[test]
    fn a_lower_loss_is_progress_too() {
        let mut best = Best::default();
        assert_eq!(best.last_progress(), 0);
        for (epoch, validation, loss, progress) in
            [(1, 0.7, 1.0, 1), (2, 0.6, 0.9, 2), (3, 0.6, 1.2, 2), (4, 0.8, 1.5, 4), (5, 0.7, 1.0, 4)]
        {
            best.update(&metrics(epoch, validation, loss, 0.5), Selection::Strict);
            assert_eq!(best.last_progress(), progress, "epoch {epoch}");
        }
        assert_eq!(best.strict.unwrap().epoch, 4);
    }

    #[test]
    fn a_larger_test_accuracy_is_no_progress() {
        let mut best = Best::default();
        best.update(&metrics(1, 0.8, 1.0, 0.5), Selection::Paper);
        assert!(best.update(&metrics(2, 0.8, 1.1, 0.9), Selection::Paper), "the paper's rule takes it");
        assert_eq!(best.last_progress(), 1);
    }
}
