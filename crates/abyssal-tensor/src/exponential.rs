//! The exponential in single precision, written so that loops over it can be vectorised.

/// `eˣ` with an error of at most two units in the last place; 0 and infinity beyond the range, NaN for NaN.
///
/// `eˣ = 2ᵏ·eʳ` with `k = round(x / ln 2)`, so that `|r| ≤ ln 2 / 2`, where the series up to `r⁷` is good to `5·10⁻⁹`. There is no
/// branch and no call, which a vector register could not take part in; the library's function has both.
#[inline(always)]
pub(crate) fn exponential(x: f32) -> f32 {
    let (power, rest) = reduced(x.clamp(-104.0, 89.0));
    let sum = series(rest) * rest + 1.0;
    // In two halves, since 2ᵏ alone may be out of range where the product is not.
    let half = power >> 1;
    sum * power_of_two(half) * power_of_two(power.wrapping_sub(half))
}

/// `eˣ - 1` for `x ≤ 0`, with an error of at most two units in the last place also where `eˣ` is close to 1; 0 for positive `x`, NaN for
/// NaN.
///
/// `2ᵏ·(eʳ - 1) + (2ᵏ - 1)` with `k` and `r` as above: near zero `k = 0`, and nothing cancels.
#[inline(always)]
pub(crate) fn exponential_less_one(x: f32) -> f32 {
    // Further down, the difference to -1 is below rounding.
    let (power, rest) = reduced(x.clamp(-64.0, 0.0));
    let scale = power_of_two(power);
    scale * (series(rest) * rest) + (scale - 1.0)
}

/// `k = round(x / ln 2)` and `r = x - k·ln 2`.
#[inline(always)]
fn reduced(x: f32) -> (i32, f32) {
    /// Adding it leaves no room for a fraction: what is below the point is rounded away.
    const ROUNDING: f32 = 12_582_912.0;
    /// `ln 2` in two parts; the product of the first one with any `k` is exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

    let shifted = x * std::f32::consts::LOG2_E + ROUNDING;
    let rounded = shifted - ROUNDING;
    let power = (shifted.to_bits() as i32).wrapping_sub(ROUNDING.to_bits() as i32);
    (power, x - rounded * LN_2[0] - rounded * LN_2[1])
}

/// `(eʳ - 1)/r`, for `|r| ≤ ln 2 / 2`.
#[inline(always)]
fn series(rest: f32) -> f32 {
    const SERIES: [f32; 7] = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0];
    let mut sum = SERIES[0];
    for &coefficient in &SERIES[1..] {
        sum = sum * rest + coefficient;
    }
    sum
}

/// `2ᵏ` for `-126 ≤ k ≤ 127`.
#[inline(always)]
fn power_of_two(power: i32) -> f32 {
    f32::from_bits((power.wrapping_add(127) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_double_precision() {
        let mut worst = 0.0f64;
        for step in -870_000..=885_000 {
            let x = step as f32 * 1e-4;
            let exact = f64::from(x).exp();
            let unit = f64::from(f32::EPSILON) * exact;
            worst = worst.max((f64::from(exponential(x)) - exact).abs() / unit);
        }
        assert!(worst <= 2.0, "{worst} units");
    }

    #[test]
    fn the_exponential_less_one_loses_no_digits_near_zero() {
        let mut worst = 0.0f64;
        let small = (0..4000).map(|step| -(10f32.powf(-0.01 * step as f32)));
        let large = (0..=700_000).map(|step| -1e-4 * step as f32);
        for x in small.chain(large).filter(|x| x.is_normal()) {
            let exact = f64::from(x).exp_m1();
            let error = (f64::from(exponential_less_one(x)) - exact).abs();
            worst = worst.max(error / (f64::from(f32::EPSILON) * exact.abs()));
        }
        assert!(worst <= 2.0, "{worst} units");
        assert_eq!(exponential_less_one(0.0), 0.0);
        assert_eq!(exponential_less_one(f32::NEG_INFINITY), -1.0);
        assert!(exponential_less_one(f32::NAN).is_nan());
    }

    #[test]
    fn it_ends_where_the_numbers_end() {
        assert_eq!(exponential(0.0), 1.0);
        assert_eq!(exponential(-0.0), 1.0);
        assert_eq!(exponential(f32::NEG_INFINITY), 0.0);
        assert_eq!(exponential(-1e30), 0.0);
        assert_eq!(exponential(f32::INFINITY), f32::INFINITY);
        assert_eq!(exponential(89.0), f32::INFINITY);
        assert!(exponential(88.7).is_finite());
        assert!(exponential(f32::NAN).is_nan());
        // Below the smallest normal number, results become coarse, but not zero at once.
        let small = f64::from(exponential(-100.0));
        assert!((small / (-100.0f64).exp() - 1.0).abs() < 0.05, "{small}");
    }
}
