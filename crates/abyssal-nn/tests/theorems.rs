//! The paper's theorems and remarks as properties of [`SoftLayer`], on random connected graphs.
//!
//! Where a claim of the paper holds only under a condition that the paper leaves out, the test states the condition,
//! draws cases that satisfy it, and another test shows a case where the claim fails without it.

mod common;

use std::sync::Arc;

use abyssal_graph::{Features, Graph};
use abyssal_nn::SoftLayer;
use abyssal_nn::models::{ModelConfig, RSoftGraphAinConfig};
use abyssal_tensor::Matrix;
use abyssal_tensor::ops::{Activation, Mixture};
use abyssal_tensor::tape::{Pool, Tape};
use abyssal_tensor::testing::random_matrix;
use proptest::prelude::*;

use common::Problem;
use common::layers::{adjacency, embeddings, graph, hard, lazy_adjacency, mixture, seed, width};
use common::linear_algebra::{
    centering_matrix, dense_adjacency, doubly_centered, inner_product, nearest_orthonormal, product,
    singular_values, squared_norm, symmetric_eigen, transposed_product, weighted_sum, with_singular_values,
};

/// Rounding errors of a few layers in double precision, with well-conditioned embeddings.
const TOLERANCE: f64 = 1e-8;

/// Whether the smallest singular value is not lost beside the largest. All theorems need `BᵀB` invertible, which
/// the paper takes for granted; a graph with too little structure (say, a complete one, where `Ā = 0`) does not
/// have it.
fn has_full_rank(matrix: &Matrix<f64>) -> bool {
    let values = singular_values(matrix).values;
    values[values.len() - 1] > 1e-3 * values[0]
}

/// `½·tr(HᵀAH)`.
fn half_trace(hidden: &Matrix<f64>, matrix: &Matrix<f64>) -> f64 {
    0.5 * inner_product(hidden, &product(matrix, hidden))
}

/// `Σ_ij ‖H_i - H_j‖²` by its definition.
fn pairwise_distance(hidden: &Matrix<f64>) -> f64 {
    let squared_distance = |first: usize, second: usize| -> f64 {
        hidden.row(first).iter().zip(hidden.row(second)).map(|(left, right)| (left - right).powi(2)).sum()
    };
    let nodes = hidden.rows();
    (0..nodes).flat_map(|first| (0..nodes).map(move |second| squared_distance(first, second))).sum()
}

/// The complete bipartite graph of four and four nodes: with self-loops, `Ā` has the eigenvalues -0.6 (once, its
/// eigenvector tells the sides apart), 0.2 (six times) and 0.
fn bipartite() -> Graph {
    let edges = (0..4).flat_map(|left| (4..8).map(move |right| (left, right)));
    Graph::from_edges(8, edges).expect("all ends are nodes")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Theorem 1. For t ≥ 1: `1ᵀB_t = 1ᵀH_t = 0`, `H_tᵀH_t = I`, `T·H_t = H_t` and `B_t = Ā·H_t` with `Ā = TÂT`.
    #[test]
    fn theorem_1_hard_graph_ain_is_centred_and_orthonormal(
        graph in graph(), width in width(), seed in seed(),
    ) {
        let nodes = graph.nodes();
        let (centering, dense) = (centering_matrix(nodes), dense_adjacency(&graph));
        let features = random_matrix(nodes, width, seed);
        let first = product(&centering, &product(&dense, &features));
        let hiddens = embeddings(&adjacency(&graph), features, [hard(width); 8]);
        let mut combined = first;
        for hidden in hiddens {
            prop_assume!(has_full_rank(&combined));
            // The layer's own B_{t-1} is not to be seen from outside, but it determines H_t.
            prop_assert!(hidden.max_difference(&nearest_orthonormal(&combined)) < TOLERANCE);
            let ones = Matrix::from_fn(1, nodes, |_, _| 1.0);
            prop_assert!(product(&ones, &hidden).as_slice().iter().all(|sum| sum.abs() < TOLERANCE));
            let gram = transposed_product(&hidden, &hidden);
            prop_assert!(gram.max_difference(&Matrix::identity(width)) < TOLERANCE);
            prop_assert!(product(&centering, &hidden).max_difference(&hidden) < TOLERANCE);
            combined = product(&centering, &product(&dense, &hidden));
            prop_assert!(product(&ones, &combined).as_slice().iter().all(|sum| sum.abs() < TOLERANCE));
            prop_assert!(product(&doubly_centered(&dense), &hidden).max_difference(&combined) < TOLERANCE);
        }
    }

    /// Theorem 2. `H_{t+1} = proj(H_t + 1·∇f(H_t))` with `f(H) = ½·tr(Hᵀ(Ā - I)H)`, `∇f(H) = (Ā - I)H` and the
    /// projection `H'(H'ᵀH')^-½`. On orthonormal `H`, f differs from the paper's `½·tr(HᵀĀH)` by the constant d/2.
    #[test]
    fn theorem_2_a_layer_is_a_step_of_projected_ascent(graph in graph(), width in width(), seed in seed()) {
        let nodes = graph.nodes();
        let centered = doubly_centered(&dense_adjacency(&graph));
        let hiddens = embeddings(&adjacency(&graph), random_matrix(nodes, width, seed), [hard(width); 8]);
        for pair in hiddens.windows(2) {
            let gradient = weighted_sum(&[(1.0, &product(&centered, &pair[0])), (-1.0, &pair[0])]);
            let moved = weighted_sum(&[(1.0, &pair[0]), (1.0, &gradient)]);
            prop_assume!(has_full_rank(&moved));
            prop_assert!(pair[1].max_difference(&nearest_orthonormal(&moved)) < TOLERANCE);
        }
    }

    /// Theorem 2, ascent: `f(H_{t+1}) ≥ f(H_t)` for `f(H) = ½·tr(HᵀĀH)`, **if Ā is positive semi-definite**.
    ///
    /// Then f is convex, so `f(H') ≥ f(H) + ⟨ĀH, H' - H⟩`, and the projection maximises `⟨ĀH, H'⟩` among
    /// orthonormal H'. A negative eigenvalue breaks this (see the bipartite graph below), and `Â` may have them; so
    /// here the graph is walked lazily, by `½(I + Â)`.
    #[test]
    fn theorem_2_the_objective_does_not_fall(graph in graph(), width in width(), seed in seed()) {
        let (operator, dense) = lazy_adjacency(&graph);
        let centered = doubly_centered(&dense);
        let hiddens = embeddings(&operator, random_matrix(graph.nodes(), width, seed), [hard(width); 40]);
        let objectives: Vec<f64> = hiddens.iter().map(|hidden| half_trace(hidden, &centered)).collect();
        for pair in objectives.windows(2) {
            prop_assert!(pair[1] >= pair[0] - 1e-10, "from {} to {}", pair[0], pair[1]);
        }
        prop_assert!(objectives[39] > objectives[0] + 1e-3, "from {} to {}", objectives[0], objectives[39]);
    }

    /// What rises without any condition: `‖ĀH_t‖_*`, the sum of singular values of `B_t`.
    ///
    /// `‖ĀH_t‖_* = ⟨H_{t+1}, ĀH_t⟩ = ⟨ĀH_{t+1}, H_t⟩ ≤ ‖ĀH_{t+1}‖_*`, since H_t is orthonormal and Ā symmetric.
    /// For positive semi-definite Ā it is `2·f` at the fixed points, so this is the ascent that Theorem 2 is after.
    #[test]
    fn theorem_2_the_nuclear_norm_never_falls(graph in graph(), width in width(), seed in seed()) {
        let centered = doubly_centered(&dense_adjacency(&graph));
        let features = random_matrix(graph.nodes(), width, seed);
        let hiddens = embeddings(&adjacency(&graph), features, [hard(width); 40]);
        let mut previous = 0.0;
        for hidden in hiddens {
            let values = singular_values(&product(&centered, &hidden)).values;
            prop_assume!(values[width - 1] > 1e-6 * values[0]);
            let norm: f64 = values.iter().sum();
            prop_assert!(norm >= previous - 1e-10, "from {previous} to {norm}");
            previous = norm;
        }
    }

    /// Theorem 3. `proj(α·TÂH + β·H + γ·X) = proj(H + α·∇f(H))` with
    /// `f(H) = ½·tr(Hᵀ(Ā - I)H) - ½·(γ/α)·‖H - X‖²`, `∇f(H) = (Ā - I)H - (γ/α)(H - X)`, and `f` does not fall
    /// **if αĀ + βI is positive semi-definite**, that is `β ≥ -α·λ_min(Ā)`.
    ///
    /// On orthonormal H, `α·f` differs by a constant from `½·tr(Hᵀ(αĀ + βI)H) + γ·⟨H, X⟩`, whose gradient is what
    /// the layer projects; where that is convex, the argument of Theorem 2 holds. `β ≥ α` always suffices. Here β
    /// is the smallest that does. `X` is any centred matrix: a first layer with `a = 0` passes it on as it is.
    #[test]
    fn theorem_3_connections_make_a_smaller_step_towards_the_features(
        graph in graph(), width in width(), seed in seed(), aggregated in 0.1..1.0f64, initial in 0.0..1.0f64,
    ) {
        let nodes = graph.nodes();
        let dense = dense_adjacency(&graph);
        let centered = doubly_centered(&dense);
        let (eigenvalues, _) = symmetric_eigen(&centered);
        let smallest = eigenvalues.iter().copied().fold(0.0, f64::min);
        let mixture = mixture(aggregated, -aggregated * smallest, initial);
        let residual_hard = SoftLayer { mixture, ..hard(width) };
        let passing = SoftLayer { strength: 0.0, ..hard(width) };
        let layers = std::iter::once(passing).chain(std::iter::repeat_n(residual_hard, 30));
        let hiddens = embeddings(&adjacency(&graph), random_matrix(nodes, width, seed), layers);
        let origin = &hiddens[0];
        let pull = mixture.initial / mixture.aggregated;
        let objective = |hidden: &Matrix<f64>| {
            let identity = 0.5 * squared_norm(hidden);
            let away = weighted_sum(&[(1.0, hidden), (-1.0, origin)]);
            half_trace(hidden, &centered) - identity - 0.5 * pull * squared_norm(&away)
        };
        for (index, pair) in hiddens.windows(2).enumerate() {
            let [hidden, next] = pair else { unreachable!("windows of two") };
            let attracted = product(&centered, hidden);
            let gradient = weighted_sum(&[(1.0, &attracted), (-1.0 - pull, hidden), (pull, origin)]);
            let moved = weighted_sum(&[(1.0, hidden), (mixture.aggregated, &gradient)]);
            prop_assume!(has_full_rank(&moved));
            prop_assert!(next.max_difference(&nearest_orthonormal(&moved)) < TOLERANCE);
            // X itself is not orthonormal: ascent begins with the first projected embedding.
            if index > 0 {
                let (before, after) = (objective(hidden), objective(next));
                prop_assert!(after >= before - 1e-10, "layer {index}: from {before} to {after}");
            }
        }
    }

    /// Deep hard GraphAIN spans the eigenvectors of the d eigenvalues of `Ā` that are largest **in absolute value**:
    /// `H·Hᵀ → U·Uᵀ`, at the rate `|λ_{d+1} / λ_d|` a layer.
    ///
    /// The column space of `H_t` is that of `Ā^t·X`. The paper's "top-d eigenvalues" are these only if no negative
    /// eigenvalue is among the largest; and there must be a gap after the d-th.
    #[test]
    fn deep_hard_graph_ain_spans_the_dominant_eigenspace(graph in graph(), seed in seed()) {
        let nodes = graph.nodes();
        let (values, vectors) = symmetric_eigen(&doubly_centered(&dense_adjacency(&graph)));
        let ratio = |width: usize| (values[width] / values[width - 1]).abs();
        // The width with the widest gap after it, so that hardly a graph is thrown away.
        let width = (2..=5).min_by(|&left, &right| ratio(left).total_cmp(&ratio(right))).unwrap();
        prop_assume!(ratio(width) < 0.97);
        let depth = (1e-12f64.ln() / ratio(width).ln()).ceil() as usize;
        let layers = std::iter::repeat_n(hard(width), depth);
        let hidden = embeddings(&adjacency(&graph), random_matrix(nodes, width, seed), layers).pop().unwrap();
        let dominant = Matrix::from_fn(nodes, width, |row, column| vectors.get(row, column));
        let projector = |basis: &Matrix<f64>| product(basis, &basis.transposed());
        prop_assert!(projector(&hidden).max_difference(&projector(&dominant)) < 1e-6);
    }

    /// `Σ_ij ‖H_i - H_j‖² = 2n·d` at every depth of hard GraphAIN.
    #[test]
    fn pairwise_distance_stays_constant(graph in graph(), width in width(), seed in seed()) {
        let nodes = graph.nodes();
        let centered = doubly_centered(&dense_adjacency(&graph));
        let features = random_matrix(nodes, width, seed);
        prop_assume!(has_full_rank(&product(&centered, &features)));
        for hidden in embeddings(&adjacency(&graph), features, [hard(width); 30]) {
            prop_assume!(has_full_rank(&product(&centered, &hidden)));
            let expected = 2.0 * nodes as f64 * width as f64;
            prop_assert!((pairwise_distance(&hidden) / expected - 1.0).abs() < TOLERANCE);
        }
    }

    /// Soft normalisation makes singular values `(1 - a)s + a·s^(1-b)` of the kept ones and `(1 - a)s` of the
    /// dropped ones, and leaves singular vectors alone.
    #[test]
    fn singular_values_are_softened(
        nodes in 12usize..=40, width in width(), kept in 1usize..=5, strength in 0.0..=1.0f64,
        exponent in 0.0..=1.0f64, seed in seed(),
    ) {
        let kept = kept.min(width);
        let combined = product(&centering_matrix(nodes), &random_matrix(nodes, width, seed));
        let decomposition = singular_values(&combined);
        let values = &decomposition.values;
        // Where the last kept and the first dropped value coincide, which one is kept is anybody's guess.
        prop_assume!(kept == width || values[kept] < 0.999 * values[kept - 1]);
        let soften = |place: usize, value: f64| {
            let whitened = if place < kept { value.powf(1.0 - exponent) } else { 0.0 };
            (1.0 - strength) * value + strength * whitened
        };
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let layer = SoftLayer { strength, exponent, rank: kept, ..hard(width) };
        let combined = tape.constant(&Arc::new(combined));
        let hidden = layer.apply(&tape, &combined, &mut None, None).unwrap();
        prop_assert!(hidden.max_difference(&with_singular_values(&decomposition, soften)) < TOLERANCE);
        // The function rises on the kept values and stays below on the dropped ones: the order remains.
        let softened = singular_values(&hidden).values;
        for (place, &value) in values.iter().enumerate() {
            prop_assert!((softened[place] - soften(place, value)).abs() < TOLERANCE);
        }
    }

    /// SGC on a connected graph: `Â^L x → u·uᵀx` with `u = D̃^½1 / ‖D̃^½1‖`, at the rate `|λ_2|`. (The paper's
    /// formula leaves the norm out.)
    #[test]
    fn plain_propagation_forgets_all_but_degrees(graph in graph(), seed in seed()) {
        let nodes = graph.nodes();
        let (values, _) = symmetric_eigen(&dense_adjacency(&graph));
        let depth = (1e-11f64.ln() / values[1].abs().ln()).ceil() as usize;
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let operator = adjacency(&graph);
        let signal = random_matrix(nodes, 1, seed);
        let mut propagated = tape.constant(&Arc::new(signal.clone()));
        for _ in 0..depth {
            propagated = tape.propagate(&operator, &propagated);
        }
        let roots = Matrix::from_fn(nodes, 1, |node, _| ((graph.degree(node) + 1) as f64).sqrt());
        let coefficient = inner_product(&roots, &signal) / squared_norm(&roots);
        prop_assert!(propagated.max_difference(&weighted_sum(&[(coefficient, &roots)])) < TOLERANCE);
    }

    /// `p = q = 0` is the vanilla residual and initial connection: `H_t = σ(soft(α·TÂH_{t-1} + β·H_{t-1} + γ·H_1))`.
    #[test]
    fn without_memory_connections_are_vanilla(
        graph in graph(), width in width(), seed in seed(), strength in 0.0..=1.0f64,
        exponent in 0.0..=1.0f64,
    ) {
        let dense = dense_adjacency(&graph);
        let centering = centering_matrix(graph.nodes());
        let mixture = mixture(0.5, 0.2, 0.3);
        let layer = SoftLayer { mixture, strength, exponent, activation: Activation::Relu, ..hard(width) };
        let features = random_matrix(graph.nodes(), width, seed);
        let hiddens = embeddings(&adjacency(&graph), features, [layer; 6]);
        for pair in hiddens.windows(2) {
            let aggregated = product(&centering, &product(&dense, &pair[0]));
            let combined = weighted_sum(&[
                (mixture.aggregated, &aggregated),
                (mixture.residual, &pair[0]),
                (mixture.initial, &hiddens[0]),
            ]);
            prop_assume!(has_full_rank(&combined));
            let mut expected = with_singular_values(&singular_values(&combined), |_, value| {
                (1.0 - strength) * value + strength * value.powf(1.0 - exponent)
            });
            expected.as_mut_slice().iter_mut().for_each(|value| *value = value.max(0.0));
            prop_assert!(pair[1].max_difference(&expected) < TOLERANCE);
        }
    }

    /// The fuzzy connections of layer t are `S_last = Σ_{i<t} p^(t-1-i)·H_i` and `S_init = Σ_{i<t} q^(i-1)·H_i`, with
    /// `0⁰ = 1`. (The paper's expansion writes q for p in `S_last`; its Algorithm 1 has p.)
    #[test]
    fn fuzzy_connections_are_sums_over_all_layers(
        graph in graph(), width in width(), seed in seed(), memory in 0.0..=1.0f64, decay in 0.0..=1.0f64,
        forgets in any::<(bool, bool)>(),
    ) {
        // 0 is a case of its own for both, and all four combinations are.
        let residual_memory = if forgets.0 { 0.0 } else { memory };
        let initial_decay = if forgets.1 { 0.0 } else { decay };
        let operator = adjacency(&graph);
        let layer = SoftLayer {
            mixture: mixture(0.5, 0.2, 0.3), residual_memory, initial_decay, strength: 0.5, ..hard(width)
        };
        // `(α, β, γ) = (0, 1, 0)` and `a = 0` pass a connection through: the last layer only reads it.
        let read = |depth: usize, weights: Mixture| {
            let reader = SoftLayer { mixture: weights, strength: 0.0, ..layer };
            let layers = std::iter::repeat_n(layer, depth).chain([reader]);
            embeddings(&operator, random_matrix(graph.nodes(), width, seed), layers)
        };
        for depth in 1..=5 {
            let last = read(depth, mixture(0.0, 1.0, 0.0));
            let initial = read(depth, mixture(0.0, 0.0, 1.0));
            let sum = |weight: &dyn Fn(usize) -> f64| {
                let terms: Vec<_> = (1..=depth).map(|i| (weight(i), &last[i - 1])).collect();
                weighted_sum(&terms)
            };
            // With t = depth + 1.
            let expected_last = sum(&|i| residual_memory.powi((depth - i) as i32));
            let expected_initial = sum(&|i| initial_decay.powi(i as i32 - 1));
            prop_assert!(last[depth].max_difference(&expected_last) < 1e-12);
            prop_assert!(initial[depth].max_difference(&expected_initial) < 1e-12);
        }
    }

    /// `(α, β, γ) = (1, 0, 0)` and `a = 0` is a centred GCN: `H ← ReLU(T·Â·H·W)`, then `H·W + b`.
    #[test]
    fn without_normalisation_it_is_a_centred_gcn(graph in graph(), seed in seed()) {
        let config = ModelConfig::RSoftGraphAin(RSoftGraphAinConfig {
            layers: 4,
            hidden: 6,
            strength: 0.0,
            aggregated: 1.0,
            residual: 0.0,
            initial: 0.0,
            ..Default::default()
        });
        let dense = dense_adjacency(&graph);
        let operator = product(&centering_matrix(graph.nodes()), &dense);
        let features = random_matrix(graph.nodes(), 5, seed).cast::<f32>();
        let mut hidden: Matrix<f64> = features.cast();
        let problem = Problem::new(graph, Features::Dense(features), 3);
        let setup = problem.setup::<f64>(&config, seed);
        let weights: Vec<_> = setup.parameters.iter().map(|(_, value)| Arc::clone(value)).collect();
        for weight in &weights[..4] {
            hidden = product(&product(&operator, &hidden), weight);
            hidden.as_mut_slice().iter_mut().for_each(|value| *value = value.max(0.0));
        }
        // The bias starts at zero.
        let expected = product(&hidden, &weights[4]);
        prop_assert!(setup.evaluate(&setup.parameters).0.max_difference(&expected) < 1e-12);
    }

    /// The contrast the paper is about. Deep plain propagation collapses onto a line, `Â^L X → u·uᵀX`: beside its
    /// largest singular value all others vanish, and once degrees are divided out (`D̃^-½H`), so do all distances
    /// between nodes. Hard GraphAIN has all singular values 1, and by the same measure its distances stay at least
    /// `(1 - 1/d)·d̃_min/d̃_max` at any depth: centring takes away one direction of d.
    #[test]
    fn plain_propagation_collapses_where_graph_ain_does_not(
        graph in graph(), width in width(), seed in seed(),
    ) {
        let nodes = graph.nodes();
        let degree = |node: usize| (graph.degree(node) + 1) as f64;
        let spread = |hidden: &Matrix<f64>| {
            let scaled = |row: usize, column: usize| hidden.get(row, column) / degree(row).sqrt();
            let scaled = Matrix::from_fn(nodes, width, scaled);
            pairwise_distance(&scaled) / (2.0 * nodes as f64 * squared_norm(&scaled))
        };
        let (values, _) = symmetric_eigen(&dense_adjacency(&graph));
        let depth = (1e-5f64.ln() / values[1].abs().ln()).ceil() as usize;
        let operator = adjacency(&graph);
        let features = random_matrix(nodes, width, seed);
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let mut plain = tape.constant(&Arc::new(features.clone()));
        for _ in 0..depth {
            plain = tape.propagate(&operator, &plain);
        }
        let collapsed = singular_values(&plain).values;
        prop_assume!(collapsed[0] > 1e-2 * squared_norm(&features).sqrt());
        prop_assert!(collapsed[1] < 1e-2 * collapsed[0], "{collapsed:?}");
        prop_assert!(spread(&plain) < 1e-4, "{}", spread(&plain));

        let centered = doubly_centered(&dense_adjacency(&graph));
        let hiddens = embeddings(&operator, features, std::iter::repeat_n(hard(width), depth));
        prop_assume!(hiddens.iter().all(|hidden| has_full_rank(&product(&centered, hidden))));
        let deep = &hiddens[depth - 1];
        prop_assert!(singular_values(deep).values.iter().all(|value| (value - 1.0).abs() < 1e-6));
        let degrees = || (0..nodes).map(degree);
        let ratio = degrees().fold(f64::INFINITY, f64::min) / degrees().fold(0.0, f64::max);
        let bound = (1.0 - 1.0 / width as f64) * ratio;
        prop_assert!(spread(deep) >= bound - 1e-9, "{} < {bound}", spread(deep));
    }
}

/// Theorem 2 without its condition: on a bipartite graph `Ā` has a negative eigenvalue that is largest in absolute
/// value, so `f(H) = ½·tr(HᵀĀH)` falls from the first layer on, down to its *minimum*, where the dominant eigenspace
/// is. A lazy walk on the same graph ascends.
#[test]
fn without_the_condition_of_theorem_2_the_objective_falls() {
    let graph = bipartite();
    let centered = doubly_centered(&dense_adjacency(&graph));
    let (values, _) = symmetric_eigen(&centered);
    assert!((values[0] + 0.6).abs() < 1e-12 && (values[1] - 0.2).abs() < 1e-12, "{values:?}");
    let hiddens = embeddings(&adjacency(&graph), random_matrix(8, 1, 3), [hard(1); 40]);
    let objectives: Vec<f64> = hiddens.iter().map(|hidden| half_trace(hidden, &centered)).collect();
    assert!(objectives[1] < objectives[0] - 1e-3, "{objectives:?}");
    assert!((objectives[39] + 0.3).abs() < 1e-9, "{objectives:?}");
    let sides = Matrix::from_fn(8, 1, |node, _| if node < 4 { 1.0 } else { -1.0 });
    assert!((inner_product(&hiddens[39], &sides).powi(2) / 8.0 - 1.0).abs() < 1e-9);

    let (operator, lazy) = lazy_adjacency(&graph);
    let hiddens = embeddings(&operator, random_matrix(8, 1, 3), [hard(1); 40]);
    let objective = half_trace(&hiddens[39], &doubly_centered(&lazy));
    assert!((objective - 0.5 * 0.6).abs() < 1e-9, "½·½(1 + 0.2) = 0.3, not {objective}");
}
