//! Measures of over-smoothing against their definitions, and what they say about real models.

mod common;

use std::num::NonZeroUsize;

use abyssal_graph::Graph;
use abyssal_nn::diagnostics::{Examination, Measures, diagnose};
use abyssal_nn::models::{GcnConfig, ModelConfig, RSoftGraphAinConfig};
use abyssal_tensor::Matrix;
use abyssal_tensor::parallel::with_threads;
use abyssal_tensor::random::{Purpose, Stream};
use abyssal_tensor::tape::Pool;
use abyssal_tensor::testing::random_matrix;
use common::linear_algebra::nearest_orthonormal;
use common::{Problem, connected_graph, random_features};
use proptest::prelude::*;

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * (1.0 + left.abs().max(right.abs()))
}

fn assert_close(left: &Measures, right: &Measures) {
    let values = |measures: &Measures| serde_json::to_value(measures).expect("plain data");
    let (left, right) = (values(left), values(right));
    for (key, value) in left.as_object().expect("an object") {
        let (left, right) = (value.as_f64().expect("finite"), right[key].as_f64().expect("finite"));
        assert!(close(left, right), "{key}: {left} and {right}");
    }
}

fn measure(graph: &Graph, embedding: &Matrix<f64>) -> Measures {
    Measures::of(graph, embedding).expect("finite embeddings")
}

/// A random graph, not connected, with isolated nodes, and an embedding some of whose rows are zero.
fn example(nodes: usize, columns: usize, seed: u64) -> (Graph, Matrix<f64>) {
    let stream = Stream::new(seed, Purpose::Generation, 7, 0);
    let end = |position| stream.below(position, nodes) as u32;
    let edges = (0..nodes as u64).map(|index| (end(2 * index), end(2 * index + 1)));
    let graph = Graph::from_edges(nodes, edges).expect("all ends are nodes");
    let values = random_matrix(nodes, columns, seed);
    let zero = |row: usize| row % 5 == 3;
    (
        graph,
        Matrix::from_fn(nodes, columns, |row, column| if zero(row) { 0.0 } else { values.get(row, column) }),
    )
}

/// The definitions, pair by pair.
fn by_definition(graph: &Graph, embedding: &Matrix<f64>) -> [f64; 5] {
    let nodes = graph.nodes();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let squared = |i: usize, s: f64, j: usize, t: f64| {
        let pairs = embedding.row(i).iter().zip(embedding.row(j));
        pairs.map(|(x, y)| (s * x - t * y).powi(2)).sum::<f64>()
    };
    let distance = |i: usize, j: usize| {
        let (x, y) = (embedding.row(i), embedding.row(j));
        let product = dot(x, x).sqrt() * dot(y, y).sqrt();
        let both_zero = dot(x, x) == 0.0 && dot(y, y) == 0.0;
        1.0 - if both_zero {
            1.0
        } else if product == 0.0 {
            0.0
        } else {
            dot(x, y) / product
        }
    };
    let (mut energy, mut normalized, mut mean_distances) = (0.0, 0.0, Vec::new());
    let (mut global, mut pairwise) = (0.0, 0.0);
    for i in 0..nodes {
        let root = |node: usize| 1.0 / (graph.degree(node) as f64 + 1.0).sqrt();
        let neighbours = graph.neighbours(i).iter().map(|&j| j as usize);
        for j in neighbours.clone() {
            energy += 0.5 * squared(i, 1.0, j, 1.0);
            normalized += 0.5 * squared(i, root(i), j, root(j));
        }
        if graph.degree(i) > 0 {
            mean_distances.push(neighbours.map(|j| distance(i, j)).sum::<f64>() / graph.degree(i) as f64);
        }
        for j in (0..nodes).filter(|&j| j != i) {
            global += distance(i, j);
            pairwise += squared(i, 1.0, j, 1.0);
        }
    }
    let pairs = (nodes * (nodes - 1)).max(1) as f64;
    let mean_distance = mean_distances.iter().sum::<f64>() / mean_distances.len().max(1) as f64;
    [
        energy / nodes as f64,
        normalized / nodes as f64,
        mean_distance,
        global / pairs,
        (pairwise / pairs).sqrt(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn energies_and_distances_equal_their_definitions(nodes in 1usize..60, columns in 1usize..20, seed in 0u64..1000) {
        let (graph, embedding) = example(nodes, columns, seed);
        let measures = measure(&graph, &embedding);
        let computed = [
            measures.dirichlet_energy,
            measures.normalized_dirichlet_energy,
            measures.neighbour_distance,
            measures.global_distance,
            measures.pairwise_distance,
        ];
        for (value, expected) in computed.into_iter().zip(by_definition(&graph, &embedding)) {
            prop_assert!(close(value, expected), "{value} and {expected}");
        }
        prop_assert!((0.0..=2.0 + 1e-12).contains(&measures.neighbour_distance));
        prop_assert!((0.0..=2.0 + 1e-12).contains(&measures.global_distance));
        prop_assert!(close(measures.cosine_similarity, 1.0 - measures.global_distance));
        prop_assert!(measures.stable_rank <= columns.min(nodes) as f64 + 1e-9);
        prop_assert!(measures.effective_rank <= columns.min(nodes) as f64 + 1e-9);
    }

    #[test]
    fn names_of_nodes_do_not_matter(nodes in 2usize..60, seed in 0u64..1000) {
        let (graph, embedding) = example(nodes, 6, seed);
        let order = Stream::new(seed, Purpose::Generation, 8, 0).permutation(nodes);
        let edges = graph.pairs().map(|(i, j)| (order[i as usize] as u32, order[j as usize] as u32));
        let renamed = Graph::from_edges(nodes, edges).expect("all ends are nodes");
        let mut moved = Matrix::zeros(nodes, 6);
        (0..nodes).for_each(|row| moved.row_mut(order[row]).copy_from_slice(embedding.row(row)));
        assert_close(&measure(&graph, &embedding), &measure(&renamed, &moved));
    }

    /// Energies grow with the square of a factor and distances with it; cosines and ranks do not see it.
    #[test]
    fn scaling_acts_as_it_should(nodes in 2usize..60, seed in 0u64..1000, exponent in -30i32..30) {
        let (graph, embedding) = example(nodes, 6, seed);
        let factor = 10f64.powi(exponent);
        let scaled = Matrix::from_fn(nodes, 6, |row, column| factor * embedding.get(row, column));
        let (plain, mut scaled) = (measure(&graph, &embedding), measure(&graph, &scaled));
        scaled.dirichlet_energy /= factor * factor;
        scaled.normalized_dirichlet_energy /= factor * factor;
        scaled.pairwise_distance /= factor;
        assert_close(&plain, &scaled);
    }

    /// Distances of rows do not see a vector added to all of them.
    #[test]
    fn shifting_leaves_distances_alone(nodes in 2usize..60, seed in 0u64..1000) {
        let (graph, embedding) = example(nodes, 6, seed);
        let shifted = Matrix::from_fn(nodes, 6, |row, column| embedding.get(row, column) + 3.0 * column as f64);
        let (plain, shifted) = (measure(&graph, &embedding), measure(&graph, &shifted));
        prop_assert!(close(plain.pairwise_distance, shifted.pairwise_distance));
        prop_assert!(close(plain.dirichlet_energy, shifted.dirichlet_energy));
    }

    #[test]
    fn ranks_of_orthonormal_and_of_parallel_columns(columns in 1usize..12, seed in 0u64..1000) {
        let graph = connected_graph(40, 20, seed);
        let orthonormal = measure(&graph, &nearest_orthonormal(&random_matrix(40, columns, seed)));
        prop_assert!(close(orthonormal.effective_rank, columns as f64), "{}", orthonormal.effective_rank);
        prop_assert!(close(orthonormal.stable_rank, columns as f64), "{}", orthonormal.stable_rank);
        let (left, right) = (random_matrix(40, 1, seed), random_matrix(1, columns, seed + 1));
        let parallel = Matrix::from_fn(40, columns, |row, column| left.get(row, 0) * right.get(0, column));
        let parallel = measure(&graph, &parallel);
        prop_assert!(close(parallel.effective_rank, 1.0) && close(parallel.stable_rank, 1.0));
    }
}

/// Equal rows, zero rows, one node, no edges, the smallest and the largest numbers: every measure is finite.
#[test]
fn collapsed_embeddings_have_finite_measures() {
    let graph = connected_graph(30, 20, 1);
    let equal = Measures::of(&graph, &Matrix::from_fn(30, 4, |_, column| 1.0 + column as f32)).unwrap();
    assert!(equal.dirichlet_energy == 0.0 && equal.pairwise_distance < 1e-12);
    assert!(equal.neighbour_distance < 1e-12 && equal.global_distance < 1e-12);
    assert!(equal.normalized_dirichlet_energy > 0.0, "equal rows are not where convolutions lead");
    assert!(close(equal.effective_rank, 1.0) && close(equal.stable_rank, 1.0));
    let zero = Measures::of(&graph, &Matrix::<f32>::zeros(30, 4)).unwrap();
    assert_eq!((zero.effective_rank, zero.stable_rank, zero.cosine_similarity), (0.0, 0.0, 1.0));
    assert_eq!((zero.neighbour_distance, zero.global_distance, zero.pairwise_distance), (0.0, 0.0, 0.0));

    let stationary =
        Matrix::from_fn(30, 3, |row, column| (graph.degree(row) as f64 + 1.0).sqrt() * (1.0 + column as f64));
    assert!(measure(&graph, &stationary).normalized_dirichlet_energy < 1e-24);

    let alone = Graph::from_edges(1, []).unwrap();
    let one = measure(&alone, &random_matrix(1, 3, 1));
    assert_eq!((one.neighbour_distance, one.global_distance, one.pairwise_distance), (0.0, 0.0, 0.0));
    for factor in [f32::MIN_POSITIVE * 1e-6, f32::MAX] {
        let extreme =
            Matrix::from_fn(30, 4, |row, column| if (row + column) % 3 == 0 { factor } else { 0.0 });
        let measures = Measures::of(&graph, &extreme).unwrap();
        let finite = serde_json::to_value(measures).unwrap();
        assert!(finite.as_object().unwrap().values().all(|value| value.is_f64()), "{finite}");
        assert!(measures.effective_rank > 1.0);
    }
    assert!(Measures::of(&graph, &Matrix::from_fn(30, 4, |_, _| f32::NAN)).is_err());
}

#[test]
fn directions_of_edges_do_not_count() {
    let edges = [(0, 1), (1, 2), (3, 1), (1, 0)];
    let embedding = random_matrix(5, 3, 2);
    let directed = Graph::from_directed_edges(5, edges).unwrap();
    assert_eq!(measure(&directed, &embedding), measure(&Graph::from_edges(5, edges).unwrap(), &embedding));
}

fn problem() -> Problem {
    Problem::new(connected_graph(1200, 3000, 1), random_features(1200, 20, 2), 4)
}

fn spaced(layers: usize, at_most: usize) -> Examination {
    Examination::evenly_spaced(layers, at_most)
}

fn deep_models(layers: usize) -> [ModelConfig; 2] {
    [
        ModelConfig::RSoftGraphAin(RSoftGraphAinConfig { layers, hidden: 16, ..Default::default() }),
        ModelConfig::Gcn(GcnConfig { layers, hidden: 16, ..Default::default() }),
    ]
}

/// At 64 layers a GCN has collapsed at its start and R-SoftGraphAIN has not: what the command is for.
#[test]
fn the_diagnosis_tells_a_collapsed_model_from_a_sharp_one() {
    let problem = problem();
    let [ours, gcn] = deep_models(64).map(|config| {
        let setup = problem.setup::<f32>(&config, 3);
        let parameters = &setup.parameters;
        let layers =
            diagnose(&*setup.model, parameters, &setup.input, &setup.targets, &spaced(64, 64), &Pool::new())
                .unwrap();
        assert_eq!(layers.iter().map(|layer| layer.layer).collect::<Vec<_>>(), (1..=64).collect::<Vec<_>>());
        layers
    });
    let (sharp, collapsed) = (ours[62].measures.unwrap(), gcn[62].measures.unwrap());
    assert!(collapsed.effective_rank < 1.1 && sharp.effective_rank > 4.0, "{collapsed:?}, {sharp:?}");
    assert!(collapsed.global_distance < 0.01 * sharp.global_distance, "{collapsed:?}, {sharp:?}");
    assert!(collapsed.dirichlet_energy < 1e-3 * sharp.dirichlet_energy, "{collapsed:?}, {sharp:?}");
    let gradients = |layers: &[abyssal_nn::diagnostics::LayerDiagnosis]| layers[0].gradient_norm.unwrap();
    assert!(gradients(&ours) > 0.0 && gradients(&gcn).is_finite());
}

/// The gradient of a layer is that of all its parameters together.
#[test]
fn gradient_norms_are_those_of_a_training_pass() {
    let setup = problem().setup::<f64>(&deep_models(3)[1], 3);
    let layers =
        diagnose(&*setup.model, &setup.parameters, &setup.input, &setup.targets, &spaced(3, 2), &Pool::new())
            .unwrap();
    assert_eq!(layers.iter().map(|layer| layer.layer).collect::<Vec<_>>(), [1, 3]);
    let outcome = setup.train();
    for layer in layers {
        let prefix = format!("layers.{}.", layer.layer - 1);
        let of_layer = outcome.gradients.iter().filter(|(name, _)| name.starts_with(&prefix));
        let squares = of_layer.flat_map(|(_, gradient)| gradient.as_slice()).map(|value| value * value);
        assert!(close(layer.gradient_norm.unwrap(), squares.sum::<f64>().sqrt()));
    }
}

#[test]
fn the_same_bits_for_any_thread_count() {
    let problem = problem();
    for config in deep_models(5) {
        let setup = problem.setup::<f32>(&config, 3);
        let run = |threads, kept_layers| {
            let examination = Examination { kept_layers: NonZeroUsize::new(kept_layers), ..spaced(5, 9) };
            let diagnosis = || {
                diagnose(
                    &*setup.model,
                    &setup.parameters,
                    &setup.input,
                    &setup.targets,
                    &examination,
                    &Pool::new(),
                )
                .unwrap()
            };
            serde_json::to_string(&with_threads(threads, diagnosis).unwrap()).unwrap()
        };
        assert_eq!(run(1, 0), run(2, 0));
        assert_eq!(run(1, 0), run(3, 0));
        assert_eq!(run(1, 0), run(1, 2), "layers that are computed again");
    }
}
