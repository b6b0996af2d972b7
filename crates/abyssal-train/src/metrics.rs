//! How well a model does.

use serde::{Deserialize, Serialize};

use abyssal_graph::Dataset;
use abyssal_tensor::Matrix;
use abyssal_tensor::ops::Targets;

use crate::curriculum::Stage;

/// The numbers of one epoch: a line of `metrics.jsonl`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochMetrics {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// What it learns.
    #[serde(default)]
    pub stage: Stage,
    /// The learning rate of its step.
    pub learning_rate: f64,
    /// The training loss before its step, with dropout.
    pub loss: f64,
    /// The validation loss after its step.
    pub validation_loss: f64,
    /// Accuracies after its step, as shares.
    pub train_accuracy: f64,
    /// On the validation nodes.
    pub validation_accuracy: f64,
    /// On the test nodes. Recorded, never used for a decision under strict selection.
    pub test_accuracy: f64,
}

/// The class of the largest score, the first of equal ones.
pub(crate) fn likeliest(scores: &[f32]) -> usize {
    (1..scores.len()).fold(0, |best, class| if scores[class] > scores[best] { class } else { best })
}

/// The share of rows whose likeliest class is theirs.
pub(crate) fn accuracy(scores: &Matrix<f32>, targets: &Targets) -> f64 {
    let is_right = |&(&row, &class): &(&u32, &u32)| likeliest(scores.row(row as usize)) == class as usize;
    let right = targets.rows.iter().zip(&targets.classes).filter(is_right);
    right.count() as f64 / targets.rows.len() as f64
}

/// The nodes of a set with their classes.
pub(crate) fn targets(dataset: &Dataset, nodes: &[u32]) -> Targets {
    let class = |&node: &u32| dataset.labels()[node as usize].expect("a checked dataset labels its split");
    Targets { rows: nodes.to_vec(), classes: nodes.iter().map(class).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracy_counts_the_first_of_equal_scores() {
        let scores = Matrix::from_rows(&[[0.0, 1.0], [2.0, 2.0], [1.0, 0.0]]);
        let targets = Targets { rows: vec![0, 1, 2], classes: vec![1, 0, 1] };
        assert!((accuracy(&scores, &targets) - 2.0 / 3.0).abs() < 1e-12);
    }
}
