//! The engine of Abyssal: dense and sparse matrices, spectral functions, and reverse-mode differentiation, on the
//! CPU, with the same bits for any number of threads. It knows nothing of graphs or learning tasks.

pub mod gemm;
pub mod ops;
pub mod optimizer;
pub mod parallel;
pub mod random;
pub mod spectral;
pub mod tape;
#[doc(hidden)]
pub mod testing;

mod aligned;
mod eigen;
mod elementwise;
mod error;
mod exponential;
mod initialization;
mod kernels;
mod matrix;
mod scalar;
mod solve;
mod sparse;
mod vectorized;

pub use error::TensorError;
pub use initialization::Initialization;
pub use matrix::Matrix;
pub use scalar::Scalar;
pub use solve::solve;
pub use sparse::{Csr, SparseOperator};
