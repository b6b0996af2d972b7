//! The full-batch training loop, one epoch at a time.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::sync::Arc;

use abyssal_graph::{Dataset, NodeOrder};
use abyssal_nn::diagnostics::{Examination, LayerDiagnosis, diagnose};
use abyssal_nn::models::{Model, TaskShape};
use abyssal_nn::{GraphInput, Mode, NnError, Parameters, Pass};
use abyssal_tensor::Matrix;
use abyssal_tensor::ops::{Targets, mean_cross_entropy};
use abyssal_tensor::optimizer::{Adam, StepSchedule};
use abyssal_tensor::parallel::{alone, join, with_awake_threads};
use abyssal_tensor::tape::{Buffer, Pool, Tape};

use crate::curriculum::{Course, Stage};
use crate::memory::spares_embeddings;
use crate::metrics::{accuracy, targets};
use crate::objective::{Attempt, Lesson, Objective};
use crate::{Best, Config, EpochMetrics, Remedy, TrainError, divergence};

/// From so many nodes on they are put in an order of their own: the embeddings of fewer are close in any order.
const ORDERED_NODES: usize = 1 << 13;
/// Embeddings of fewer values stay with one thread: Texas at width 64 took 4.9 ms an epoch on two, and takes 3.8 on one.
const SHARED_VALUES: usize = 1 << 15;

/// All that changes while a run goes on. Together with the configuration it determines everything that follows.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainerState {
    /// Epochs that are complete.
    pub epoch: usize,
    /// The weights.
    pub parameters: Parameters<f32>,
    /// The optimiser with its moments.
    pub optimizer: Adam<f32>,
    /// The best epochs so far.
    pub best: Best,
    /// The weights of the best epoch under the run's selection.
    pub best_parameters: Parameters<f32>,
}

/// A model in training.
pub struct Trainer {
    config: Config,
    schedule: StepSchedule,
    /// What is learnt when, unless it is the known labels all the time.
    course: Option<Course>,
    /// One a parameter.
    weight_decays: Vec<f64>,
    model: Box<dyn Model<f32>>,
    /// The order that nodes have in everything here; what comes in and goes out has the order of the dataset.
    order: NodeOrder,
    input: GraphInput<f32>,
    train: Arc<Targets>,
    validation: Arc<Targets>,
    test: Arc<Targets>,
    pool: Pool<f32>,
    /// How many layers are kept at a time on the way there; `None` if all are.
    kept_layers: Option<NonZeroUsize>,
    state: TrainerState,
    /// The loss and gradients at the present weights, where they are known already.
    next_step: Option<Result<Step, NnError>>,
}

/// What a training step knows before it changes the weights.
struct Step {
    loss: f64,
    /// How well the weights do before the step, if the training pass tells: if nothing was dropped before its scores.
    evaluation: Option<Evaluation>,
    /// One a parameter; `None` where the loss does not depend on it.
    gradients: Vec<Option<Buffer<f32>>>,
}

/// How well weights do.
struct Evaluation {
    validation_loss: f64,
    train_accuracy: f64,
    validation_accuracy: f64,
    test_accuracy: f64,
}

impl Trainer {
    /// A fresh start.
    ///
    /// # Errors
    /// If a setting is out of range.
    pub fn new(config: &Config, dataset: &Dataset) -> Result<Self, TrainError> {
        let graph = dataset.graph();
        let order = match graph.nodes() {
            ..ORDERED_NODES => NodeOrder::given(graph.nodes()),
            _ => NodeOrder::close_neighbours(graph),
        };
        Self::ordered(config, dataset, order)
    }

    /// A fresh start with the nodes in a given order.
    fn ordered(config: &Config, dataset: &Dataset, order: NodeOrder) -> Result<Self, TrainError> {
        config.validate()?;
        let task = TaskShape { features: dataset.features().columns(), classes: dataset.classes() };
        let model = config.model.build(task);
        let specs = model.specs();
        let parameters = Parameters::initialize(&specs, config.seed);
        let state = TrainerState {
            epoch: 0,
            best_parameters: parameters.deep_clone(),
            parameters,
            optimizer: Adam::new(config.train.adam(), specs.iter().map(|spec| spec.shape)),
            best: Best::default(),
        };
        let split = dataset.split();
        let (graph, features) =
            (dataset.graph().reordered(&order), dataset.features().select_rows(order.nodes()));
        let targets = |nodes| reordered_targets(dataset, nodes, &order);
        Ok(Self {
            config: config.clone(),
            schedule: config.train.schedule(),
            course: None,
            weight_decays: specs.iter().map(|spec| config.train.weight_decay_of(spec.group)).collect(),
            model,
            input: GraphInput::new(&graph, &features),
            train: targets(split.train()),
            validation: targets(split.validation()),
            test: targets(split.test()),
            order,
            pool: Pool::new().sparing(spares_embeddings(&config.model, dataset.nodes())),
            kept_layers: None,
            state,
            next_step: None,
        })
    }

    /// The same model, taught by a curriculum; before its first epoch.
    pub fn with_course(self, course: Course) -> Self {
        Self { course: Some(course.reordered(&self.order)), ..self }
    }

    /// The same model, which keeps so many layers at a time and computes the others again on the way back, to save memory.
    /// What it computes is the same, bit for bit.
    pub fn keeping(self, layers: Option<NonZeroUsize>) -> Self {
        Self { kept_layers: layers, ..self }
    }

    /// Where the run stands.
    pub fn state(&self) -> &TrainerState {
        &self.state
    }

    /// Goes on from a stored state.
    pub fn restore(&mut self, state: TrainerState) {
        self.state = state;
        self.next_step = None;
    }

    /// Whether all epochs are done, or none of the last `patience` made progress.
    pub fn is_finished(&self) -> bool {
        let train = &self.config.train;
        // The tasks of a curriculum are all gone through: smooth ones may well lead away from the known labels.
        let (patience, since) = match &self.course {
            None => (train.patience, 0),
            Some(course) => (course.fine_tuning_patience, course.task_epochs()),
        };
        let waiting = self.state.epoch.saturating_sub(self.state.best.last_progress().max(since));
        self.state.epoch >= self.epochs() || (patience > 0 && waiting >= patience)
    }

    /// The most epochs this run can have.
    pub fn epochs(&self) -> usize {
        self.course.as_ref().map_or(self.config.train.epochs, Course::epochs)
    }

    /// What an epoch (counted from 0) learns.
    fn stage(&self, epoch: usize) -> Stage {
        self.course.as_ref().map_or(Stage::Direct, |course| course.stage(epoch))
    }

    /// Whether the next epoch comes after all tasks of a curriculum.
    pub fn is_fine_tuning(&self) -> bool {
        self.stage(self.state.epoch) == Stage::FineTuning
    }

    fn learning_rate(&self, epoch: usize) -> f64 {
        match &self.course {
            Some(course) if self.stage(epoch) == Stage::FineTuning => course.fine_tuning_learning_rate,
            _ => self.schedule.rate(epoch),
        }
    }

    /// One epoch: a step on what is learnt in it, then an evaluation.
    ///
    /// The evaluation and the gradients of the next epoch need the same weights. Where something is dropped on the way to
    /// the scores they are two passes, computed side by side; where nothing is, they are one.
    ///
    /// # Errors
    /// If numbers leave the finite range.
    pub fn run_epoch(&mut self) -> Result<EpochMetrics, TrainError> {
        // Two passes side by side keep two threads busy, however small they are.
        let is_small = self.order.nodes().len() * self.config.model.hidden() < SHARED_VALUES;
        if is_small && !self.model.has_dropout() {
            alone(|| self.step_and_evaluate())
        } else {
            with_awake_threads(|| self.step_and_evaluate())
        }
    }

    fn step_and_evaluate(&mut self) -> Result<EpochMetrics, TrainError> {
        let epoch = self.state.epoch;
        let learning_rate = self.learning_rate(epoch);
        let step = self.next_step.take().unwrap_or_else(|| self.compute_step(epoch));
        let Step { loss, gradients, .. } = step.map_err(|error| self.diverged(error.to_string()))?;
        if !loss.is_finite() {
            return Err(self.diverged(format!("the loss is {loss}")));
        }
        self.apply(gradients, learning_rate);
        let evaluation = self.evaluate_and_prepare(epoch + 1);
        let Evaluation { validation_loss, train_accuracy, validation_accuracy, test_accuracy } =
            evaluation.map_err(|error| self.diverged(error.to_string()))?;
        if !validation_loss.is_finite() {
            return Err(self.diverged(format!("the validation loss is {validation_loss}")));
        }
        let metrics = EpochMetrics {
            epoch: epoch + 1,
            stage: self.stage(epoch),
            learning_rate,
            loss,
            validation_loss,
            train_accuracy,
            validation_accuracy,
            test_accuracy,
        };
        self.state.epoch += 1;
        if self.state.best.update(&metrics, self.config.train.selection) {
            self.state.best_parameters.copy_from(&self.state.parameters);
        }
        Ok(metrics)
    }

    /// The class scores of the best weights, as a run's result has them: n×classes, the larger the likelier.
    ///
    /// # Errors
    /// If numbers leave the finite range.
    pub fn predict(&self) -> Result<Matrix<f32>, TrainError> {
        let tape = Tape::inference(&self.pool);
        let pass = Pass::new(&tape, &self.state.best_parameters, Mode::Evaluation);
        let scores = self.model.forward(&pass, &self.input)?;
        Ok(scores.select_rows(self.order.places()))
    }

    /// The embeddings of the last layer that shows any, with the best weights; the scores of a model that shows none. n×d.
    ///
    /// # Errors
    /// If numbers leave the finite range.
    pub fn embed(&self) -> Result<Matrix<f32>, TrainError> {
        let last = RefCell::new(None);
        let tape = Tape::inference(&self.pool);
        let pass = Pass::new(&tape, &self.state.best_parameters, Mode::Evaluation)
            .observing(|_, embedding| *last.borrow_mut() = Some(embedding.clone()));
        let scores = self.model.forward(&pass, &self.input)?;
        let last = last.borrow();
        Ok(last.as_ref().unwrap_or(&scores).select_rows(self.order.places()))
    }

    /// Looks at the layers with the best weights, or the initial ones if nothing was trained: at most `at_most` layers,
    /// evenly spaced.
    ///
    /// # Errors
    /// If numbers leave the finite range.
    pub fn diagnose(&self, at_most: usize) -> Result<Vec<LayerDiagnosis>, TrainError> {
        let spaced = Examination::evenly_spaced(self.config.model.layers(), at_most);
        let examination = Examination { kept_layers: self.kept_layers, ..spaced };
        let parameters = &self.state.best_parameters;
        Ok(diagnose(&*self.model, parameters, &self.input, &self.train, &examination, &self.pool)?)
    }

    /// The error of a run whose numbers left the finite range in the present epoch.
    fn diverged(&self, seen: String) -> TrainError {
        let place = divergence::locate(&*self.model, &self.state.parameters, &self.input, &self.pool);
        let remedy = match self.state.optimizer.steps() {
            0 => Remedy::FewerLayers,
            _ if self.is_fine_tuning() => Remedy::LowerFineTuningRate,
            _ => Remedy::LowerLearningRate,
        };
        // A layer that refuses to go on is the place, and what was seen.
        let reason = if place.contains(&seen) { place } else { format!("{seen}; {place}") };
        TrainError::Diverged { epoch: self.state.epoch + 1, reason, remedy }
    }

    /// Evaluates the present weights, and computes the step of the next epoch if there is one.
    fn evaluate_and_prepare(&mut self, next_epoch: usize) -> Result<Evaluation, NnError> {
        if next_epoch >= self.epochs() {
            return self.evaluate();
        }
        let (evaluation, step) = if self.model.has_dropout() {
            join(|| self.evaluate(), || self.compute_step(next_epoch))
        } else {
            let mut step = self.compute_step(next_epoch);
            let evaluation = match &mut step {
                Ok(step) => Ok(step.evaluation.take().expect("nothing was dropped")),
                Err(error) => Err(error.clone()),
            };
            (evaluation, step)
        };
        self.next_step = Some(step);
        evaluation
    }

    /// The loss and its gradients at the present weights, with the dropout of an epoch.
    fn compute_step(&self, epoch: usize) -> Result<Step, NnError> {
        let tape = Tape::recording(&self.pool);
        let objective =
            Objective::new(&*self.model, &self.input, &self.config.train).keeping(self.kept_layers);
        let lesson = match self.course.as_ref().and_then(|course| course.targets(epoch)) {
            Some(labels) => Lesson::Distributions(labels),
            None => Lesson::Classes(&self.train),
        };
        let attempt = objective.attempt(&tape, &self.state.parameters, (self.config.seed, epoch), lesson)?;
        let Attempt { weights, scores, loss } = attempt;
        let value = f64::from(loss.get(0, 0));
        let evaluation = (!self.model.has_dropout()).then(|| self.judge(&scores));
        let mut gradients = tape.backward(&loss);
        let gradients = weights.iter().map(|weight| gradients.take(weight)).collect();
        Ok(Step { loss: value, evaluation, gradients })
    }

    fn apply(&mut self, gradients: Vec<Option<Buffer<f32>>>, learning_rate: f64) {
        self.state.optimizer.begin_step();
        for (index, gradient) in gradients.into_iter().enumerate() {
            if let Some(gradient) = gradient {
                let weight = self.state.parameters.value_mut(index);
                let decay = self.weight_decays[index];
                self.state.optimizer.update(index, learning_rate, decay, weight, &gradient);
            }
        }
    }

    fn evaluate(&self) -> Result<Evaluation, NnError> {
        let tape = Tape::inference(&self.pool);
        let pass = Pass::new(&tape, &self.state.parameters, Mode::Evaluation);
        let scores = self.model.forward(&pass, &self.input)?;
        Ok(self.judge(&scores))
    }

    /// Compares scores with labels.
    fn judge(&self, scores: &Matrix<f32>) -> Evaluation {
        Evaluation {
            validation_loss: mean_cross_entropy(scores, &self.validation),
            train_accuracy: accuracy(scores, &self.train),
            validation_accuracy: accuracy(scores, &self.validation),
            test_accuracy: accuracy(scores, &self.test),
        }
    }
}

/// The nodes of a set with their classes, at their places in an order.
fn reordered_targets(dataset: &Dataset, nodes: &[u32], order: &NodeOrder) -> Arc<Targets> {
    let Targets { rows, classes } = targets(dataset, nodes);
    let rows = rows.into_iter().map(|node| order.places()[node as usize]).collect();
    Arc::new(Targets { rows, classes })
}

#[cfg(test)]
mod tests {
    use abyssal_graph::Library;
    use toml::Value;

    use super::*;
    use crate::config::CurriculumConfig;
    use crate::curriculum::SoftLabels;

    /// Where nothing is dropped, the order of nodes is nobody's business: losses, accuracies, scores and embeddings are the same but for
    /// rounding, and come out in the order of the dataset.
    #[test]
    fn the_order_of_nodes_does_not_show() {
        let settings = [
            ("data.nodes", Value::from(300)),
            ("data.validation", Value::from(80)),
            ("model.layers", Value::from(4)),
            ("model.hidden", Value::from(16)),
            ("model.output_dropout", Value::from(0.0)),
            ("train.epochs", Value::from(8)),
        ];
        let settings = settings.map(|(key, value)| (key.to_string(), value));
        let config = Config::resolve(None, &settings).unwrap();
        let dataset = config.data.load(&Library::from_environment(None)).unwrap();
        let sharp =
            |node: usize, class: usize| if class == node * node % dataset.classes() { 1.0 } else { 0.1 };
        let labels = Matrix::from_fn(dataset.graph().nodes(), dataset.classes(), sharp);
        let known = targets(&dataset, dataset.split().train());
        let labels = SoftLabels::estimated(&labels, &known).unwrap();
        let course = Course::new(&CurriculumConfig::default(), 5, [labels]);
        let orders =
            [NodeOrder::given(dataset.graph().nodes()), NodeOrder::close_neighbours(dataset.graph())];
        assert_ne!(orders[0], orders[1]);
        for course in [None, Some(course)] {
            let [given, close] = orders.each_ref().map(|order| {
                let mut trainer = Trainer::ordered(&config, &dataset, order.clone()).unwrap();
                if let Some(course) = &course {
                    trainer = trainer.with_course(course.clone());
                }
                let metrics: Vec<_> = (0..8).map(|_| trainer.run_epoch().unwrap()).collect();
                (metrics, [trainer.predict().unwrap(), trainer.embed().unwrap()])
            });
            for (given, close) in given.0.iter().zip(&close.0) {
                assert!((given.loss - close.loss).abs() < 1e-4, "{} and {}", given.loss, close.loss);
                assert!((given.validation_loss - close.validation_loss).abs() < 1e-4);
                assert!((given.test_accuracy - close.test_accuracy).abs() < 0.02, "one or two nodes at most");
            }
            for (given, close) in given.1.iter().zip(&close.1) {
                assert!(given.max_difference(close) < 1e-3, "{}", given.max_difference(close));
            }
        }
    }
}
