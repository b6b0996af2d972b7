//! The innermost loop of products: a tile of the result that stays in registers while it is summed up.

use pulp::Simd;

use super::Accumulate;
use super::lanes::Lanes;

/// The rows of a tile. With [`most_registers`] of columns this leaves registers for the factors.
pub(super) const ROWS: usize = 6;
/// The rows of a smaller tile, for what is left over.
pub(super) const FEWER_ROWS: usize = 3;

/// The columns of a tile in registers, at most: six rows of four are 24 of 32 registers, six of two are 12 of 16.
pub(super) const fn most_registers<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { 4 } else { 2 }
}

/// A tile of `R` rows and `N` registers of columns.
pub(super) type Tile<T, S, const R: usize, const N: usize> = [[<T as Lanes>::Vector<S>; N]; R];

/// A tile of zeros.
#[inline(always)]
pub(super) fn zeros<T: Lanes, S: Simd, const R: usize, const N: usize>(simd: S) -> Tile<T, S, R, N> {
    [[T::splat(simd, T::default()); N]; R]
}

/// `tile += l·rᵀ` for `R` values from the left factor and `N` registers from the right one.
///
/// The values on the left come as references: a value that is loaded when it is needed goes into all places of a register on its way
/// from memory, one that was loaded before takes an instruction where multiply-adds are computed, which made products a quarter slower.
/// Loops count where iterators over arrays would read better, because the compiler does not always unroll those.
#[inline(always)]
pub(super) fn add_step<T: Lanes, S: Simd, const R: usize, const N: usize>(
    simd: S,
    tile: &mut Tile<T, S, R, N>,
    left: [&T; R],
    right: [T::Vector<S>; N],
) {
    for row in 0..R {
        let left = T::splat(simd, *left[row]);
        for column in 0..N {
            tile[row][column] = T::multiply_add(simd, left, right[column], tile[row][column]);
        }
    }
}

/// The first `N` registers of a row.
#[inline(always)]
pub(super) fn load<T: Lanes, S: Simd, const N: usize>(row: &[T]) -> [T::Vector<S>; N] {
    *T::registers::<S>(row).0.first_chunk().expect("a row has as many registers as the tile")
}

/// Writes a tile, or adds it, to rows that are `stride` values apart: so many columns of it, of which only the last register may be
/// incomplete.
#[inline(always)]
pub(super) fn store<T: Lanes, S: Simd, const R: usize, const N: usize>(
    simd: S,
    tile: Tile<T, S, R, N>,
    accumulate: Accumulate,
    (output, stride): (&mut [T], usize),
    columns: usize,
) {
    let updated = |old, sum| match accumulate {
        Accumulate::Replace => sum,
        Accumulate::Add => T::add(simd, old, sum),
    };
    for (row, sums) in tile.into_iter().enumerate() {
        let (whole, part) = T::registers_mut::<S>(&mut output[row * stride..][..columns]);
        if let Some(whole) = whole.first_chunk_mut::<N>() {
            for (target, sum) in whole.iter_mut().zip(sums) {
                *target = updated(*target, sum);
            }
            continue;
        }
        for (target, sum) in whole.iter_mut().zip(sums) {
            *target = updated(*target, sum);
        }
        let last = updated(T::load_part(simd, part), sums[N - 1]);
        T::store_part(simd, part, last);
    }
}
