//! Labels smoothed over the auxiliary graph.

use std::iter::successors;

use abyssal_tensor::{Csr, Matrix};

use super::SoftLabels;

/// `P = D^-1 W`: a step of smoothing gives every node the mean label of its neighbours, by their weights.
///
/// A node without neighbours keeps its label.
#[derive(Clone, Debug)]
pub struct Smoother {
    transition: Csr<f32>,
}

impl Smoother {
    /// From edge weights W, n×n, at least 0, as [`abyssal_graph::similarity_weights`] gives them.
    ///
    /// # Panics
    /// If W is not square.
    pub fn new(weights: &Csr<f32>) -> Self {
        assert_eq!(weights.rows(), weights.columns(), "weights of the edges of a graph");
        let mut entries = Vec::with_capacity(weights.stored());
        for node in 0..weights.rows() {
            let (neighbours, values) = weights.row(node);
            let degree: f64 = values.iter().map(|&weight| f64::from(weight)).sum();
            if degree > 0.0 {
                let shares = values.iter().map(|&weight| (f64::from(weight) / degree) as f32);
                entries
                    .extend(neighbours.iter().zip(shares).map(|(&other, share)| (node as u32, other, share)));
            } else {
                entries.push((node as u32, node as u32, 1.0));
            }
        }
        let transition = Csr::from_entries(weights.rows(), weights.rows(), entries);
        Self { transition: transition.expect("entries of a graph lie inside it") }
    }

    /// `Y⁽ⁱ⁺¹⁾ = P·Y⁽ⁱ⁾`, rows divided by their sums: those of nodes with filtered neighbours would be less than 1.
    pub fn step(&self, labels: &SoftLabels) -> SoftLabels {
        let mut smoothed = Matrix::zeros(labels.rows().rows(), labels.rows().columns());
        self.transition.multiply_into(labels.rows(), &mut smoothed);
        SoftLabels::from_rows(smoothed)
    }

    /// The labels of all tasks, the hardest first: `Y⁽⁰⁾, Y⁽¹⁾, …, Y⁽ⁿ⁾` with `n` steps of smoothing. Each is made when it is
    /// wanted, so that not all need be in memory.
    pub fn tasks(&self, labels: SoftLabels, steps: usize) -> impl Iterator<Item = SoftLabels> {
        let mut left = steps;
        successors(Some(labels), move |labels| {
            left = left.checked_sub(1)?;
            Some(self.step(labels))
        })
    }
}

#[cfg(test)]
mod tests {
    use abyssal_graph::{Features, Graph, similarity_weights};
    use abyssal_tensor::ops::Targets;
    use abyssal_tensor::random::{Purpose, Stream};

    use super::*;

    /// Weights 0-1: 1, 0-2: 3, 1-2: 1, 2-3: 4; node 4 alone.
    fn five_nodes() -> Smoother {
        let edges = [(0, 1, 1.0), (0, 2, 3.0), (1, 2, 1.0), (2, 3, 4.0)];
        let both = edges.into_iter().flat_map(|(a, b, weight)| [(a, b, weight), (b, a, weight)]);
        Smoother::new(&Csr::from_entries(5, 5, both.collect()).unwrap())
    }

    fn labels() -> SoftLabels {
        let rows = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.25, 0.75], [0.1, 0.9]];
        SoftLabels::from_rows(Matrix::from_rows(&rows))
    }

    fn assert_rows(labels: &SoftLabels, expected: &[[f32; 2]; 5]) {
        let difference = labels.rows().max_difference(&Matrix::from_rows(expected));
        assert!(difference < 1e-6, "{:?}", labels.rows());
    }

    /// Computed by hand: node 0 hears 1 (a quarter) and 2 (three quarters), and so on.
    #[test]
    fn a_step_on_five_nodes() {
        let expected = [[0.375, 0.625], [0.75, 0.25], [0.5, 0.5], [0.5, 0.5], [0.1, 0.9]];
        assert_rows(&five_nodes().step(&labels()), &expected);
    }

    /// Node 0 is filtered: 1 hears of 2 alone, 2 of 1 (1 of 5 parts) and 3 (4 of 5).
    #[test]
    fn filtered_nodes_say_nothing() {
        let mut rows = labels().rows().clone();
        rows.row_mut(0).fill(0.0);
        let step = five_nodes().step(&SoftLabels::from_rows(rows));
        assert_rows(&step, &[[0.375, 0.625], [0.5, 0.5], [0.2, 0.8], [0.5, 0.5], [0.1, 0.9]]);
        let mut nothing = labels().rows().clone();
        nothing.as_mut_slice().fill(0.0);
        assert_eq!(five_nodes().step(&SoftLabels::from_rows(nothing)).nodes().count(), 0);
    }

    #[test]
    fn tasks_go_from_sharp_to_smooth() {
        let tasks = |steps| five_nodes().tasks(labels(), steps).collect::<Vec<_>>();
        assert_eq!(tasks(3).len(), 4);
        assert_eq!(tasks(3)[0], labels());
        for pair in tasks(3).windows(2) {
            assert_eq!(pair[1], five_nodes().step(&pair[0]));
        }
        assert_eq!(tasks(0), [labels()]);
    }

    /// A connected graph that is not bipartite, random weights and labels.
    fn random_problem(seed: u64) -> (Csr<f32>, SoftLabels) {
        let nodes = 30u32;
        let stream = Stream::new(seed, Purpose::Generation, 0, 0);
        let path = (1..nodes).map(|node| (node - 1, node));
        let further = (0..40u64).map(|index| {
            let end = |position| stream.below(2 * index + position, nodes as usize) as u32;
            (end(0), end(1))
        });
        let graph = Graph::from_edges(nodes as usize, path.chain(further).chain([(0, 2)])).unwrap();
        let value = |row: usize, column: usize| stream.uniform(1000 + (4 * row + column) as u64) as f32;
        let features = Features::Dense(Matrix::from_fn(nodes as usize, 4, value));
        let weights = similarity_weights(&graph, &features, 0.7, false).unwrap();
        let probabilities = Matrix::from_fn(nodes as usize, 3, |row, column| 0.01 + value(row, column));
        let known = Targets { rows: vec![0, 7], classes: vec![0, 2] };
        (weights, SoftLabels::estimated(&probabilities, &known).unwrap())
    }

    /// Rows sum to 1; the distance to the mean by degree, `Σ_i d_i·‖y_i - ȳ‖²` with `ȳ = Σ d_i·y_i / Σ d_i`, never grows;
    /// and in the end there is nothing but that mean.
    #[test]
    fn smoothing_leads_to_the_mean_by_degree() {
        for seed in 0..20 {
            let (weights, labels) = random_problem(seed);
            let degrees: Vec<f64> = (0..weights.rows())
                .map(|node| weights.row(node).1.iter().map(|&weight| f64::from(weight)).sum())
                .collect();
            let total: f64 = degrees.iter().sum();
            let mean: Vec<f64> = (0..3)
                .map(|class| {
                    let weighted =
                        |(node, degree): (usize, &f64)| degree * f64::from(labels.rows().get(node, class));
                    degrees.iter().enumerate().map(weighted).sum::<f64>() / total
                })
                .collect();
            let distance = |labels: &SoftLabels| -> f64 {
                let of_node = |(node, degree): (usize, &f64)| {
                    let row = labels.rows().row(node).iter().zip(&mean);
                    degree * row.map(|(&value, mean)| (f64::from(value) - mean).powi(2)).sum::<f64>()
                };
                degrees.iter().enumerate().map(of_node).sum()
            };
            let smoother = Smoother::new(&weights);
            let (mut labels, first) = (labels.clone(), distance(&labels));
            let mut last = first;
            for step in 0..2000 {
                labels = smoother.step(&labels);
                for node in 0..30 {
                    let sum: f32 = labels.rows().row(node).iter().sum();
                    assert!((sum - 1.0).abs() < 1e-5, "seed {seed}, step {step}, node {node}: {sum}");
                }
                // Single precision: what is left in the end is rounding.
                let now = distance(&labels);
                assert!(
                    now <= last * (1.0 + 1e-5) + 1e-9 * total,
                    "seed {seed}, step {step}: {last} to {now}"
                );
                last = now;
            }
            assert!(last < 1e-6 * first, "seed {seed}: {first} to {last}");
        }
    }
}
