//! Rows of length 1.

use std::sync::Arc;

use super::row_sums::dot;
use crate::Scalar;
use crate::parallel::for_each_block;
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::vectorized::vectorized;

/// Shorter rows are divided by this instead of their length, as in `torch.nn.functional.normalize`.
const SHORTEST: f64 = 1e-12;

impl<T: Scalar> Tape<'_, T> {
    /// `Y_i = X_i / max(‖X_i‖, 10⁻¹²)`. Shapes: X and Y are n×d. A row of zeros stays one.
    pub fn row_normalize(&self, input: &Variable<T>) -> Variable<T> {
        let (rows, columns) = input.shape();
        let mut scales = self.pool().take(rows, 1);
        for_each_block(scales.as_mut_slice(), 1, columns, |first, block| {
            scale_of_rows(&input.as_slice()[first * columns..], columns, T::from_f64(SHORTEST), block);
        });
        let mut output = self.pool().take(rows, columns);
        for_each_block(output.as_mut_slice(), columns, 2 * columns, |first, block| {
            let rows = &input.as_slice()[first * columns..];
            scale_rows(rows, &scales.as_slice()[first..], columns, block);
        });
        let output = Arc::new(output);
        self.record(Arc::clone(&output), &[input.slot], || RowNormalize { input: input.slot, output, scales })
    }
}

struct RowNormalize<T: Scalar> {
    input: Slot,
    output: Arc<Buffer<T>>,
    /// `1 / max(‖X_i‖, 10⁻¹²)`, n×1.
    scales: Buffer<T>,
}

impl<T: Scalar> Backward<T> for RowNormalize<T> {
    /// `X̄_i = (Ȳ_i - ⟨Y_i, Ȳ_i⟩·Y_i) / ‖X_i‖`, and `Ȳ_i / 10⁻¹²` for rows shorter than that.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let columns = gradient.columns();
        for_each_block(gradient.as_mut_slice(), columns, 3 * columns, |first, block| {
            let output = &self.output.as_slice()[first * columns..];
            let scales = &self.scales.as_slice()[first..];
            rows_backward(output, scales, T::ONE / T::from_f64(SHORTEST), columns, block);
        });
        gradients.add(self.input, gradient);
    }
}

vectorized! {
    fn scale_of_rows<'a, T>(rows: &'a [T], columns: usize, shortest: T, scales: &'a mut [T]) {
        for (scale, row) in scales.iter_mut().zip(rows.chunks_exact(columns.max(1))) {
            let length = Scalar::sqrt(dot(row, row));
            // Not `max`: a NaN must stay one, so that it is noticed.
            *scale = T::ONE / if length < shortest { shortest } else { length };
        }
    }
}

vectorized! {
    fn scale_rows<'a, T>(rows: &'a [T], scales: &'a [T], columns: usize, output: &'a mut [T]) {
        let columns = columns.max(1);
        let rows = rows.chunks_exact(columns).zip(scales);
        for (output, (row, &scale)) in output.chunks_exact_mut(columns).zip(rows) {
            for (output, &value) in output.iter_mut().zip(row) {
                *output = scale * value;
            }
        }
    }
}

vectorized! {
    fn rows_backward<'a, T>(
        output: &'a [T],
        scales: &'a [T],
        largest_scale: T,
        columns: usize,
        gradient: &'a mut [T],
    ) {
        let columns = columns.max(1);
        let rows = output.chunks_exact(columns).zip(scales);
        for (gradient, (row, &scale)) in gradient.chunks_exact_mut(columns).zip(rows) {
            let along = if scale < largest_scale { dot(row, gradient) } else { T::ZERO };
            for (gradient, &value) in gradient.iter_mut().zip(row) {
                *gradient = scale * (*gradient - along * value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::ops::check::check;
    use crate::tape::Pool;
    use crate::testing::random_matrix;

    #[test]
    fn gradient() {
        for columns in [2, 5, 19] {
            check("row normalize", &[random_matrix(6, columns, 1)], |tape, inputs| {
                tape.row_normalize(&inputs[0])
            });
        }
    }

    #[test]
    fn rows_have_length_one_or_are_zero() {
        let tape = Tape::inference(&Pool::new());
        let rows = Matrix::from_rows(&[[3.0, 4.0], [0.0, 0.0], [-1e-20, 0.0], [f64::NAN, 1.0]]);
        let output = tape.row_normalize(&tape.constant(&Arc::new(rows)));
        assert!((output.get(0, 0) - 0.6).abs() + (output.get(0, 1) - 0.8).abs() < 1e-15);
        assert_eq!(output.row(1), &[0.0, 0.0]);
        assert!((output.get(2, 0) + 1e-8).abs() < 1e-20);
        assert!(output.row(3).iter().all(|value| value.is_nan()));
    }
}
