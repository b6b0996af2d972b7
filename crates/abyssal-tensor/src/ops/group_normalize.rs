//! Differentiable group normalisation: soft groups of rows, each normalised on its own.

use std::sync::Arc;

use super::batch_normalize::EPSILON;
use super::row_sums::{dot, sum};
use super::softmax::softmax;
use crate::elementwise::{column_sums, scale};
use crate::parallel::{for_each_block, partial_count, sum_over_rows};
use crate::tape::{Backward, Buffer, Gradients, Pool, Slot, Tape, Value, Variable};
use crate::vectorized::vectorized;
use crate::{Matrix, Scalar};

/// So many columns are kept in registers while groups are summed.
const STRETCH: usize = 16;

impl<T: Scalar> Tape<'_, T> {
    /// Differentiable group normalisation (Zhou et al.: *Towards deeper graph neural networks with differentiable group
    /// normalization*, NeurIPS 2020):
    ///
    /// `Y = X + λ·Σ_g (γ_g∘(S_g∘X - μ_g)/√(σ_g² + ε) + β_g)`, `S = softmax(Z)`, `ε = 1e-5`, where `S_g∘X` multiplies row i
    /// with its share `S_ig` in group g, and `μ_g`, `σ_g²` are the mean and the (biased) variance of its columns over
    /// all rows, in training and in evaluation alike.
    ///
    /// Shapes: X and Y are n×d, the scores Z n×G, γ (`gain`) and β (`shift`) G×d. The n×(G·d) matrix of all groups
    /// is never stored.
    pub fn group_normalize(
        &self,
        input: &Variable<T>,
        scores: &Variable<T>,
        (gain, shift): (&Variable<T>, &Variable<T>),
        weight: f64,
    ) -> Variable<T> {
        let ((rows, columns), groups) = (input.shape(), scores.columns());
        assert_eq!(scores.rows(), rows, "group_normalize: rows");
        assert_eq!(
            (gain.shape(), shift.shape()),
            ((groups, columns), (groups, columns)),
            "group_normalize: shapes"
        );
        let weight = T::from_f64(weight);
        let mut shares = self.pool().take(rows, groups);
        for_each_block(shares.as_mut_slice(), groups, 16 * groups, |first, block| {
            softmax(block, &scores.as_slice()[first * groups..first * groups + block.len()], groups);
        });
        let (mean, inverse) = group_moments(input, &shares, self.pool());
        // Y = X∘(1 + Σ_g S_g·a_g) + b with a_g = λ·γ_g/√(σ_g² + ε) and b = Σ_g (λ·β_g - a_g∘μ_g).
        let mut factors = self.pool().take(groups, columns);
        let mut offset = self.pool().take_zeros(1, columns);
        for group in 0..groups {
            for column in 0..columns {
                let factor = weight * gain.get(group, column) * inverse.get(group, column);
                factors.set(group, column, factor);
                offset.as_mut_slice()[column] +=
                    weight * shift.get(group, column) - factor * mean.get(group, column);
            }
        }
        let mut output = self.pool().take(rows, columns);
        for_each_block(output.as_mut_slice(), columns, (groups + 2) * columns, |first, block| {
            let rows = first..first + block.len() / columns;
            let input = &input.as_slice()[rows.start * columns..rows.end * columns];
            let shares = &shares.as_slice()[rows.start * groups..rows.end * groups];
            add_groups(block, (input, shares), factors.as_slice(), offset.as_slice());
        });
        let inputs = [input.slot, scores.slot, gain.slot, shift.slot];
        self.record(Arc::new(output), &inputs, || GroupNormalize {
            input: (input.value.clone(), input.slot),
            scores: scores.slot,
            shares,
            mean,
            inverse,
            factors,
            weight,
            gain: gain.slot,
            shift: shift.slot,
        })
    }
}

/// Mean and `1/√(σ² + ε)` of the columns of every `S_g∘X`, G×d each.
fn group_moments<T: Scalar>(input: &Matrix<T>, shares: &Matrix<T>, pool: &Pool<T>) -> (Buffer<T>, Buffer<T>) {
    let ((rows, columns), groups) = (input.shape(), shares.columns());
    let part = T::from_f64(1.0 / rows as f64);
    let mut mean = pool.take_zeros(groups, columns);
    let mut inverse = pool.take(groups, columns);
    let mut partials = pool.take(partial_count(rows), groups * columns);
    let mut gather = |target: &mut [T], mean: Option<&[T]>| {
        sum_over_rows(rows, groups * columns, target, partials.as_mut_slice(), |range, partial| {
            let input = &input.as_slice()[range.start * columns..range.end * columns];
            let shares = &shares.as_slice()[range.start * groups..range.end * groups];
            match mean {
                None => sum_shares(partial, input, shares, columns),
                Some(mean) => sum_squares(partial, input, shares, (mean, columns)),
            }
        });
    };
    gather(mean.as_mut_slice(), None);
    scale(&mut mean, part);
    gather(inverse.as_mut_slice(), Some(mean.as_slice()));
    for value in inverse.as_mut_slice() {
        *value = T::ONE / (part * *value + T::from_f64(EPSILON)).sqrt();
    }
    (mean, inverse)
}

vectorized! {
    /// `sums_g = Σ_i S_ig·x_i`.
    fn sum_shares<'a, T>(sums: &'a mut [T], input: &'a [T], shares: &'a [T], columns: usize) {
        let groups = sums.len() / columns;
        sums.fill(T::ZERO);
        for (input, shares) in input.chunks_exact(columns).zip(shares.chunks_exact(groups)) {
            for (sums, &share) in sums.chunks_exact_mut(columns).zip(shares) {
                for (sum, &input) in sums.iter_mut().zip(input) {
                    *sum += share * input;
                }
            }
        }
    }
}

vectorized! {
    /// `sums_g = Σ_i (S_ig·x_i - mean_g)²`, given the means and the number of columns.
    fn sum_squares<'a, T>(sums: &'a mut [T], input: &'a [T], shares: &'a [T], center: (&'a [T], usize)) {
        let (mean, columns) = center;
        let groups = sums.len() / columns;
        sums.fill(T::ZERO);
        for (input, shares) in input.chunks_exact(columns).zip(shares.chunks_exact(groups)) {
            let means = mean.chunks_exact(columns);
            for ((sums, mean), &share) in sums.chunks_exact_mut(columns).zip(means).zip(shares) {
                for ((sum, &input), &mean) in sums.iter_mut().zip(input).zip(mean) {
                    let distance = share * input - mean;
                    *sum += distance * distance;
                }
            }
        }
    }
}

vectorized! {
    /// `y_i = x_i∘(1 + Σ_g S_ig·factors_g) + offset`; the sources are `(X, S)`.
    fn add_groups<'a, T>(output: &'a mut [T], sources: (&'a [T], &'a [T]), factors: &'a [T], offset: &'a [T]) {
        let columns = offset.len().max(1);
        let groups = (factors.len() / columns).max(1);
        let sources = sources.0.chunks_exact(columns).zip(sources.1.chunks_exact(groups));
        for (output, (input, shares)) in output.chunks_exact_mut(columns).zip(sources) {
            output.fill(T::ONE);
            for (factors, &share) in factors.chunks_exact(columns).zip(shares) {
                for (output, &factor) in output.iter_mut().zip(factors) {
                    *output += share * factor;
                }
            }
            for ((output, &input), &offset) in output.iter_mut().zip(input).zip(offset) {
                *output = *output * input + offset;
            }
        }
    }
}

struct GroupNormalize<T: Scalar> {
    input: (Value<T>, Slot),
    scores: Slot,
    /// `S`.
    shares: Buffer<T>,
    /// `μ`.
    mean: Buffer<T>,
    /// `1/√(σ² + ε)`.
    inverse: Buffer<T>,
    /// `a = λ·γ/√(σ² + ε)`.
    factors: Buffer<T>,
    weight: T,
    gain: Slot,
    shift: Slot,
}

impl<T: Scalar> Backward<T> for GroupNormalize<T> {
    /// With `X̂_g = (S_g∘X - μ_g)/√(σ_g² + ε)`, `t = 1ᵀȲ` and `u_g = 1ᵀ(Ȳ∘X̂_g)`: `β̄_g = λ·t`, `γ̄_g = λ·u_g`, the gradient
    /// of `S_g∘X` is `W_g = a_g∘(Ȳ - t/n - X̂_g∘u_g/n)`, and so
    ///
    /// `X̄ = Ȳ + Σ_g S_g∘W_g`, `S̄_ig = x_i·w_ig`, `Z̄ = S∘(S̄ - rowsum(S∘S̄))`.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let ((rows, columns), groups) = (gradient.shape(), self.shares.columns());
        let pool = gradients.pool().clone();
        let (input, shares) = (self.input.0.as_slice(), self.shares.as_slice());
        let moments = (self.mean.as_slice(), self.inverse.as_slice());
        let mut plain = pool.take(1, columns);
        column_sums(&gradient, &mut plain, &pool);
        let mut weighted = pool.take(groups, columns);
        let mut partials = pool.take(partial_count(rows), groups * columns);
        let (total, scratch) = (weighted.as_mut_slice(), partials.as_mut_slice());
        sum_over_rows(rows, 2 * groups * columns, total, scratch, |range, partial| {
            let values = range.start * columns..range.end * columns;
            let sources = (&gradient.as_slice()[values.clone()], &input[values]);
            sum_products(
                partial,
                sources,
                &shares[range.start * groups..range.end * groups],
                moments,
                columns,
            );
        });

        // W_ig = a_g∘ȳ_i - p_g - S_ig·r_g∘x_i, with constants p and r gathered from t and u.
        let share = T::from_f64(1.0 / rows as f64);
        let mut constants = pool.take(groups, columns);
        let mut slopes = pool.take(groups, columns);
        for group in 0..groups {
            for column in 0..columns {
                let factor = self.factors.get(group, column);
                let slope = share * factor * self.inverse.get(group, column) * weighted.get(group, column);
                slopes.set(group, column, slope);
                let constant = share * factor * plain.get(0, column) - slope * self.mean.get(group, column);
                constants.set(group, column, constant);
            }
        }
        let parts = [self.factors.as_slice(), constants.as_slice(), slopes.as_slice()];
        let mut score_gradient = pool.take(rows, groups);
        for_each_block(score_gradient.as_mut_slice(), groups, 4 * groups * columns, |first, block| {
            let values = first * columns..first * columns + block.len() / groups * columns;
            let sources = (&gradient.as_slice()[values.clone()], &input[values]);
            scores_back(
                block,
                sources,
                &shares[first * groups..first * groups + block.len()],
                parts,
                columns,
            );
        });
        for_each_block(gradient.as_mut_slice(), columns, 4 * groups * columns, |first, block| {
            let input = &input[first * columns..first * columns + block.len()];
            let shares = &shares[first * groups..first * groups + block.len() / columns * groups];
            input_back(block, input, shares, parts, columns);
        });

        scale(&mut weighted, self.weight);
        scale(&mut plain, self.weight);
        let mut shift_gradient = pool.take(groups, columns);
        for group in 0..groups {
            shift_gradient.row_mut(group).copy_from_slice(plain.as_slice());
        }
        gradients.add(self.gain, weighted);
        gradients.add(self.shift, shift_gradient);
        gradients.add(self.scores, score_gradient);
        gradients.add(self.input.1, gradient);
    }
}

vectorized! {
    /// `sums_g = Σ_i ȳ_i∘(S_ig·x_i - mean_g)∘inverse_g`; the sources are `(Ȳ, X)`, the moments `(mean, inverse)`.
    fn sum_products<'a, T>(
        sums: &'a mut [T],
        sources: (&'a [T], &'a [T]),
        shares: &'a [T],
        moments: (&'a [T], &'a [T]),
        columns: usize,
    ) {
        let groups = sums.len() / columns;
        sums.fill(T::ZERO);
        let sources = sources.0.chunks_exact(columns).zip(sources.1.chunks_exact(columns));
        for ((gradient, input), shares) in sources.zip(shares.chunks_exact(groups)) {
            let means = moments.0.chunks_exact(columns);
            for ((sums, mean), &share) in sums.chunks_exact_mut(columns).zip(means).zip(shares) {
                for ((sum, &mean), (&gradient, &input)) in sums.iter_mut().zip(mean).zip(gradient.iter().zip(input)) {
                    *sum += gradient * (share * input - mean);
                }
            }
        }
        for (sum, &inverse) in sums.iter_mut().zip(moments.1) {
            *sum *= inverse;
        }
    }
}

vectorized! {
    /// `Z̄` from the sources `(Ȳ, X)` and the parts `(a, p, r)` of `W`.
    fn scores_back<'a, T>(
        output: &'a mut [T],
        sources: (&'a [T], &'a [T]),
        shares: &'a [T],
        parts: [&'a [T]; 3],
        columns: usize,
    ) {
        let groups = parts[0].len() / columns;
        let sources = sources.0.chunks_exact(columns).zip(sources.1.chunks_exact(columns));
        let outputs = output.chunks_exact_mut(groups).zip(shares.chunks_exact(groups));
        for ((output, shares), (gradient, input)) in outputs.zip(sources) {
            let mut middle = T::ZERO;
            for (group, (output, &share)) in output.iter_mut().zip(shares).enumerate() {
                let [factors, constants, slopes] = parts.map(|part| &part[group * columns..(group + 1) * columns]);
                let along = weighted_product(input, gradient, factors);
                let across = weighted_product(input, input, slopes);
                *output = along - dot(input, constants) - share * across;
                middle += share * *output;
            }
            for (output, &share) in output.iter_mut().zip(shares) {
                *output = share * (*output - middle);
            }
        }
    }
}

/// `Σ_j x_j·y_j·z_j`.
#[inline(always)]
fn weighted_product<T: Scalar>(first: &[T], second: &[T], weights: &[T]) -> T {
    let mut sums = [T::ZERO; STRETCH];
    for ((first, second), weights) in
        first.chunks(STRETCH).zip(second.chunks(STRETCH)).zip(weights.chunks(STRETCH))
    {
        for (sum, ((&first, &second), &weight)) in sums.iter_mut().zip(first.iter().zip(second).zip(weights))
        {
            *sum += first * second * weight;
        }
    }
    sum(&sums)
}

vectorized! {
    /// Turns `Ȳ` into `X̄ = Ȳ + Σ_g S_g∘W_g`, with the parts `(a, p, r)` of `W`.
    fn input_back<'a, T>(
        gradient: &'a mut [T],
        input: &'a [T],
        shares: &'a [T],
        parts: [&'a [T]; 3],
        columns: usize,
    ) {
        let groups = parts[0].len() / columns;
        let rows = gradient.chunks_exact_mut(columns).zip(input.chunks_exact(columns));
        for ((gradient, input), shares) in rows.zip(shares.chunks_exact(groups)) {
            for (index, (gradient, input)) in gradient.chunks_mut(STRETCH).zip(input.chunks(STRETCH)).enumerate() {
                let [mut factor, mut constant, mut slope] = [[T::ONE; STRETCH], [T::ZERO; STRETCH], [T::ZERO; STRETCH]];
                for (group, &share) in shares.iter().enumerate() {
                    let start = group * columns + index * STRETCH;
                    let [factors, constants, slopes] = parts.map(|part| &part[start..start + gradient.len()]);
                    for (sum, &value) in factor.iter_mut().zip(factors) {
                        *sum += share * value;
                    }
                    for (sum, &value) in constant.iter_mut().zip(constants) {
                        *sum += share * value;
                    }
                    for (sum, &value) in slope.iter_mut().zip(slopes) {
                        *sum += share * share * value;
                    }
                }
                let sums = factor.iter().zip(constant.iter().zip(&slope));
                for ((gradient, &input), (&factor, (&constant, &slope))) in gradient.iter_mut().zip(input).zip(sums) {
                    *gradient = factor * *gradient - constant - slope * input;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::check::check;
    use crate::testing::random_matrix;

    #[test]
    fn gradients() {
        for (columns, groups) in [(4, 3), (19, 2), (3, 1)] {
            let inputs = [
                random_matrix(7, columns, 1),
                random_matrix(7, groups, 2),
                random_matrix(groups, columns, 3),
                random_matrix(groups, columns, 4),
            ];
            check("group_normalize", &inputs, |tape, inputs| {
                tape.group_normalize(&inputs[0], &inputs[1], (&inputs[2], &inputs[3]), 0.7)
            });
        }
    }

    /// One group is batch normalisation beside the input.
    #[test]
    fn one_group_adds_the_batch_normalised_input() {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let [input, scores, gain, shift] = [(300, 5, 1), (300, 1, 2), (1, 5, 3), (1, 5, 4)]
            .map(|(rows, columns, seed)| tape.constant(&Arc::new(random_matrix(rows, columns, seed))));
        let grouped = tape.group_normalize(&input, &scores, (&gain, &shift), 0.25);
        let batch = tape.batch_normalize(&input, &gain, &shift);
        let expected =
            Matrix::from_fn(300, 5, |row, column| input.get(row, column) + 0.25 * batch.get(row, column));
        assert!(grouped.max_difference(&expected) < 1e-12);
    }
}
