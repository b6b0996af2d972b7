//! Counter-based random numbers: Philox4x32-10.
//!
//! A number is a pure function of `(seed, purpose, two coordinates, position)`, so it does not matter in which
//! order, on how many threads, or after how many interruptions numbers are drawn.
//!
//! Salmon, Moraes, Dror, Shaw: *Parallel random numbers: as easy as 1, 2, 3* (SC 2011).

use crate::vectorized::vectorized;

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: u32 = 10;

/// Blocks computed side by side, so that the compiler can keep them in vector registers.
const LANES: usize = 16;
/// Words one call of [`philox_lanes`] gives.
const BATCH: usize = 4 * LANES;

/// What random numbers are drawn for. Numbers of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Initial weights.
    Initialization = 1,
    /// Dropout masks.
    Dropout = 2,
    /// Synthetic graphs and features.
    Generation = 3,
    /// Random splits.
    Split = 4,
    /// Features replaced by noise.
    NoiseFeatures = 5,
}

/// An endless sequence of random numbers with random access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: [u32; 2],
    coordinates: [u32; 2],
}

impl Stream {
    /// The sequence for a seed, a purpose and two coordinates (say, epoch and layer).
    pub fn new(seed: u64, purpose: Purpose, first: u32, second: u32) -> Self {
        let mixed = mix(seed ^ mix(purpose as u64));
        Self { key: [mixed as u32, (mixed >> 32) as u32], coordinates: [first, second] }
    }

    /// The 32-bit words at positions `start, start + 1, …`.
    pub fn fill(&self, start: u64, words: &mut [u32]) {
        fill(self, start, words);
    }

    /// The body of [`Stream::fill`], for loops that are vectorised already.
    #[inline(always)]
    pub(crate) fn fill_inline(&self, start: u64, words: &mut [u32]) {
        let mut position = start;
        let mut rest = words;
        while !rest.is_empty() {
            let offset = (position % BATCH as u64) as usize;
            let batch = self.batch(position / BATCH as u64);
            let count = rest.len().min(BATCH - offset);
            let (now, later) = rest.split_at_mut(count);
            now.copy_from_slice(&batch[offset..offset + count]);
            position += count as u64;
            rest = later;
        }
    }

    /// The word at one position.
    pub fn word(&self, position: u64) -> u32 {
        let block = position / 4;
        philox([block as u32, (block >> 32) as u32, self.coordinates[0], self.coordinates[1]], self.key)
            [(position % 4) as usize]
    }

    /// A uniform number in [0, 1) with 53 random bits, from the two words at `2·position`.
    pub fn uniform(&self, position: u64) -> f64 {
        let bits = u64::from(self.word(2 * position)) << 32 | u64::from(self.word(2 * position + 1));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal number (Box and Muller's transform).
    pub fn normal(&self, position: u64) -> f64 {
        // 1 - u is in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform(2 * position)).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform(2 * position + 1)).cos()
    }

    /// A whole number in `0..bound`, for a bound far below 2⁵³.
    pub fn below(&self, position: u64, bound: usize) -> usize {
        ((self.uniform(position) * bound as f64) as usize).min(bound - 1)
    }

    /// A uniformly random order of `0..count` (Fisher and Yates).
    pub fn permutation(&self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last as u64, last + 1));
        }
        order
    }

    #[inline(always)]
    fn batch(&self, index: u64) -> [u32; BATCH] {
        let mut low = [0; LANES];
        let mut high = [0; LANES];
        for lane in 0..LANES {
            let block = index * LANES as u64 + lane as u64;
            low[lane] = block as u32;
            high[lane] = (block >> 32) as u32;
        }
        let blocks = [low, high, [self.coordinates[0]; LANES], [self.coordinates[1]; LANES]];
        let blocks = philox_lanes(blocks, self.key);
        let mut words = [0; BATCH];
        for lane in 0..LANES {
            for (word, values) in blocks.iter().enumerate() {
                words[4 * lane + word] = values[lane];
            }
        }
        words
    }
}

vectorized! {
    fn fill<'a>(stream: &'a Stream, start: u64, words: &'a mut [u32]) {
        stream.fill_inline(start, words);
    }
}

/// One block of Philox4x32-10.
fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    philox_lanes(counter.map(|word| [word]), key).map(|lanes| lanes[0])
}

/// Philox4x32-10 on `N` counters at once.
#[inline(always)]
fn philox_lanes<const N: usize>(mut counter: [[u32; N]; 4], mut key: [u32; 2]) -> [[u32; N]; 4] {
    for _ in 0..ROUNDS {
        let mut next = [[0; N]; 4];
        for lane in 0..N {
            let first = u64::from(MULTIPLIERS[0]) * u64::from(counter[0][lane]);
            let second = u64::from(MULTIPLIERS[1]) * u64::from(counter[2][lane]);
            next[0][lane] = (second >> 32) as u32 ^ counter[1][lane] ^ key[0];
            next[1][lane] = second as u32;
            next[2][lane] = (first >> 32) as u32 ^ counter[3][lane] ^ key[1];
            next[3][lane] = first as u32;
        }
        counter = next;
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// SplitMix64's finaliser: spreads every bit of a seed over the whole key.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers published with Random123.
    #[test]
    fn philox_gives_the_known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn filling_from_anywhere_equals_single_words() {
        let stream = Stream::new(7, Purpose::Dropout, 3, 1);
        for (start, count) in [(0, 200), (5, 1), (63, 2), (61, 130), (1 << 40, 70)] {
            let mut words = vec![0; count];
            stream.fill(start, &mut words);
            let expected: Vec<u32> = (0..count).map(|index| stream.word(start + index as u64)).collect();
            assert_eq!(words, expected, "from {start}");
        }
    }

    #[test]
    fn purposes_seeds_and_coordinates_differ() {
        let base = Stream::new(1, Purpose::Split, 0, 0);
        for other in [
            Stream::new(2, Purpose::Split, 0, 0),
            Stream::new(1, Purpose::Dropout, 0, 0),
            Stream::new(1, Purpose::Split, 1, 0),
            Stream::new(1, Purpose::Split, 0, 1),
        ] {
            assert_ne!(base.word(0), other.word(0));
        }
    }

    #[test]
    fn normal_numbers_have_the_right_moments() {
        let stream = Stream::new(11, Purpose::Generation, 0, 0);
        let numbers: Vec<f64> = (0..20_000).map(|position| stream.normal(position)).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let variance =
            numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / numbers.len() as f64;
        assert!(mean.abs() < 0.03, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.05, "variance {variance}");
    }

    #[test]
    fn a_permutation_holds_every_number_once() {
        let mut order = Stream::new(3, Purpose::Split, 0, 0).permutation(100);
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }
}
