//! Shares from scores.

use crate::vectorized::vectorized;

vectorized! {
    /// `output = softmax(scores)`, row by row; the largest score is taken out, so that no exponential overflows.
    pub(super) fn softmax<'a, T>(output: &'a mut [T], scores: &'a [T], columns: usize) {
        for (output, scores) in output.chunks_exact_mut(columns).zip(scores.chunks_exact(columns)) {
            let mut largest = scores[0];
            for &score in scores {
                largest = if score > largest { score } else { largest };
            }
            let mut sum = T::ZERO;
            for (output, &score) in output.iter_mut().zip(scores) {
                *output = (score - largest).exp();
                sum += *output;
            }
            for output in output {
                *output /= sum;
            }
        }
    }
}
