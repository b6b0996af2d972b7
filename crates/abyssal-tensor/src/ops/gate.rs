//! The adaptive sum of DAGNN (Liu et al., 2020): every node decides how much it takes of each term.

use std::sync::Arc;

use crate::Scalar;
use crate::elementwise::add;
use crate::parallel::{for_each_block, partial_count, sum_while_writing};
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Value, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<'_, T> {
    /// `Y = Σ_k diag(σ(X_k·s))·X_k` with the logistic σ. Shapes: s is d×1, each term and Y n×d.
    ///
    /// # Panics
    /// If there are no terms, or the shapes do not fit.
    pub fn gate(&self, projection: &Variable<T>, terms: &[&Variable<T>]) -> Variable<T> {
        let (rows, columns) = terms.first().expect("a sum has at least one term").shape();
        assert!(terms.iter().all(|term| term.shape() == (rows, columns)), "gate: shapes of the terms");
        assert_eq!(projection.shape(), (columns, 1), "gate: shape of the projection");
        let mut output = self.pool().take(rows, columns);
        let work = 4 * terms.len() * columns;
        for_each_block(output.as_mut_slice(), columns, work, |first, block| {
            block.fill(T::ZERO);
            for term in terms {
                let term = &term.as_slice()[first * columns..first * columns + block.len()];
                add_gated(block, projection.as_slice(), term);
            }
        });
        let mut slots: Vec<Slot> = terms.iter().map(|term| term.slot).collect();
        slots.push(projection.slot);
        self.record(Arc::new(output), &slots, || Gate {
            projection: (projection.value.clone(), projection.slot),
            terms: terms.iter().map(|term| (term.value.clone(), term.slot)).collect(),
        })
    }
}

/// `σ(⟨x, s⟩)`; where the exponential overflows, the gate is shut.
#[inline(always)]
fn opening<T: Scalar>(row: &[T], projection: &[T]) -> T {
    T::ONE / (T::ONE + (-inner_product(row, projection)).exp())
}

#[inline(always)]
fn inner_product<T: Scalar>(left: &[T], right: &[T]) -> T {
    left.iter().zip(right).fold(T::ZERO, |sum, (&left, &right)| sum + left * right)
}

vectorized! {
    /// `output += diag(σ(X·s))·X`.
    fn add_gated<'a, T>(output: &'a mut [T], projection: &'a [T], term: &'a [T]) {
        let width = projection.len().max(1);
        for (output, row) in output.chunks_exact_mut(width).zip(term.chunks_exact(width)) {
            let opening = opening(row, projection);
            for (output, &value) in output.iter_mut().zip(row) {
                *output += opening * value;
            }
        }
    }
}

vectorized! {
    /// With `g = σ(⟨x, s⟩)` and `u = ⟨x, ȳ⟩·g·(1 - g)` of every row: `x̄ = g·ȳ + u·s`, `s̄ = Σ u·x`.
    fn backward_rows<'a, T>(
        term_gradient: &'a mut [T],
        projection_gradient: &'a mut [T],
        projection: &'a [T],
        term: &'a [T],
        gradient: &'a [T],
    ) {
        let width = projection.len().max(1);
        projection_gradient.fill(T::ZERO);
        let rows = term.chunks_exact(width).zip(gradient.chunks_exact(width));
        for (target, (row, gradient)) in term_gradient.chunks_exact_mut(width).zip(rows) {
            let opening = opening(row, projection);
            let slope = inner_product(row, gradient) * opening * (T::ONE - opening);
            for ((target, &gradient), &weight) in target.iter_mut().zip(gradient).zip(projection) {
                *target = opening * gradient + slope * weight;
            }
            for (sum, &value) in projection_gradient.iter_mut().zip(row) {
                *sum += slope * value;
            }
        }
    }
}

struct Gate<T: Scalar> {
    projection: (Value<T>, Slot),
    terms: Vec<(Value<T>, Slot)>,
}

impl<T: Scalar> Backward<T> for Gate<T> {
    /// `X̄_k = diag(g_k)·Ȳ + u_k·sᵀ`, `s̄ = Σ_k X_kᵀ·u_k` with `u_k = g_k ∘ (1 - g_k) ∘ (rows of X_k ∘ Ȳ summed)`.
    ///
    /// The gates are computed again: that is less than what reading them back would take.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (projection, projection_slot) = self.projection;
        let (rows, columns) = gradient.shape();
        let pool = gradients.pool().clone();
        let mut sum = pool.take_zeros(columns, 1);
        let mut of_term = pool.take(columns, 1);
        let mut partials = pool.take(partial_count(rows), columns);
        for (term, slot) in &self.terms {
            let mut term_gradient = pool.take(rows, columns);
            sum_while_writing(
                ([term_gradient.as_mut_slice()], columns),
                6 * columns,
                of_term.as_mut_slice(),
                partials.as_mut_slice(),
                |range, [block], partial| {
                    let values = range.start * columns..range.end * columns;
                    let (term, gradient) = (&term.as_slice()[values.clone()], &gradient.as_slice()[values]);
                    backward_rows(block, partial, projection.as_slice(), term, gradient);
                },
            );
            add(&mut sum, &of_term);
            gradients.add(*slot, term_gradient);
        }
        gradients.add(projection_slot, sum);
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
    fn gradients() {
        let inputs = [random_matrix(4, 1, 9), random_matrix(7, 4, 1), random_matrix(7, 4, 2)];
        check("gate", &inputs, |tape, inputs| tape.gate(&inputs[0], &[&inputs[1], &inputs[2]]));
        check("a term used twice", &inputs, |tape, inputs| {
            tape.gate(&inputs[0], &[&inputs[1], &inputs[2], &inputs[1]])
        });
    }

    #[test]
    fn a_gate_is_shut_far_below_zero_and_open_far_above() {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let projection = tape.constant(&Arc::new(Matrix::from_rows(&[[1.0f32]])));
        let term = tape.constant(&Arc::new(Matrix::from_rows(&[[-1e30f32], [1e30]])));
        assert_eq!(tape.gate(&projection, &[&term]).as_slice(), &[0.0, 1e30]);
    }
}
