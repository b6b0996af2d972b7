//! Label propagation step by step and in its limit.

mod common;

use std::sync::Arc;

use abyssal_graph::Graph;
use abyssal_nn::{GraphInput, LabelPropagation, NnError, Operator};
use abyssal_tensor::ops::Targets;
use abyssal_tensor::parallel::with_threads;
use abyssal_tensor::{Csr, Matrix, Scalar, SparseOperator};

use common::linear_algebra::{dense_adjacency, product, weighted_sum};
use common::{Problem, connected_graph, random_features};

const CONVERGED: LabelPropagation = LabelPropagation { share: 0.9, steps: 100_000, tolerance: 1e-10 };

fn problem() -> Problem {
    Problem::new(connected_graph(60, 40, 1), random_features(60, 2, 2), 3)
}

fn operator<T: Scalar>(graph: &Graph, operator: Operator) -> Arc<SparseOperator<T>> {
    Arc::clone(GraphInput::new(graph, &random_features(graph.nodes(), 1, 1)).operator(operator))
}

/// Enough steps reach the limit, with self-loops and without, near and far.
#[test]
fn steps_lead_to_the_limit() {
    let problem = problem();
    for kind in [Operator::Convolution, Operator::Neighbours] {
        let operator = operator::<f64>(&problem.graph, kind);
        for share in [0.0, 0.5, 0.9, 0.99] {
            let settings = LabelPropagation { share, ..CONVERGED };
            let limit = settings.limit(&operator, &problem.targets, 3).unwrap();
            let difference = settings.iterate(&operator, &problem.targets, 3).max_difference(&limit);
            assert!(difference < 1e-6, "{kind:?}, {share}: {difference}");
        }
    }
}

/// Three steps, written out.
#[test]
fn steps_are_those_of_the_paper() {
    let problem = problem();
    let settings = LabelPropagation { share: 0.7, steps: 3, tolerance: 0.0 };
    let labels = Matrix::from_fn(60, 3, |node, class| {
        let place = problem.targets.rows.iter().position(|&row| row as usize == node);
        f64::from(place.is_some_and(|place| problem.targets.classes[place] as usize == class))
    });
    let adjacency = dense_adjacency(&problem.graph);
    let mut expected = labels.clone();
    for _ in 0..3 {
        let spread = product(&adjacency, &expected);
        expected = weighted_sum(&[(0.7, &spread), (0.3, &labels)]);
    }
    let operator = operator::<f64>(&problem.graph, Operator::Convolution);
    let difference = settings.iterate(&operator, &problem.targets, 3).max_difference(&expected);
    assert!(difference < 1e-14, "{difference}");
}

/// A component without labels and an isolated node keep zeros; the others take the label of their component.
#[test]
fn labels_stay_in_their_component() {
    let graph = Graph::from_edges(8, [(0, 1), (1, 2), (3, 4), (5, 6)]).unwrap();
    let labels = Targets { rows: vec![0, 4], classes: vec![1, 0] };
    for kind in [Operator::Convolution, Operator::Neighbours] {
        let operator = operator::<f32>(&graph, kind);
        let scores = LabelPropagation::default().iterate(&operator, &labels, 2);
        let limit = LabelPropagation::default().limit(&operator, &labels, 2).unwrap();
        for node in 0..8 {
            let (first, second) = (scores.get(node, 0), scores.get(node, 1));
            match node {
                0..=2 => assert!(second > 0.0 && first == 0.0, "{node}"),
                3..=4 => assert!(first > 0.0 && second == 0.0, "{node}"),
                _ => assert_eq!((first, second), (0.0, 0.0), "{node}"),
            }
        }
        assert!(scores.cast::<f64>().max_difference(&limit) < 1e-4);
    }
}

/// Values that are no numbers do not rest: steps go on, and they spread until they are noticed.
#[test]
fn what_is_no_number_is_not_taken_for_rest() {
    let entries = vec![(0, 0, f64::NAN), (1, 0, 0.5), (2, 1, 0.5)];
    let operator = SparseOperator::new(Csr::from_entries(3, 3, entries).unwrap());
    let settings = LabelPropagation { share: 0.5, steps: 3, tolerance: 10.0 };
    let scores = settings.iterate(&operator, &Targets { rows: vec![0], classes: vec![0] }, 1);
    assert!(scores.get(2, 0).is_nan(), "{scores:?}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let problem = Problem::new(connected_graph(3000, 9000, 1), random_features(3000, 1, 2), 5);
    let operator = operator::<f32>(&problem.graph, Operator::Convolution);
    let run = |threads| {
        let scores =
            with_threads(threads, || LabelPropagation::default().iterate(&operator, &problem.targets, 5));
        scores.unwrap().as_slice().iter().map(|value| value.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(2));
    assert_eq!(run(1), run(3));
}

#[test]
fn what_cannot_be_done_is_refused() {
    let labels = Targets { rows: vec![0], classes: vec![0] };
    let large = SparseOperator::<f32>::new(Csr::from_entries(5001, 5001, Vec::new()).unwrap());
    let error = CONVERGED.limit(&large, &labels, 2).unwrap_err();
    assert_eq!(error, NnError::TooManyNodes { nodes: 5001, most: 5000 });
    // I - ½·A is singular where A has the eigenvalue 2.
    let growing = SparseOperator::<f64>::new(Csr::from_entries(1, 1, vec![(0, 0, 2.0)]).unwrap());
    let half = LabelPropagation { share: 0.5, ..CONVERGED };
    assert!(matches!(half.limit(&growing, &labels, 2), Err(NnError::NoLimit { .. })));
    for (settings, key) in [
        (LabelPropagation { share: 1.0, ..CONVERGED }, "share"),
        (LabelPropagation { share: f64::NAN, ..CONVERGED }, "share"),
        (LabelPropagation { tolerance: -1.0, ..CONVERGED }, "tolerance"),
    ] {
        assert!(matches!(settings.validate(), Err(NnError::OutOfRange { key: found, .. }) if found == key));
    }
    assert_eq!(LabelPropagation::default().validate(), Ok(()));
}
