//! Eigenvectors from reflections and rotations.

use super::iteration::Rotations;
use super::tridiagonal::Reflections;
use crate::parallel::share;
use crate::vectorized::vectorized;
use crate::{Matrix, Scalar};

/// Columns that are computed together: few enough for registers, enough for rotations not to wait for each other.
const PANEL: usize = 64;

/// `Uᵀ = Z ⋯ D·Qᵀ`, cut into panels of columns, which do not depend on each other. The last one may have columns of zeros.
pub(super) struct Panels<T> {
    dimension: usize,
    /// The rows of the first panel, then those of the second …
    rows: Vec<[T; PANEL]>,
}

impl<T: Scalar> Panels<T> {
    pub(super) fn new(dimension: usize) -> Self {
        Self { dimension, rows: vec![[T::ZERO; PANEL]; dimension * dimension.div_ceil(PANEL)] }
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.len() * size_of::<[T; PANEL]>()
    }

    /// `Qᵀ`: all reflections, applied to the identity.
    pub(super) fn reflect(&mut self, reflections: &Reflections) {
        let dimension = self.dimension;
        self.for_each(|index, panel| {
            panel.fill([T::ZERO; PANEL]);
            for (row, column) in (index * PANEL..dimension).zip(0..PANEL) {
                panel[row][column] = T::ONE;
            }
            reflect(panel, reflections);
        });
    }

    /// Signs and rotations, applied to what is there.
    pub(super) fn rotate(&mut self, rotations: &Rotations<T>) {
        self.for_each(|_, panel| {
            for (row, values) in panel.iter_mut().enumerate() {
                if rotations.is_negative(row) {
                    values.iter_mut().for_each(|value| *value = -*value);
                }
            }
            rotate(panel, rotations);
        });
    }

    fn for_each(&mut self, operation: impl Fn(usize, &mut [[T; PANEL]]) + Sync + Send) {
        if self.dimension <= PANEL {
            operation(0, &mut self.rows);
        } else {
            share(self.rows.chunks_mut(self.dimension).enumerate(), |(index, panel)| operation(index, panel));
        }
    }

    /// Writes row `order[i]` as row `i`.
    pub(super) fn write(&self, order: &[usize], vectors: &mut Matrix<T>) {
        for (panel, first) in self.rows.chunks(self.dimension).zip((0..).step_by(PANEL)) {
            let columns = PANEL.min(self.dimension - first);
            for (row, &place) in order.iter().enumerate() {
                vectors.row_mut(row)[first..first + columns].copy_from_slice(&panel[place][..columns]);
            }
        }
    }
}

vectorized! {
    /// Some columns of `Qᵀ·X = H_1 ⋯ H_(d-1)·X`, in place. A reflection is `y = τ·vᵀX, X ← X - v·y`; as in the reduction, a row is changed
    /// when the next reflection reads it.
    fn reflect<'a, T>(rows: &'a mut [[T; PANEL]], reflections: &'a Reflections<'a>) {
        let mut last = [T::ZERO; PANEL];
        let mut last_vector = reflections.get(0).0;
        for index in (1..rows.len()).rev() {
            let (vector, scale) = reflections.get(index);
            let mut sum = [T::ZERO; PANEL];
            for (row, (&v, &last_v)) in rows[..=index].iter_mut().zip(vector.iter().zip(last_vector)) {
                let (v, last_v) = (T::from_f64(v), T::from_f64(last_v));
                for column in 0..PANEL {
                    let value = row[column] - last_v * last[column];
                    row[column] = value;
                    sum[column] += v * value;
                }
            }
            for column in 0..PANEL {
                last[column] = T::from_f64(scale) * sum[column];
            }
            last_vector = vector;
        }
    }
}

vectorized! {
    /// All sweeps, each from its last row to its first: `x_(i+1) ← s·x_i + c·x_(i+1), x_i ← c·x_i - s·x_(i+1)`.
    fn rotate<'a, T>(rows: &'a mut [[T; PANEL]], rotations: &'a Rotations<T>) {
        for (first, angles) in rotations.sweeps() {
            let rows = &mut rows[first..=first + angles.len()];
            // The row that the next rotation takes up again stays in registers.
            let mut carried = rows[angles.len()];
            for (index, &(cosine, sine)) in (0..angles.len()).rev().zip(angles) {
                let above = rows[index];
                let below = &mut rows[index + 1];
                for column in 0..PANEL {
                    below[column] = sine * above[column] + cosine * carried[column];
                    carried[column] = cosine * above[column] - sine * carried[column];
                }
            }
            rows[0] = carried;
        }
    }
}
