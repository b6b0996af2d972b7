//! Random parts of the graph, left out while training.

use abyssal_tensor::Scalar;
use abyssal_tensor::ops::Reweighting;
use abyssal_tensor::parallel::for_each_block;
use abyssal_tensor::tape::Variable;

use crate::{Embedding, GraphInput, Pass};

/// Places of random numbers that no dropout of a model has.
const EDGE_PLACE: u32 = u32::MAX;
const FIRST_NODE_PLACE: u32 = 1 << 31;

/// How much of a graph is left out in a training pass. Evaluation sees all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dropping {
    /// The share of edges, in [0, 1).
    pub edges: f64,
    /// The share of nodes, in [0, 1).
    pub nodes: f64,
}

impl Dropping {
    /// Whether nothing is ever left out.
    pub fn is_nothing(&self) -> bool {
        self.edges == 0.0 && self.nodes == 0.0
    }

    /// DropEdge (Rong et al.: *DropEdge: towards deep graph convolutional networks on node classification*, ICLR 2020):
    /// `Â` of the graph without a random share of its edges; `None` if none is left out in this pass.
    ///
    /// An edge goes in both directions or in none, and degrees are counted anew. Self-loops stay. All layers of a pass
    /// share the result, as in the paper (its layer-wise variant is not here). Which edges go depends on seed, epoch
    /// and the two nodes alone.
    pub fn reweighting<T: Scalar>(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Option<Reweighting<T>> {
        let stream = pass.stream(EDGE_PLACE).filter(|_| self.edges > 0.0)?;
        let matrix = graph.adjacency().matrix();
        let (nodes, offsets, indices) = (matrix.rows(), matrix.offsets(), matrix.indices());
        let threshold = (self.edges * 4_294_967_296.0) as u32;
        let keeps = |row: usize, column: usize| {
            let edge = row.min(column) as u64 * nodes as u64 + row.max(column) as u64;
            row == column || stream.word(edge) >= threshold
        };
        let mut values = pass.tape.pool().take(1, matrix.stored());
        for_each_block(values.as_mut_slice(), 1, 64, |first, block| {
            for ((row, column), value) in entries(offsets, indices, first).zip(block) {
                *value = if keeps(row, column) { T::ONE } else { T::ZERO };
            }
        });
        let mut degrees = pass.tape.pool().take(nodes, 1);
        for_each_block(degrees.as_mut_slice(), 1, 1 + matrix.stored() / nodes.max(1), |first, block| {
            for (bounds, degree) in offsets[first..].windows(2).zip(block) {
                *degree = values.as_slice()[bounds[0]..bounds[1]].iter().copied().sum();
            }
        });
        for_each_block(values.as_mut_slice(), 1, 16, |first, block| {
            for ((row, column), value) in entries(offsets, indices, first).zip(block) {
                // In double precision and in one step, as for the whole graph, so that Â stays symmetric to the last bit.
                let product = degrees.get(row, 0).to_f64() * degrees.get(column, 0).to_f64();
                if *value > T::ZERO {
                    *value = T::from_f64(if product > 0.0 { 1.0 / product.sqrt() } else { 0.0 });
                }
            }
        });
        Some(Reweighting::new(pass.tape, graph.adjacency(), values, !graph.graph().is_directed()))
    }

    /// `Â·E·W` without the edges and the nodes that are left out. Shapes: E is n×f, W f×d.
    ///
    /// DropNode (Feng et al.: *Graph random neural networks*, NeurIPS 2020) zeroes whole rows of E, and so of `E·W`, and
    /// scales the others by `1/(1 - rate)`; which ones depends on seed, epoch, layer and node.
    pub fn propagate_transformed<T: Scalar>(
        &self,
        pass: &Pass<T>,
        graph: &GraphInput<T>,
        (layer, embedding): (usize, &Embedding<T>),
        weight: &Variable<T>,
        reweighting: Option<&Reweighting<T>>,
    ) -> Variable<T> {
        let nodes = pass.dropout(self.nodes, FIRST_NODE_PLACE + layer as u32);
        if nodes.is_none() && reweighting.is_none() {
            return graph.propagate_transformed(pass.tape, embedding, weight);
        }
        let transformed = graph.transform(pass.tape, embedding, weight);
        let transformed = match nodes {
            Some(dropout) => pass.tape.drop_rows(&transformed, dropout),
            None => transformed,
        };
        match reweighting {
            Some(reweighting) => pass.tape.propagate_reweighted(graph.adjacency(), reweighting, &transformed),
            None => pass.tape.propagate(graph.adjacency(), &transformed),
        }
    }
}

/// Row and column of the stored entries from the `first` on.
fn entries<'a>(
    offsets: &'a [usize],
    indices: &'a [u32],
    first: usize,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let mut row = offsets.partition_point(|&offset| offset <= first) - 1;
    (first..indices.len()).map(move |entry| {
        while offsets[row + 1] <= entry {
            row += 1;
        }
        (row, indices[entry] as usize)
    })
}
