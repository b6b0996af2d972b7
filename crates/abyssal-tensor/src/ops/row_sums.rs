//! Sums along a row, for loops that are vectorised already.

use crate::Scalar;

/// So many sums are kept side by side, so that the compiler can keep them in vector registers.
const LANES: usize = 8;

/// `Σ_j x_j`.
#[inline(always)]
pub(super) fn sum<T: Scalar>(row: &[T]) -> T {
    let mut sums = [T::ZERO; LANES];
    let mut stretches = row.chunks_exact(LANES);
    for stretch in &mut stretches {
        for (sum, &value) in sums.iter_mut().zip(stretch) {
            *sum += value;
        }
    }
    for (sum, &value) in sums.iter_mut().zip(stretches.remainder()) {
        *sum += value;
    }
    total(sums)
}

/// `Σ_j x_j·y_j`.
#[inline(always)]
pub(super) fn dot<T: Scalar>(left: &[T], right: &[T]) -> T {
    let (left, left_rest) = left.as_chunks::<LANES>();
    let (right, right_rest) = right.as_chunks::<LANES>();
    let mut sums = [T::ZERO; LANES];
    for (left, right) in left.iter().zip(right) {
        for ((sum, &left), &right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    let mut total = total(sums);
    for (&left, &right) in left_rest.iter().zip(right_rest) {
        total += left * right;
    }
    total
}

/// `Σ_j (x_j - a)·(y_j - b)`.
#[inline(always)]
pub(super) fn shifted_dot<T: Scalar>((left, a): (&[T], T), (right, b): (&[T], T)) -> T {
    let mut sums = [T::ZERO; LANES];
    let (mut lefts, mut rights) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    for (left, right) in (&mut lefts).zip(&mut rights) {
        for (sum, (&left, &right)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum += (left - a) * (right - b);
        }
    }
    let rest = lefts.remainder().iter().zip(rights.remainder());
    for (sum, (&left, &right)) in sums.iter_mut().zip(rest) {
        *sum += (left - a) * (right - b);
    }
    total(sums)
}

/// Mean and variance `1/d · Σ_j (x_j - mean)²` of a row.
#[inline(always)]
pub(super) fn moments<T: Scalar>(row: &[T]) -> (T, T) {
    let share = T::ONE / T::from_f64(row.len() as f64);
    let mean = share * sum(row);
    (mean, share * shifted_dot((row, mean), (row, mean)))
}

#[inline(always)]
fn total<T: Scalar>(sums: [T; LANES]) -> T {
    let mut total = T::ZERO;
    for sum in sums {
        total += sum;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_any_length_are_the_definitions() {
        for length in 1..30 {
            let left: Vec<f64> = (0..length).map(|index| f64::from(index * index % 7)).collect();
            let right: Vec<f64> = (0..length).map(|index| f64::from(index * 5 % 11) - 3.0).collect();
            assert_eq!(sum(&left), left.iter().sum::<f64>());
            let expected: f64 =
                left.iter().zip(&right).map(|(left, right)| (left - 1.0) * (right + 2.0)).sum();
            let expected_dot: f64 = left.iter().zip(&right).map(|(left, right)| left * right).sum();
            assert_eq!(dot(&left, &right), expected_dot);
            assert_eq!(shifted_dot((&left, 1.0), (&right, -2.0)), expected);
        }
        let (mean, variance) = moments(&[1.0, 3.0, 5.0, 7.0]);
        assert_eq!((mean, variance), (4.0, 5.0));
    }
}
