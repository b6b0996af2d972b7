//! Embeddings side by side, each weighted by a learnt share.

use std::sync::Arc;

use super::row_sums::dot;
use super::softmax::softmax;
use crate::Scalar;
use crate::parallel::{for_each_block, partial_count, sum_over_rows};
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Value, Variable};
use crate::vectorized::vectorized;

impl<T: Scalar> Tape<'_, T> {
    /// `Y = [α_1·X_1 | α_2·X_2 | …]`, `α = softmax(a)` with learnable a. Shapes: a is 1×K, each of the K terms n×d, Y
    /// n×(K·d).
    ///
    /// # Panics
    /// If there are no terms, their shapes differ, or there are not as many scores.
    pub fn concatenate_shares(&self, scores: &Variable<T>, terms: &[&Variable<T>]) -> Variable<T> {
        let (rows, width) = terms.first().expect("at least one embedding").shape();
        assert!(terms.iter().all(|term| term.shape() == (rows, width)), "shares: shapes of the terms");
        assert_eq!(scores.shape(), (1, terms.len()), "shares: one score a term");
        let mut shares = self.pool().take(1, terms.len());
        softmax(shares.as_mut_slice(), scores.as_slice(), terms.len());
        let columns = terms.len() * width;
        let mut output = self.pool().take(rows, columns);
        for_each_block(output.as_mut_slice(), columns, 2 * columns, |first, block| {
            for (index, (term, &share)) in terms.iter().zip(shares.as_slice()).enumerate() {
                write_part(&term.as_slice()[first * width..], share, (index * width, width, columns), block);
            }
        });
        let mut slots: Vec<Slot> = terms.iter().map(|term| term.slot).collect();
        slots.push(scores.slot);
        self.record(Arc::new(output), &slots, || ConcatenateShares {
            shares,
            scores: scores.slot,
            terms: terms.iter().map(|term| (term.value.clone(), term.slot)).collect(),
        })
    }
}

struct ConcatenateShares<T: Scalar> {
    /// `α`, 1×K.
    shares: Buffer<T>,
    scores: Slot,
    terms: Vec<(Value<T>, Slot)>,
}

impl<T: Scalar> Backward<T> for ConcatenateShares<T> {
    /// With `Ȳ_k` the part of `Ȳ` where `X_k` stands: `X̄_k = α_k·Ȳ_k`, `ᾱ_k = ⟨X_k, Ȳ_k⟩`, and through the softmax
    /// `ā_k = α_k·(ᾱ_k - Σ_j α_j·ᾱ_j)`.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (rows, columns) = gradient.shape();
        let width = columns / self.terms.len();
        let pool = gradients.pool().clone();
        if self.scores.is_some() {
            let mut products = pool.take(1, self.terms.len());
            let mut partials = pool.take(partial_count(rows), self.terms.len());
            let (total, scratch) = (products.as_mut_slice(), partials.as_mut_slice());
            sum_over_rows(rows, 2 * columns, total, scratch, |range, partial| {
                let gradient = &gradient.as_slice()[range.start * columns..range.end * columns];
                for (index, ((term, _), product)) in self.terms.iter().zip(partial).enumerate() {
                    let rows = &term.as_slice()[range.start * width..range.end * width];
                    multiply_part(rows, gradient, (index * width, width, columns), product);
                }
            });
            let shares = self.shares.as_slice();
            let mean: T =
                shares.iter().zip(products.as_slice()).map(|(&share, &product)| share * product).sum();
            for (product, &share) in products.as_mut_slice().iter_mut().zip(shares) {
                *product = share * (*product - mean);
            }
            gradients.add(self.scores, products);
        }
        for (index, ((_, slot), &share)) in self.terms.iter().zip(self.shares.as_slice()).enumerate() {
            if slot.is_some() {
                let mut part = pool.take(rows, width);
                for_each_block(part.as_mut_slice(), width, 2 * width, |first, block| {
                    let rows = &gradient.as_slice()[first * columns..];
                    read_part(rows, share, (index * width, width, columns), block);
                });
                gradients.add(*slot, part);
            }
        }
    }
}

vectorized! {
    /// `α·X` into the part of every row of `output` that begins at `start`.
    fn write_part<'a, T>(rows: &'a [T], share: T, place: (usize, usize, usize), output: &'a mut [T]) {
        let (start, width, columns) = place;
        let rows = rows.chunks_exact(width.max(1));
        for (output, row) in output.chunks_exact_mut(columns.max(1)).zip(rows) {
            for (output, &value) in output[start..start + width].iter_mut().zip(row) {
                *output = share * value;
            }
        }
    }
}

vectorized! {
    /// `α` times the part of every row that begins at `start`.
    fn read_part<'a, T>(rows: &'a [T], share: T, place: (usize, usize, usize), part: &'a mut [T]) {
        let (start, width, columns) = place;
        let rows = rows.chunks_exact(columns.max(1));
        for (part, row) in part.chunks_exact_mut(width.max(1)).zip(rows) {
            for (part, &value) in part.iter_mut().zip(&row[start..start + width]) {
                *part = share * value;
            }
        }
    }
}

vectorized! {
    /// `⟨X, part⟩` with the part of every row of the gradient that begins at `start`.
    fn multiply_part<'a, T>(
        rows: &'a [T],
        gradient: &'a [T],
        place: (usize, usize, usize),
        product: &'a mut T,
    ) {
        let (start, width, columns) = place;
        *product = T::ZERO;
        for (row, gradient) in rows.chunks_exact(width.max(1)).zip(gradient.chunks_exact(columns.max(1))) {
            *product += dot(row, &gradient[start..start + width]);
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
        let inputs = [random_matrix(1, 3, 9), random_matrix(7, 5, 1), random_matrix(7, 5, 2)];
        check("a term used twice", &inputs, |tape, inputs| {
            tape.concatenate_shares(&inputs[0], &[&inputs[1], &inputs[2], &inputs[1]])
        });
        check("constant terms", &inputs[..1], |tape, inputs| {
            let terms = [1, 2, 3].map(|seed| tape.constant(&Arc::new(random_matrix(500, 3, seed))));
            tape.concatenate_shares(&inputs[0], &terms.each_ref())
        });
    }

    /// Scores of a thousand would overflow the exponential; the largest one takes all.
    #[test]
    fn large_scores_stay_finite() {
        let tape = Tape::<f64>::inference(&Pool::new());
        let scores = tape.constant(&Arc::new(Matrix::from_rows(&[[1e3, -1e3, 3e3]])));
        let term = tape.constant(&Arc::new(Matrix::from_rows(&[[1.0, 2.0]])));
        let output = tape.concatenate_shares(&scores, &[&term, &term, &term]);
        assert_eq!(output.as_slice(), &[0.0, 0.0, 0.0, 0.0, 1.0, 2.0]);
    }
}
