//! Who teaches a curriculum, and what it says about every node.

mod choice;
mod file;
mod panel;
mod record;

pub use file::read_predictions;
pub(crate) use panel::{Hearing, Teaching, hear_propagation};
pub use record::{CandidateRecord, LeftOutRecord, TeacherRecord};

use abyssal_tensor::Matrix;

/// The softmax of every row of scores, n×C.
pub(crate) fn probabilities_of(scores: &Matrix<f32>) -> Matrix<f32> {
    let mut rows = scores.clone();
    for row in 0..rows.rows() {
        let row = rows.row_mut(row);
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let exponential = |score: f32| f64::from(score - most).exp();
        let sum: f64 = row.iter().map(|&score| exponential(score)).sum();
        row.iter_mut().for_each(|score| *score = (exponential(*score) / sum) as f32);
    }
    rows
}
