//! The loss of learning distributions.

use std::sync::Arc;

use super::cross_entropy::log_softmax;
use crate::parallel::{for_each_block, partial_count, sum_over_rows};
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::{Matrix, Scalar};

/// A distribution over the classes for every row; rows of zeros do not count.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftTargets<T> {
    /// `Y`, n×C.
    distributions: Matrix<T>,
    /// How many rows count.
    count: usize,
}

impl<T: Scalar> SoftTargets<T> {
    /// Rows that sum to 1, or are zero.
    pub fn new(distributions: Matrix<T>) -> Self {
        let counts = |row: &usize| distributions.row(*row).iter().any(|&value| value > T::ZERO);
        let count = (0..distributions.rows()).filter(counts).count();
        Self { distributions, count }
    }

    /// `Y`, n×C.
    pub fn distributions(&self) -> &Matrix<T> {
        &self.distributions
    }

    /// How many rows count.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl<T: Scalar> Tape<'_, T> {
    /// `L = -1/|R| · Σ_{r∈R} Σ_c Y_rc·log softmax(Z_r)_c` over the rows R that count. Shapes: Z and Y are n×C, L is 1×1.
    ///
    /// # Panics
    /// If no row counts, or the shapes differ.
    pub fn soft_cross_entropy(&self, logits: &Variable<T>, targets: &Arc<SoftTargets<T>>) -> Variable<T> {
        assert_eq!(logits.shape(), targets.distributions.shape(), "soft_cross_entropy: shapes");
        assert!(targets.count > 0, "a loss needs at least one row");
        let (rows, classes) = logits.shape();
        let mut logarithms = self.pool().take(rows, classes);
        for_each_block(logarithms.as_mut_slice(), classes, 32 * classes, |first, block| {
            for (index, output) in block.chunks_exact_mut(classes).enumerate() {
                log_softmax(logits.row(first + index), output);
            }
        });
        let mut output = self.pool().take(1, 1);
        let mut partials = self.pool().take(partial_count(rows), 1);
        let (total, scratch) = (output.as_mut_slice(), partials.as_mut_slice());
        sum_over_rows(rows, 2 * classes, total, scratch, |range, partial| {
            let values = range.start * classes..range.end * classes;
            let pairs =
                targets.distributions.as_slice()[values.clone()].iter().zip(&logarithms.as_slice()[values]);
            // In double precision: thousands of rows are summed.
            let sum: f64 = pairs.map(|(&share, &logarithm)| share.to_f64() * logarithm.to_f64()).sum();
            partial[0] = T::from_f64(-sum / targets.count as f64);
        });
        self.record(Arc::new(output), &[logits.slot], || SoftCrossEntropy {
            logits: logits.slot,
            logarithms,
            targets: Arc::clone(targets),
        })
    }
}

struct SoftCrossEntropy<T: Scalar> {
    logits: Slot,
    /// `log softmax(Z)`, n×C.
    logarithms: Buffer<T>,
    targets: Arc<SoftTargets<T>>,
}

impl<T: Scalar> Backward<T> for SoftCrossEntropy<T> {
    /// `Z̄_r = L̄/|R| · ((Σ_c Y_rc)·softmax(Z_r) - Y_r)`, which is 0 for rows of zeros.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let classes = self.logarithms.columns();
        let share = gradient.get(0, 0) / T::from_f64(self.targets.count as f64);
        let mut output = self.logarithms;
        for_each_block(output.as_mut_slice(), classes, 32 * classes, |first, block| {
            for (index, row) in block.chunks_exact_mut(classes).enumerate() {
                let wanted = self.targets.distributions.row(first + index);
                let sum: T = wanted.iter().copied().sum();
                for (value, &wanted) in row.iter_mut().zip(wanted) {
                    *value = share * (sum * value.exp() - wanted);
                }
            }
        });
        gradients.add(self.logits, output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Targets;
    use crate::ops::check::check;
    use crate::tape::Pool;
    use crate::testing::random_matrix;

    fn targets() -> Arc<SoftTargets<f64>> {
        let rows = [[0.2, 0.3, 0.5], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.4, 0.0]];
        Arc::new(SoftTargets::new(Matrix::from_rows(&rows)))
    }

    #[test]
    fn gradient() {
        assert_eq!(targets().count(), 3);
        check("soft cross-entropy", &[random_matrix(4, 3, 1)], |tape, inputs| {
            tape.soft_cross_entropy(&inputs[0], &targets())
        });
    }

    /// Distributions that are certain are classes, and rows of zeros are rows that are not asked for: the same loss and the
    /// same gradient.
    #[test]
    fn certain_distributions_are_classes() {
        let logits = Arc::new(random_matrix(4, 3, 1));
        let rows = [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]];
        let soft = Arc::new(SoftTargets::new(Matrix::from_rows(&rows)));
        let hard = Arc::new(Targets { rows: vec![0, 2, 3], classes: vec![2, 1, 0] });
        let pool = Pool::new();
        let [(soft_loss, soft_gradient), (hard_loss, hard_gradient)] = [true, false].map(|is_soft| {
            let tape = Tape::recording(&pool);
            let logits = tape.parameter(&logits);
            let loss = match is_soft {
                true => tape.soft_cross_entropy(&logits, &soft),
                false => tape.cross_entropy(&logits, &hard),
            };
            let value = loss.get(0, 0);
            (value, Matrix::clone(&tape.backward(&loss).take(&logits).unwrap()))
        });
        assert!((soft_loss - hard_loss).abs() < 1e-14);
        assert!(soft_gradient.max_difference(&hard_gradient) < 1e-14);
    }

    #[test]
    fn huge_logits_do_not_overflow() {
        let tape = Tape::inference(&Pool::new());
        let logits = tape.constant(&Arc::new(Matrix::from_rows(&[[1e30f32, 0.0], [0.0, 1e30]])));
        let targets = Arc::new(SoftTargets::new(Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0]])));
        assert_eq!(tape.soft_cross_entropy(&logits, &targets).get(0, 0), 0.0);
    }
}
