//! How far several predictions for the same rows are from what they say together (Feng et al., 2020).

use std::sync::Arc;

use super::softmax::softmax;
use crate::Scalar;
use crate::parallel::{for_each_block, partial_count, sum_over_rows};
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<'_, T> {
    /// `L = 1/(S·n) · Σ_s Σ_i ‖P_s,i - Q_i‖²` with `P_s = softmax(Z_s)` and `Q_ic ∝ (1/S · Σ_s P_s,ic)^(1/τ)`, rows of which
    /// sum to 1: the smaller the temperature τ, the surer. Shapes: each of the S terms Z_s is n×C, L is 1×1.
    ///
    /// Q is what the others should come to, and is constant on the way back.
    ///
    /// # Panics
    /// If there are no terms or no rows, their shapes differ, or the temperature is not above 0.
    pub fn consistency(&self, logits: &[&Variable<T>], temperature: f64) -> Variable<T> {
        let (rows, classes) = logits.first().expect("there is at least one prediction").shape();
        assert!(rows > 0, "a loss needs at least one row");
        assert!(
            logits.iter().all(|term| term.shape() == (rows, classes)),
            "consistency: shapes of the terms"
        );
        assert!(temperature > 0.0, "consistency: a temperature of {temperature}");
        let probabilities: Vec<Buffer<T>> = logits
            .iter()
            .map(|logits| {
                let mut output = self.pool().take(rows, classes);
                for_each_block(output.as_mut_slice(), classes, 32 * classes, |first, block| {
                    let values = first * classes..first * classes + block.len();
                    softmax(block, &logits.as_slice()[values], classes);
                });
                output
            })
            .collect();
        let mut agreed = self.pool().take(rows, classes);
        for_each_block(agreed.as_mut_slice(), classes, 64 * classes, |first, block| {
            block.fill(T::ZERO);
            for term in &probabilities {
                add_rows(block, &term.as_slice()[first * classes..first * classes + block.len()]);
            }
            sharpen(block, classes, T::from_f64(1.0 / temperature));
        });
        let mut output = self.pool().take(1, 1);
        let mut partials = self.pool().take(partial_count(rows), 1);
        let share = 1.0 / (probabilities.len() * rows) as f64;
        let work = 3 * probabilities.len() * classes;
        sum_over_rows(rows, work, output.as_mut_slice(), partials.as_mut_slice(), |range, partial| {
            let values = range.start * classes..range.end * classes;
            let agreed = &agreed.as_slice()[values.clone()];
            let distance = |term: &Buffer<T>| -> f64 {
                let pairs = term.as_slice()[values.clone()].iter().zip(agreed);
                pairs.map(|(&value, &agreed)| (value - agreed).to_f64().powi(2)).sum()
            };
            partial[0] = T::from_f64(share * probabilities.iter().map(distance).sum::<f64>());
        });
        let slots: Vec<Slot> = logits.iter().map(|term| term.slot).collect();
        self.record(Arc::new(output), &slots.clone(), || Consistency { slots, probabilities, agreed })
    }
}

vectorized! {
    fn add_rows<'a, T>(target: &'a mut [T], source: &'a [T]) {
        for (target, &value) in target.iter_mut().zip(source) {
            *target += value;
        }
    }
}

/// `q_c ∝ m_c^power` in every row, with sum 1. The largest value is divided by first, so that it does not vanish.
fn sharpen<T: Scalar>(rows: &mut [T], classes: usize, power: T) {
    for row in rows.chunks_exact_mut(classes) {
        let largest = row.iter().fold(row[0], |best, &value| if value > best { value } else { best });
        row.iter_mut().for_each(|value| *value = (power * (*value / largest).ln()).exp());
        let sum: T = row.iter().copied().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
}

vectorized! {
    /// `p ← c·p∘(p - q - ⟨p, p - q⟩)` in every row.
    fn pull<'a, T>(probabilities: &'a mut [T], agreed: &'a [T], classes: usize, share: T) {
        for (row, agreed) in probabilities.chunks_exact_mut(classes).zip(agreed.chunks_exact(classes)) {
            let mut mean = T::ZERO;
            for (&value, &agreed) in row.iter().zip(agreed) {
                mean += value * (value - agreed);
            }
            for (value, &agreed) in row.iter_mut().zip(agreed) {
                *value = share * *value * (*value - agreed - mean);
            }
        }
    }
}

struct Consistency<T: Scalar> {
    slots: Vec<Slot>,
    /// `P_s`, n×C each.
    probabilities: Vec<Buffer<T>>,
    /// `Q`, n×C.
    agreed: Buffer<T>,
}

impl<T: Scalar> Backward<T> for Consistency<T> {
    /// `Z̄_s,i = 2·L̄/(S·n) · P_s,i ∘ (P_s,i - Q_i - ⟨P_s,i, P_s,i - Q_i⟩)`; the memory of `P_s` becomes the gradient.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (rows, classes) = self.agreed.shape();
        let share = gradient.get(0, 0) * T::from_f64(2.0 / (self.slots.len() * rows) as f64);
        for (slot, mut term) in self.slots.into_iter().zip(self.probabilities) {
            for_each_block(term.as_mut_slice(), classes, 5 * classes, |first, block| {
                let values = first * classes..first * classes + block.len();
                pull(block, &self.agreed.as_slice()[values], classes, share);
            });
            gradients.add(slot, term);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::ops::SoftTargets;
    use crate::ops::check::{check, check_against};
    use crate::tape::Pool;
    use crate::testing::random_matrix;

    const TEMPERATURE: f64 = 0.4;

    fn softmax_rows(logits: &Matrix<f64>) -> Matrix<f64> {
        let mut output = logits.clone();
        softmax(output.as_mut_slice(), logits.as_slice(), logits.columns());
        output
    }

    /// The definition, value by value.
    fn agreed(logits: &[Matrix<f64>], temperature: f64) -> Matrix<f64> {
        let shares: Vec<_> = logits.iter().map(softmax_rows).collect();
        let (rows, classes) = logits[0].shape();
        let raised = |row, class| {
            let mean = shares.iter().map(|term| term.get(row, class)).sum::<f64>() / shares.len() as f64;
            mean.powf(1.0 / temperature)
        };
        Matrix::from_fn(rows, classes, |row, class| {
            raised(row, class) / (0..classes).map(|class| raised(row, class)).sum::<f64>()
        })
    }

    fn distance(logits: &[Matrix<f64>], agreed: &Matrix<f64>) -> f64 {
        let squares = logits.iter().map(softmax_rows).map(|term| {
            let pairs = term.as_slice().iter().zip(agreed.as_slice());
            pairs.map(|(value, agreed)| (value - agreed).powi(2)).sum::<f64>()
        });
        squares.sum::<f64>() / (logits.len() * agreed.rows()) as f64
    }

    #[test]
    fn value() {
        for terms in 1..4 {
            let logits: Vec<_> = (0..terms).map(|seed| random_matrix(300, 5, seed)).collect();
            let tape = Tape::inference(&Pool::new());
            let variables: Vec<_> = logits.iter().map(|one| tape.constant(&Arc::new(one.clone()))).collect();
            let loss = tape.consistency(&variables.iter().collect::<Vec<_>>(), TEMPERATURE).get(0, 0);
            let expected = distance(&logits, &agreed(&logits, TEMPERATURE));
            assert!((loss - expected).abs() < 1e-13, "{loss} in place of {expected}");
        }
    }

    /// Values and gradients as PyTorch computes them:
    ///
    /// ```python
    /// z = [torch.tensor([[1.0, -0.5, 0.25], [0.0, 2.0, -1.0]], dtype=torch.float64, requires_grad=True),
    ///      torch.tensor([[0.5, 0.75, -1.0], [-0.25, 1.5, 0.5]], dtype=torch.float64, requires_grad=True)]
    /// p = [one.softmax(1) for one in z]
    /// mean = sum(p) / 2
    /// sharp = (mean ** 2.5 / (mean ** 2.5).sum(1, keepdim=True)).detach()
    /// loss = sum((one - sharp).pow(2).sum(1).mean() for one in p) / 2
    /// loss.backward()
    /// print(loss.item(), z[0].grad, z[1].grad)
    /// ```
    #[test]
    fn value_and_gradients_equal_pytorch() {
        let pool = Pool::<f64>::new();
        let tape = Tape::recording(&pool);
        let logits = [[[1.0, -0.5, 0.25], [0.0, 2.0, -1.0]], [[0.5, 0.75, -1.0], [-0.25, 1.5, 0.5]]]
            .map(|rows| tape.parameter(&Arc::new(Matrix::from_rows(&rows))));
        let loss = tape.consistency(&[&logits[0], &logits[1]], TEMPERATURE);
        assert!((loss.get(0, 0) - 0.109_038_123_197_767).abs() < 1e-12);
        let expected = [
            [
                [-0.027_292_372_975, -0.005_891_079_055, 0.033_183_452_03],
                [0.011_646_435_193, -0.014_285_098_163, 0.002_638_662_969],
            ],
            [
                [-0.064_571_876_924, 0.064_201_832_521, 0.000_370_044_402],
                [0.014_164_297_536, -0.058_436_548_387, 0.044_272_250_851],
            ],
        ];
        let mut gradients = tape.backward(&loss);
        for (logits, expected) in logits.iter().zip(expected) {
            let gradient = gradients.take(logits).unwrap();
            assert!(gradient.max_difference(&Matrix::from_rows(&expected)) < 1e-11);
        }
    }

    /// The gradient is that of the distance to a constant.
    #[test]
    fn gradient() {
        let logits: Vec<_> = (0..3).map(|seed| random_matrix(7, 4, seed)).collect();
        let target = agreed(&logits, TEMPERATURE);
        let operation = |tape: &Tape<f64>, inputs: &[Variable<f64>]| {
            tape.consistency(&inputs.iter().collect::<Vec<_>>(), TEMPERATURE)
        };
        let function = |tape: &Tape<f64>, inputs: &[Variable<f64>]| {
            let inputs: Vec<Matrix<f64>> = inputs.iter().map(|input| Matrix::clone(input)).collect();
            tape.constant(&Arc::new(Matrix::from_rows(&[[distance(&inputs, &target)]])))
        };
        check_against("consistency", &logits, operation, function);
    }

    /// A prediction may come twice, and beside another loss.
    #[test]
    fn gradient_of_a_prediction_that_has_other_losses() {
        let targets = Arc::new(SoftTargets::new(Matrix::from_fn(6, 3, |_, class| [0.5, 0.25, 0.25][class])));
        // At this temperature a single prediction agrees with itself, so that only the other loss is left.
        check("beside a loss", &[random_matrix(6, 3, 5)], |tape, inputs| {
            let loss = tape.soft_cross_entropy(&inputs[0], &targets);
            let alone = tape.consistency(&[&inputs[0], &inputs[0]], 1.0);
            tape.weighted_sum(&[(1.0, &loss), (3.0, &alone)])
        });
    }

    #[test]
    fn predictions_that_are_sure_and_agree_cost_nothing() {
        let tape = Tape::inference(&Pool::new());
        let sure = tape.constant(&Arc::new(Matrix::from_rows(&[[1e30f32, 0.0], [0.0, 1e30]])));
        assert_eq!(tape.consistency(&[&sure, &sure], 0.01).get(0, 0), 0.0);
        let other = tape.constant(&Arc::new(Matrix::from_rows(&[[0.0f32, 1e30], [0.0, 1e30]])));
        // One row of two in which both stand between: four values of (1/2)², over two predictions of two rows.
        assert_eq!(tape.consistency(&[&sure, &other], 0.01).get(0, 0), 0.25);
    }

    /// Forty classes to the power of a hundred are no number of single precision.
    #[test]
    fn small_temperatures_do_not_underflow() {
        let tape = Tape::inference(&Pool::new());
        let even = tape.constant(&Arc::new(Matrix::<f32>::zeros(3, 40)));
        assert!(tape.consistency(&[&even], 0.01).get(0, 0).abs() < 1e-6);
    }
}
