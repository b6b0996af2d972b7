//! What a training step makes smaller.

use std::num::NonZeroUsize;
use std::sync::Arc;

use abyssal_nn::models::Model;
use abyssal_nn::{GraphInput, Mode, NnError, Parameters, Pass};
use abyssal_tensor::ops::{SoftTargets, Targets};
use abyssal_tensor::tape::{Tape, Variable};

use crate::TrainConfig;

/// The labels of a step.
#[derive(Clone, Copy)]
pub(crate) enum Lesson<'a> {
    /// Classes of some nodes.
    Classes(&'a Arc<Targets>),
    /// Distributions over the classes.
    Distributions(&'a Arc<SoftTargets<f32>>),
}

/// `L = 1/S · Σ_s ℓ(Z_s) + λ·C(Z_1, …, Z_S)`: the mean cross-entropy ℓ of S passes whose dropout differs, and how far their
/// predictions for all nodes are from what they say together, sharpened ([`Tape::consistency`]).
#[derive(Clone, Copy)]
pub(crate) struct Objective<'m> {
    model: &'m dyn Model<f32>,
    input: &'m GraphInput<f32>,
    /// Has S (`passes`), λ (`consistency`) and the temperature of what the passes say together (`sharpening`).
    train: &'m TrainConfig,
    /// How many layers are kept at a time; `None` if all are.
    kept_layers: Option<NonZeroUsize>,
}

/// What a step came to on the tape.
pub(crate) struct Attempt {
    /// The weights, one variable a parameter.
    pub weights: Vec<Variable<f32>>,
    /// The scores of the first pass, before any of them is dropped.
    pub scores: Variable<f32>,
    /// `L`, 1×1.
    pub loss: Variable<f32>,
}

impl<'m> Objective<'m> {
    pub fn new(model: &'m dyn Model<f32>, input: &'m GraphInput<f32>, train: &'m TrainConfig) -> Self {
        Self { model, input, train, kept_layers: None }
    }

    /// The same, of passes that [keep](Pass::keeping) so many layers at a time.
    pub fn keeping(self, layers: Option<NonZeroUsize>) -> Self {
        Self { kept_layers: layers, ..self }
    }

    /// The step of an epoch, counted from 0.
    pub fn attempt(
        &self,
        tape: &Tape<'m, f32>,
        parameters: &Parameters<f32>,
        (seed, epoch): (u64, usize),
        lesson: Lesson,
    ) -> Result<Attempt, NnError> {
        let mode = |index| Mode::Training { seed, pass: (epoch * self.train.passes + index) as u32 };
        let first = Pass::new(tape, parameters, mode(0)).keeping(self.kept_layers);
        let (mut scores, mut losses) = (Vec::new(), Vec::new());
        for index in 0..self.train.passes {
            let pass = first.again(mode(index));
            let of_pass = self.model.forward(&pass, self.input)?;
            let kept = pass.drop_scores(&of_pass, self.model.score_dropout());
            losses.push(match lesson {
                Lesson::Classes(labels) => tape.cross_entropy(&kept, labels),
                Lesson::Distributions(labels) => tape.soft_cross_entropy(&kept, labels),
            });
            scores.push(of_pass);
        }
        let loss = self.loss(tape, losses, &scores);
        Ok(Attempt { weights: first.parameters, scores: scores.swap_remove(0), loss })
    }

    fn loss(
        &self,
        tape: &Tape<'m, f32>,
        mut losses: Vec<Variable<f32>>,
        scores: &[Variable<f32>],
    ) -> Variable<f32> {
        let TrainConfig { passes, consistency, sharpening, .. } = *self.train;
        if passes == 1 && consistency == 0.0 {
            return losses.swap_remove(0);
        }
        let share = 1.0 / passes as f64;
        if consistency > 0.0 {
            losses.push(tape.consistency(&scores.iter().collect::<Vec<_>>(), sharpening));
        }
        let shares = (0..).map(|index| if index < passes { share } else { consistency });
        tape.weighted_sum(&shares.zip(&losses).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use abyssal_graph::Library;
    use abyssal_nn::models::TaskShape;
    use abyssal_tensor::Matrix;
    use abyssal_tensor::tape::Pool;
    use toml::Value;

    use super::*;
    use crate::Config;
    use crate::metrics::targets;

    const SEED: u64 = 7;

    /// The loss of an epoch and the gradient of the first weights, where so many passes are trained with such a consistency;
    /// and the scores of the first pass.
    fn attempt(passes: usize, consistency: f64, epoch: usize) -> (f32, Matrix<f32>, Matrix<f32>) {
        let settings = [("model.name", Value::from("grand")), ("data.nodes", Value::from(200))];
        let more = [("data.validation", Value::from(50)), ("model.hidden", Value::from(8))];
        let settings = settings.into_iter().chain(more).map(|(key, value)| (key.to_string(), value));
        let config = Config::resolve(None, &settings.collect::<Vec<_>>()).unwrap();
        let dataset = config.data.load(&Library::from_environment(None)).unwrap();
        let (features, classes) = (dataset.features().columns(), dataset.classes());
        let model = config.model.build::<f32>(TaskShape { features, classes });
        let parameters = Parameters::initialize(&model.specs(), SEED);
        let input = GraphInput::new(dataset.graph(), dataset.features());
        let train = TrainConfig { passes, consistency, ..config.train };
        let labels = Arc::new(targets(&dataset, dataset.split().train()));
        let pool = Pool::new();
        let tape = Tape::recording(&pool);
        let objective = Objective::new(&*model, &input, &train);
        let attempt = objective.attempt(&tape, &parameters, (SEED, epoch), Lesson::Classes(&labels)).unwrap();
        let mut gradients = tape.backward(&attempt.loss);
        let gradient = Matrix::clone(&gradients.take(&attempt.weights[0]).unwrap());
        (attempt.loss.get(0, 0), gradient, Matrix::clone(&attempt.scores))
    }

    /// Loss and gradient of an epoch of two passes are the means of those of two epochs of one; no two epochs share a pass.
    #[test]
    fn passes_are_averaged_and_no_two_are_the_same() {
        for epoch in [0, 3] {
            let (loss, gradient, scores) = attempt(2, 0.0, epoch);
            let [first, second] = [2 * epoch, 2 * epoch + 1].map(|single| attempt(1, 0.0, single));
            assert!((loss - 0.5 * (first.0 + second.0)).abs() < 1e-6);
            let (rows, columns) = gradient.shape();
            let mean = |row, column| 0.5 * (first.1.get(row, column) + second.1.get(row, column));
            assert!(gradient.max_difference(&Matrix::from_fn(rows, columns, mean)) < 1e-6);
            assert_eq!(scores, first.2);
            assert!(first.2.max_difference(&second.2) > 1e-3, "what they drop differs");
        }
    }

    /// What passes disagree on costs as much as it is told to.
    #[test]
    fn consistency_counts_as_told() {
        let [none, once, thrice] = [0.0, 1.0, 3.0].map(|consistency| attempt(3, consistency, 1));
        assert!(once.0 > none.0);
        assert!((thrice.0 - none.0 - 3.0 * (once.0 - none.0)).abs() < 1e-5);
        assert!(once.1.max_difference(&none.1) > 0.0);
    }
}
