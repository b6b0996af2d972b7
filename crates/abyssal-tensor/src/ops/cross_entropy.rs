//! The loss of node classification.

use std::sync::Arc;

use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::{Matrix, Scalar};

/// Which rows are to be classified, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    /// Rows that count.
    pub rows: Vec<u32>,
    /// The class of each of these rows.
    pub classes: Vec<u32>,
}

impl<T: Scalar> Tape<'_, T> {
    /// `L = -1/|R| · Σ_{r∈R} log softmax(Z_r)[y_r]`. Shapes: Z is n×C, L 1×1.
    ///
    /// # Panics
    /// If there are no targets, or one lies outside `Z`.
    pub fn cross_entropy(&self, logits: &Variable<T>, targets: &Arc<Targets>) -> Variable<T> {
        assert!(!targets.rows.is_empty(), "a loss needs at least one row");
        let mut probabilities = self.pool().take(targets.rows.len(), logits.columns());
        let mut loss = 0.0;
        for (index, (&row, &class)) in targets.rows.iter().zip(&targets.classes).enumerate() {
            let target = probabilities.row_mut(index);
            loss -= log_softmax(logits.row(row as usize), target)[class as usize].to_f64();
            target.iter_mut().for_each(|value| *value = value.exp());
        }
        let mut output = self.pool().take(1, 1);
        output.as_mut_slice()[0] = T::from_f64(loss / targets.rows.len() as f64);
        self.record(Arc::new(output), &[logits.slot], || CrossEntropy {
            logits: logits.slot,
            rows: logits.rows(),
            probabilities,
            targets: Arc::clone(targets),
        })
    }
}

/// The value of [`Tape::cross_entropy`] without its gradient.
pub fn mean_cross_entropy<T: Scalar>(logits: &Matrix<T>, targets: &Targets) -> f64 {
    let mut logarithms = vec![T::ZERO; logits.columns()];
    let pairs = targets.rows.iter().zip(&targets.classes);
    let losses = pairs.map(|(&row, &class)| {
        -log_softmax(logits.row(row as usize), &mut logarithms)[class as usize].to_f64()
    });
    losses.sum::<f64>() / targets.rows.len() as f64
}

/// Writes `log softmax(z)` without overflow.
pub(super) fn log_softmax<'a, T: Scalar>(logits: &[T], output: &'a mut [T]) -> &'a [T] {
    let largest = logits.iter().fold(logits[0], |best, &value| if value > best { value } else { best });
    let sum: T = logits.iter().map(|&value| (value - largest).exp()).sum();
    let shift = largest + sum.ln();
    for (output, &logit) in output.iter_mut().zip(logits) {
        *output = logit - shift;
    }
    output
}

struct CrossEntropy<T: Scalar> {
    logits: Slot,
    rows: usize,
    probabilities: Buffer<T>,
    targets: Arc<Targets>,
}

impl<T: Scalar> Backward<T> for CrossEntropy<T> {
    /// `Z̄_r = L̄/|R| · (softmax(Z_r) - onehot(y_r))` on the rows that count, 0 elsewhere.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let share = gradient.get(0, 0) / T::from_f64(self.targets.rows.len() as f64);
        let mut output = gradients.pool().take_zeros(self.rows, self.probabilities.columns());
        for (index, (&row, &class)) in self.targets.rows.iter().zip(&self.targets.classes).enumerate() {
            let target = output.row_mut(row as usize);
            for (value, &probability) in target.iter_mut().zip(self.probabilities.row(index)) {
                *value += share * probability;
            }
            target[class as usize] -= share;
        }
        gradients.add(self.logits, output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::check::check;
    use crate::tape::Pool;
    use crate::testing::random_matrix;

    #[test]
    fn gradient() {
        let targets = Arc::new(Targets { rows: vec![0, 3, 4], classes: vec![2, 0, 1] });
        check("cross-entropy", &[random_matrix(5, 3, 1)], |tape, inputs| {
            tape.cross_entropy(&inputs[0], &targets)
        });
    }

    #[test]
    fn huge_logits_do_not_overflow() {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let logits = tape.constant(&Arc::new(Matrix::from_rows(&[[1e30f32, 0.0], [0.0, 1e30]])));
        let targets = Arc::new(Targets { rows: vec![0, 1], classes: vec![0, 1] });
        assert_eq!(tape.cross_entropy(&logits, &targets).get(0, 0), 0.0);
        assert_eq!(mean_cross_entropy(&logits, &targets), 0.0);
    }
}
