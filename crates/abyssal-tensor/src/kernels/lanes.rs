//! Both number types in vector registers, under the same names.

use pulp::Simd;

/// A number type that vector registers hold several values of.
pub trait Lanes: Copy + Default + Send + Sync + 'static {
    /// A vector register.
    type Vector<S: Simd>: Copy;

    /// How many values a register holds.
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::Vector<S>>() / size_of::<Self>()
    }
    /// A register with this value in all places.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    /// `a·b + c`, rounded once where the processor can.
    fn multiply_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// `a + b`.
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// As many whole registers as there are values for, and what is left.
    fn registers<S: Simd>(values: &[Self]) -> (&[Self::Vector<S>], &[Self]);
    /// As [`Lanes::registers`], to write.
    fn registers_mut<S: Simd>(values: &mut [Self]) -> (&mut [Self::Vector<S>], &mut [Self]);
    /// Fewer values than a register holds; the other places are zero.
    fn load_part<S: Simd>(simd: S, values: &[Self]) -> Self::Vector<S>;
    /// The first places of a register, as many as there is room for.
    fn store_part<S: Simd>(simd: S, values: &mut [Self], vector: Self::Vector<S>);
}

macro_rules! lanes {
    ($type:ty, $vector:ident, $splat:ident, $multiply_add:ident, $add:ident, $split:ident, $split_mut:ident, $load:ident, $store:ident) => {
        impl Lanes for $type {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$vector {
                simd.$splat(value)
            }
            #[inline(always)]
            fn multiply_add<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$multiply_add(a, b, c)
            }
            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn registers<S: Simd>(values: &[Self]) -> (&[S::$vector], &[Self]) {
                S::$split(values)
            }
            #[inline(always)]
            fn registers_mut<S: Simd>(values: &mut [Self]) -> (&mut [S::$vector], &mut [Self]) {
                S::$split_mut(values)
            }
            #[inline(always)]
            fn load_part<S: Simd>(simd: S, values: &[Self]) -> S::$vector {
                simd.$load(values)
            }
            #[inline(always)]
            fn store_part<S: Simd>(simd: S, values: &mut [Self], vector: S::$vector) {
                simd.$store(values, vector)
            }
        }
    };
}

lanes!(
    f32,
    f32s,
    splat_f32s,
    mul_add_e_f32s,
    add_f32s,
    as_simd_f32s,
    as_mut_simd_f32s,
    partial_load_f32s,
    partial_store_f32s
);
lanes!(
    f64,
    f64s,
    splat_f64s,
    mul_add_e_f64s,
    add_f64s,
    as_simd_f64s,
    as_mut_simd_f64s,
    partial_load_f64s,
    partial_store_f64s
);
