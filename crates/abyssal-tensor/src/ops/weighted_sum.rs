//! Weighted sums of embeddings with constant coefficients.

use std::sync::Arc;

use crate::Scalar;
use crate::elementwise::scale;
use crate::parallel::for_each_block;
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<'_, T> {
    /// `Y = Σ_k c_k·X_k` with constant coefficients. All shapes n×d.
    ///
    /// # Panics
    /// If there are no terms, or their shapes differ.
    pub fn weighted_sum(&self, terms: &[(f64, &Variable<T>)]) -> Variable<T> {
        let (coefficients, terms): (Vec<T>, Vec<&Variable<T>>) =
            terms.iter().map(|&(coefficient, term)| (T::from_f64(coefficient), term)).unzip();
        let output = self.sum_of(&coefficients, &terms);
        let slots: Vec<Slot> = terms.iter().map(|term| term.slot).collect();
        self.record(Arc::new(output), &slots.clone(), || WeightedSum { coefficients, slots })
    }

    /// `Σ_k c_k·X_k`: a block of the sum stays in the cache while the terms are added to it.
    pub(super) fn sum_of(&self, coefficients: &[T], terms: &[&Variable<T>]) -> Buffer<T> {
        let (rows, columns) = terms.first().expect("a sum has at least one term").shape();
        assert!(terms.iter().all(|term| term.shape() == (rows, columns)), "sum: shapes of the terms");
        assert_eq!(coefficients.len(), terms.len(), "sum: one coefficient a term");
        let mut output = self.pool().take(rows, columns);
        let work = 2 * terms.len() * columns;
        for_each_block(output.as_mut_slice(), columns, work, |first, block| {
            let range = first * columns..first * columns + block.len();
            for (index, (&coefficient, term)) in coefficients.iter().zip(terms).enumerate() {
                let term = &term.as_slice()[range.clone()];
                if index == 0 {
                    scaled_copy(block, coefficient, term);
                } else {
                    add_scaled(block, coefficient, term);
                }
            }
        });
        output
    }
}

/// `X̄_k += c_k·Ȳ` for every term of a sum; the memory of `Ȳ` becomes the gradient of the last one.
pub(super) fn spread<T: Scalar>(
    mut gradient: Buffer<T>,
    coefficients: &[T],
    slots: &[Slot],
    gradients: &mut Gradients<T>,
) {
    let (rows, columns) = gradient.shape();
    let mut wanted = coefficients.iter().zip(slots).filter(|(_, slot)| slot.is_some()).peekable();
    while let Some((&coefficient, &slot)) = wanted.next() {
        if wanted.peek().is_none() {
            scale(&mut gradient, coefficient);
            gradients.add(slot, gradient);
            return;
        }
        let source = gradient.as_slice();
        if let Some(gathered) = gradients.gathered(slot) {
            for_each_block(gathered.as_mut_slice(), columns, 2 * columns, |first, block| {
                add_scaled(block, coefficient, &source[first * columns..first * columns + block.len()]);
            });
        } else {
            let mut fresh = gradients.pool().take(rows, columns);
            for_each_block(fresh.as_mut_slice(), columns, 2 * columns, |first, block| {
                scaled_copy(block, coefficient, &source[first * columns..first * columns + block.len()]);
            });
            gradients.add(slot, fresh);
        }
    }
}

vectorized! {
    /// `target = c·source`.
    fn scaled_copy<'a, T>(target: &'a mut [T], coefficient: T, source: &'a [T]) {
        for (target, &source) in target.iter_mut().zip(source) {
            *target = coefficient * source;
        }
    }
}

vectorized! {
    /// `target += c·source`.
    fn add_scaled<'a, T>(target: &'a mut [T], coefficient: T, source: &'a [T]) {
        for (target, &source) in target.iter_mut().zip(source) {
            *target += coefficient * source;
        }
    }
}

struct WeightedSum<T> {
    coefficients: Vec<T>,
    slots: Vec<Slot>,
}

impl<T: Scalar> Backward<T> for WeightedSum<T> {
    /// `X̄_k = c_k·Ȳ`.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        spread(gradient, &self.coefficients, &self.slots, gradients);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::ops::check::check;
    use crate::testing::random_matrix;

    #[test]
    fn gradients() {
        let inputs = [random_matrix(6, 5, 1), random_matrix(6, 5, 2), random_matrix(6, 5, 3)];
        check("one term", &inputs[..1], |tape, inputs| tape.weighted_sum(&[(-2.0, &inputs[0])]));
        check("three terms", &inputs, |tape, inputs| {
            tape.weighted_sum(&[(0.5, &inputs[0]), (-2.0, &inputs[1]), (3.0, &inputs[2])])
        });
        check("repeated and constant terms", &inputs[..2], |tape, inputs| {
            let constant = tape.constant(&Arc::new(random_matrix(6, 5, 4)));
            let first = tape.weighted_sum(&[(0.3, &inputs[0]), (0.7, &inputs[1]), (0.1, &inputs[0])]);
            tape.weighted_sum(&[(2.0, &first), (0.2, &inputs[0]), (0.5, &constant)])
        });
    }
}
