//! Random zeroing of whole rows.

use std::sync::Arc;

use super::Dropout;
use crate::Scalar;
use crate::parallel::for_each_block;
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<'_, T> {
    /// `y_i = 0` with the probability of the dropout, else `x_i / (1 - rate)`. Shapes n×d.
    ///
    /// Whether a row is dropped depends on the stream and its index alone.
    pub fn drop_rows(&self, input: &Variable<T>, dropout: Dropout) -> Variable<T> {
        let (rows, columns) = input.shape();
        let mut factors = self.pool().take(rows, 1);
        for_each_block(factors.as_mut_slice(), 1, 16, |first, block| {
            block.fill(T::ONE);
            dropout.apply(first, block);
        });
        let mut output = self.pool().take(rows, columns);
        for_each_block(output.as_mut_slice(), columns, 2 * columns, |first, block| {
            block.copy_from_slice(&input.as_slice()[first * columns..first * columns + block.len()]);
            multiply_rows(block, &factors.as_slice()[first..], columns);
        });
        self.record(Arc::new(output), &[input.slot], || DropRows { factors, input: input.slot })
    }
}

vectorized! {
    fn multiply_rows<'a, T>(rows: &'a mut [T], factors: &'a [T], columns: usize) {
        for (row, &factor) in rows.chunks_exact_mut(columns.max(1)).zip(factors) {
            for value in row {
                *value *= factor;
            }
        }
    }
}

struct DropRows<T: Scalar> {
    factors: Buffer<T>,
    input: Slot,
}

impl<T: Scalar> Backward<T> for DropRows<T> {
    /// The same rows are dropped and scaled on the way back.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let columns = gradient.columns();
        for_each_block(gradient.as_mut_slice(), columns, columns, |first, block| {
            multiply_rows(block, &self.factors.as_slice()[first..], columns);
        });
        gradients.add(self.input, gradient);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::ops::check::check;
    use crate::random::{Purpose, Stream};
    use crate::tape::Pool;
    use crate::testing::random_matrix;

    fn dropout(rate: f64) -> Dropout {
        Dropout::new(rate, Stream::new(5, Purpose::Dropout, 0, 0)).expect("a rate above 0")
    }

    #[test]
    fn gradient() {
        check("drop_rows", &[random_matrix(9, 3, 1)], |tape, inputs| {
            tape.drop_rows(&inputs[0], dropout(0.4))
        });
    }

    #[test]
    fn whole_rows_are_dropped_and_the_others_scaled() {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let input = tape.constant(&Arc::new(Matrix::from_fn(10_000, 3, |_, _| 1.0f32)));
        let output = tape.drop_rows(&input, dropout(0.75));
        let dropped = (0..10_000).filter(|&row| output.row(row) == [0.0; 3]).count();
        let kept = (0..10_000).filter(|&row| output.row(row) == [4.0; 3]).count();
        assert_eq!(dropped + kept, 10_000);
        assert!((7_300..7_700).contains(&dropped), "{dropped} rows of 10,000");
    }
}
