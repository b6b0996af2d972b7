//! Label propagation (Zhou, Bousquet, Lal, Weston and Schölkopf: *Learning with local and global consistency*, NIPS
//! 2004): known labels spread over the graph. Nothing is trained and no features are read, so it shows what the
//! edges alone are worth.

use abyssal_tensor::ops::Targets;
use abyssal_tensor::{Matrix, Scalar, SparseOperator, solve};

use crate::NnError;
use crate::error::require;

/// The closed form needs a dense n×n matrix; beyond this many nodes it is refused.
const MOST_NODES: usize = 5_000;

/// `F ← α·Â·F + (1-α)·Y`, from `F = Y`, the known labels as unit vectors and zeros elsewhere.
///
/// The limit is `(1-α)·(I - α·Â)^-1·Y`. A node in a component without labels keeps zeros. The paper's matrix is
/// `D^-½ A D^-½`, [`crate::Operator::Neighbours`]; any other operator will do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelPropagation {
    /// `α`, how much a node takes from its neighbours, at least 0 and below 1.
    pub share: f64,
    /// `K`, the most steps taken.
    pub steps: usize,
    /// Steps end early once no value changes by more than this, which is at least 0.
    pub tolerance: f64,
}

impl Default for LabelPropagation {
    fn default() -> Self {
        Self { share: 0.9, steps: 1000, tolerance: 1e-6 }
    }
}

impl LabelPropagation {
    /// Checks every setting against its range.
    ///
    /// # Errors
    /// If one is out of range; the error names it, its value and its range.
    pub fn validate(&self) -> Result<(), NnError> {
        require((0.0..1.0).contains(&self.share), "share", self.share, "at least 0 and below 1")?;
        require(self.tolerance >= 0.0, "tolerance", self.tolerance, "at least 0")
    }

    /// Spreads labels step by step. Shapes: the operator is n×n, the result n×C.
    ///
    /// # Panics
    /// If a label lies outside the graph or the classes.
    pub fn iterate<T: Scalar>(
        &self,
        operator: &SparseOperator<T>,
        labels: &Targets,
        classes: usize,
    ) -> Matrix<T> {
        let share = T::from_f64(self.share);
        let scaled = operator.matrix().map(|value| share * value);
        let mut scores = one_hot(scaled.rows(), labels, classes);
        let mut next = Matrix::zeros(scaled.rows(), classes);
        let given = T::from_f64(1.0 - self.share);
        for _ in 0..self.steps {
            scaled.multiply_into(&scores, &mut next);
            for (&node, &class) in labels.rows.iter().zip(&labels.classes) {
                let value = next.get(node as usize, class as usize);
                next.set(node as usize, class as usize, value + given);
            }
            std::mem::swap(&mut scores, &mut next);
            if scores.max_difference(&next) <= self.tolerance {
                break;
            }
        }
        scores
    }

    /// The limit, `(1-α)·(I - α·Â)^-1·Y`, from a dense system of equations in double precision. Shape n×C.
    ///
    /// # Errors
    /// If there are more than 5,000 nodes, or no limit.
    ///
    /// # Panics
    /// If a label lies outside the graph or the classes.
    pub fn limit<T: Scalar>(
        &self,
        operator: &SparseOperator<T>,
        labels: &Targets,
        classes: usize,
    ) -> Result<Matrix<f64>, NnError> {
        let nodes = operator.matrix().rows();
        if nodes > MOST_NODES {
            return Err(NnError::TooManyNodes { nodes, most: MOST_NODES });
        }
        let mut system = operator.matrix().cast::<f64>().map(|value| -self.share * value).to_dense();
        for node in 0..nodes {
            system.set(node, node, system.get(node, node) + 1.0);
        }
        let mut given = one_hot(nodes, labels, classes);
        given.as_mut_slice().iter_mut().for_each(|value| *value *= 1.0 - self.share);
        solve(&system, &given).map_err(|source| NnError::NoLimit { source })
    }
}

/// `Y`: row i is the unit vector of node i's class, or zero where it is unknown.
fn one_hot<T: Scalar>(nodes: usize, labels: &Targets, classes: usize) -> Matrix<T> {
    let mut matrix = Matrix::zeros(nodes, classes);
    for (&node, &class) in labels.rows.iter().zip(&labels.classes) {
        matrix.set(node as usize, class as usize, T::ONE);
    }
    matrix
}
