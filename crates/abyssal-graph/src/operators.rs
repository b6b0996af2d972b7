//! The matrices through which a graph acts on features.

use abyssal_tensor::{Csr, Scalar};

use crate::Graph;

/// The symmetrically normalised adjacency matrix with self-loops, `Â = D̃^-½ (A + I) D̃^-½`, where
/// `D̃ = diag(degree + 1)` (Kipf and Welling, 2017). Shape: n×n.
///
/// `Â_ij = 1 / √(d̃_i · d̃_j)` is one rounded quotient of an exact product, so `Â` is symmetric to the last bit and
/// the engine stores no transpose. An isolated node keeps what it has: `Â_ii = 1`. The eigenvalues of `Â` lie in
/// (-1, 1]; the largest belongs to the eigenvector `D̃^½·1`.
///
/// A graph [without self-loops](Graph::with_self_loops) gives `D^-½ A D^-½`, where nodes without neighbours have
/// empty rows. In a directed graph row i holds the sources of edges to i and degrees count those, as in PyTorch
/// Geometric; a source nobody leads to weighs nothing there if it does not hear itself.
pub fn normalized_adjacency<T: Scalar>(graph: &Graph) -> Csr<T> {
    adjacency(graph, Normalization::Symmetric, graph.has_self_loops())
}

/// How the neighbours of a node are weighed against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalization {
    /// `1 / √(d_i · d_j)`: `D^-½ A D^-½`.
    Symmetric,
    /// `1 / d_i`: `D^-1 A`, the mean over the neighbours.
    Mean,
    /// 1: `A`, the sum over the neighbours.
    Sum,
}

/// The adjacency matrix, normalised, with every node its own neighbour (and counted in its degree) or not. Shape: n×n.
///
/// Row i holds the nodes that node i hears. Nodes that hear nobody have empty rows.
pub fn adjacency<T: Scalar>(graph: &Graph, normalization: Normalization, self_loops: bool) -> Csr<T> {
    let nodes = graph.nodes();
    let own = usize::from(self_loops);
    let mut offsets = Vec::with_capacity(nodes + 1);
    let mut indices = Vec::with_capacity(2 * graph.edges() + own * nodes);
    offsets.push(0);
    for node in 0..nodes {
        let neighbours = graph.neighbours(node);
        let (smaller, larger) =
            neighbours.split_at(neighbours.partition_point(|&neighbour| (neighbour as usize) < node));
        indices.extend_from_slice(smaller);
        indices.extend(self_loops.then_some(node as u32));
        indices.extend_from_slice(larger);
        offsets.push(indices.len());
    }
    let degree = |node: usize| (graph.degree(node) + own) as f64;
    let weight = |row: usize, column: u32| match normalization {
        Normalization::Symmetric => {
            let product = degree(row) * degree(column as usize);
            if product > 0.0 { 1.0 / product.sqrt() } else { 0.0 }
        }
        Normalization::Mean => 1.0 / degree(row),
        Normalization::Sum => 1.0,
    };
    let mut values = Vec::with_capacity(indices.len());
    for node in 0..nodes {
        let row = &indices[offsets[node]..offsets[node + 1]];
        values.extend(row.iter().map(|&column| T::from_f64(weight(node, column))));
    }
    Csr::new(nodes, nodes, offsets, indices, values).expect("the rows of a graph ascend and stay inside it")
}

/// The graph of nodes exactly two steps apart: neighbours of neighbours that are neither neighbours nor the node itself.
///
/// It is made row by row: a list of its edges would take more memory than the graph, which can be much larger than the one
/// it comes from. A star of n + 1 nodes gives n·(n - 1) entries.
pub fn two_hop_graph(graph: &Graph) -> Graph {
    let (mut offsets, mut neighbours) = (vec![0], Vec::new());
    for_each_two_hop_row(graph, |row| {
        row.sort_unstable();
        neighbours.extend_from_slice(row);
        offsets.push(neighbours.len());
    });
    Graph::from_rows(offsets, neighbours, graph.is_directed())
}

/// How many entries the adjacency matrix of [`two_hop_graph`] has, counted without making it.
pub fn two_hop_entries(graph: &Graph) -> usize {
    let mut entries = 0;
    for_each_two_hop_row(graph, |row| entries += row.len());
    entries
}

/// Calls `use_row` for one node after the other with the nodes exactly two steps from it, each once, in no order.
fn for_each_two_hop_row(graph: &Graph, mut use_row: impl FnMut(&mut [u32])) {
    let mut seen = vec![u32::MAX; graph.nodes()];
    let mut row = Vec::new();
    for node in 0..graph.nodes() {
        let mark = node as u32;
        row.clear();
        seen[node] = mark;
        for &neighbour in graph.neighbours(node) {
            seen[neighbour as usize] = mark;
        }
        for &neighbour in graph.neighbours(node) {
            for &further in graph.neighbours(neighbour as usize) {
                if seen[further as usize] != mark {
                    seen[further as usize] = mark;
                    row.push(further);
                }
            }
        }
        use_row(&mut row);
    }
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

    #[test]
    fn without_self_loops_only_neighbours_count() {
        let graph = Graph::from_edges(4, [(0, 1), (1, 2)]).unwrap().with_self_loops(false);
        let side = 1.0 / 2f64.sqrt();
        let expected = Matrix::from_rows(&[
            [0.0, side, 0.0, 0.0],
            [side, 0.0, side, 0.0],
            [0.0, side, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0],
        ]);
        assert_eq!(normalized_adjacency::<f64>(&graph).to_dense(), expected);
    }

    /// Made with PyTorch Geometric 2.8.1: `gcn_norm(torch.tensor([[0, 2, 1], [1, 1, 0]]), num_nodes=3)`.
    #[test]
    fn directions_are_those_of_pytorch_geometric() {
        let graph = Graph::from_directed_edges(3, [(0, 1), (2, 1), (1, 0)]).unwrap();
        let (half, sixth, third) = (0.5, 1.0 / 6f64.sqrt(), 1.0 / 3f64.sqrt());
        let expected = Matrix::from_rows(&[[half, sixth, 0.0], [sixth, 1.0 / 3.0, third], [0.0, 0.0, 1.0]]);
        assert_eq!(normalized_adjacency::<f64>(&graph).to_dense(), expected);
        let alone = normalized_adjacency::<f64>(&graph.with_self_loops(false)).to_dense();
        assert_eq!(alone.row(1), &[1.0 / 2f64.sqrt(), 0.0, 0.0]);
    }

    #[test]
    fn sums_and_means_of_neighbours() {
        let graph = Graph::from_edges(4, [(0, 1), (1, 2)]).unwrap();
        let sum = adjacency::<f64>(&graph, Normalization::Sum, false).to_dense();
        assert_eq!(sum.row(1), &[1.0, 0.0, 1.0, 0.0]);
        let mean = adjacency::<f64>(&graph, Normalization::Mean, true).to_dense();
        assert_eq!(mean.row(0), &[0.5, 0.5, 0.0, 0.0]);
        assert_eq!(mean.row(3), &[0.0, 0.0, 0.0, 1.0]);
        let alone = adjacency::<f64>(&graph, Normalization::Mean, false).to_dense();
        assert_eq!(alone.row(3), &[0.0; 4]);
    }

    #[test]
    fn two_steps_apart_and_no_nearer() {
        let graph = Graph::from_edges(6, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]).unwrap();
        let expected = Graph::from_edges(6, [(0, 3), (1, 3), (2, 4)]).unwrap();
        assert_eq!(two_hop_graph(&graph), expected);
        assert_eq!(two_hop_entries(&graph), 6);
    }

    #[test]
    fn two_steps_along_directions() {
        let graph = Graph::from_directed_edges(4, [(0, 1), (1, 2), (2, 3), (0, 3)]).unwrap();
        let expected = Graph::from_directed_edges(4, [(0, 2), (1, 3)]).unwrap();
        assert_eq!(two_hop_graph(&graph), expected);
        assert_eq!(two_hop_entries(&graph), 2);
    }

    #[test]
    fn all_leaves_of_a_star_are_two_steps_apart() {
        let graph = Graph::from_edges(101, (1..101).map(|leaf| (0, leaf))).unwrap();
        assert_eq!(two_hop_graph(&graph).edges(), 100 * 99 / 2);
        assert_eq!(two_hop_entries(&graph), 100 * 99);
    }
}
