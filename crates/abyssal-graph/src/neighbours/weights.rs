//! Edge weights from the similarity of embeddings.

use abyssal_tensor::Csr;

use super::distance::{inner_products, sparse_inner_product};
use crate::{Features, Graph, GraphError};

/// The weights `w_ij = ReLU(h_iᵀh_j)^power` on the edges of a graph, and 1 on the diagonal if there are self-loops.
///
/// Shapes: the embeddings h are n×d, the result is n×n and symmetric to the last bit. Inner products are computed in double
/// precision. Entries of weight zero are left out, so a node may end up without any. With power 0 every edge weighs 1,
/// for `0⁰ = 1`.
///
/// # Errors
/// If the power is negative, infinite or NaN, if there is not one finite row of embeddings a node, or if a weight is beyond
/// single precision.
pub fn similarity_weights(
    graph: &Graph,
    embeddings: &Features,
    power: f64,
    self_loops: bool,
) -> Result<Csr<f32>, GraphError> {
    if !(power >= 0.0 && power.is_finite()) {
        return Err(GraphError::InvalidPower { power });
    }
    let nodes = graph.nodes();
    if embeddings.rows() != nodes {
        return Err(GraphError::FeatureRows { rows: embeddings.rows(), nodes });
    }
    embeddings.check_finite()?;
    let product = |first: usize, second: usize| match embeddings {
        Features::Dense(matrix) => {
            let [product] = inner_products(matrix.row(first), [matrix.row(second)]);
            product
        }
        Features::Sparse(matrix) => sparse_inner_product(matrix.row(first), matrix.row(second)),
    };
    let stored = 2 * graph.edges() + if self_loops { nodes } else { 0 };
    let mut offsets = Vec::with_capacity(nodes + 1);
    let mut indices = Vec::with_capacity(stored);
    let mut values = Vec::with_capacity(stored);
    offsets.push(0);
    for node in 0..nodes {
        let neighbours = graph.neighbours(node);
        let (smaller, larger) =
            neighbours.split_at(neighbours.partition_point(|&neighbour| (neighbour as usize) < node));
        let loops = self_loops.then_some(node as u32);
        for other in smaller.iter().copied().chain(loops).chain(larger.iter().copied()) {
            let weight =
                if other as usize == node { 1.0 } else { product(node, other as usize).max(0.0).powf(power) };
            if weight > f64::from(f32::MAX) {
                return Err(GraphError::WeightTooLarge { first: node as u32, second: other, weight });
            }
            if weight as f32 > 0.0 {
                indices.push(other);
                values.push(weight as f32);
            }
        }
        offsets.push(indices.len());
    }
    let weights = Csr::new(nodes, nodes, offsets, indices, values);
    Ok(weights.expect("the rows of a graph ascend and stay inside it"))
}

#[cfg(test)]
mod tests {
    use abyssal_tensor::Matrix;

    use super::*;

    fn path() -> Graph {
        Graph::from_edges(3, [(0, 1), (1, 2)]).expect("a path of three")
    }

    fn both(rows: &[[f32; 2]]) -> [Features; 2] {
        let matrix = Matrix::from_rows(rows);
        [Features::Sparse(Csr::from_dense(&matrix)), Features::Dense(matrix)]
    }

    #[test]
    fn weights_are_powers_of_positive_products() {
        // Products: 0·1 gives 3, 1·2 gives 5, 0·2 is no edge.
        for embeddings in both(&[[1.0, 0.0], [3.0, 1.0], [1.0, 2.0]]) {
            let weights = similarity_weights(&path(), &embeddings, 2.0, true).unwrap();
            let expected = Matrix::from_rows(&[[1.0, 9.0, 0.0], [9.0, 1.0, 25.0], [0.0, 25.0, 1.0]]);
            assert_eq!(weights.to_dense(), expected);
            let weights = similarity_weights(&path(), &embeddings, 0.5, false).unwrap();
            let (first, second) = (3f64.sqrt() as f32, 5f64.sqrt() as f32);
            let expected = Matrix::from_rows(&[[0.0, first, 0.0], [first, 0.0, second], [0.0, second, 0.0]]);
            assert_eq!(weights.to_dense(), expected);
        }
    }

    #[test]
    fn zero_weights_leave_the_pattern() {
        for embeddings in both(&[[1.0, 0.0], [-3.0, 1.0], [0.0, 2.0]]) {
            let weights = similarity_weights(&path(), &embeddings, 1.0, false).unwrap();
            assert_eq!((weights.offsets(), weights.indices()), (&[0, 0, 1, 2][..], &[2, 1][..]));
            assert_eq!(weights.values(), &[2.0, 2.0]);
            assert_eq!(similarity_weights(&path(), &embeddings, 0.0, false).unwrap().values(), &[1.0; 4]);
        }
        // Too small for single precision is zero too.
        let tiny = Features::Dense(Matrix::from_rows(&[[1e-30f32], [1e-30], [1.0]]));
        let weights = similarity_weights(&path(), &tiny, 1.0, false).unwrap();
        assert_eq!(weights.indices(), &[2, 1]);
    }

    #[test]
    fn a_power_outside_its_range_is_named() {
        for (power, shown) in [(-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
            for embeddings in both(&[[1.0, 0.0]; 3]) {
                let error = similarity_weights(&path(), &embeddings, power, false).unwrap_err();
                let expected = format!(
                    "power = {shown} is out of range: edge weights need a finite power of at least 0"
                );
                assert_eq!(error.to_string(), expected);
            }
        }
    }

    #[test]
    fn embeddings_of_other_nodes_are_refused() {
        for embeddings in both(&[[1.0, 0.0]; 4]) {
            let error = similarity_weights(&path(), &embeddings, 1.0, false).unwrap_err();
            assert_eq!(error, GraphError::FeatureRows { rows: 4, nodes: 3 });
        }
    }

    #[test]
    fn embeddings_that_are_no_numbers_are_refused() {
        for embeddings in both(&[[1.0, 0.0], [f32::NAN, 1.0], [1.0, 1.0]]) {
            let error = similarity_weights(&path(), &embeddings, 1.0, false).unwrap_err();
            assert!(matches!(error, GraphError::FeatureNotFinite { row: 1, column: 0, .. }));
        }
    }

    #[test]
    fn a_weight_beyond_single_precision_is_named() {
        for embeddings in both(&[[1e20, 0.0]; 3]) {
            let error = similarity_weights(&path(), &embeddings, 1.0, false).unwrap_err().to_string();
            assert!(error.starts_with("the weight of edge (0, 1) is 1.0000000"), "{error}");
            assert!(error.ends_with("e40, too large; scale the embeddings down"), "{error}");
        }
    }
}
