//! The graph over which labels are smoothed.

use abyssal_graph::{
    Dataset, Distance, Features, Normalization, adjacency, neighbour_graph, similarity_weights,
};
use abyssal_tensor::{Csr, Matrix};

use crate::TrainError;
use crate::config::{AuxiliaryGraph, CurriculumConfig};

/// The weights W of the auxiliary graph, n×n, symmetric.
///
/// Nearest neighbours are those by Euclidean distance, joined without direction, with weights `ReLU(h_i·h_j)^γ'`: h are the
/// features as the model sees them, or embeddings (n×d) scaled to length 1, so that the weights compare directions and no
/// exponent leads out of range. Edges of the input graph weigh 1.
///
/// # Errors
/// If there are too few nodes for so many neighbours, or a weight is out of range.
pub fn auxiliary_graph(
    config: &CurriculumConfig,
    dataset: &Dataset,
    embeddings: &Matrix<f32>,
) -> Result<Csr<f32>, TrainError> {
    let of = |vectors: &Features| {
        let graph = neighbour_graph(vectors, config.neighbours, Distance::Euclidean)?;
        similarity_weights(&graph, vectors, config.weight_exponent, config.self_loops)
    };
    Ok(match config.graph {
        AuxiliaryGraph::Input => {
            adjacency(&dataset.graph().undirected(), Normalization::Sum, config.self_loops)
        }
        AuxiliaryGraph::Features => of(dataset.features())?,
        AuxiliaryGraph::Embeddings => of(&Features::Dense(unit_rows(embeddings)))?,
    })
}

/// Checks that every node has so many others to be its neighbours.
///
/// # Errors
/// If there are too few nodes.
pub(crate) fn require_neighbours(config: &CurriculumConfig, dataset: &Dataset) -> Result<(), TrainError> {
    if config.graph == AuxiliaryGraph::Input || config.neighbours < dataset.nodes() {
        return Ok(());
    }
    let reason = format!("{} has {} nodes, and it must be less than that", dataset.name(), dataset.nodes());
    let (key, value) = ("curriculum.neighbours".to_string(), config.neighbours.to_string());
    Err(TrainError::InvalidValue { key, value, reason })
}

/// Every edge once, as a table: source and target by their names, and the weight.
pub(crate) fn to_csv(dataset: &Dataset, weights: &Csr<f32>) -> Vec<u8> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut write = |row: [&str; 3]| table.write_record(row).expect("writing to memory does not fail");
    write(["source", "target", "weight"]);
    for node in 0..weights.rows() {
        let (neighbours, values) = weights.row(node);
        let source = dataset.node_name(node);
        for (&other, weight) in neighbours.iter().zip(values).filter(|(other, _)| **other as usize >= node) {
            write([&source, &dataset.node_name(other as usize), &weight.to_string()]);
        }
    }
    table.into_inner().expect("writing to memory does not fail")
}

/// Rows scaled to length 1; zeros stay.
pub(crate) fn unit_rows(matrix: &Matrix<f32>) -> Matrix<f32> {
    let mut scaled = matrix.clone();
    for row in 0..scaled.rows() {
        let row = scaled.row_mut(row);
        let length = row.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        if length > 0.0 {
            row.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
        }
    }
    scaled
}
