//! What is learnt in which epoch.

use std::sync::Arc;

use abyssal_graph::NodeOrder;
use abyssal_tensor::Matrix;
use abyssal_tensor::ops::SoftTargets;
use serde::{Deserialize, Serialize};

use super::{Pace, SoftLabels};
use crate::config::CurriculumConfig;

/// What an epoch learns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The known labels; there is no curriculum.
    #[default]
    Direct,
    /// A task of the curriculum, counted from 1, the smoothest.
    Task(usize),
    /// The known labels, after all tasks.
    FineTuning,
}

/// A curriculum: the labels of its tasks at an even pace, then fine-tuning.
#[derive(Clone, Debug)]
pub struct Course {
    tasks: Vec<Arc<SoftTargets<f32>>>,
    pace: Pace,
    /// Epochs of fine-tuning.
    fine_tuning_epochs: usize,
    /// Their learning rate.
    pub(crate) fine_tuning_learning_rate: f64,
    /// After how many epochs of it without progress it ends; 0 for never.
    pub(crate) fine_tuning_patience: usize,
}

impl Course {
    /// Labels of all tasks, the sharpest first, at least one; `epochs` for all of them together. They are learnt in the
    /// reverse order.
    pub fn new(
        config: &CurriculumConfig,
        epochs: usize,
        labels: impl IntoIterator<Item = SoftLabels>,
    ) -> Self {
        let mut tasks = Vec::new();
        // Labels of a large graph are large: no more of them are kept than are mixed.
        let mut sharper = None;
        for labels in labels {
            let next = sharper.as_ref().unwrap_or(&labels);
            tasks.push(Arc::new(SoftTargets::new(mixed(&labels, next, config.mixing))));
            sharper = Some(labels);
        }
        tasks.reverse();
        Self {
            pace: Pace { epochs, tasks: tasks.len() },
            tasks,
            fine_tuning_epochs: config.fine_tuning_epochs,
            fine_tuning_learning_rate: config.fine_tuning_learning_rate,
            fine_tuning_patience: config.fine_tuning_patience,
        }
    }

    /// The same course for nodes in another order. Tasks are exchanged one by one, so that no two copies of all are there.
    pub(crate) fn reordered(self, order: &NodeOrder) -> Self {
        let reordered = |task: Arc<SoftTargets<f32>>| {
            Arc::new(SoftTargets::new(task.distributions().select_rows(order.nodes())))
        };
        Self { tasks: self.tasks.into_iter().map(reordered).collect(), ..self }
    }

    /// Epochs of tasks and fine-tuning together.
    pub fn epochs(&self) -> usize {
        self.pace.epochs + self.fine_tuning_epochs
    }

    /// Epochs of all tasks, after which fine-tuning begins.
    pub fn task_epochs(&self) -> usize {
        self.pace.epochs
    }

    /// What an epoch (counted from 0) learns.
    pub fn stage(&self, epoch: usize) -> Stage {
        if epoch < self.pace.epochs { Stage::Task(self.pace.task(epoch) + 1) } else { Stage::FineTuning }
    }

    /// The labels an epoch (counted from 0) learns; `None` if it is one of fine-tuning.
    pub(crate) fn targets(&self, epoch: usize) -> Option<&Arc<SoftTargets<f32>>> {
        (epoch < self.pace.epochs).then(|| &self.tasks[self.pace.task(epoch)])
    }
}

/// `(1 - m)·Y_i + m·Y_{i+1}`, n×C, rows divided by their sums.
fn mixed(labels: &SoftLabels, next: &SoftLabels, share: f64) -> Matrix<f32> {
    let (rows, classes) = labels.rows().shape();
    let mix = |row, class| {
        let [own, next] = [labels, next].map(|labels| f64::from(labels.rows().get(row, class)));
        ((1.0 - share) * own + share * next) as f32
    };
    SoftLabels::from_rows(Matrix::from_fn(rows, classes, mix)).into_rows()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(rows: &[[f32; 2]; 3]) -> SoftLabels {
        SoftLabels::from_rows(Matrix::from_rows(rows))
    }

    fn course(mixing: f64) -> Course {
        let tasks = [
            labels(&[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]),
            labels(&[[0.7, 0.3], [0.6, 0.4], [1.0, 0.0]]),
            labels(&[[0.5, 0.5], [0.6, 0.4], [0.0, 0.0]]),
        ];
        let config = CurriculumConfig { mixing, fine_tuning_epochs: 2, ..CurriculumConfig::default() };
        Course::new(&config, 6, tasks)
    }

    #[test]
    fn stages_come_in_order_with_equal_length_and_fine_tuning_last() {
        let course = course(0.0);
        assert_eq!(course.epochs(), 8);
        let stages: Vec<Stage> = (0..8).map(|epoch| course.stage(epoch)).collect();
        let [first, second, third] = [1, 2, 3].map(Stage::Task);
        let last = Stage::FineTuning;
        assert_eq!(stages, [first, first, second, second, third, third, last, last]);
        assert!(course.targets(5).is_some() && course.targets(6).is_none());
    }

    #[test]
    fn neighbouring_tasks_are_mixed_and_rows_sum_to_one() {
        let targets = |epoch| course(0.2).targets(epoch).unwrap().clone();
        let expected = SoftTargets::new(Matrix::from_rows(&[[0.54, 0.46], [0.6, 0.4], [1.0, 0.0]]));
        assert!(targets(0).distributions().max_difference(expected.distributions()) < 1e-6);
        // Nothing is sharper than the last task.
        assert_eq!(targets(5).distributions(), course(0.0).targets(5).unwrap().distributions());
        assert_eq!(course(0.0).targets(5).unwrap().count(), 2, "a row of zeros does not count");
    }
}
