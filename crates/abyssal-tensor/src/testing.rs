//! Random matrices and numerical derivatives, for tests of this crate and of those that build on it.

use crate::Matrix;
use crate::random::{Purpose, Stream};

/// A matrix of standard normal numbers.
pub fn random_matrix(rows: usize, columns: usize, seed: u64) -> Matrix<f64> {
    let stream = Stream::new(seed, Purpose::Generation, u32::MAX, u32::MAX);
    Matrix::from_fn(rows, columns, |row, column| stream.normal((row * columns + column) as u64))
}

/// Compares a gradient with central differences of `function`, entry by entry, in double precision.
///
/// # Panics
/// If an entry differs by more than `1e-6 + 1e-5 · |numerical|`, naming `what` and the entry.
pub fn assert_gradient(
    what: &str,
    point: &Matrix<f64>,
    gradient: &Matrix<f64>,
    mut function: impl FnMut(&Matrix<f64>) -> f64,
) {
    const STEP: f64 = 1e-5;
    assert_eq!(point.shape(), gradient.shape(), "{what}: shape of the gradient");
    let mut probe = point.clone();
    for index in 0..point.as_slice().len() {
        let value = point.as_slice()[index];
        probe.as_mut_slice()[index] = value + STEP;
        let above = function(&probe);
        probe.as_mut_slice()[index] = value - STEP;
        let below = function(&probe);
        probe.as_mut_slice()[index] = value;
        let numerical = (above - below) / (2.0 * STEP);
        let analytical = gradient.as_slice()[index];
        assert!(
            (numerical - analytical).abs() <= 1e-6 + 1e-5 * numerical.abs(),
            "{what}: entry {index} is {analytical} where differences give {numerical}"
        );
    }
}
