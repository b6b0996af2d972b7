//! Loops compiled for several instruction sets.

/// Defines a function whose body is compiled for every instruction set we care about (AVX-512, AVX2 with FMA, NEON, the
/// baseline); the best one this processor has is chosen at run time.
///
/// The loops in the body are plain Rust and left to the compiler to vectorise. A closure would read better at the
/// place of use, but the compiler may leave a closure outside, where it is compiled for the baseline only. What
/// the body calls must be `#[inline(always)]` for the same reason.
macro_rules! vectorized {
    (
        $(#[$meta:meta])*
        $visibility:vis fn $name:ident<$life:lifetime $(, $type:ident)?>(
            $($argument:ident: $kind:ty),* $(,)?
        ) $body:block
    ) => {
        $(#[$meta])*
        $visibility fn $name<$life $(, $type: $crate::Scalar)?>($($argument: $kind),*) {
            struct Kernel<$life $(, $type: $crate::Scalar)?> {
                $($argument: $kind,)*
                lifetime: std::marker::PhantomData<&$life ()>,
            }
            impl<$life $(, $type: $crate::Scalar)?> pulp::WithSimd for Kernel<$life $(, $type)?> {
                type Output = ();
                #[inline(always)]
                fn with_simd<S: pulp::Simd>(self, _: S) {
                    let Self { $($argument,)* lifetime: _ } = self;
                    $body
                }
            }
            pulp::Arch::new().dispatch(Kernel { $($argument,)* lifetime: std::marker::PhantomData })
        }
    };
}

pub(crate) use vectorized;
