//! Labels estimated by explicit label propagation, the alternative the paper argues against.

use abyssal_graph::{Dataset, Normalization, adjacency};
use abyssal_tensor::Matrix;
use abyssal_tensor::ops::Targets;

use super::{Smoother, SoftLabels};

/// Far more steps than any benchmark needs; each costs a product with the adjacency matrix.
const MOST_STEPS: usize = 10_000;
/// It ends once no share changes by more than this.
const TOLERANCE: f64 = 1e-6;

/// `f ← P·f, f_L ← Y_L` until it rests, with `P = D^-1 A` of the undirected graph: the limit is
/// `f_U = (I - P_UU)^-1 P_UL Y_L`. Rows are divided by their sums in every step, which the limit does not depend on.
/// Nothing is known about nodes that no label reaches.
pub fn propagate_labels(dataset: &Dataset, known: &Targets) -> SoftLabels {
    let smoother = Smoother::new(&adjacency(&dataset.graph().undirected(), Normalization::Sum, false));
    let hold = |rows: &mut Matrix<f32>| {
        for (&node, &class) in known.rows.iter().zip(&known.classes) {
            rows.row_mut(node as usize).fill(0.0);
            rows.set(node as usize, class as usize, 1.0);
        }
    };
    let mut rows = Matrix::zeros(dataset.nodes(), dataset.classes());
    hold(&mut rows);
    for _ in 0..MOST_STEPS {
        let mut next = smoother.step(&SoftLabels::from_rows(rows.clone())).rows().clone();
        hold(&mut next);
        let change = next.max_difference(&rows);
        rows = next;
        if change <= TOLERANCE {
            break;
        }
    }
    SoftLabels::from_rows(rows)
}

#[cfg(test)]
mod tests {
    use abyssal_graph::{Features, Graph, Split};

    use super::*;

    /// A path 0-1-2-3 with labels at its ends, and 4-5 without one. On a path, shares fall evenly.
    #[test]
    fn labels_fall_evenly_along_a_path_and_reach_no_other_component() {
        let dataset = Dataset::new(
            "path",
            Graph::from_edges(6, [(0, 1), (1, 2), (2, 3), (4, 5)]).unwrap(),
            Features::Dense(Matrix::zeros(6, 1)),
            vec![Some(0), Some(0), Some(1), Some(1), Some(0), Some(1)],
            2,
            Split::new(vec![0, 3], vec![1], vec![2]).unwrap(),
        )
        .unwrap();
        let labels = propagate_labels(&dataset, &Targets { rows: vec![0, 3], classes: vec![0, 1] });
        let third = 1.0 / 3.0;
        let expected =
            [[1.0, 0.0], [2.0 * third, third], [third, 2.0 * third], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]];
        assert!(labels.rows().max_difference(&Matrix::from_rows(&expected)) < 1e-4, "{labels:?}");
        assert_eq!(labels.nodes().collect::<Vec<_>>(), [0, 1, 2, 3]);
    }
}
