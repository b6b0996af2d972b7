//! Graph neural networks for Abyssal: aggregations, soft an-isotropic normalisation, and models.
//!
//! A model is a file in [`models`] and a line in its registry. It describes its parameters and its forward pass;
//! the weights themselves live in [`Parameters`], so that training, saving and loading are the same for all.

pub mod aggregation;
pub mod diagnostics;
pub mod models;

mod connection;
mod dropping;
mod error;
mod frozen;
mod input;
mod label_propagation;
mod normalization;
mod parameters;
mod pass;
mod perceptron;
mod soft_layer;

pub use connection::{Connection, ConnectionKind, Kept};
pub use dropping::Dropping;
pub use error::NnError;
pub use input::{Embedding, GraphInput, InputFeatures, Operator};
pub use label_propagation::LabelPropagation;
pub use normalization::{Normalization, NormalizationKind};
pub use parameters::{ParameterGroup, ParameterSpec, Parameters};
pub use pass::{Mode, Pass, Place};
pub use soft_layer::{Connections, Rank, RankRounding, SoftLayer};
