//! The data of Abyssal: graphs and their normalised operators, node features, splits, datasets, and generators of
//! synthetic ones. What arrives here is checked once; what leaves is safe to compute with.

pub mod catalogue;
pub mod fetch;
pub mod formats;
pub mod synthetic;

mod dataset;
mod error;
mod features;
mod fingerprint;
mod graph;
mod neighbours;
mod operators;
mod registry;
mod split;
mod storage;
#[cfg(test)]
mod testing;

pub use dataset::Dataset;
pub use error::GraphError;
pub use features::Features;
pub use fingerprint::Fingerprint;
pub use graph::{Components, Graph};
pub use neighbours::{Distance, Neighbours, nearest_neighbours, neighbour_graph, similarity_weights};
pub use operators::normalized_adjacency;
pub use registry::DatasetConfig;
pub use split::{Split, SplitRule, Subset};
pub use storage::write_atomically;
