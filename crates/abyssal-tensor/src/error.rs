//! What can go wrong in the engine through data, not through a programming mistake.

/// An error of the engine. Shapes that do not fit are programming mistakes and panic instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TensorError {
    /// A compressed-sparse-row matrix whose parts do not fit together.
    #[error("invalid sparse matrix: {0}")]
    InvalidSparse(String),
    /// An operation met infinity or NaN where it needs finite numbers.
    #[error("{operation} met infinity or NaN")]
    NotFinite {
        /// The operation that noticed.
        operation: &'static str,
    },
    /// The eigensolver gave up.
    #[error("the eigensolver did not converge on a {dimension}×{dimension} matrix")]
    NoConvergence {
        /// Rows of the matrix.
        dimension: usize,
    },
    /// A system of linear equations has no solution, or many.
    #[error("a system of {dimension} linear equations has no unique solution")]
    Singular {
        /// Rows of the matrix.
        dimension: usize,
    },
}
