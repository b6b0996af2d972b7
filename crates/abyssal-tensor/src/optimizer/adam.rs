//! Adam (Kingma and Ba, 2015), with weight decay in the gradient or decoupled from it (Loshchilov and Hutter, 2019).

use serde::{Deserialize, Serialize};

use crate::parallel::for_each_block_of;
use crate::vectorized::vectorized;
use crate::{Matrix, Scalar};

/// Where weight decay enters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WeightDecay {
    /// Added to the gradient, as L2 regularisation: `g ← g + λ·w`. What papers of this field call weight decay.
    #[default]
    L2,
    /// Subtracted from the weight, as in AdamW: `w ← w - η·λ·w`.
    Decoupled,
}

/// The constants of Adam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamConfig {
    /// Where weight decay enters.
    pub decay: WeightDecay,
    /// `β₁`, the memory of the mean of gradients.
    pub first_decay: f64,
    /// `β₂`, the memory of the mean of their squares.
    pub second_decay: f64,
    /// Added to the root of the second moment, against division by zero.
    pub epsilon: f64,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self { decay: WeightDecay::L2, first_decay: 0.9, second_decay: 0.999, epsilon: 1e-8 }
    }
}

/// The running means of one parameter's gradients and of their squares.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments<T> {
    /// Mean of the gradients.
    pub first: Matrix<T>,
    /// Mean of their squares.
    pub second: Matrix<T>,
}

/// Adam and its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam<T> {
    config: AdamConfig,
    steps: u64,
    moments: Vec<Moments<T>>,
}

impl<T: Scalar> Adam<T> {
    /// An optimiser for parameters of these shapes.
    pub fn new(config: AdamConfig, shapes: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let zeros = |(rows, columns)| Matrix::zeros(rows, columns);
        let moments =
            shapes.into_iter().map(|shape| Moments { first: zeros(shape), second: zeros(shape) }).collect();
        Self { config, steps: 0, moments }
    }

    /// An optimiser that goes on from a stored state.
    pub fn restore(config: AdamConfig, steps: u64, moments: Vec<Moments<T>>) -> Self {
        Self { config, steps, moments }
    }

    /// How many steps were taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The state, parameter by parameter.
    pub fn moments(&self) -> &[Moments<T>] {
        &self.moments
    }

    /// Begins a step; each parameter is then updated once with [`Adam::update`].
    pub fn begin_step(&mut self) {
        self.steps += 1;
    }

    /// One parameter's part of a step with learning rate `η` and weight decay `λ`:
    /// `m ← β₁m + (1-β₁)g`, `v ← β₂v + (1-β₂)g²`, `w ← w - η · m̂ / (√v̂ + ε)`, with `m̂ = m/(1-β₁ᵗ)`, `v̂ = v/(1-β₂ᵗ)`.
    ///
    /// # Panics
    /// If shapes differ from those the optimiser was made for.
    pub fn update(
        &mut self,
        index: usize,
        rate: f64,
        weight_decay: f64,
        weight: &mut Matrix<T>,
        gradient: &Matrix<T>,
    ) {
        let Moments { first, second } = &mut self.moments[index];
        assert_eq!(weight.shape(), gradient.shape());
        assert_eq!(weight.shape(), first.shape());
        let config = &self.config;
        let steps = self.steps.min(i32::MAX as u64) as i32;
        let first_correction = 1.0 - config.first_decay.powi(steps);
        let second_correction = 1.0 - config.second_decay.powi(steps);
        let (l2, shrink) = match config.decay {
            WeightDecay::L2 => (weight_decay, 1.0),
            WeightDecay::Decoupled => (0.0, 1.0 - rate * weight_decay),
        };
        let constants = Constants {
            l2: T::from_f64(l2),
            shrink: T::from_f64(shrink),
            step: T::from_f64(rate / first_correction),
            root: T::from_f64(1.0 / second_correction.sqrt()),
            epsilon: T::from_f64(config.epsilon),
            keep: [config.first_decay, config.second_decay].map(T::from_f64),
            add: [1.0 - config.first_decay, 1.0 - config.second_decay].map(T::from_f64),
        };
        let columns = weight.columns();
        let gradient = gradient.as_slice();
        let data = [first.as_mut_slice(), second.as_mut_slice(), weight.as_mut_slice()];
        for_each_block_of(data, columns, 8 * columns, |row, [first, second, weight]| {
            let gradient = &gradient[row * columns..row * columns + first.len()];
            update_values(constants, gradient, first, second, weight);
        });
    }
}

/// The numbers of one step, the same for every value.
#[derive(Clone, Copy)]
struct Constants<T> {
    l2: T,
    shrink: T,
    step: T,
    root: T,
    epsilon: T,
    keep: [T; 2],
    add: [T; 2],
}

vectorized! {
    fn update_values<'a, T>(
        constants: Constants<T>,
        gradient: &'a [T],
        first: &'a mut [T],
        second: &'a mut [T],
        weight: &'a mut [T],
    ) {
        let Constants { l2, shrink, step, root, epsilon, keep, add } = constants;
        let moments = first.iter_mut().zip(second);
        for ((&gradient, (first, second)), weight) in gradient.iter().zip(moments).zip(weight) {
            let gradient = gradient + l2 * *weight;
            *first = keep[0] * *first + add[0] * gradient;
            *second = keep[1] * *second + add[1] * gradient * gradient;
            *weight = shrink * *weight - step * *first / (Scalar::sqrt(*second) * root + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(config: AdamConfig, weight_decay: f64, gradients: &[f64]) -> f64 {
        let mut adam = Adam::new(config, [(1, 1)]);
        let mut weight = Matrix::from_rows(&[[1.0]]);
        for &gradient in gradients {
            adam.begin_step();
            adam.update(0, 0.1, weight_decay, &mut weight, &Matrix::from_rows(&[[gradient]]));
        }
        weight.get(0, 0)
    }

    /// torch.optim.Adam and AdamW, lr = 0.1, on the same three gradients from weight 1, in float64:
    ///
    /// ```python
    /// for make in (lambda w: torch.optim.Adam([w], lr=0.1),
    ///              lambda w: torch.optim.Adam([w], lr=0.1, weight_decay=0.5),
    ///              lambda w: torch.optim.AdamW([w], lr=0.1, weight_decay=0.5)):
    ///     w = torch.ones(1, dtype=torch.float64, requires_grad=True); optimizer = make(w)
    ///     for g in (0.5, -2.0, 1.0):
    ///         w.grad = torch.tensor([g], dtype=torch.float64); optimizer.step()
    ///     print(w.item())
    /// ```
    #[test]
    fn equals_pytorch() {
        let gradients = [0.5, -2.0, 1.0];
        let plain = AdamConfig::default();
        let decoupled = AdamConfig { decay: WeightDecay::Decoupled, ..plain };
        for (config, weight_decay, expected) in [
            (plain, 0.0, 0.9669677173323049),
            (plain, 0.5, 0.902390843016363),
            (decoupled, 0.5, 0.831295199686302),
        ] {
            let weight = run(config, weight_decay, &gradients);
            assert!((weight - expected).abs() < 1e-12, "{config:?}: {weight}, not {expected}");
        }
    }

    #[test]
    fn a_restored_optimiser_goes_on_the_same() {
        let gradient = Matrix::from_rows(&[[0.3, -0.7]]);
        let mut adam = Adam::new(AdamConfig::default(), [(1, 2)]);
        let mut weight = Matrix::from_rows(&[[1.0, 2.0]]);
        adam.begin_step();
        adam.update(0, 0.1, 0.0, &mut weight, &gradient);
        let mut copy = Adam::restore(AdamConfig::default(), adam.steps(), adam.moments().to_vec());
        let mut other = weight.clone();
        adam.begin_step();
        adam.update(0, 0.1, 0.0, &mut weight, &gradient);
        copy.begin_step();
        copy.update(0, 0.1, 0.0, &mut other, &gradient);
        assert_eq!(weight, other);
    }
}
