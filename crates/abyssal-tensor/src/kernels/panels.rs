//! Products of tall matrices with small ones, whose values are put where the innermost loop reads them one after the other.

use std::marker::PhantomData;
use std::ops::Range;

use prefetch_index::prefetch_index;
use pulp::{Simd, WithSimd};

use super::Accumulate;
use super::lanes::Lanes;
use super::tile::{FEWER_ROWS, ROWS, add_step, load, most_registers, store, zeros};
use crate::aligned::LINE;
use crate::{Matrix, Scalar};

/// So many rows of a panel are used together: with the widest registers they are 32 KiB, which the first-level cache holds.
const DEPTH: usize = 128;

/// The right factor of a product, d×e, in panels of as many columns as a tile of the result has.
///
/// Panels come one after the other, each row by row; the last one is filled up with zeros to whole registers.
#[derive(Clone, Copy)]
pub struct Panels<'a, T> {
    values: &'a [T],
    depth: usize,
    columns: usize,
}

impl<'a, T: Scalar> Panels<'a, T> {
    /// How many values the panels of a d×e matrix take.
    pub fn length(depth: usize, columns: usize) -> usize {
        PanelWidths::of::<T>().length(depth, columns)
    }

    /// The panels of a matrix, in memory of their own of the right [length](Panels::length).
    ///
    /// # Panics
    /// If it is of another length.
    pub fn new(matrix: &Matrix<T>, room: &'a mut [T]) -> Self {
        let (depth, columns) = matrix.shape();
        Self::fill(PanelWidths::of::<T>(), (depth, columns), room, |row, first, values| {
            values.copy_from_slice(&matrix.row(row)[first..][..values.len()]);
        })
    }

    /// The panels of the transpose of a matrix.
    ///
    /// # Panics
    /// If the memory is of another length.
    pub fn transposed(matrix: &Matrix<T>, room: &'a mut [T]) -> Self {
        let (columns, depth) = matrix.shape();
        Self::fill(PanelWidths::of::<T>(), (depth, columns), room, |row, first, values| {
            let sources = matrix.as_slice()[first * depth..].chunks_exact(depth);
            for (value, source) in values.iter_mut().zip(sources) {
                *value = source[row];
            }
        })
    }

    /// The panels of a d×e matrix that were put into `values` before.
    ///
    /// # Panics
    /// If they are of another length.
    pub fn around(depth: usize, columns: usize, values: &'a [T]) -> Self {
        assert_eq!(values.len(), Self::length(depth, columns), "panels: length");
        Self { values, depth, columns }
    }

    /// `write(row, first column, values)` writes a part of a row.
    fn fill(
        widths: PanelWidths,
        (depth, columns): (usize, usize),
        room: &'a mut [T],
        write: impl Fn(usize, usize, &mut [T]),
    ) -> Self {
        assert_eq!(room.len(), widths.length(depth, columns), "panels: length");
        let mut rest = &mut *room;
        for first in (0..columns).step_by(widths.panel) {
            let count = widths.panel.min(columns - first);
            let stride = count.next_multiple_of(widths.register);
            let (panel, others) = rest.split_at_mut(depth * stride);
            for (row, values) in panel.chunks_exact_mut(stride).enumerate() {
                let (values, filling) = values.split_at_mut(count);
                write(row, first, values);
                filling.fill(T::default());
            }
            rest = others;
        }
        Self { values: room, depth, columns }
    }
}

/// How many columns panels and registers have.
struct PanelWidths {
    panel: usize,
    register: usize,
}

impl PanelWidths {
    /// On this processor.
    fn of<T: Lanes>() -> Self {
        pulp::Arch::new().dispatch(FindWidths(PhantomData::<T>))
    }

    fn length(&self, depth: usize, columns: usize) -> usize {
        depth * columns.next_multiple_of(self.register)
    }
}

struct FindWidths<T>(PhantomData<T>);

impl<T: Lanes> WithSimd for FindWidths<T> {
    type Output = PanelWidths;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> PanelWidths {
        let register = T::lanes::<S>();
        PanelWidths { panel: most_registers::<S>() * register, register }
    }
}

/// `C = A·B` or `C += A·B`. Shapes: A is n×d, B d×e, C n×e.
pub(super) struct Multiply<'a, T> {
    pub output: &'a mut [T],
    pub accumulate: Accumulate,
    pub left: &'a [T],
    pub right: Panels<'a, T>,
    /// What is read next, n×e each: it is fetched from memory meanwhile.
    pub soon: &'a [&'a [T]],
}

impl<T: Lanes> Multiply<'_, T> {
    pub(super) fn run(self) {
        let Panels { depth, columns, .. } = self.right;
        if self.output.is_empty() {
            return;
        }
        let rows = self.output.len() / columns.max(1);
        assert_eq!(self.output.len(), rows * columns, "product: output shape");
        assert_eq!(self.left.len(), rows * depth, "product: left factor");
        assert!(self.soon.iter().all(|next| next.len() == self.output.len()), "product: what is read next");
        if depth > 0 {
            pulp::Arch::new().dispatch(self);
        } else if self.accumulate == Accumulate::Replace {
            self.output.fill(T::default());
        }
    }
}

impl<T: Lanes> WithSimd for Multiply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { output, accumulate, left, right: Panels { values, depth, columns }, soon } = self;
        let lanes = T::lanes::<S>();
        let width = most_registers::<S>() * lanes;
        for first in (0..columns).step_by(width) {
            let count = width.min(columns - first);
            let stride = count.next_multiple_of(lanes);
            let panel = Panel { values: &values[first * depth..][..depth * stride], stride, first, count };
            let soon = if first == 0 { soon } else { &[] };
            let product = Product { output: &mut *output, columns, left, depth, soon };
            match stride / lanes {
                1 => panel.multiply::<S, 1>(simd, product, accumulate),
                2 => panel.multiply::<S, 2>(simd, product, accumulate),
                3 => panel.multiply::<S, 3>(simd, product, accumulate),
                _ => panel.multiply::<S, 4>(simd, product, accumulate),
            }
        }
    }
}

/// A product with the rows of its left factor.
struct Product<'a, T> {
    output: &'a mut [T],
    columns: usize,
    left: &'a [T],
    depth: usize,
    soon: &'a [&'a [T]],
}

/// One of the panels: its rows are `stride` values apart, and it makes `count` columns of the product from `first` on.
struct Panel<'a, T> {
    values: &'a [T],
    stride: usize,
    first: usize,
    count: usize,
}

impl<T: Lanes> Panel<'_, T> {
    #[inline(always)]
    fn multiply<S: Simd, const N: usize>(&self, simd: S, mut product: Product<T>, accumulate: Accumulate) {
        let rows = product.output.len() / product.columns;
        for start in (0..product.depth).step_by(DEPTH) {
            let steps = start..product.depth.min(start + DEPTH);
            let accumulate = if start == 0 { accumulate } else { Accumulate::Add };
            let mut row = 0;
            while rows - row >= ROWS {
                self.tile::<S, ROWS, N>(simd, &mut product, row, steps.clone(), accumulate);
                row += ROWS;
            }
            if rows - row >= FEWER_ROWS {
                self.tile::<S, FEWER_ROWS, N>(simd, &mut product, row, steps.clone(), accumulate);
                row += FEWER_ROWS;
            }
            while row < rows {
                self.tile::<S, 1, N>(simd, &mut product, row, steps.clone(), accumulate);
                row += 1;
            }
        }
    }

    /// The `R` rows of the product from `row` on, as far as some steps along the depth go.
    ///
    /// Meanwhile the rows of the next tile are fetched from memory, a little with every step or two: without that, factors that lie outside of
    /// the caches made products take up to 1.6 times as long. Multiply-adds leave room for fetching what is read after the product, too.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const N: usize>(
        &self,
        simd: S,
        product: &mut Product<T>,
        row: usize,
        steps: Range<usize>,
        accumulate: Accumulate,
    ) {
        let Product { output, columns, left, depth, soon } = product;
        let (columns, depth, count) = (*columns, *depth, steps.len());
        let mut rows: [&[T]; R] = [&[]; R];
        for (index, values) in rows.iter_mut().enumerate() {
            *values = &left[(row + index) * depth + steps.start..][..count];
        }
        let panel = &self.values[steps.start * self.stride..][..count * self.stride];
        // So many steps are a cache line of the left factor's next rows, or a little less.
        let steps_of_a_line = const { (LINE / (R * size_of::<T>()) + 1).next_power_of_two() / 2 };
        let output_step = R * columns / depth;
        let mut tile = zeros::<T, S, R, N>(simd);
        for (step, right) in panel.chunks_exact(self.stride).enumerate() {
            if step % steps_of_a_line.max(1) == 0 {
                let done = steps.start + step;
                prefetch_index(&**left, (row + R) * depth + done * R);
                prefetch_index(&**output, (row + R) * columns + done * output_step);
                for next in *soon {
                    prefetch_index(next, row * columns + done * output_step);
                }
            }
            let mut values = [&panel[0]; R];
            for index in 0..R {
                values[index] = &rows[index][step];
            }
            add_step(simd, &mut tile, values, load(right));
        }
        store(simd, tile, accumulate, (&mut output[row * columns + self.first..], columns), self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::product;
    use crate::kernels::transposed::{Part, TransposedProduct};
    use crate::testing::random_matrix;

    /// Both kernels with the registers of `S`, whatever this processor would choose.
    struct BothKernels;

    impl WithSimd for BothKernels {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            for (rows, depth, columns) in [(13, 7, 5), (20, 130, 37), (70, 64, 64)] {
                let [left, right, tall] = [(rows, depth), (depth, columns), (rows, columns)]
                    .map(|(rows, columns)| random_matrix(rows, columns, (rows + columns) as u64));
                let widths = FindWidths(PhantomData::<f64>).with_simd(simd);
                let mut room = vec![f64::NAN; widths.length(depth, columns)];
                let panels = Panels::fill(widths, (depth, columns), &mut room, |row, first, values| {
                    values.copy_from_slice(&right.row(row)[first..][..values.len()]);
                });
                let mut output = Matrix::zeros(rows, columns);
                Multiply {
                    output: output.as_mut_slice(),
                    accumulate: Accumulate::Replace,
                    left: left.as_slice(),
                    right: panels,
                    soon: &[],
                }
                .with_simd(simd);
                assert!(output.max_difference(&product(&left, &right)) < 1e-11);

                let mut output = Matrix::zeros(depth, columns);
                TransposedProduct {
                    output: output.as_mut_slice(),
                    accumulate: Accumulate::Replace,
                    left: (left.as_slice(), depth, 0..depth),
                    right: (tall.as_slice(), columns),
                    part: Part::All,
                }
                .with_simd(simd);
                assert!(output.max_difference(&product(&left.transposed(), &tall)) < 1e-11);
            }
        }
    }

    /// Other processors have other registers.
    #[test]
    fn narrower_registers_give_the_same_products() {
        Simd::vectorize(pulp::Scalar, BothKernels);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            Simd::vectorize(simd, BothKernels);
        }
    }
}
