//! The paper's own random split, drawn as its released code draws it.

use super::Split;
use super::random::{cut, members};
use crate::GraphError;

/// Nodes of each class that train and that validate.
const SIZES: (usize, usize) = (20, 30);
/// The seed of the released loader.
const SEED: u32 = 1;

impl Split {
    /// The split of the paper's Coauthor and Amazon results: class by class, PyTorch's `randperm` after
    /// `manual_seed(1)`; the first 20 nodes of a class train, the next 30 validate, all others test.
    ///
    /// For Amazon, `component` holds the nodes of the largest component. The released loader draws positions among
    /// them and then uses those positions as node ids, a slip that is kept here: it is what the paper's numbers
    /// were computed with.
    ///
    /// # Errors
    /// If a label is out of range or a set would be empty.
    pub fn paper(
        labels: &[Option<u32>],
        classes: usize,
        component: Option<&[u32]>,
    ) -> Result<Self, GraphError> {
        let chosen: Vec<Option<u32>> = match component {
            Some(nodes) => nodes.iter().map(|&node| labels[node as usize]).collect(),
            None => labels.to_vec(),
        };
        let mut generator = MersenneTwister::new(SEED);
        let mut members = members(&chosen, classes)?;
        for members in &mut members {
            generator.shuffle(members);
        }
        Ok(cut(&members, |_| SIZES)?.with_name("paper"))
    }
}

/// MT19937, the generator behind PyTorch's `manual_seed` on the CPU.
///
/// Matsumoto, Nishimura: *Mersenne Twister* (ACM TOMACS 1998).
struct MersenneTwister {
    state: [u32; Self::WORDS],
    next: usize,
}

impl MersenneTwister {
    const WORDS: usize = 624;
    const SHIFT: usize = 397;

    fn new(seed: u32) -> Self {
        let mut state = [seed; Self::WORDS];
        for place in 1..Self::WORDS {
            let before = state[place - 1];
            state[place] = 1_812_433_253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(place as u32);
        }
        Self { state, next: Self::WORDS }
    }

    /// Exchanges the entry at `i` with the one `z` places further, `z = next % (n - i)`, for `i` from 0 to n - 2:
    /// PyTorch's `randperm`, applied.
    fn shuffle(&mut self, values: &mut [u32]) {
        for place in 0..values.len().saturating_sub(1) {
            let ahead = self.word() as usize % (values.len() - place);
            values.swap(place, place + ahead);
        }
    }

    fn word(&mut self) -> u32 {
        if self.next == Self::WORDS {
            self.twist();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9D2C_5680;
        word ^= (word << 15) & 0xEFC6_0000;
        word ^ (word >> 18)
    }

    fn twist(&mut self) {
        for place in 0..Self::WORDS {
            let after = self.state[(place + 1) % Self::WORDS];
            let mixed = (self.state[place] & 0x8000_0000) | (after & 0x7FFF_FFFF);
            let factor = if mixed & 1 == 0 { 0 } else { 0x9908_B0DF };
            self.state[place] = self.state[(place + Self::SHIFT) % Self::WORDS] ^ (mixed >> 1) ^ factor;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The C++ standard requires the ten-thousandth number of a default-seeded `std::mt19937` to be this one.
    #[test]
    fn the_generator_is_mt19937() {
        let mut generator = MersenneTwister::new(5489);
        assert_eq!(generator.word(), 3_499_211_612);
        assert_eq!((2..=10_000).map(|_| generator.word()).last(), Some(4_123_659_995));
    }

    /// Made with PyTorch: `torch.manual_seed(1); torch.randperm(10), torch.randperm(7)`.
    #[test]
    fn permutations_are_those_of_pytorch() {
        let mut generator = MersenneTwister::new(1);
        let mut permutation = |count: u32| {
            let mut values: Vec<u32> = (0..count).collect();
            generator.shuffle(&mut values);
            values
        };
        assert_eq!(permutation(10), [5, 6, 1, 2, 0, 8, 9, 3, 7, 4]);
        assert_eq!(permutation(7), [3, 0, 6, 1, 2, 4, 5]);
    }

    /// The positions inside a component count as node ids, as in the released loader.
    #[test]
    fn positions_inside_the_component_are_taken_as_ids() {
        let labels: Vec<Option<u32>> = (0..300).map(|node| Some(node % 2)).collect();
        let component: Vec<u32> = (100..300).collect();
        let split = Split::paper(&labels, 2, Some(&component)).unwrap();
        let all: Vec<u32> = {
            let mut all = [split.train(), split.validation(), split.test()].concat();
            all.sort_unstable();
            all
        };
        assert_eq!(all, (0..200).collect::<Vec<u32>>());
        assert_eq!((split.train().len(), split.validation().len()), (40, 60));
    }
}
