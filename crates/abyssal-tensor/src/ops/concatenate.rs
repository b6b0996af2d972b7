//! Embeddings side by side.

use std::sync::Arc;

use crate::Scalar;
use crate::parallel::for_each_block;
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};

impl<T: Scalar> Tape<'_, T> {
    /// `Y = [X_1 | X_2 | …]`. Shapes: X_k is n×d_k, Y n×Σd_k.
    ///
    /// # Panics
    /// If there are no terms, or they differ in rows.
    pub fn concatenate(&self, terms: &[&Variable<T>]) -> Variable<T> {
        let rows = terms.first().expect("at least one embedding").rows();
        assert!(terms.iter().all(|term| term.rows() == rows), "concatenate: rows of the terms");
        let columns = terms.iter().map(|term| term.columns()).sum();
        let mut output = self.pool().take(rows, columns);
        for_each_block(output.as_mut_slice(), columns, 2 * columns, |first, block| {
            for (index, row) in block.chunks_exact_mut(columns.max(1)).enumerate() {
                let mut rest = row;
                for term in terms {
                    let (place, after) = rest.split_at_mut(term.columns());
                    place.copy_from_slice(term.row(first + index));
                    rest = after;
                }
            }
        });
        let slots: Vec<Slot> = terms.iter().map(|term| term.slot).collect();
        self.record(Arc::new(output), &slots, || Concatenate {
            terms: terms.iter().map(|term| (term.columns(), term.slot)).collect(),
        })
    }
}

struct Concatenate {
    /// Width and slot of each term.
    terms: Vec<(usize, Slot)>,
}

impl<T: Scalar> Backward<T> for Concatenate {
    /// `X̄_k` is the part of `Ȳ` where `X_k` stands.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let mut start = 0;
        for (columns, slot) in self.terms {
            let mut part = gradients.pool().take(gradient.rows(), columns);
            for_each_block(part.as_mut_slice(), columns, 2 * columns, |first, block| {
                for (index, row) in block.chunks_exact_mut(columns.max(1)).enumerate() {
                    row.copy_from_slice(&gradient.row(first + index)[start..start + columns]);
                }
            });
            gradients.add(slot, part);
            start += columns;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::check::check;
    use crate::testing::random_matrix;

    #[test]
    fn gradients() {
        let inputs = [random_matrix(6, 5, 1), random_matrix(6, 2, 2)];
        check("concatenate", &inputs, |tape, inputs| tape.concatenate(&[&inputs[0], &inputs[1], &inputs[0]]));
    }
}
