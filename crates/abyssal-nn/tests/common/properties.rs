//! What holds for every model, whatever its formula.

use std::cell::RefCell;

use abyssal_graph::{Features, Graph};
use abyssal_nn::models::{ModelConfig, Precision};
use abyssal_nn::{Mode, Pass};
use abyssal_tensor::parallel::with_threads;
use abyssal_tensor::random::{Purpose, Stream};
use abyssal_tensor::tape::{Pool, Tape};
use abyssal_tensor::testing::{assert_gradient, random_matrix};
use abyssal_tensor::{Csr, Matrix};

use super::{Outcome, Problem, Setup, connected_graph, random_features, sparse_features};

/// Differences move a weight by this much, as in [`assert_gradient`].
const STEP: f64 = 1e-5;
/// Enough nodes that every kernel cuts its rows into several blocks and sums into several partial sums.
const MANY_NODES: usize = 2500;

/// Relabelled nodes have the same scores, on dense and on sparse features.
pub fn assert_equivariant(name: &str, config: &ModelConfig) {
    const NODES: usize = 40;
    // 0 and the last nodes are isolated.
    let edges: Vec<(u32, u32)> =
        connected_graph(NODES - 3, 30, 1).pairs().map(|(first, second)| (first + 1, second + 1)).collect();
    let stream = Stream::new(3, Purpose::Generation, 0, 0);
    let mut order: Vec<u32> = (0..NODES as u32).collect();
    order.sort_by_key(|&node| stream.word(node.into()));
    let moved = edges.iter().map(|&(first, second)| (order[first as usize], order[second as usize]));
    let graph = Graph::from_edges(NODES, edges.iter().copied()).expect("all ends are nodes");
    let moved_graph = Graph::from_edges(NODES, moved).expect("all ends are nodes");
    let values = random_matrix(NODES, 6, 2).cast::<f32>();
    let mut moved_values = values.clone();
    for (node, &place) in order.iter().enumerate() {
        moved_values.row_mut(place as usize).copy_from_slice(values.row(node));
    }
    let kinds: [fn(&Matrix<f32>) -> Features; 2] = [
        |values| Features::Dense(values.clone()),
        |values| {
            let (rows, columns) = values.shape();
            let value =
                |row, column| if values.get(row, column) > 0.0 { values.get(row, column) } else { 0.0 };
            Features::Sparse(Csr::from_dense(&Matrix::from_fn(rows, columns, value)))
        },
    ];
    for features in kinds {
        let scores = |graph: &Graph, values: &Matrix<f32>| {
            let setup = Problem::new(graph.clone(), features(values), 3).setup::<f64>(config, 5);
            setup.evaluate(&setup.parameters).0
        };
        let (scores, moved_scores) = (scores(&graph, &values), scores(&moved_graph, &moved_values));
        let back = Matrix::from_fn(NODES, 3, |node, class| moved_scores.get(order[node] as usize, class));
        let difference = back.max_difference(&scores);
        assert!(difference < 1e-9, "{name}: relabelling changes scores by {difference}");
        assert!(scores.max_difference(&Matrix::zeros(NODES, 3)) > 1e-3, "{name}: scores of zero say nothing");
    }
}

/// Gradients of all parameters equal central differences, in evaluation and in training, on dense and on sparse
/// features.
pub fn assert_exact_gradients(name: &str, config: &ModelConfig) {
    for (kind, features) in [("dense", random_features(10, 5, 2)), ("sparse", sparse_features(10, 5, 2))] {
        for mode in [Mode::Evaluation, Mode::Training { seed: 11, pass: 3 }] {
            let problem = Problem::new(connected_graph(10, 6, 1), features.clone(), 3);
            let setups = (0..300).map(|seed| {
                let mut setup = problem.setup::<f64>(config, seed);
                setup.mode = mode;
                // Biases start at zero and coefficients evenly, which would hide mistakes.
                for index in 0..setup.parameters.len() {
                    let value = setup.parameters.value_mut(index);
                    if value.rows() == 1 {
                        *value = random_matrix(1, value.columns(), seed + index as u64);
                    }
                }
                setup
            });
            let setup = setups.into_iter().find(is_smooth).expect("weights without a kink near them");
            let outcome = setup.train();
            for (index, (parameter, gradient)) in outcome.gradients.iter().enumerate() {
                let what = format!("{name}, {kind} features, {mode:?}, {parameter}");
                let zeros = Matrix::zeros(gradient.rows(), gradient.columns());
                // A bias before a normalisation that centres has none, nor has a score that softmax takes out.
                let vanishes = gradient.max_difference(&zeros) <= 1e-5;
                assert!(!(vanishes && parameter.ends_with("weight")), "{what}: zeros");
                assert_gradient(&what, &point(&setup, index), gradient, |probe| {
                    let mut moved = setup.parameters.clone();
                    *moved.value_mut(index) = probe.clone();
                    setup.evaluate(&moved).1
                });
            }
        }
    }
}

fn point(setup: &Setup<f64>, index: usize) -> Matrix<f64> {
    let (_, value) = setup.parameters.iter().nth(index).expect("one of the parameters");
    Matrix::clone(value)
}

/// Whether differences to either side agree for every weight: no ReLU or maximum changes sides within a step.
fn is_smooth(setup: &Setup<f64>) -> bool {
    let center = setup.evaluate(&setup.parameters).1;
    (0..setup.parameters.len()).all(|index| {
        let values = point(setup, index);
        (0..values.as_slice().len()).all(|entry| {
            let [above, below] = [STEP, -STEP].map(|step| {
                let mut moved = setup.parameters.clone();
                moved.value_mut(index).as_mut_slice()[entry] += step;
                setup.evaluate(&moved).1
            });
            ((above - center) - (center - below)).abs() < 1e-3 * STEP
        })
    })
}

/// A training pass of a model that is deep is finite on a path, a star and isolated nodes, in both precisions.
pub fn assert_finite_when_deep(name: &str, config: &ModelConfig) {
    fn run<T: Precision>(name: &str, problem: &Problem, config: &ModelConfig) {
        let mut setup = problem.setup::<T>(config, 1);
        for mode in [Mode::Evaluation, Mode::Training { seed: 1, pass: 0 }] {
            setup.mode = mode;
            setup.train().assert_finite(&format!("{name}, {}, {mode:?}", T::NAME));
        }
    }
    let (path, star) = ((0..9).map(|node| (node, node + 1)), (11..20).map(|node| (node, 11)));
    let graph = Graph::from_edges(24, path.chain(star)).expect("all ends are nodes");
    for features in [random_features(24, 5, 2), Features::Dense(Matrix::from_fn(24, 5, |_, _| 1.0))] {
        let problem = Problem::new(graph.clone(), features, 3);
        run::<f32>(name, &problem, config);
        run::<f64>(name, &problem, config);
    }
}

/// A training pass has the same bits on 1, 2 and 3 threads, on dense and on sparse features.
pub fn assert_same_bits(name: &str, config: &ModelConfig) {
    fn bits(outcome: &Outcome<f32>) -> Vec<u32> {
        let gradients = outcome.gradients.iter().flat_map(|(_, gradient)| gradient.as_slice());
        let numbers = outcome.logits.as_slice().iter().chain([&outcome.loss]).chain(gradients);
        numbers.map(|value| value.to_bits()).collect()
    }
    for features in [random_features(MANY_NODES, 40, 2), sparse_features(MANY_NODES, 40, 2)] {
        let problem = Problem::new(connected_graph(MANY_NODES, 3 * MANY_NODES, 1), features, 5);
        let run = |threads| {
            let outcome = with_threads(threads, || {
                let mut setup = problem.setup::<f32>(config, 3);
                setup.mode = Mode::Training { seed: 4, pass: 5 };
                setup.train()
            });
            outcome.expect("threads")
        };
        let alone = run(1);
        alone.assert_finite(name);
        for threads in [2, 3] {
            assert_eq!(bits(&alone), bits(&run(threads)), "{name}, {threads} threads");
        }
    }
}

/// Every layer or step is shown once, and looking changes scores by rounding at most.
pub fn assert_observable(name: &str, config: &ModelConfig) {
    let problem = Problem::new(connected_graph(30, 20, 1), random_features(30, 5, 2), 3);
    let setup = problem.setup::<f64>(config, 3);
    let pool = Pool::new();
    let shown = RefCell::new(Vec::new());
    let tape = Tape::inference(&pool);
    let pass = Pass::new(&tape, &setup.parameters, Mode::Evaluation)
        .observing(|layer, _| shown.borrow_mut().push(layer));
    let scores = setup.model.forward(&pass, &setup.input).expect("finite embeddings");
    assert_eq!(*shown.borrow(), Vec::from_iter(0..config.layers()), "{name}: embeddings shown");
    assert!(scores.max_difference(&setup.evaluate(&setup.parameters).0) < 1e-12, "{name}: scores");
}
