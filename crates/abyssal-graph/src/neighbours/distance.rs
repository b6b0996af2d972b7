//! The definition of distance, in double precision.

use serde::{Deserialize, Serialize};

/// How far apart two rows of features are.
///
/// The inner product `xᵀy` is the sum of `x_c·y_c` over ascending columns c in double precision, where every product
/// of two single-precision numbers is exact; so a distance is the same number in both directions, and for dense and
/// sparse rows. Written by inner products, mathematically equal distances of bags of words are equal numbers, which
/// a sum of squared differences of normalised rows would not give: ties are ties, and go to the smaller index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    /// Ranked by its square, `‖x‖² + ‖y‖² - 2·xᵀy`. Equal rows have distance 0. Rows that differ have a positive one: where
    /// rounding leaves nothing of it, or less, it is the smallest normal number. So duplicates come first.
    Euclidean,
    /// `1 - s`, at least 0, with the similarity `s = xᵀy / (‖x‖·‖y‖)` computed as `±√((xᵀy)² / (‖x‖²·‖y‖²))`, which is 1
    /// for equal rows, to the last bit. A row of zeros has similarity 0 with every row, zeros or not.
    Cosine,
}

impl Distance {
    /// The number rows are ranked by, from their squared norms and their inner product; `equal` tells whether the
    /// rows are equal, where that matters. Never negative, never NaN for finite features.
    pub(super) fn between(self, norms: (f64, f64), product: f64, equal: impl FnOnce() -> bool) -> f64 {
        match self {
            Self::Euclidean => {
                let squared = norms.0 + norms.1 - 2.0 * product;
                if squared > 0.0 {
                    squared
                } else if equal() {
                    0.0
                } else {
                    f64::MIN_POSITIVE
                }
            }
            // Squares of single-precision numbers are at least 2^-298 and at most 2^256: nothing under- or overflows.
            Self::Cosine if norms.0 * norms.1 == 0.0 => 1.0,
            Self::Cosine => {
                let squared = product * product / (norms.0 * norms.1);
                (1.0 - squared.sqrt().copysign(product)).max(0.0)
            }
        }
    }
}

/// The inner products of one row with several, side by side: a sum waits for its last addition, several do not.
pub(super) fn inner_products<const LANES: usize>(row: &[f32], others: [&[f32]; LANES]) -> [f64; LANES] {
    let others = others.map(|other| &other[..row.len()]);
    let mut sums = [0.0; LANES];
    for (column, &value) in row.iter().enumerate() {
        let value = f64::from(value);
        for (sum, other) in sums.iter_mut().zip(others) {
            *sum += value * f64::from(other[column]);
        }
    }
    sums
}

/// The inner product of two sparse rows, given as columns and values.
pub(super) fn sparse_inner_product(left: (&[u32], &[f32]), right: (&[u32], &[f32])) -> f64 {
    let mut sum = 0.0;
    let (mut first, mut second) = (0, 0);
    while let (Some(column), Some(other)) = (left.0.get(first), right.0.get(second)) {
        if column == other {
            sum += f64::from(left.1[first]) * f64::from(right.1[second]);
        }
        first += usize::from(column <= other);
        second += usize::from(other <= column);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(distance: Distance, left: &[f32], right: &[f32]) -> f64 {
        let product = |a, b| inner_products(a, [b])[0];
        distance.between((product(left, left), product(right, right)), product(left, right), || left == right)
    }

    #[test]
    fn distances_are_those_of_the_definition() {
        assert_eq!(between(Distance::Euclidean, &[1.0, 2.0], &[4.0, 6.0]), 25.0);
        assert_eq!(between(Distance::Cosine, &[3.0, 4.0], &[4.0, 3.0]), 1.0 - 24.0 / 25.0);
        assert_eq!(between(Distance::Cosine, &[3.0, 4.0], &[-3.0, -4.0]), 2.0);
        assert_eq!(between(Distance::Cosine, &[1.0, 1.0], &[3.0, 3.0]), 0.0);
        assert_eq!(between(Distance::Cosine, &[0.0, 0.0], &[3.0, 3.0]), 1.0);
        assert_eq!(between(Distance::Cosine, &[0.0, 0.0], &[0.0, 0.0]), 1.0);
    }

    #[test]
    fn rows_that_differ_are_farther_than_duplicates() {
        let row = [1e4, 1e-7];
        assert_eq!(between(Distance::Euclidean, &row, &row), 0.0);
        // The true square is 1e-14, where the squares of norms near 1e8 are rounded to 1e-8.
        assert_eq!(between(Distance::Euclidean, &row, &[1e4, 2e-7]), f64::MIN_POSITIVE);
    }

    #[test]
    fn the_smallest_and_the_largest_numbers_have_cosines() {
        let tiny = f32::from_bits(1);
        assert_eq!(between(Distance::Cosine, &[tiny, 0.0], &[f32::MAX, 0.0]), 0.0);
        assert_eq!(between(Distance::Cosine, &[tiny, tiny], &[-tiny, -tiny]), 2.0);
        assert_eq!(between(Distance::Cosine, &[f32::MAX; 3], &[f32::MAX; 3]), 0.0);
    }

    #[test]
    fn sparse_and_dense_products_are_the_same_bits() {
        let product = sparse_inner_product((&[0, 2, 5], &[0.1, 0.7, 3.0]), (&[2, 3, 5], &[1.3, 9.0, 0.3]));
        let left = [0.1, 0.0, 0.7, 0.0, 0.0, 3.0];
        let right = [0.0, 0.0, 1.3, 9.0, 0.0, 0.3];
        assert_eq!(product, inner_products(&left, [&right])[0]);
        assert_eq!(sparse_inner_product((&[], &[]), (&[1], &[1.0])), 0.0);
    }
}
