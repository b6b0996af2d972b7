//! The two number types everything is generic over.

use std::fmt::{Debug, Display};
use std::iter::Sum;

use faer::traits::RealField;

use crate::exponential::{exponential, exponential_less_one};
use crate::kernels::DenseKernels;

/// A floating-point number the engine computes with: `f32` for training, `f64` for checking gradients.
pub trait Scalar: RealField + DenseKernels + Copy + Default + Debug + Display + Send + Sync + Sum {
    /// The distance from 1 to the next larger number.
    const EPSILON: Self;
    /// A sum of squares below this counts as zero: its powers would leave the range of the type.
    const NEGLIGIBLE: Self;
    /// The additive identity.
    const ZERO: Self;
    /// The multiplicative identity.
    const ONE: Self;
    /// The name of the type in files and messages: `"f32"` or `"f64"`.
    const NAME: &'static str;

    /// Rounds a double-precision number to this type.
    fn from_f64(value: f64) -> Self;
    /// Widens to double precision.
    fn to_f64(self) -> f64;
    /// The exponential.
    fn exp(self) -> Self;
    /// `eˣ - 1` for x up to 0, without the loss of digits near 0; of no use for positive x.
    fn exp_less_one(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

macro_rules! scalar {
    ($type:ident, $negligible:literal, $exponential:path, $less_one:path) => {
        impl Scalar for $type {
            const EPSILON: Self = $type::EPSILON;
            const NEGLIGIBLE: Self = $negligible;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const NAME: &'static str = stringify!($type);

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                $exponential(self)
            }
            #[inline(always)]
            fn exp_less_one(self) -> Self {
                $less_one(self)
            }
            fn ln(self) -> Self {
                $type::ln(self)
            }
            #[inline(always)]
            fn tanh(self) -> Self {
                $type::tanh(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $type::sqrt(self)
            }
            fn is_finite(self) -> bool {
                $type::is_finite(self)
            }
        }
    };
}

scalar!(f32, 1e-30, exponential, exponential_less_one);
scalar!(f64, 1e-180, f64::exp, f64::exp_m1);
