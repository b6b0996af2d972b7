//! Weighted sums of embeddings with coefficients that are learnt.

use std::sync::Arc;

use super::weighted_sum::spread;
use crate::Scalar;
use crate::parallel::{block_rows, partial_count, sum_over_rows};
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Value, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<'_, T> {
    /// `Y = Σ_k γ_k·X_k` with learnable γ. Shapes: γ is 1×K, each of the K terms and Y n×d.
    ///
    /// # Panics
    /// If there are no terms, their shapes differ, or there are not as many coefficients.
    pub fn mix(&self, coefficients: &Variable<T>, terms: &[&Variable<T>]) -> Variable<T> {
        let output = self.sum_of(coefficients.as_slice(), terms);
        let mut slots: Vec<Slot> = terms.iter().map(|term| term.slot).collect();
        slots.push(coefficients.slot);
        self.record(Arc::new(output), &slots, || Mix {
            coefficients: (coefficients.value.clone(), coefficients.slot),
            terms: terms.iter().map(|term| term.value.clone()).collect(),
            slots: terms.iter().map(|term| term.slot).collect(),
        })
    }
}

struct Mix<T: Scalar> {
    coefficients: (Value<T>, Slot),
    terms: Vec<Value<T>>,
    slots: Vec<Slot>,
}

impl<T: Scalar> Backward<T> for Mix<T> {
    /// `γ̄_k = ⟨X_k, Ȳ⟩`, `X̄_k = γ_k·Ȳ`.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (coefficients, slot) = self.coefficients;
        if slot.is_some() {
            let (rows, columns) = gradient.shape();
            let count = self.terms.len();
            let mut products = gradients.pool().take(1, count);
            let mut partials = gradients.pool().take(partial_count(rows), count);
            let work = 2 * count * columns;
            let (total, scratch) = (products.as_mut_slice(), partials.as_mut_slice());
            sum_over_rows(rows, work, total, scratch, |range, partial| {
                partial.fill(T::ZERO);
                // A few rows at a time, so that those of the gradient stay in the cache for all terms.
                let step = block_rows(range.len(), columns);
                for first in range.clone().step_by(step) {
                    let last = (first + step).min(range.end);
                    let values = first * columns..last * columns;
                    for (term, product) in self.terms.iter().zip(&mut *partial) {
                        add_inner_product(
                            product,
                            &term.as_slice()[values.clone()],
                            &gradient.as_slice()[values.clone()],
                        );
                    }
                }
            });
            gradients.add(slot, products);
        }
        spread(gradient, coefficients.as_slice(), &self.slots, gradients);
    }
}

vectorized! {
    /// `total += ⟨left, right⟩`, in lanes of a fixed number, so that the order of additions is fixed too.
    fn add_inner_product<'a, T>(total: &'a mut T, left: &'a [T], right: &'a [T]) {
        const LANES: usize = 32;
        let mut sums = [T::ZERO; LANES];
        let (left, right) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
        let rest = left.remainder().iter().zip(right.remainder());
        for (left, right) in left.zip(right) {
            for ((sum, &left), &right) in sums.iter_mut().zip(left).zip(right) {
                *sum += left * right;
            }
        }
        for (sum, (&left, &right)) in sums.iter_mut().zip(rest) {
            *sum += left * right;
        }
        for sum in sums {
            *total += sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::ops::check::check;
    use crate::testing::random_matrix;

    #[test]
    fn gradients() {
        let coefficients = random_matrix(1, 3, 9);
        let inputs = [coefficients.clone(), random_matrix(9, 5, 1), random_matrix(9, 5, 2)];
        check("a term used twice", &inputs, |tape, inputs| {
            tape.mix(&inputs[0], &[&inputs[1], &inputs[2], &inputs[1]])
        });
        check("constant coefficients", &inputs[1..], |tape, inputs| {
            let coefficients = tape.constant(&Arc::new(coefficients.clone()));
            tape.mix(&coefficients, &[&inputs[0], &inputs[1], &inputs[0]])
        });
        check("constant terms", &inputs[..1], |tape, inputs| {
            let terms = [1, 2, 3].map(|seed| tape.constant(&Arc::new(random_matrix(500, 3, seed))));
            tape.mix(&inputs[0], &terms.each_ref())
        });
    }
}
