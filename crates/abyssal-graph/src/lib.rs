//! The data of Abyssal: graphs and their normalised operators, node features, splits, datasets, and generators of
//! synthetic ones. What arrives here is checked once; what leaves is safe to compute with.

pub mod catalogue;
pub mod fetch;
pub mod formats;
pub mod synthetic;

mod communities;
mod config;
mod dataset;
mod error;
mod features;
mod fingerprint;
mod graph;
mod library;
mod neighbours;
mod operators;
mod order;
mod preparation;
mod registry;
mod split;
mod statistics;
mod storage;
#[cfg(test)]
mod testing;

pub use config::DatasetConfig;
pub use dataset::Dataset;
pub use error::GraphError;
pub use features::Features;
pub use fingerprint::Fingerprint;
pub use graph::{Components, Graph};
pub use library::{Library, check_contents};
pub use neighbours::{Distance, Neighbours, nearest_neighbours, neighbour_graph, similarity_weights};
pub use operators::{Normalization, adjacency, normalized_adjacency, two_hop_entries, two_hop_graph};
pub use order::NodeOrder;
pub use preparation::{GraphRule, PaperSplit, Preparation};
pub use registry::GeneratorConfig;
pub use split::{Rehearsal, Split, SplitRule, Subset};
pub use statistics::{ComponentSize, DegreeSummary, SplitSize, Statistics};
pub use storage::{write_atomically, write_atomically_with};
