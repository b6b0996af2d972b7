//! The largest value among a node's neighbours, column by column.

use std::sync::Arc;

use crate::parallel::{for_each_block, for_each_block_of};
use crate::tape::{Backward, Buffer, Gradients, Slot, Tape, Variable};
use crate::vectorized::vectorized;
use crate::{Scalar, SparseOperator};

/// Positions up to here are exact in single precision.
const LARGEST_POSITION: usize = 1 << 24;

impl<T: Scalar> Tape<'_, T> {
    /// `Y_ic = max_j X_jc`, where j runs over the stored entries of row i of the pattern; a row without entries gives
    /// zeros. Shapes: the pattern is m×n, X n×d, Y m×d.
    ///
    /// The gradient goes to the first of equally large values.
    ///
    /// # Panics
    /// If the shapes do not fit, or a row has 2²⁴ entries or more.
    pub fn neighbour_maximum(&self, pattern: &Arc<SparseOperator<T>>, input: &Variable<T>) -> Variable<T> {
        let matrix = pattern.matrix();
        assert_eq!(matrix.columns(), input.rows(), "neighbour maximum: inner dimensions");
        let countable = matrix.offsets().windows(2).all(|bounds| bounds[1] - bounds[0] < LARGEST_POSITION);
        assert!(countable, "neighbour maximum: a row has too many entries");
        let columns = input.columns();
        let mut output = self.pool().take(matrix.rows(), columns);
        let mut places = self.pool().take(matrix.rows(), columns);
        let work = columns * (1 + matrix.stored() / matrix.rows().max(1));
        let data = [output.as_mut_slice(), places.as_mut_slice()];
        for_each_block_of(data, columns, work, |first, [output, places]| {
            let offsets = &matrix.offsets()[first..];
            maximum_rows(offsets, matrix.indices(), input.as_slice(), columns, output, places);
        });
        self.record(Arc::new(output), &[input.slot], || NeighbourMaximum {
            pattern: Arc::clone(pattern),
            input: input.slot,
            places,
        })
    }
}

struct NeighbourMaximum<T: Scalar> {
    pattern: Arc<SparseOperator<T>>,
    input: Slot,
    /// Which entry of its row each maximum came from, counted from 0 and written as a number of the pool's type.
    places: Buffer<T>,
}

impl<T: Scalar> Backward<T> for NeighbourMaximum<T> {
    /// `X̄_jc = Σ_i Ȳ_ic` over the rows i whose maximum in column c came from j.
    fn backward(self: Box<Self>, gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (matrix, transpose) = (self.pattern.matrix(), self.pattern.transpose());
        let columns = gradient.columns();
        let mut input_gradient = gradients.pool().take(transpose.rows(), columns);
        let work = columns * (1 + transpose.stored() / transpose.rows().max(1));
        for_each_block(input_gradient.as_mut_slice(), columns, work, |first, block| {
            route_back(
                &transpose.offsets()[first..],
                (transpose.indices(), self.pattern.sources()),
                matrix.offsets(),
                (gradient.as_slice(), self.places.as_slice()),
                columns,
                block,
            );
        });
        gradients.add(self.input, input_gradient);
    }
}

vectorized! {
    fn maximum_rows<'a, T>(
        offsets: &'a [usize],
        indices: &'a [u32],
        dense: &'a [T],
        columns: usize,
        output: &'a mut [T],
        places: &'a mut [T],
    ) {
        let rows = output.chunks_exact_mut(columns).zip(places.chunks_exact_mut(columns));
        for ((row, places), bounds) in rows.zip(offsets.windows(2)) {
            row.fill(T::ZERO);
            places.fill(T::ZERO);
            for (position, &index) in indices[bounds[0]..bounds[1]].iter().enumerate() {
                let other = &dense[index as usize * columns..][..columns];
                if position == 0 {
                    row.copy_from_slice(other);
                    continue;
                }
                let position = T::from_f64(position as f64);
                for ((value, place), &other) in row.iter_mut().zip(&mut *places).zip(other) {
                    // The second condition is true for NaN, which must stay, so that it is noticed.
                    #[allow(clippy::eq_op)]
                    let larger = other > *value || other != other;
                    *value = if larger { other } else { *value };
                    *place = if larger { position } else { *place };
                }
            }
        }
    }
}

vectorized! {
    fn route_back<'a, T>(
        offsets: &'a [usize],
        entries: (&'a [u32], &'a [u32]),
        row_offsets: &'a [usize],
        values: (&'a [T], &'a [T]),
        columns: usize,
        output: &'a mut [T],
    ) {
        let ((indices, sources), (gradient, places)) = (entries, values);
        for (output, bounds) in output.chunks_exact_mut(columns).zip(offsets.windows(2)) {
            output.fill(T::ZERO);
            for entry in bounds[0]..bounds[1] {
                let row = indices[entry] as usize;
                let position = T::from_f64((sources[entry] as usize - row_offsets[row]) as f64);
                let gradient = &gradient[row * columns..][..columns];
                let places = &places[row * columns..][..columns];
                for ((output, &gradient), &place) in output.iter_mut().zip(gradient).zip(places) {
                    *output += if place == position { gradient } else { T::ZERO };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::check::check;
    use crate::tape::Pool;
    use crate::testing::random_matrix;
    use crate::{Csr, Matrix};

    /// Row 1 has no entries, and nobody reads column 3.
    fn pattern() -> Arc<SparseOperator<f64>> {
        let entries = [(0, 0), (0, 1), (0, 2), (2, 1), (2, 4), (3, 2)];
        let entries = entries.map(|(row, column)| (row, column, 1.0)).to_vec();
        Arc::new(SparseOperator::new(Csr::from_entries(4, 5, entries).unwrap()))
    }

    #[test]
    fn gradient() {
        check("neighbour maximum", &[random_matrix(5, 4, 1)], |tape, inputs| {
            tape.neighbour_maximum(&pattern(), &inputs[0])
        });
    }

    #[test]
    fn the_first_of_equal_values_gets_the_gradient_and_nan_stays() {
        let pool = Pool::new();
        let tape = Tape::recording(&pool);
        let mut values = Matrix::from_rows(&[[1.0], [2.0], [2.0], [5.0], [2.0]]);
        let input = tape.parameter(&Arc::new(values.clone()));
        let output = tape.neighbour_maximum(&pattern(), &input);
        assert_eq!(output.as_slice(), &[2.0, 0.0, 2.0, 2.0]);
        let mut seed = pool.take(4, 1);
        seed.as_mut_slice().copy_from_slice(&[1.0, 10.0, 100.0, 1000.0]);
        let gradient = tape.backward_from(&output, seed).take(&input).unwrap();
        assert_eq!(gradient.as_slice(), &[0.0, 101.0, 1000.0, 0.0, 0.0]);

        for row in [0, 1, 2] {
            let before = values.get(row, 0);
            values.set(row, 0, f64::NAN);
            let tape = Tape::inference(&pool);
            let output = tape.neighbour_maximum(&pattern(), &tape.constant(&Arc::new(values.clone())));
            assert!(output.get(0, 0).is_nan());
            values.set(row, 0, before);
        }
    }
}
