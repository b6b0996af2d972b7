//! The sum of graph isomorphism networks: a node, weighted by a learnt number, and its neighbourhood.

use std::sync::Arc;

use crate::Scalar;
use crate::elementwise::scale;
use crate::parallel::{for_each_block, partial_count, sum_over_rows};
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Value, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<'_, T> {
    /// `Z = (1 + ε)·X + Y`. Shapes: X, Y and Z are n×d, ε is 1×1.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn scaled_sum(
        &self,
        epsilon: &Variable<T>,
        scaled: &Variable<T>,
        added: &Variable<T>,
    ) -> Variable<T> {
        assert_eq!(epsilon.shape(), (1, 1), "scaled sum: shape of ε");
        assert_eq!(scaled.shape(), added.shape(), "scaled sum: shapes");
        let columns = scaled.columns();
        let factor = T::ONE + epsilon.get(0, 0);
        let mut output = self.pool().take(scaled.rows(), columns);
        for_each_block(output.as_mut_slice(), columns, 2 * columns, |first, block| {
            let range = first * columns..first * columns + block.len();
            sum_values(factor, &scaled.as_slice()[range.clone()], &added.as_slice()[range], block);
        });
        self.record(Arc::new(output), &[epsilon.slot, scaled.slot, added.slot], || ScaledSum {
            epsilon: epsilon.slot,
            factor,
            scaled: (scaled.value.clone(), scaled.slot),
            added: added.slot,
        })
    }
}

struct ScaledSum<T: Scalar> {
    epsilon: Slot,
    /// `1 + ε`.
    factor: T,
    scaled: (Value<T>, Slot),
    added: Slot,
}

impl<T: Scalar> Backward<T> for ScaledSum<T> {
    /// `ε̄ = ⟨Z̄, X⟩`, `X̄ = (1 + ε)·Z̄`, `Ȳ = Z̄`.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (rows, columns) = gradient.shape();
        let pool = gradients.pool().clone();
        let (scaled, scaled_slot) = &self.scaled;
        if self.epsilon.is_some() {
            let mut sum = pool.take(1, 1);
            let mut partials = pool.take(partial_count(rows), 1);
            let (total, scratch) = (sum.as_mut_slice(), partials.as_mut_slice());
            sum_over_rows(rows, columns, total, scratch, |range, partial| {
                let range = range.start * columns..range.end * columns;
                sum_products(&gradient.as_slice()[range.clone()], &scaled.as_slice()[range], partial);
            });
            gradients.add(self.epsilon, sum);
        }
        if self.added.is_some() {
            let mut added = pool.take(rows, columns);
            added.as_mut_slice().copy_from_slice(gradient.as_slice());
            gradients.add(self.added, added);
        }
        if scaled_slot.is_some() {
            scale(&mut gradient, self.factor);
            gradients.add(*scaled_slot, gradient);
        }
    }
}

vectorized! {
    fn sum_values<'a, T>(factor: T, scaled: &'a [T], added: &'a [T], output: &'a mut [T]) {
        for ((output, &scaled), &added) in output.iter_mut().zip(scaled).zip(added) {
            *output = factor * scaled + added;
        }
    }
}

vectorized! {
    /// `⟨left, right⟩`, with a fixed number of sums side by side.
    fn sum_products<'a, T>(left: &'a [T], right: &'a [T], total: &'a mut [T]) {
        let mut sums = [T::ZERO; 16];
        for (left, right) in left.chunks(sums.len()).zip(right.chunks(sums.len())) {
            for ((sum, &left), &right) in sums.iter_mut().zip(left).zip(right) {
                *sum += left * right;
            }
        }
        total[0] = T::ZERO;
        for sum in sums {
            total[0] += sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::check::check;
    use crate::testing::random_matrix;

    #[test]
    fn gradients() {
        let inputs = [random_matrix(1, 1, 1), random_matrix(7, 5, 2), random_matrix(7, 5, 3)];
        check("scaled sum", &inputs, |tape, inputs| tape.scaled_sum(&inputs[0], &inputs[1], &inputs[2]));
        check("scaled sum with itself", &inputs[..2], |tape, inputs| {
            tape.scaled_sum(&inputs[0], &inputs[1], &inputs[1])
        });
    }
}
