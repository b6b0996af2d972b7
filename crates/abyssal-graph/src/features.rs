//! What is known about each node.

use abyssal_tensor::{Csr, Matrix};

use crate::{Fingerprint, GraphError};

/// Node features, one row a node. Sparse ones (bags of words) stay sparse through the first layer of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Every value is stored.
    Dense(Matrix<f32>),
    /// Only non-zero values are stored.
    Sparse(Csr<f32>),
}

impl Features {
    /// Number of rows: nodes.
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense(matrix) => matrix.rows(),
            Self::Sparse(matrix) => matrix.rows(),
        }
    }

    /// Number of columns: features of a node.
    pub fn columns(&self) -> usize {
        match self {
            Self::Dense(matrix) => matrix.columns(),
            Self::Sparse(matrix) => matrix.columns(),
        }
    }

    /// How many bytes of memory they take.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Dense(matrix) => size_of_val(matrix.as_slice()),
            Self::Sparse(matrix) => {
                size_of_val(matrix.offsets()) + size_of_val(matrix.indices()) + size_of_val(matrix.values())
            }
        }
    }

    /// All values, n×F.
    pub fn to_dense(&self) -> Matrix<f32> {
        match self {
            Self::Dense(matrix) => matrix.clone(),
            Self::Sparse(matrix) => matrix.to_dense(),
        }
    }

    /// Checks that no value is infinite or NaN.
    ///
    /// # Errors
    /// With the first such value, row by row.
    pub fn check_finite(&self) -> Result<(), GraphError> {
        for row in 0..self.rows() {
            if let Some((column, value)) = self.entries(row).find(|(_, value)| !value.is_finite()) {
                return Err(GraphError::FeatureNotFinite { row, column: column as usize, value });
            }
        }
        Ok(())
    }

    /// The largest absolute value; 0 if there is none.
    pub fn largest(&self) -> f32 {
        let values = match self {
            Self::Dense(matrix) => matrix.as_slice(),
            Self::Sparse(matrix) => matrix.values(),
        };
        values.iter().fold(0.0, |largest, value| value.abs().max(largest))
    }

    /// The same features with every row divided by the sum of its absolute values, so that a long text weighs as
    /// much as a short one. Rows of zeros stay as they are.
    pub fn row_normalized(&self) -> Self {
        let norm = |row: &[f32]| row.iter().map(|value| f64::from(value.abs())).sum::<f64>();
        let scaled = |value: f32, norm: f64| (f64::from(value) / norm) as f32;
        match self {
            Self::Dense(matrix) => {
                let mut matrix = matrix.clone();
                for row in 0..matrix.rows() {
                    let values = matrix.row_mut(row);
                    let norm = norm(values);
                    if norm > 0.0 {
                        values.iter_mut().for_each(|value| *value = scaled(*value, norm));
                    }
                }
                Self::Dense(matrix)
            }
            Self::Sparse(matrix) => {
                let mut values = Vec::with_capacity(matrix.stored());
                for row in 0..matrix.rows() {
                    let (_, row) = matrix.row(row);
                    let norm = norm(row);
                    values.extend(
                        row.iter().map(|&value| if norm > 0.0 { scaled(value, norm) } else { value }),
                    );
                }
                let (offsets, indices) = (matrix.offsets().to_vec(), matrix.indices().to_vec());
                let normalized = Csr::new(matrix.rows(), matrix.columns(), offsets, indices, values);
                Self::Sparse(normalized.expect("the pattern comes from a valid matrix"))
            }
        }
    }

    /// The same features with every non-zero value replaced by 1.
    pub fn binarized(&self) -> Self {
        self.mapped(|value| if value == 0.0 { 0.0 } else { 1.0 })
    }

    /// The same features with mean 0 and variance 1 in every column, `(x - μ)/σ` with the population's σ; columns
    /// of one value become 0. The result is dense, since zeros do not stay zeros.
    pub fn standardized(&self) -> Self {
        let (rows, columns) = (self.rows(), self.columns());
        let [mut sums, mut squares] = [vec![0f64; columns], vec![0f64; columns]];
        for row in 0..rows {
            for (column, value) in self.entries(row) {
                sums[column as usize] += f64::from(value);
            }
        }
        let means: Vec<f64> = sums.iter().map(|sum| sum / rows.max(1) as f64).collect();
        let mut matrix = match self {
            Self::Dense(matrix) => matrix.clone(),
            Self::Sparse(matrix) => matrix.to_dense(),
        };
        for row in 0..rows {
            for ((square, value), mean) in squares.iter_mut().zip(matrix.row(row)).zip(&means) {
                *square += (f64::from(*value) - mean).powi(2);
            }
        }
        for row in 0..rows {
            for ((value, mean), square) in matrix.row_mut(row).iter_mut().zip(&means).zip(&squares) {
                let deviation = (square / rows as f64).sqrt();
                // What is left of a constant column is rounding.
                let constant = deviation <= mean.abs() * f64::from(f32::EPSILON);
                *value = if constant { 0.0 } else { ((f64::from(*value) - mean) / deviation) as f32 };
            }
        }
        Self::Dense(matrix)
    }

    /// The features of some nodes, in the order given.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn select_rows(&self, rows: &[u32]) -> Self {
        match self {
            Self::Dense(matrix) => Self::Dense(matrix.select_rows(rows)),
            Self::Sparse(matrix) => {
                let mut offsets = vec![0];
                let (mut indices, mut values) = (Vec::new(), Vec::new());
                for &row in rows {
                    let (columns, entries) = matrix.row(row as usize);
                    indices.extend_from_slice(columns);
                    values.extend_from_slice(entries);
                    offsets.push(indices.len());
                }
                let chosen = Csr::new(rows.len(), matrix.columns(), offsets, indices, values);
                Self::Sparse(chosen.expect("rows of a valid matrix are valid"))
            }
        }
    }

    /// The same features with every stored value changed.
    fn mapped(&self, change: impl Fn(f32) -> f32) -> Self {
        match self {
            Self::Dense(matrix) => {
                let mut matrix = matrix.clone();
                matrix.as_mut_slice().iter_mut().for_each(|value| *value = change(*value));
                Self::Dense(matrix)
            }
            Self::Sparse(matrix) => Self::Sparse(matrix.map(change)),
        }
    }

    /// Number of values that are not zero.
    pub fn nonzeros(&self) -> usize {
        let values = match self {
            Self::Dense(matrix) => matrix.as_slice(),
            Self::Sparse(matrix) => matrix.values(),
        };
        values.iter().filter(|&&value| value != 0.0).count()
    }

    /// Shape and non-zero values. Zeros are left out, so features have one fingerprint however they are stored.
    pub(crate) fn fingerprint_into(&self, fingerprint: &mut Fingerprint) {
        fingerprint.number(self.rows()).number(self.columns());
        let mut words = Vec::new();
        for row in 0..self.rows() {
            words.clear();
            for (column, value) in self.entries(row).filter(|&(_, value)| value != 0.0) {
                words.extend([column, value.to_bits()]);
            }
            fingerprint.numbers(&words);
        }
    }

    /// Columns and values stored for one row.
    fn entries(&self, row: usize) -> Box<dyn Iterator<Item = (u32, f32)> + '_> {
        match self {
            Self::Dense(matrix) => Box::new((0..).zip(matrix.row(row).iter().copied())),
            Self::Sparse(matrix) => {
                let (columns, values) = matrix.row(row);
                Box::new(columns.iter().copied().zip(values.iter().copied()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(rows: &[[f32; 3]]) -> [Features; 2] {
        let matrix = Matrix::from_rows(rows);
        [Features::Sparse(Csr::from_dense(&matrix)), Features::Dense(matrix)]
    }

    fn dense(features: Features) -> Matrix<f32> {
        match features {
            Features::Dense(matrix) => matrix,
            Features::Sparse(matrix) => matrix.to_dense(),
        }
    }

    #[test]
    fn the_first_number_that_is_none_is_named() {
        for (bad, shown) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
            for features in both(&[[1.0, 0.0, 2.0], [0.0, 3.0, bad], [bad, 0.0, 0.0]]) {
                let error = features.check_finite().unwrap_err().to_string();
                assert!(error.starts_with(&format!("the feature in row 1, column 2 is {shown};")), "{error}");
            }
        }
    }

    #[test]
    fn rows_sum_to_one_in_absolute_value_and_zero_rows_stay() {
        for features in both(&[[1.0, 0.0, 3.0], [0.0, 0.0, 0.0], [-1.0, 1.0, 0.0]]) {
            assert_eq!((features.rows(), features.columns()), (3, 3));
            let expected = Matrix::from_rows(&[[0.25, 0.0, 0.75], [0.0, 0.0, 0.0], [-0.5, 0.5, 0.0]]);
            assert_eq!(dense(features.row_normalized()), expected);
        }
    }

    #[test]
    fn the_largest_value_counts_without_its_sign() {
        for features in both(&[[3.0, 0.0, -5.5], [0.0, 0.0, 1.0]]) {
            assert_eq!(features.largest(), 5.5);
        }
        assert_eq!(Features::Dense(Matrix::zeros(0, 3)).largest(), 0.0);
    }

    #[test]
    fn non_zero_values_become_one() {
        for features in both(&[[3.0, 0.0, -0.5], [0.0, 0.0, 1.0]]) {
            let expected = Matrix::from_rows(&[[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]);
            assert_eq!(features.nonzeros(), 3);
            assert_eq!(dense(features.binarized()), expected);
        }
    }

    #[test]
    fn columns_get_mean_zero_and_variance_one() {
        for features in both(&[[1.0, 0.0, 0.1], [3.0, 0.0, 0.1], [5.0, 6.0, 0.1]]) {
            let standardized = dense(features.standardized());
            for column in 0..2 {
                let values: Vec<f64> = (0..3).map(|row| f64::from(standardized.get(row, column))).collect();
                assert!(values.iter().sum::<f64>().abs() < 1e-6, "{values:?}");
                assert!((values.iter().map(|value| value * value).sum::<f64>() - 3.0).abs() < 1e-5);
            }
            assert!((0..3).all(|row| standardized.get(row, 2) == 0.0), "a constant column says nothing");
        }
    }

    #[test]
    fn rows_are_chosen_in_the_order_given() {
        for features in both(&[[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]]) {
            let expected = Matrix::from_rows(&[[0.0, 3.0, 0.0], [1.0, 0.0, 2.0]]);
            assert_eq!(dense(features.select_rows(&[2, 0])), expected);
            assert_eq!(features.select_rows(&[]).rows(), 0);
        }
    }

    #[test]
    fn huge_rows_do_not_overflow() {
        for features in both(&[[f32::MAX, f32::MAX, 0.0]]) {
            assert_eq!(dense(features.row_normalized()).row(0), &[0.5, 0.5, 0.0]);
        }
    }
}
