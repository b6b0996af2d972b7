//! The mean over equal parts of every row.

use std::sync::Arc;

use crate::Scalar;
use crate::parallel::for_each_block;
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<'_, T> {
    /// `Y_i = 1/K · Σ_k X_ik`, where `X_ik` is the k-th of K equal parts of row i. Shapes: X is n×(K·d), Y n×d.
    ///
    /// # Panics
    /// If the columns do not divide into as many heads.
    pub fn average_heads(&self, input: &Variable<T>, heads: usize) -> Variable<T> {
        let (rows, columns) = input.shape();
        assert!(heads > 0 && columns % heads == 0, "{columns} columns do not divide into {heads} heads");
        let width = columns / heads;
        let share = T::from_f64(1.0 / heads as f64);
        let mut output = self.pool().take(rows, width);
        for_each_block(output.as_mut_slice(), width, columns, |first, block| {
            average_rows(&input.as_slice()[first * columns..], heads, width, share, block);
        });
        self.record(Arc::new(output), &[input.slot], || AverageHeads { input: input.slot, heads, share })
    }
}

struct AverageHeads<T> {
    input: Slot,
    heads: usize,
    /// `1/K`.
    share: T,
}

impl<T: Scalar> Backward<T> for AverageHeads<T> {
    /// `X̄_ik = 1/K · Ȳ_i`.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (rows, width) = gradient.shape();
        let columns = self.heads * width;
        let mut input_gradient = gradients.pool().take(rows, columns);
        for_each_block(input_gradient.as_mut_slice(), columns, columns, |first, block| {
            spread_rows(&gradient.as_slice()[first * width..], self.heads, width, self.share, block);
        });
        gradients.add(self.input, input_gradient);
    }
}

vectorized! {
    fn average_rows<'a, T>(rows: &'a [T], heads: usize, width: usize, share: T, means: &'a mut [T]) {
        for (mean, row) in means.chunks_exact_mut(width).zip(rows.chunks_exact(heads * width)) {
            mean.fill(T::ZERO);
            for part in row.chunks_exact(width) {
                for (mean, &value) in mean.iter_mut().zip(part) {
                    *mean += share * value;
                }
            }
        }
    }
}

vectorized! {
    fn spread_rows<'a, T>(means: &'a [T], heads: usize, width: usize, share: T, rows: &'a mut [T]) {
        for (mean, row) in means.chunks_exact(width).zip(rows.chunks_exact_mut(heads * width)) {
            for part in row.chunks_exact_mut(width) {
                for (value, &mean) in part.iter_mut().zip(mean) {
                    *value = share * mean;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::check::check;
    use crate::testing::random_matrix;

    #[test]
    fn gradient() {
        for heads in [1, 2, 3] {
            check("average heads", &[random_matrix(5, 6, 1)], |tape, inputs| {
                tape.average_heads(&inputs[0], heads)
            });
        }
    }
}
