//! The matrices through which a graph acts on features.

use abyssal_tensor::{Csr, Scalar};

use crate::Graph;

/// The symmetrically normalised adjacency matrix with self-loops, `Â = D̃^-½ (A + I) D̃^-½`, where
/// `D̃ = diag(degree + 1)` (Kipf and Welling, 2017). Shape: n×n.
///
/// `Â_ij = 1 / √(d̃_i · d̃_j)` is one rounded quotient of an exact product, so `Â` is symmetric to the last bit and
/// the engine stores no transpose. An isolated node keeps what it has: `Â_ii = 1`. The eigenvalues of `Â` lie in
/// (-1, 1]; the largest belongs to the eigenvector `D̃^½·1`.
pub fn normalized_adjacency<T: Scalar>(graph: &Graph) -> Csr<T> {
    let nodes = graph.nodes();
    let degree = |node: usize| (graph.degree(node) + 1) as f64;
    let stored = 2 * graph.edges() + nodes;
    let mut offsets = Vec::with_capacity(nodes + 1);
    let mut indices = Vec::with_capacity(stored);
    offsets.push(0);
    for node in 0..nodes {
        let neighbours = graph.neighbours(node);
        let (smaller, larger) =
            neighbours.split_at(neighbours.partition_point(|&neighbour| (neighbour as usize) < node));
        indices.extend_from_slice(smaller);
        indices.push(node as u32);
        indices.extend_from_slice(larger);
        offsets.push(indices.len());
    }
    let mut values = Vec::with_capacity(stored);
    for node in 0..nodes {
        for &column in &indices[offsets[node]..offsets[node + 1]] {
            values.push(T::from_f64(1.0 / (degree(node) * degree(column as usize)).sqrt()));
        }
    }
    Csr::new(nodes, nodes, offsets, indices, values).expect("the rows of a graph ascend and stay inside it")
}

#[cfg(test)]
mod tests {
    use abyssal_tensor::{Matrix, SparseOperator};
    use proptest::prelude::*;

    use super::*;

    fn graph() -> impl Strategy<Value = Graph> {
        (1usize..40).prop_flat_map(|nodes| {
            let edge = (0..nodes as u32, 0..nodes as u32);
            prop::collection::vec(edge, 0..120)
                .prop_map(move |edges| Graph::from_edges(nodes, edges).unwrap())
        })
    }

    fn root_degrees(graph: &Graph) -> Matrix<f64> {
        Matrix::from_fn(graph.nodes(), 1, |node, _| ((graph.degree(node) + 1) as f64).sqrt())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn it_is_symmetric_to_the_last_bit(graph in graph()) {
            let matrix = normalized_adjacency::<f32>(&graph);
            prop_assert_eq!(&matrix.transposed().0, &matrix);
            let operator = SparseOperator::new(matrix);
            prop_assert!(std::ptr::eq(operator.transpose(), operator.matrix()));
        }

        #[test]
        fn roots_of_degrees_are_its_eigenvector_of_eigenvalue_one(graph in graph()) {
            let vector = root_degrees(&graph);
            let mut image = Matrix::zeros(graph.nodes(), 1);
            normalized_adjacency::<f64>(&graph).multiply_into(&vector, &mut image);
            prop_assert!(image.max_difference(&vector) < 1e-12);
        }

        /// A power iteration turns towards the eigenvalue of largest absolute value, and may not grow on its way.
        #[test]
        fn no_eigenvalue_is_larger_than_one(graph in graph(), seed in 0u64..1000) {
            let matrix = normalized_adjacency::<f64>(&graph);
            let mut vector = abyssal_tensor::testing::random_matrix(graph.nodes(), 1, seed);
            let mut image = vector.clone();
            for _ in 0..100 {
                let before: f64 = vector.as_slice().iter().map(|value| value * value).sum();
                matrix.multiply_into(&vector, &mut image);
                let after: f64 = image.as_slice().iter().map(|value| value * value).sum();
                prop_assert!(after <= before * (1.0 + 1e-12), "‖Âx‖² = {after} > ‖x‖² = {before}");
                std::mem::swap(&mut vector, &mut image);
            }
        }
    }

    #[test]
    fn a_path_of_three_and_an_isolated_node() {
        let graph = Graph::from_edges(4, [(0, 1), (1, 2)]).unwrap();
        let dense = normalized_adjacency::<f64>(&graph).to_dense();
        let side = 1.0 / 6f64.sqrt();
        let expected = Matrix::from_rows(&[
            [0.5, side, 0.0, 0.0],
            [side, 1.0 / 3.0, side, 0.0],
            [0.0, side, 0.5, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]);
        assert_eq!(dense, expected);
    }
}
