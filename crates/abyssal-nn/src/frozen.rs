//! Embeddings through which no gradient flows, computed once.

use std::sync::{Arc, Mutex, PoisonError};

use abyssal_tensor::tape::Variable;
use abyssal_tensor::{Matrix, Scalar};

use crate::{GraphInput, NnError, Pass};

/// The last embedding that was made without gradients, and from what. Weights that get no gradient never change in
/// training, so it is made once a run, not once an epoch.
#[derive(Debug, Default)]
pub(crate) struct Frozen<T>(Mutex<Option<Made<T>>>);

#[derive(Debug)]
struct Made<T> {
    graph: u64,
    weights: Vec<Matrix<T>>,
    embedding: Option<Arc<Matrix<T>>>,
}

impl<T: Scalar> Frozen<T> {
    /// The embedding that `make` gives on a pass that drops nothing and records nothing, with the given weights.
    ///
    /// An [observing](Pass::observing) pass makes it anew, to show every layer.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn embedding<'m>(
        &self,
        pass: &Pass<'_, 'm, T>,
        graph: &GraphInput<T>,
        weights: &[Variable<T>],
        make: impl FnOnce(&Pass<'_, 'm, T>) -> Result<Option<Variable<T>>, NnError>,
    ) -> Result<Option<Variable<T>>, NnError> {
        let constant =
            |embedding: &Option<Arc<Matrix<T>>>| embedding.as_ref().map(|one| pass.tape.constant(one));
        if !pass.is_observing() {
            let made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(made) = made.as_ref().filter(|made| made.is_of(graph, weights)) {
                return Ok(constant(&made.embedding));
            }
        }
        // Not under the lock: the threads that multiply may turn to another pass meanwhile.
        let embedding = make(&pass.stopped(weights))?.map(|embedding| Arc::new(Matrix::clone(&embedding)));
        let found = constant(&embedding);
        let weights = weights.iter().map(|weight| Matrix::clone(weight)).collect();
        let made = Made { graph: graph.identity(), weights, embedding };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        Ok(found)
    }
}

impl<T: Scalar> Made<T> {
    fn is_of(&self, graph: &GraphInput<T>, weights: &[Variable<T>]) -> bool {
        let same = |(made, given): (&Matrix<T>, &Variable<T>)| *made == **given;
        self.graph == graph.identity()
            && self.weights.len() == weights.len()
            && self.weights.iter().zip(weights).all(same)
    }
}
