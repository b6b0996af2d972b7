//! A sieve in single precision: which nodes are certainly farther away than a given distance.
//!
//! Let `y_i` be the points: the rows for Euclidean distance, the rows divided by their norms for cosine distance, where
//! `‖y_i - y_j‖² = 2·(1 - s_ij)` (a row of zeros stays zero, and nearer to all others than its distance says). The sieve
//! holds `z_i = scale·(y_i - mean)` in single precision, `scale` being a power of two that keeps values within ±1.
//! With `a_i = ‖z_i‖²`, the product `p_ij` of `z_i` and `z_j` computed in single precision, and `N_i` the squared norm of
//! `y_i`, the distance by definition is, as a square `q_ij`, at least
//!
//! `scale²·q_ij ≥ (1 - κ)·(a_i + a_j) - 2·p_ij - λ·scale²·(N_i + N_j) - τ`.
//!
//! - `κ = γ + 8u` with `u = 2^-24` and `γ = d·u / (1 - d·u)`. The sum of d products in any order, fused or not, is wrong by
//!   at most `γ·‖z_i‖·‖z_j‖ ≤ γ·(a_i + a_j) / 2`, and counts twice. Rounding each point to single precision moves it by
//!   `u·‖z_i‖`, hence `q` by `2·(‖z_i‖ + ‖z_j‖)·u·(‖z_i‖ + ‖z_j‖) ≤ 4u·(a_i + a_j)`; the rest of `8u` is to spare.
//! - `λ = 8·(d + 4)·2^-53`: the definition rounds two norms and a product, each by at most `d·2^-53` of its size, and so
//!   does the division by the norms.
//! - `τ = d·2^-140`: numbers below 2^-126 lose digits, 2^-150 at most in each point and each product.
//!
//! Centring is what makes this sharp: features with a large common offset, or the nearly parallel embeddings of
//! a deep network, differ by less than single precision resolves, but not once the mean is gone.

use abyssal_tensor::Matrix;

use super::Distance;

/// Half the distance from 1 to the next larger number: the largest relative error of rounding.
const SINGLE: f64 = f32::EPSILON as f64 / 2.0;
const DOUBLE: f64 = f64::EPSILON / 2.0;
/// With more columns than this, `d·u` is too close to 1 for a bound worth having.
const COLUMNS: usize = 1 << 22;

/// Points in single precision, and what the bound needs to know of each.
pub(super) struct Screen {
    points: Matrix<f32>,
    /// Half of `(1 - κ)·a_i - λ·scale²·N_i - τ/2` of each row.
    halves: Vec<f64>,
    /// The same, rounded down.
    rounded: Vec<f32>,
    /// Half of `scale²·q` for a distance of 1.
    unit: f64,
}

impl Screen {
    /// Prepares the points; `norms` are the squared norms of the features.
    pub(super) fn new(features: &Matrix<f32>, norms: &[f64], distance: Distance) -> Self {
        let (rows, columns) = features.shape();
        // The norm to divide by, the squared norm of the point, and its squared distance for a distance of 1.
        let divisor = |row: usize| match distance {
            Distance::Cosine if norms[row] > 0.0 => norms[row].sqrt(),
            Distance::Cosine | Distance::Euclidean => 1.0,
        };
        let squared_norm = |row: usize| match distance {
            Distance::Euclidean => norms[row],
            Distance::Cosine => 1.0,
        };
        let square = match distance {
            Distance::Euclidean => 1.0,
            Distance::Cosine => 2.0,
        };

        let mut mean = vec![0.0; columns];
        for row in 0..rows {
            let divisor = divisor(row) * rows as f64;
            for (mean, &value) in mean.iter_mut().zip(features.row(row)) {
                *mean += f64::from(value) / divisor;
            }
        }
        let centred = |row: usize| {
            let divisor = divisor(row);
            features.row(row).iter().zip(&mean).map(move |(&value, mean)| f64::from(value) / divisor - mean)
        };
        let largest = (0..rows).flat_map(centred).fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let scale = if largest > 0.0 { (-largest.log2().ceil()).exp2() } else { 1.0 };
        let values: Vec<f32> = (0..rows).flat_map(centred).map(|value| (value * scale) as f32).collect();
        let points = Matrix::from_slice(rows, columns, &values);

        let sum_error = columns as f64 * SINGLE;
        // Infinity lets everything pass.
        let kappa =
            if columns <= COLUMNS { sum_error / (1.0 - sum_error) + 8.0 * SINGLE } else { f64::INFINITY };
        let lambda = 8.0 * (columns as f64 + 4.0) * DOUBLE;
        let tau = columns as f64 * (-140f64).exp2();
        let half = |row: usize| {
            let squared: f64 = points.row(row).iter().map(|&value| f64::from(value).powi(2)).sum();
            ((1.0 - kappa) * squared - lambda * scale.powi(2) * squared_norm(row) - tau / 2.0) / 2.0
        };
        let halves: Vec<f64> = (0..rows).map(half).collect();
        let rounded = halves.iter().map(|&half| rounded_down(half)).collect();
        Self { points, halves, rounded, unit: scale.powi(2) * square / 2.0 }
    }

    /// The points whose products [`Screen::are_far`] judges.
    pub(super) fn points(&self) -> &Matrix<f32> {
        &self.points
    }

    /// What a product with this row must reach, the share of the other row apart, to be within the distance.
    pub(super) fn limit(&self, row: usize, distance: f64) -> f32 {
        rounded_down(self.halves[row] - self.unit * distance)
    }

    /// Whether a node is certainly farther away than the distance the limit was made for.
    #[inline(always)]
    fn is_far(product: f32, rounded: f32, limit: f32) -> bool {
        // False for NaN, which infinities of both signs give: what cannot be judged passes.
        product < rounded + limit
    }

    /// Whether all nodes from `first` on, one for each product, are certainly farther away.
    pub(super) fn are_far(&self, first: usize, products: &[f32], limit: f32) -> bool {
        let rounded = &self.rounded[first..first + products.len()];
        // No early end: a loop without one is vectorised.
        products
            .iter()
            .zip(rounded)
            .fold(true, |far, (&product, &rounded)| far & Self::is_far(product, rounded, limit))
    }

    /// Those of the nodes from `first` on that may be within the distance.
    pub(super) fn passing(&self, first: usize, products: &[f32], limit: f32) -> impl Iterator<Item = u32> {
        let rounded = &self.rounded[first..first + products.len()];
        let pairs = (first as u32..).zip(products.iter().zip(rounded));
        pairs
            .filter(move |(_, (product, rounded))| !Self::is_far(**product, **rounded, limit))
            .map(|(node, _)| node)
    }
}

/// A number in single precision below `value` by so much that the rounded sum of two of them is no larger than the sum of
/// the values.
fn rounded_down(value: f64) -> f32 {
    ((value - 2.0 * SINGLE * value.abs()) as f32).next_down()
}

#[cfg(test)]
mod tests {
    use abyssal_tensor::gemm::inner_products_into;
    use abyssal_tensor::testing::random_matrix;

    use super::super::distance::inner_products;
    use super::*;

    const ROWS: usize = 80;

    /// Standard normal numbers around an offset, each row times a factor of its own.
    fn features(columns: usize, offset: f64, factor: impl Fn(usize) -> f64, seed: u64) -> Matrix<f32> {
        let normal = random_matrix(ROWS, columns, seed);
        Matrix::from_fn(ROWS, columns, |row, column| {
            ((offset + normal.get(row, column)) * factor(row)) as f32
        })
    }

    /// For every pair, whether the screen calls it farther than `share` of its true distance.
    fn verdicts(features: &Matrix<f32>, distance: Distance, share: f64) -> Vec<bool> {
        let product = |row, other| inner_products(features.row(row), [features.row(other)])[0];
        let norms: Vec<f64> = (0..ROWS).map(|row| product(row, row)).collect();
        let screen = Screen::new(features, &norms, distance);
        let mut products = vec![0.0; ROWS * ROWS];
        inner_products_into((screen.points(), 0..ROWS), (screen.points(), 0..ROWS), &mut products);
        let pairs =
            (0..ROWS * ROWS).map(|pair| (pair / ROWS, pair % ROWS)).filter(|(row, other)| row != other);
        pairs
            .map(|(row, other)| {
                let (own, near) = (features.row(row), features.row(other));
                let exact = distance.between((norms[row], norms[other]), product(row, other), || own == near);
                let limit = screen.limit(row, share * exact);
                screen.are_far(other, &products[row * ROWS + other..][..1], limit)
            })
            .collect()
    }

    /// If the bound were too tight, some pair at exactly the distance would be thrown away.
    #[test]
    fn no_pair_is_called_farther_than_it_is() {
        let scales: [&dyn Fn(usize) -> f64; 5] =
            [&|_| 1.0, &|_| 1e-41, &|_| 1e30, &|row| 10f64.powi(-(row as i32) / 2), &|row| {
                if row % 3 == 0 { 0.0 } else { 1.0 }
            }];
        for (seed, columns) in [1, 2, 7, 64, 1000].into_iter().enumerate() {
            for offset in [0.0, 1.0, 1e4, 1e7] {
                for scale in scales {
                    for distance in [Distance::Euclidean, Distance::Cosine] {
                        let features = features(columns, offset, scale, seed as u64);
                        let far = verdicts(&features, distance, 1.0);
                        assert!(!far.contains(&true), "{columns} columns, offset {offset}, {distance:?}");
                    }
                }
            }
        }
    }

    /// Beside rows of ±1, squares of 2^-75.1 are zero in single precision, and so are their products.
    #[test]
    fn no_pair_is_called_farther_than_it_is_where_products_underflow() {
        let noise = random_matrix(ROWS, 1000, 1);
        let features = Matrix::from_fn(ROWS, 1000, |row, column| {
            let sign = if row % 2 == 0 { 1.0 } else { -1.0 };
            let size = if row < 2 { 1.0 } else { (-75.1f64).exp2() * (1.0 + 1e-3 * noise.get(row, column)) };
            (sign * size) as f32
        });
        assert!(!verdicts(&features, Distance::Euclidean, 1.0).contains(&true));
    }

    /// A bound that lets everything pass would be sound too, and useless.
    #[test]
    fn pairs_a_little_farther_are_called_far() {
        for offset in [0.0, 10.0, 1e4] {
            for distance in [Distance::Euclidean, Distance::Cosine] {
                let far = verdicts(&features(64, offset, |_| 1.0, 1), distance, 0.99);
                assert!(!far.contains(&false), "offset {offset}, {distance:?}");
            }
        }
    }

    #[test]
    fn too_many_columns_let_everything_pass() {
        let columns = COLUMNS + 1;
        let features = Matrix::from_fn(2, columns, |row, column| if row == column { 1.0 } else { 0.0 });
        let screen = Screen::new(&features, &[1.0, 1.0], Distance::Euclidean);
        let limit = screen.limit(0, 0.0);
        assert_eq!(screen.passing(0, &[-1.0, -1.0], limit).collect::<Vec<_>>(), [0, 1]);
    }
}
