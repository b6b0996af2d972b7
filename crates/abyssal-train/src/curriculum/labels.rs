//! Labels of all nodes as distributions.

use abyssal_tensor::Matrix;
use abyssal_tensor::ops::Targets;

use crate::TrainError;

/// A distribution over the classes for every node, n×C. A row sums to 1, or is zero where nothing is known.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftLabels {
    rows: Matrix<f32>,
}

impl SoftLabels {
    /// Label estimation: nodes with a known label keep it, the others have what a teacher says about them. Every row of
    /// `probabilities` (n×C) is divided by its sum, so that scores need not be normalised.
    ///
    /// A row of zeros stays: nothing is known about that node.
    ///
    /// # Errors
    /// If a probability is negative or not finite.
    pub fn estimated(probabilities: &Matrix<f32>, known: &Targets) -> Result<Self, TrainError> {
        let mut rows = probabilities.clone();
        for (&node, &class) in known.rows.iter().zip(&known.classes) {
            let row = rows.row_mut(node as usize);
            row.fill(0.0);
            row[class as usize] = 1.0;
        }
        for node in 0..rows.rows() {
            let row = rows.row(node);
            let wrong = row.iter().find(|value| !(value.is_finite() && **value >= 0.0));
            if let Some(&value) = wrong {
                let reason = format!("it gives node {node} the probability {value}");
                return Err(TrainError::InvalidTeacher { reason });
            }
        }
        let mut labels = Self { rows };
        labels.renormalize();
        Ok(labels)
    }

    /// Node filtering: of the nodes without a known label, the `share` (in [0, 1]) whose distribution has the largest
    /// [normalised entropy](normalized_entropy) are set to zero. How many that are is rounded to the nearest whole number;
    /// of equal ones the later nodes go.
    pub fn filtered(mut self, known: &Targets, share: f64) -> Self {
        let mut is_known = vec![false; self.rows.rows()];
        known.rows.iter().for_each(|&node| is_known[node as usize] = true);
        let mut estimated: Vec<(f64, usize)> = (0..self.rows.rows())
            .filter(|&node| !is_known[node])
            .map(|node| (normalized_entropy(self.rows.row(node)), node))
            .collect();
        estimated.sort_by(|first, second| second.0.total_cmp(&first.0).then(second.1.cmp(&first.1)));
        let count = (share * estimated.len() as f64).round() as usize;
        for &(_, node) in estimated.iter().take(count) {
            self.rows.row_mut(node).fill(0.0);
        }
        self
    }

    /// The distributions, n×C.
    pub fn rows(&self) -> &Matrix<f32> {
        &self.rows
    }

    /// The distributions alone, n×C.
    pub(super) fn into_rows(self) -> Matrix<f32> {
        self.rows
    }

    /// The nodes about which something is known, ascending.
    pub fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.rows.rows()).filter(|&node| self.rows.row(node).iter().any(|&value| value > 0.0))
    }

    /// Rows of any length, which are divided by their sums; zeros stay.
    pub(super) fn from_rows(rows: Matrix<f32>) -> Self {
        let mut labels = Self { rows };
        labels.renormalize();
        labels
    }

    fn renormalize(&mut self) {
        for node in 0..self.rows.rows() {
            let row = self.rows.row_mut(node);
            // In double precision, so that a row of shares sums to 1 as well as single precision can tell.
            let sum: f64 = row.iter().map(|&value| f64::from(value)).sum();
            if sum > 0.0 {
                row.iter_mut().for_each(|value| *value = (f64::from(*value) / sum) as f32);
            }
        }
    }
}

/// `H(p) = -Σ_c p_c·ln p_c / ln C`, from 0 (certain) to 1 (knows nothing); 0 for zeros, and where there is one class.
pub fn normalized_entropy(distribution: &[f32]) -> f64 {
    let classes = distribution.len();
    if classes < 2 {
        return 0.0;
    }
    let terms = distribution.iter().map(|&share| f64::from(share)).filter(|&share| share > 0.0);
    -terms.map(|share| share * share.ln()).sum::<f64>() / (classes as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Targets {
        Targets { rows: vec![1, 4], classes: vec![2, 0] }
    }

    /// Nodes 0 to 4, from sure to unsure.
    fn teacher() -> Matrix<f32> {
        Matrix::from_rows(&[
            [0.9, 0.1, 0.0],
            [1.0, 1.0, 1.0],
            [0.2, 0.4, 0.4],
            [4.0, 1.0, 1.0],
            [0.0, 0.0, 0.0],
        ])
    }

    #[test]
    fn known_labels_stay_and_others_are_the_teachers() {
        let labels = SoftLabels::estimated(&teacher(), &known()).unwrap();
        assert_eq!(labels.rows().row(0), &[0.9, 0.1, 0.0]);
        assert_eq!(labels.rows().row(1), &[0.0, 0.0, 1.0]);
        assert_eq!(labels.rows().row(3), &[4.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0]);
        assert_eq!(labels.rows().row(4), &[1.0, 0.0, 0.0]);
        assert_eq!(labels.nodes().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_teacher_that_says_nonsense_is_refused() {
        for (value, expected) in
            [(f32::NAN, "probability NaN"), (-0.5, "probability -0.5"), (f32::INFINITY, "probability inf")]
        {
            let mut probabilities = teacher();
            probabilities.set(2, 1, value);
            let error = SoftLabels::estimated(&probabilities, &known()).unwrap_err().to_string();
            assert!(error.contains("node 2") && error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_node_about_which_nothing_is_said_is_left_out() {
        let mut probabilities = teacher();
        probabilities.row_mut(3).fill(0.0);
        let labels = SoftLabels::estimated(&probabilities, &known()).unwrap();
        assert_eq!(labels.nodes().collect::<Vec<_>>(), [0, 1, 2, 4]);
    }

    #[test]
    fn entropy_is_from_zero_to_one() {
        assert_eq!(normalized_entropy(&[0.0, 1.0, 0.0]), 0.0);
        assert!((normalized_entropy(&[0.25; 4]) - 1.0).abs() < 1e-12);
        let expected = -(0.9f64 * 0.9f64.ln() + 0.1 * 0.1f64.ln()) / 2f64.ln();
        assert!((normalized_entropy(&[0.9, 0.1]) - expected).abs() < 1e-7);
        assert_eq!((normalized_entropy(&[1.0]), normalized_entropy(&[])), (0.0, 0.0));
    }

    /// Three nodes are estimated; 2 is the least sure, then 3, then 0.
    #[test]
    fn filtering_removes_exactly_the_share_asked_for() {
        for (share, left) in
            [(0.0, vec![0, 1, 2, 3, 4]), (0.34, vec![0, 1, 3, 4]), (0.66, vec![0, 1, 4]), (1.0, vec![1, 4])]
        {
            let labels = SoftLabels::estimated(&teacher(), &known()).unwrap().filtered(&known(), share);
            assert_eq!(labels.nodes().collect::<Vec<_>>(), left, "share {share}");
        }
    }
}
