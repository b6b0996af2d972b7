//! What can go wrong while a model is set up or run.

use abyssal_tensor::TensorError;

/// An error of this crate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NnError {
    /// A setting outside its range.
    #[error("model.{key} = {value} is out of range: it must be {allowed}")]
    OutOfRange {
        /// The setting.
        key: &'static str,
        /// What it was set to.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// Computation failed in a layer.
    #[error("layer {layer}: {source}")]
    Layer {
        /// The layer, counted from 1.
        layer: usize,
        /// What happened there.
        source: TensorError,
    },
    /// A graph too large for a dense matrix of all its nodes.
    #[error(
        "the limit of label propagation is computed for at most {most} nodes, not {nodes}: iterate instead"
    )]
    TooManyNodes {
        /// Nodes of the graph.
        nodes: usize,
        /// The most nodes there may be.
        most: usize,
    },
    /// Label propagation that does not converge, as a directed graph may cause it.
    #[error("label propagation has no limit on this graph: {source}")]
    NoLimit {
        /// What happened.
        source: TensorError,
    },
}

/// Checks one setting.
pub(crate) fn require(
    holds: bool,
    key: &'static str,
    value: impl ToString,
    allowed: &'static str,
) -> Result<(), NnError> {
    if holds { Ok(()) } else { Err(NnError::OutOfRange { key, value: value.to_string(), allowed }) }
}

/// Checks depth and width, which every model has.
pub(crate) fn require_size(layers: usize, hidden: usize) -> Result<(), NnError> {
    require(layers >= 1, "layers", layers, "at least 1")?;
    require(hidden >= 1, "hidden", hidden, "at least 1")
}

/// Checks a share, such as a dropout rate, that must be in [0, 1).
pub(crate) fn require_rate(key: &'static str, value: f64) -> Result<(), NnError> {
    require((0.0..1.0).contains(&value), key, value, "at least 0 and below 1")
}

/// Checks a coefficient in [0, 1].
pub(crate) fn require_unit(key: &'static str, value: f64) -> Result<(), NnError> {
    require((0.0..=1.0).contains(&value), key, value, "between 0 and 1")
}

/// Checks the weights `(α, β, γ)` of the terms of a layer, which are divided by their sum.
pub(crate) fn require_shares(aggregated: f64, residual: f64, initial: f64) -> Result<(), NnError> {
    // Beyond this bound the sum of the three could overflow.
    let weight = |value: f64| (0.0..=1e9).contains(&value);
    let positive = weight(aggregated) && aggregated > 0.0;
    require(positive, "aggregated", aggregated, "above 0 and at most 1e9")?;
    require(weight(residual), "residual", residual, "between 0 and 1e9")?;
    require(weight(initial), "initial", initial, "between 0 and 1e9")
}
