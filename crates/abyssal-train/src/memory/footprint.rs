//! What a model takes, found out by trying it on a graph of a few nodes.

use std::num::NonZeroUsize;
use std::sync::Arc;

use abyssal_graph::{Dataset, Features, Graph, two_hop_entries};
use abyssal_nn::models::{ModelConfig, TaskShape};
use abyssal_nn::{GraphInput, Mode, Operator, Parameters, Pass};
use abyssal_tensor::ops::{SoftTargets, Targets};
use abyssal_tensor::parallel::{partial_count, threads};
use abyssal_tensor::tape::{Buffer, Pool, Tape};
use abyssal_tensor::{Csr, Matrix};

use super::spares_embeddings;
use crate::objective::{Attempt, Lesson, Objective};
use crate::{Config, TrainConfig, TrainError};

/// Up to so many layers a model is tried as it is; of more, the memory follows a line.
const TRIED_LAYERS: usize = 8;
/// Layers computed again together in a trial.
const TRIED_STRETCH: NonZeroUsize = NonZeroUsize::new(2).expect("it is not 0");
/// Nodes of the graph in a trial: one of these primes, and so many that lengths tell what grows with the nodes.
const NODES: [usize; 4] = [211, 223, 227, 229];
/// Nodes and ends of edges there: a prime again.
const ENTRIES: usize = 1009;
const VALUE: f64 = size_of::<f32>() as f64;

/// Of an operator, for each entry: an index, a value and its source.
const OPERATOR_ENTRY: f64 = 3.0 * VALUE;
/// For each node: where its row begins, and the sum of its column.
const OPERATOR_NODE: f64 = size_of::<usize>() as f64 + VALUE;
/// An index and a value of its transpose, which is made with it, and dropped if it is the same.
const TRANSPOSED_ENTRY: f64 = 2.0 * VALUE;

/// That layers of a model can be computed again, and are so many that it saves memory.
///
/// # Errors
/// Which of the two is not so.
pub(super) fn check_recomputes(model: &ModelConfig) -> Result<(), TrainError> {
    // Any task will do: it says nothing about layers.
    let task = TaskShape { features: 1, classes: 2 };
    match (model.build::<f32>(task).recomputes(), model.layers()) {
        (false, _) => Err(TrainError::NotRecomputable { model: model.name().to_string() }),
        (true, layers @ 0..=TRIED_LAYERS) => {
            Err(TrainError::TooFewLayers { layers, least: TRIED_LAYERS + 1 })
        }
        _ => Ok(()),
    }
}

/// What the operator of nodes two steps apart takes for its entries, and what making it takes on top of that.
fn two_hop_bytes(graph: &Graph) -> (f64, f64) {
    let entries = two_hop_entries(graph) as f64;
    match graph.is_directed() {
        true => ((OPERATOR_ENTRY + TRANSPOSED_ENTRY) * entries, 0.0),
        false => (OPERATOR_ENTRY * entries, TRANSPOSED_ENTRY * entries),
    }
}

/// Memory in bytes, by what it grows with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Footprint {
    node: f64,
    entry: f64,
    fixed: f64,
}

impl Footprint {
    fn map(self, other: Self, operation: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            node: operation(self.node, other.node),
            entry: operation(self.entry, other.entry),
            fixed: operation(self.fixed, other.fixed),
        }
    }

    fn times(self, factor: f64) -> Self {
        self.map(self, |value, _| factor * value)
    }

    fn bytes(self, nodes: usize, entries: usize) -> f64 {
        self.node * nodes as f64 + self.entry * entries as f64 + self.fixed
    }
}

/// Memory that grows evenly with the layers.
struct Line {
    /// With [`TRIED_LAYERS`].
    tried: Footprint,
    /// Of one more layer.
    layer: Footprint,
}

impl Line {
    /// Through two trials.
    fn of(trial: impl Fn(usize) -> Footprint) -> Self {
        let (fewer, tried) = (trial(TRIED_LAYERS / 2), trial(TRIED_LAYERS));
        let more = (TRIED_LAYERS - TRIED_LAYERS / 2) as f64;
        Self { tried, layer: fewer.map(tried, |fewer, tried| (tried - fewer) / more) }
    }

    fn at(&self, layers: usize) -> Footprint {
        let more = layers as f64 - TRIED_LAYERS as f64;
        self.tried.map(self.layer, |tried, layer| tried + more * layer)
    }
}

/// What the weights of a model take. Of many layers, the list of all weights would itself be large.
fn weight_bytes(model: &ModelConfig, task: TaskShape) -> f64 {
    let of = |layers| {
        let specs = model.clone().with_layers(layers).build::<f32>(task).specs();
        let count: f64 = specs.iter().map(|spec| spec.shape.0 as f64 * spec.shape.1 as f64).sum();
        Footprint { fixed: VALUE * count, ..Footprint::default() }
    };
    match model.layers() {
        layers @ 0..=TRIED_LAYERS => of(layers).fixed,
        layers => Line::of(of).at(layers).fixed,
    }
}

/// What the partial sums of products of embeddings take.
fn partial_sum_bytes(model: &ModelConfig, nodes: usize) -> f64 {
    let width = model.hidden() as f64;
    VALUE * partial_count(nodes) as f64 * width * width
}

/// What training a model takes at the very least, found out without trying it: its weights, the best ones, two moments and
/// gradients, the embeddings of one layer and sums of their products. A model for which this is too much cannot be tried.
pub(super) fn least_bytes(model: &ModelConfig, dataset: &Dataset) -> u64 {
    let embeddings = VALUE * dataset.nodes() as f64 * model.hidden() as f64;
    let weights = weight_bytes(model, task_of(dataset));
    (5.0 * weights + embeddings + partial_sum_bytes(model, dataset.nodes())) as u64
}

fn task_of(dataset: &Dataset) -> TaskShape {
    TaskShape { features: dataset.features().columns(), classes: dataset.classes() }
}

/// What training a model on a dataset takes beyond the dataset, depending on what is computed again.
pub(super) struct Footprints {
    nodes: usize,
    entries: usize,
    layers: usize,
    /// Of features, weights and their moments, the tasks of a curriculum, and nodes two steps apart.
    beside: f64,
    /// What making operators takes for a moment, before any layer takes anything.
    making: f64,
    full: Footprint,
    /// Unless the model keeps everything anyway.
    recomputing: Option<Recomputing>,
}

/// Memory with layers computed again.
struct Recomputing {
    /// Of the state before a stretch.
    state: Footprint,
    /// Of a layer that is kept.
    layer: Footprint,
    /// Of any layer, kept or not: the gradients of its weights.
    every_layer: Footprint,
    rest: Footprint,
}

impl Recomputing {
    /// Tries it, given what a model takes that keeps all.
    fn of(trial: &Trial, kept: &Line) -> Self {
        let stretch = TRIED_STRETCH.get() as f64;
        let states = Line::of(|layers| trial.footprint(layers, Some(TRIED_STRETCH)));
        // States are of nodes; what else grows with layers that are not kept are gradients.
        let every_layer = Footprint { fixed: states.layer.fixed, ..Footprint::default() };
        let beyond = |line: &Line| line.layer.map(every_layer, |layer, every| layer - every);
        let (layer, state) = (beyond(kept), beyond(&states).times(stretch));
        let mut this = Self { state, layer, every_layer, rest: Footprint::default() };
        this.rest = states.tried.map(this.at(TRIED_LAYERS, TRIED_STRETCH.get()), |all, parts| all - parts);
        this
    }

    /// With so many layers, of which so many are kept at a time.
    fn at(&self, layers: usize, together: usize) -> Footprint {
        let stretches = layers.div_ceil(together) as f64;
        let parts = [
            self.state.times(stretches),
            self.layer.times(together as f64),
            self.every_layer.times(layers as f64),
        ];
        parts.into_iter().fold(self.rest, |sum, part| sum.map(part, |sum, part| sum + part))
    }
}

impl Footprints {
    /// Tries a model.
    pub fn of(config: &Config, dataset: &Dataset) -> Self {
        let (nodes, layers) = (dataset.nodes(), config.model.layers());
        let trial = Trial::new(config, dataset);
        let (full, recomputing) = match layers {
            0..=TRIED_LAYERS => (trial.footprint(layers, None), None),
            _ => {
                let kept = Line::of(|layers| trial.footprint(layers, None));
                let recomputes = check_recomputes(&config.model).is_ok();
                (kept.at(layers), recomputes.then(|| Recomputing::of(&trial, &kept)))
            }
        };
        // The weights, the best ones, and two moments; their gradients are in the trial.
        let of_weights = 4.0 * weight_bytes(&config.model, trial.task);
        let of_features = match dataset.features() {
            Features::Dense(matrix) => VALUE * (matrix.rows() * matrix.columns()) as f64,
            // A value and an index, both once more in the transpose, and where they came from.
            Features::Sparse(matrix) => 5.0 * VALUE * matrix.stored() as f64,
        };
        let entries = nodes + (0..nodes).map(|node| dataset.graph().degree(node)).sum::<usize>();
        let tasks = config.curriculum.as_ref().map_or(0, |curriculum| curriculum.tasks());
        let of_tasks = VALUE * tasks as f64 * (nodes * dataset.classes()) as f64;
        let (two_hops, making) = match trial.input.has_made(Operator::TwoHops) {
            true => two_hop_bytes(dataset.graph()),
            false => (0.0, 0.0),
        };
        let beside = of_weights + of_features + partial_sum_bytes(&config.model, nodes) + of_tasks + two_hops;
        Self { nodes, entries, layers, beside, making, full, recomputing }
    }

    /// Bytes with so many layers kept at a time, or all.
    pub fn bytes(&self, kept_layers: Option<NonZeroUsize>) -> u64 {
        let footprint = match kept_layers.zip(self.recomputing.as_ref()) {
            None => self.full,
            Some((together, recomputing)) => recomputing.at(self.layers, together.get().min(self.layers)),
        };
        (self.beside + footprint.bytes(self.nodes, self.entries).max(self.making)) as u64
    }

    /// How many layers to keep at a time for the least memory; `None` if that saves nothing.
    pub fn most_frugal(&self) -> Option<NonZeroUsize> {
        let recomputing = self.recomputing.as_ref()?;
        let [state, layer] =
            [recomputing.state, recomputing.layer].map(|part| part.bytes(self.nodes, self.entries).max(1.0));
        // The minimum of k·layer + L/k·state.
        let together = (self.layers as f64 * state / layer).sqrt().round() as usize;
        NonZeroUsize::new(together.clamp(1, self.layers))
    }
}

/// A model on a graph of a few nodes, with the features and classes of the real one.
struct Trial<'a> {
    model: &'a ModelConfig,
    train: &'a TrainConfig,
    task: TaskShape,
    /// Whether embeddings of the real graph are computed again.
    sparing: bool,
    nodes: usize,
    input: GraphInput<f32>,
    targets: Arc<Targets>,
    /// In a curriculum, distributions are learnt in place of them.
    distributions: Option<Arc<SoftTargets<f32>>>,
}

impl<'a> Trial<'a> {
    fn new(config: &'a Config, dataset: &Dataset) -> Self {
        let model = &config.model;
        let task = task_of(dataset);
        let foreign = |nodes: &&usize| {
            [task.features, task.classes, model.hidden()].iter().all(|size| !size.is_multiple_of(**nodes))
        };
        let nodes = *NODES.iter().find(foreign).unwrap_or(&NODES[0]);
        // A ring with chords.
        let edges = (0..(ENTRIES - nodes) / 2).map(|index| {
            let (first, step) = (index % nodes, 1 + index / nodes);
            (first as u32, ((first + step) % nodes) as u32)
        });
        let graph = Graph::from_edges(nodes, edges).expect("all ends are nodes");
        let features = match dataset.features() {
            Features::Dense(_) => Features::Dense(Matrix::from_fn(nodes, task.features, |row, column| {
                ((row * 31 + column * 17) % 13) as f32
            })),
            Features::Sparse(_) => {
                let entries = (0..nodes as u32).map(|row| (row, row * 7 % task.features as u32, 1.0));
                let entries = Csr::from_entries(nodes, task.features, entries.collect());
                Features::Sparse(entries.expect("all entries are inside"))
            }
        };
        let targets = Arc::new(Targets { rows: vec![0], classes: vec![0] });
        let certain = |_, class| if class == 0 { 1.0 } else { 0.0 };
        let distributions = config
            .curriculum
            .as_ref()
            .map(|_| Arc::new(SoftTargets::new(Matrix::from_fn(nodes, task.classes, certain))));
        let input = GraphInput::new(&graph, &features);
        let sparing = spares_embeddings(model, dataset.nodes());
        Self { model, train: &config.train, task, sparing, nodes, input, targets, distributions }
    }

    /// What a training pass takes with so many layers.
    fn footprint(&self, layers: usize, kept_layers: Option<NonZeroUsize>) -> Footprint {
        let model = self.model.clone().with_layers(layers).build::<f32>(self.task);
        let parameters = Parameters::initialize(&model.specs(), 0);
        let pool = Pool::new().sparing(self.sparing);
        {
            let tape = Tape::recording(&pool);
            let objective = Objective::new(&*model, &self.input, self.train).keeping(kept_layers);
            let lesson = match &self.distributions {
                Some(distributions) => Lesson::Distributions(distributions),
                None => Lesson::Classes(&self.targets),
            };
            // A model whose numbers leave the finite range says so in training.
            if let Ok(attempt) = objective.attempt(&tape, &parameters, (0, 0), lesson) {
                let Attempt { weights, scores, loss } = attempt;
                drop(scores);
                let mut gradients = tape.backward(&loss);
                let taken = weights.iter().map(|weight| gradients.take(weight));
                drop::<Vec<Option<Buffer<f32>>>>(taken.collect());
            }
        }
        let mut footprint = self.sorted(&pool);
        if model.has_dropout() && threads() > 1 {
            // Evaluation goes on beside it.
            let beside = Pool::new();
            {
                let tape = Tape::inference(&beside);
                let pass = Pass::new(&tape, &parameters, Mode::Evaluation);
                drop(model.forward(&pass, &self.input));
            }
            footprint = footprint.map(self.sorted(&beside), |first, second| first + second);
        }
        let operators = self.input.operators_made();
        // How many nodes are two steps apart, a graph of a few nodes does not tell.
        let of_edges = operators - usize::from(self.input.has_made(Operator::TwoHops));
        footprint.entry += of_edges as f64 * OPERATOR_ENTRY;
        footprint.node += operators as f64 * OPERATOR_NODE;
        footprint.node += VALUE * self.input.values_made() as f64 / self.nodes as f64;
        footprint
    }

    /// What a pool holds, by what it grows with.
    fn sorted(&self, pool: &Pool<f32>) -> Footprint {
        let mut footprint = Footprint { fixed: pool.spectral_bytes() as f64, ..Footprint::default() };
        let values = pool.lengths().into_iter().map(|lengths| (lengths, VALUE));
        let flags = pool.byte_lengths().into_iter().map(|lengths| (lengths, 1.0));
        for ((length, count), size) in values.chain(flags) {
            let bytes = size * (length * count) as f64;
            if length.is_multiple_of(self.nodes) {
                footprint.node += bytes / self.nodes as f64;
            } else if length.is_multiple_of(ENTRIES) {
                footprint.entry += bytes / ENTRIES as f64;
            } else {
                footprint.fixed += bytes;
            }
        }
        footprint
    }
}

#[cfg(test)]
mod tests {
    use abyssal_graph::{Library, Split};
    use toml::Value;

    use super::*;

    /// However few layers are kept, all weights have a gradient at the end.
    #[test]
    fn gradients_of_layers_that_are_computed_again_are_counted() {
        let (layers, hidden) = (20_000, 128);
        let settings = [("model.layers", layers), ("model.hidden", hidden), ("data.nodes", 1000)];
        let settings = settings.map(|(key, value)| (key.to_string(), Value::from(value)));
        let config = Config::resolve(None, &settings).unwrap();
        let dataset = config.data.load(&Library::from_environment(None)).unwrap();
        let footprints = Footprints::of(&config, &dataset);
        let of_weights = VALUE * (layers * hidden * hidden) as f64;
        // The weights, the best ones, two moments, and the gradients.
        assert!(footprints.bytes(footprints.most_frugal()) as f64 > 5.0 * of_weights);
    }

    /// What every pass keeps is there until the way back.
    #[test]
    fn passes_of_a_step_are_counted() {
        let bytes = |passes| {
            let settings = [
                ("model.name", Value::from("gcn")),
                ("model.hidden_dropout", Value::from(0.5)),
                ("data.nodes", Value::from(2000)),
                ("train.passes", Value::from(passes)),
            ];
            let settings = settings.map(|(key, value)| (key.to_string(), value));
            let config = Config::resolve(None, &settings).unwrap();
            let dataset = config.data.load(&Library::from_environment(None)).unwrap();
            let layers = config.model.layers() * config.model.hidden() * dataset.nodes();
            (Footprints::of(&config, &dataset).bytes(None) as f64, VALUE * layers as f64)
        };
        let ((one, embeddings), (four, _)) = (bytes(1), bytes(4));
        assert!(four - one > 3.0 * embeddings, "{four} and {one}, where a pass has {embeddings}");
    }

    /// A star joins all of its leaves in two steps: far more than it has edges.
    #[test]
    fn nodes_two_steps_apart_are_counted() {
        let nodes = 601u32;
        let graph = Graph::from_edges(nodes as usize, (1..nodes).map(|leaf| (0, leaf))).unwrap();
        let features = Features::Dense(Matrix::from_fn(nodes as usize, 3, |row, _| row as f32));
        let labels = (0..nodes).map(|node| Some(node % 2)).collect();
        let split = Split::new(vec![0, 1], vec![2, 3], vec![4, 5]).unwrap();
        let dataset = Dataset::new("star", graph, features, labels, 2, split).unwrap();
        let settings = [("model.name", Value::from("h2gcn")), ("model.hidden", Value::from(4))];
        let settings = settings.map(|(key, value)| (key.to_string(), value));
        let config = Config::resolve(None, &settings).unwrap();
        let planned = Footprints::of(&config, &dataset).bytes(None);
        let input = GraphInput::<f32>::new(dataset.graph(), dataset.features());
        let operator = input.operator(Operator::TwoHops);
        let matrix = operator.matrix();
        assert_eq!(matrix.stored(), 600 * 599);
        let real =
            size_of_val(matrix.indices()) + size_of_val(matrix.values()) + size_of_val(operator.sources());
        assert!(planned >= real as u64, "{planned} planned, {real} needed");
    }
}
