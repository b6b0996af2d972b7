//! PairNorm: the total pairwise distance of the rows is kept.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::row_sums::dot;
use crate::Scalar;
use crate::elementwise::{column_sums, scale, shift_and_scale};
use crate::parallel::{for_each_block, partial_count, sum_over_rows};
use crate::tape::{Backward, Buffer, Gradients, Pool, Slot, Tape, Value, Variable};
use crate::vectorized::vectorized;

/// Added to squared lengths, as in the released code.
const EPSILON: f64 = 1e-6;

/// The variants of PairNorm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairNormalization {
    /// Centre the columns, then divide by the root mean square length: `X ← T·X`, `Y = s·X/√(ε + 1/n·Σ_i ‖x_i‖²)`.
    #[default]
    Pn,
    /// Scale individually: centre the columns, then give every row the length s, `y_i = s·x_i/√(ε + ‖x_i‖²)`.
    PnSi,
    /// Scale and centre simultaneously (in the released code, not in the paper): every row to length s, minus the mean
    /// of the rows *before* that, `y_i = s·x_i/√(ε + ‖x_i‖²) - 1/n·Σ_j x_j`.
    PnScs,
}

impl<T: Scalar> Tape<'_, T> {
    /// PairNorm (Zhao and Akoglu: *PairNorm: tackling oversmoothing in GNNs*, ICLR 2020) with scale s; the variants have
    /// the formulas. `ε = 1e-6` stands under the root, as in the released code. Shapes n×d.
    pub fn pair_normalize(
        &self,
        variant: PairNormalization,
        input: &Variable<T>,
        length: f64,
    ) -> Variable<T> {
        match variant {
            PairNormalization::Pn => self.scale_together(&self.center(input), length),
            PairNormalization::PnSi => self.scale_rows(&self.center(input), length, false),
            PairNormalization::PnScs => self.scale_rows(input, length, true),
        }
    }

    /// `Y = s·X/√(ε + 1/n·Σ_i ‖x_i‖²)`.
    fn scale_together(&self, input: &Variable<T>, length: f64) -> Variable<T> {
        let (rows, columns) = input.shape();
        let squares = inner_product_of(input.as_slice(), input.as_slice(), columns, self.pool());
        let square = EPSILON + squares.to_f64() / rows as f64;
        let factor = T::from_f64(length / square.sqrt());
        let mut output = self.pool().take(rows, columns);
        for_each_block(output.as_mut_slice(), columns, 2 * columns, |first, block| {
            let input = &input.as_slice()[first * columns..first * columns + block.len()];
            multiples(block, factor, input);
        });
        self.record(Arc::new(output), &[input.slot], || ScaleTogether {
            input: (input.value.clone(), input.slot),
            factor,
            correction: 1.0 / (rows as f64 * square),
        })
    }

    /// `y_i = s·x_i/√(ε + ‖x_i‖²)`, minus the mean of the rows of X where that is asked for.
    fn scale_rows(&self, input: &Variable<T>, length: f64, centred: bool) -> Variable<T> {
        let (rows, columns) = input.shape();
        let mut shift = self.pool().take_zeros(1, columns);
        if centred {
            column_sums(input, &mut shift, self.pool());
            scale(&mut shift, T::from_f64(1.0 / rows as f64));
        }
        let length = T::from_f64(length);
        let mut output = self.pool().take(rows, columns);
        for_each_block(output.as_mut_slice(), columns, 3 * columns, |first, block| {
            let input = &input.as_slice()[first * columns..first * columns + block.len()];
            to_length(block, input, shift.as_slice(), length);
        });
        self.record(Arc::new(output), &[input.slot], || ScaleRows {
            input: (input.value.clone(), input.slot),
            length,
            centred,
        })
    }
}

/// `Σ_ij X_ij·Y_ij`.
fn inner_product_of<T: Scalar>(left: &[T], right: &[T], columns: usize, pool: &Pool<T>) -> T {
    let rows = left.len() / columns.max(1);
    let mut total = [T::ZERO];
    let mut partials = pool.take(partial_count(rows), 1);
    sum_over_rows(rows, 2 * columns, &mut total, partials.as_mut_slice(), |range, partial| {
        let range = range.start * columns..range.end * columns;
        add_products(partial, &left[range.clone()], &right[range]);
    });
    total[0]
}

vectorized! {
    fn add_products<'a, T>(total: &'a mut [T], left: &'a [T], right: &'a [T]) {
        total.fill(dot(left, right));
    }
}

vectorized! {
    fn multiples<'a, T>(output: &'a mut [T], factor: T, input: &'a [T]) {
        for (output, &input) in output.iter_mut().zip(input) {
            *output = factor * input;
        }
    }
}

vectorized! {
    /// `gradient = factor·gradient + along·input`.
    fn weighted_sum<'a, T>(gradient: &'a mut [T], factor: T, along: T, input: &'a [T]) {
        for (gradient, &input) in gradient.iter_mut().zip(input) {
            *gradient = factor * *gradient + along * input;
        }
    }
}

vectorized! {
    fn to_length<'a, T>(output: &'a mut [T], input: &'a [T], shift: &'a [T], length: T) {
        let width = shift.len().max(1);
        for (output, input) in output.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
            let square = dot(input, input) + T::from_f64(EPSILON);
            let factor = length / square.sqrt();
            for ((output, &input), &shift) in output.iter_mut().zip(input).zip(shift) {
                *output = factor * input - shift;
            }
        }
    }
}

struct ScaleTogether<T: Scalar> {
    input: (Value<T>, Slot),
    /// `f = s/√q`, `q = ε + 1/n·Σ_i ‖x_i‖²`.
    factor: T,
    /// `1/(n·q)`.
    correction: f64,
}

impl<T: Scalar> Backward<T> for ScaleTogether<T> {
    /// `X̄ = f·(Ȳ - ⟨Ȳ, X⟩/(n·q)·X)`.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let columns = gradient.columns();
        let input = self.input.0.as_slice();
        let along = inner_product_of(gradient.as_slice(), input, columns, gradients.pool());
        let along = T::from_f64(-self.correction * along.to_f64()) * self.factor;
        for_each_block(gradient.as_mut_slice(), columns, 2 * columns, |first, block| {
            let input = &input[first * columns..first * columns + block.len()];
            weighted_sum(block, self.factor, along, input);
        });
        gradients.add(self.input.1, gradient);
    }
}

struct ScaleRows<T: Scalar> {
    input: (Value<T>, Slot),
    length: T,
    centred: bool,
}

impl<T: Scalar> Backward<T> for ScaleRows<T> {
    /// With `q = ε + ‖x_i‖²`: `x̄_i = s/√q·(ȳ_i - (ȳ_i·x_i)/q·x_i)`, minus the mean of all `ȳ_j` where the mean of the
    /// rows was subtracted.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (rows, columns) = gradient.shape();
        let input = self.input.0.as_slice();
        let mut mean = gradients.pool().take(1, columns);
        column_sums(&gradient, &mut mean, gradients.pool());
        scale(&mut mean, T::from_f64(1.0 / rows as f64));
        for_each_block(gradient.as_mut_slice(), columns, 5 * columns, |first, block| {
            rows_back(block, &input[first * columns..first * columns + block.len()], columns, self.length);
        });
        if self.centred {
            shift_and_scale(&mut gradient, &mean, T::ONE);
        }
        gradients.add(self.input.1, gradient);
    }
}

vectorized! {
    fn rows_back<'a, T>(gradient: &'a mut [T], input: &'a [T], width: usize, length: T) {
        for (gradient, input) in gradient.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
            let square = dot(input, input) + T::from_f64(EPSILON);
            let factor = length / square.sqrt();
            let along = dot(gradient, input) / square;
            for (gradient, &input) in gradient.iter_mut().zip(input) {
                *gradient = factor * (*gradient - along * input);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Matrix;
    use crate::ops::check::check;
    use crate::testing::random_matrix;

    const VARIANTS: [PairNormalization; 3] =
        [PairNormalization::Pn, PairNormalization::PnSi, PairNormalization::PnScs];

    #[test]
    fn gradients() {
        for variant in VARIANTS {
            check(&format!("{variant:?}"), &[random_matrix(7, 4, 1)], |tape, inputs| {
                tape.pair_normalize(variant, &inputs[0], 2.5)
            });
        }
    }

    fn normalized(variant: PairNormalization, input: Matrix<f64>, length: f64) -> Matrix<f64> {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        Matrix::clone(&tape.pair_normalize(variant, &tape.constant(&Arc::new(input)), length))
    }

    fn squared_distance(left: &[f64], right: &[f64]) -> f64 {
        left.iter().zip(right).map(|(left, right)| (left - right).powi(2)).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// The paper's equation 8: `Σ_ij ‖y_i - y_j‖² = 2n²s²`, whatever the rows were.
        #[test]
        fn the_total_pairwise_squared_distance_is_constant(rows in 3usize..60, spread in 0.5..30f64, seed in 0u64..1000) {
            let mut input = random_matrix(rows, 6, seed);
            input.as_mut_slice().iter_mut().for_each(|value| *value = spread * *value + 3.0);
            let output = normalized(PairNormalization::Pn, input, 1.5);
            let pairs = (0..rows).flat_map(|left| (0..rows).map(move |right| (left, right)));
            let total: f64 = pairs.map(|(left, right)| squared_distance(output.row(left), output.row(right))).sum();
            let expected = 2.0 * (rows * rows) as f64 * 1.5 * 1.5;
            prop_assert!((total - expected).abs() < 1e-4 * expected, "{total}, not {expected}");
        }

        #[test]
        fn rows_have_the_asked_length(rows in 3usize..300, seed in 0u64..1000) {
            let input = random_matrix(rows, 6, seed);
            let zero = [0.0; 6];
            let lone = normalized(PairNormalization::PnSi, input.clone(), 2.0);
            let both = normalized(PairNormalization::PnScs, input.clone(), 2.0);
            let mean: Vec<f64> = (0..6).map(|column| (0..rows).map(|row| input.get(row, column)).sum::<f64>() / rows as f64).collect();
            for row in 0..rows {
                prop_assert!((squared_distance(lone.row(row), &zero).sqrt() - 2.0).abs() < 1e-3);
                let shifted: Vec<f64> = both.row(row).iter().zip(&mean).map(|(value, mean)| value + mean).collect();
                prop_assert!((squared_distance(&shifted, &zero).sqrt() - 2.0).abs() < 1e-3);
            }
        }
    }
}
