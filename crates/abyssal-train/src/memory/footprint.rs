//! What a model takes, found out by trying it on a graph of a few nodes.

use std::num::NonZeroUsize;
use std::sync::Arc;

use abyssal_graph::{Dataset, Features, Graph};
use abyssal_nn::models::{ModelConfig, TaskShape};
use abyssal_nn::{GraphInput, Mode, Parameters, Pass};
use abyssal_tensor::ops::Targets;
use abyssal_tensor::parallel::{partial_count, threads};
use abyssal_tensor::tape::{Buffer, Pool, Tape};
use abyssal_tensor::{Csr, Matrix};

use super::spares_embeddings;
use crate::Config;

/// Up to so many layers a model is tried as it is; of more, the memory follows a line.
const TRIED_LAYERS: usize = 8;
/// Layers computed again together in a trial.
const TRIED_STRETCH: NonZeroUsize = NonZeroUsize::new(2).expect("it is not 0");
/// Nodes of the graph in a trial: one of these primes, and so many that lengths tell what grows with the nodes.
const NODES: [usize; 4] = [211, 223, 227, 229];
/// Nodes and ends of edges there: a prime again.
const ENTRIES: usize = 1009;
const VALUE: f64 = size_of::<f32>() as f64;

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

/// What training a model on a dataset takes beyond the dataset, depending on what is computed again.
pub(super) struct Footprints {
    nodes: usize,
    entries: usize,
    layers: usize,
    /// Of features, weights and their moments.
    beside: f64,
    full: Footprint,
    /// Unless the model keeps everything anyway.
    recomputing: Option<Recomputing>,
}

/// Memory with layers computed again: of a stretch's state, of a layer within, and of the rest.
struct Recomputing {
    state: Footprint,
    layer: Footprint,
    rest: Footprint,
}

impl Recomputing {
    /// Tries it, given what a model takes that keeps all.
    fn of(trial: &Trial, kept: &Line) -> Self {
        let stretch = TRIED_STRETCH.get() as f64;
        let states = Line::of(|layers| trial.footprint(layers, Some(TRIED_STRETCH)));
        let (layer, state) = (kept.layer, states.layer.times(stretch));
        let stretches = TRIED_LAYERS as f64 / stretch;
        let parts = layer.map(state, |layer, state| stretch * layer + stretches * state);
        Self { state, layer, rest: states.tried.map(parts, |all, parts| all - parts) }
    }
}

impl Footprints {
    /// Tries a model.
    pub fn of(config: &Config, dataset: &Dataset) -> Self {
        let (nodes, layers) = (dataset.nodes(), config.model.layers());
        let trial = Trial::new(&config.model, dataset);
        let (full, recomputing) = match layers {
            0..=TRIED_LAYERS => (trial.footprint(layers, None), None),
            _ => {
                let kept = Line::of(|layers| trial.footprint(layers, None));
                (kept.at(layers), trial.recomputes().then(|| Recomputing::of(&trial, &kept)))
            }
        };
        let specs = config.model.build::<f32>(trial.task).specs();
        let weights: usize = specs.iter().map(|spec| spec.shape.0 * spec.shape.1).sum();
        // The weights, the best ones, and two moments; their gradients are in the trial.
        let of_weights = 4.0 * VALUE * weights as f64;
        let of_features = match dataset.features() {
            Features::Dense(matrix) => VALUE * (matrix.rows() * matrix.columns()) as f64,
            // A value and an index, both once more in the transpose, and where they came from.
            Features::Sparse(matrix) => 5.0 * VALUE * matrix.stored() as f64,
        };
        let partial_sums = VALUE * (partial_count(nodes) * trial.width * trial.width) as f64;
        let entries = nodes + (0..nodes).map(|node| dataset.graph().degree(node)).sum::<usize>();
        let beside = of_weights + of_features + partial_sums;
        Self { nodes, entries, layers, beside, full, recomputing }
    }

    /// Bytes with so many layers computed again together, or all kept.
    pub fn bytes(&self, recomputed: Option<NonZeroUsize>) -> u64 {
        let footprint = match recomputed.zip(self.recomputing.as_ref()) {
            None => self.full,
            Some((together, Recomputing { state, layer, rest })) => {
                let together = together.get().min(self.layers);
                let stretches = self.layers.div_ceil(together) as f64;
                let layers = layer.map(*state, |layer, state| together as f64 * layer + stretches * state);
                layers.map(*rest, |layers, rest| layers + rest)
            }
        };
        (self.beside + footprint.bytes(self.nodes, self.entries)).max(0.0) as u64
    }

    /// How many layers to compute again together for the least memory; `None` if that saves nothing.
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
    task: TaskShape,
    /// Of embeddings.
    width: usize,
    /// Whether embeddings of the real graph are computed again.
    sparing: bool,
    nodes: usize,
    input: GraphInput<f32>,
    targets: Arc<Targets>,
}

impl<'a> Trial<'a> {
    fn new(model: &'a ModelConfig, dataset: &Dataset) -> Self {
        let task = TaskShape { features: dataset.features().columns(), classes: dataset.classes() };
        let width = model.hidden();
        let foreign = |nodes: &&usize| {
            [task.features, task.classes, width].iter().all(|size| !size.is_multiple_of(**nodes))
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
        let targets = Targets { rows: vec![0], classes: vec![0] };
        let input = GraphInput::new(&graph, &features);
        let sparing = spares_embeddings(model, dataset.nodes());
        Self { model, task, width, sparing, nodes, input, targets: Arc::new(targets) }
    }

    fn recomputes(&self) -> bool {
        self.model.build::<f32>(self.task).recomputes()
    }

    /// What a training pass takes with so many layers.
    fn footprint(&self, layers: usize, recomputed: Option<NonZeroUsize>) -> Footprint {
        let model = self.model.clone().with_layers(layers).build::<f32>(self.task);
        let parameters = Parameters::initialize(&model.specs(), 0);
        let pool = Pool::new().sparing(self.sparing);
        {
            let tape = Tape::recording(&pool);
            let mode = Mode::Training { seed: 0, epoch: 0 };
            let pass = Pass::new(&tape, &parameters, mode).recomputing(recomputed);
            // A model whose numbers leave the finite range says so in training.
            if let Ok(scores) = model.forward(&pass, &self.input) {
                let scores = pass.drop_scores(&scores, model.score_dropout());
                let loss = tape.cross_entropy(&scores, &self.targets);
                let variables = pass.parameters;
                let mut gradients = tape.backward(&loss);
                let taken = variables.iter().map(|variable| gradients.take(variable));
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
        // Operators: an index, a value and its source for each entry, where rows begin, and sums of columns.
        let operators = self.input.operators_made() as f64;
        footprint.entry += operators * 3.0 * VALUE;
        footprint.node += operators * (size_of::<usize>() as f64 + VALUE);
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
