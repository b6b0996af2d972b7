//! The largest of several embeddings, value by value.

use std::sync::Arc;

use crate::Scalar;
use crate::parallel::{for_each_block, for_each_block_of};
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<'_, T> {
    /// `Y_ij = max_k (X_k)_ij`; of equal values the first counts, and a NaN is larger than everything. All shapes n×d.
    ///
    /// # Panics
    /// If there are no terms, or their shapes differ.
    pub fn maximum(&self, terms: &[&Variable<T>]) -> Variable<T> {
        let (rows, columns) = terms.first().expect("at least one embedding").shape();
        assert!(terms.iter().all(|term| term.shape() == (rows, columns)), "maximum: shapes of the terms");
        let mut output = self.pool().take(rows, columns);
        let mut winners = self.pool().take(rows, columns);
        let targets = [output.as_mut_slice(), winners.as_mut_slice()];
        let work = 2 * terms.len() * columns;
        for_each_block_of(targets, columns, work, |first, [block, winners]| {
            let range = first * columns..first * columns + block.len();
            block.copy_from_slice(&terms[0].as_slice()[range.clone()]);
            winners.fill(T::ZERO);
            for (index, term) in terms.iter().enumerate().skip(1) {
                challenge(block, winners, T::from_f64(index as f64), &term.as_slice()[range.clone()]);
            }
        });
        let slots: Vec<Slot> = terms.iter().map(|term| term.slot).collect();
        self.record(Arc::new(output), &slots.clone(), || Maximum { slots, winners })
    }
}

vectorized! {
    /// Takes the values of `term` where they are larger, and notes its index there.
    fn challenge<'a, T>(best: &'a mut [T], winners: &'a mut [T], index: T, term: &'a [T]) {
        for ((best, winner), &value) in best.iter_mut().zip(winners).zip(term) {
            // A NaN is not comparable, not even with itself. It must stay one, so that it is noticed.
            let wins = value > *best || value.partial_cmp(&value).is_none();
            *best = if wins { value } else { *best };
            *winner = if wins { index } else { *winner };
        }
    }
}

vectorized! {
    /// `target = gradient` where the term of this index won, 0 elsewhere.
    fn keep_won<'a, T>(target: &'a mut [T], winners: &'a [T], index: T, gradient: &'a [T]) {
        for ((target, &winner), &gradient) in target.iter_mut().zip(winners).zip(gradient) {
            *target = if winner == index { gradient } else { T::ZERO };
        }
    }
}

struct Maximum<T: Scalar> {
    slots: Vec<Slot>,
    /// Which term each value came from, as a number.
    winners: Buffer<T>,
}

impl<T: Scalar> Backward<T> for Maximum<T> {
    /// `X̄_k` is `Ȳ` where `X_k` won, and 0 elsewhere.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (rows, columns) = gradient.shape();
        for (index, &slot) in self.slots.iter().enumerate() {
            let mut part = gradients.pool().take(rows, columns);
            for_each_block(part.as_mut_slice(), columns, 3 * columns, |first, block| {
                let range = first * columns..first * columns + block.len();
                let (winners, gradient) =
                    (&self.winners.as_slice()[range.clone()], &gradient.as_slice()[range]);
                keep_won(block, winners, T::from_f64(index as f64), gradient);
            });
            gradients.add(slot, part);
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
    fn gradients() {
        let inputs = [random_matrix(6, 5, 1), random_matrix(6, 5, 2), random_matrix(6, 5, 3)];
        check("maximum", &inputs, |tape, inputs| tape.maximum(&[&inputs[0], &inputs[1], &inputs[2]]));
    }

    #[test]
    fn the_first_of_equal_values_counts() {
        let pool = Pool::new();
        let tape = Tape::recording(&pool);
        let terms = [0, 1].map(|_| tape.parameter(&Arc::new(Matrix::from_rows(&[[2.0f64, 0.0]]))));
        let output = tape.maximum(&terms.each_ref());
        let mut seed = pool.take(1, 2);
        seed.as_mut_slice().fill(1.0);
        let mut gradients = tape.backward_from(&output, seed);
        let [first, second] = terms.map(|term| gradients.take(&term).unwrap().as_slice().to_vec());
        assert_eq!((first, second), (vec![1.0, 1.0], vec![0.0, 0.0]));
    }

    #[test]
    fn not_a_number_stays() {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let nan = tape.constant(&Arc::new(Matrix::from_rows(&[[f32::NAN]])));
        let one = tape.constant(&Arc::new(Matrix::from_rows(&[[1.0f32]])));
        assert!(tape.maximum(&[&nan, &one]).get(0, 0).is_nan());
        assert!(tape.maximum(&[&one, &nan]).get(0, 0).is_nan());
    }
}
