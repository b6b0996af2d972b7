//! Memory that begins at a cache line.

use std::ops::{Deref, DerefMut};

use crate::Scalar;

/// The bytes of a cache line, and of the widest vector register.
pub(crate) const LINE: usize = 64;

/// Values whose first one lies at the beginning of a cache line.
///
/// The system's allocator leaves large blocks 16 bytes behind one: then every vector load touches two lines, and a row of 64
/// values five in place of four. Gathering rows took a third longer.
#[derive(Debug, Default)]
pub(crate) struct AlignedValues<T> {
    /// What is left of a line, then the values.
    memory: Vec<T>,
    /// Where the values begin. Moving the vector does not move its contents, so this stays true.
    start: usize,
}

impl<T: Scalar> AlignedValues<T> {
    /// So many zeros.
    pub(crate) fn zeros(length: usize) -> Self {
        // Zeros that come as such from the system cost nothing until they are touched.
        let mut memory = vec![T::ZERO; length + padding::<T>()];
        let start = first_of_a_line(&memory);
        memory.truncate(start + length);
        Self { memory, start }
    }

    /// A copy of some values.
    pub(crate) fn copied_from(values: &[T]) -> Self {
        Self::collected(values.iter().copied())
    }

    /// The values an iterator gives, which says beforehand how many those are.
    pub(crate) fn collected(values: impl ExactSizeIterator<Item = T>) -> Self {
        Self::written(values.len(), T::ZERO, |memory| memory.extend(values))
    }
}

impl<T: Clone> AlignedValues<T> {
    /// So many values, which `write` appends to what it gets: `filler`, up to the beginning of a line.
    fn written(length: usize, filler: T, write: impl FnOnce(&mut Vec<T>)) -> Self {
        let mut memory = Vec::with_capacity(length + padding::<T>());
        let start = first_of_a_line(&memory);
        memory.resize(start, filler);
        write(&mut memory);
        assert_eq!(memory.len(), start + length, "as many values as were announced");
        Self { memory, start }
    }
}

/// As many values as a line holds are room enough to begin at one.
fn padding<T>() -> usize {
    LINE / size_of::<T>()
}

fn first_of_a_line<T>(memory: &[T]) -> usize {
    memory.as_ptr().align_offset(LINE).min(padding::<T>())
}

impl<T> Deref for AlignedValues<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.memory[self.start..]
    }
}

impl<T> DerefMut for AlignedValues<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..]
    }
}

impl<T: Clone> Clone for AlignedValues<T> {
    /// The copy's memory lies elsewhere, and begins at a line of its own.
    fn clone(&self) -> Self {
        match self.first() {
            None => Self { memory: Vec::new(), start: 0 },
            Some(first) => Self::written(self.len(), first.clone(), |memory| memory.extend_from_slice(self)),
        }
    }
}

impl<T: PartialEq> PartialEq for AlignedValues<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins_at_a_line<T>(values: &[T]) -> bool {
        values.as_ptr().addr().is_multiple_of(LINE)
    }

    #[test]
    fn values_begin_at_a_line_however_they_came_to_be() {
        for length in [0, 1, 15, 16, 17, 1000, 100_000] {
            let mut single = AlignedValues::<f32>::zeros(length);
            let double = AlignedValues::collected((0..length).map(|index| index as f64));
            let copy = double.clone();
            assert!(begins_at_a_line(&single) && begins_at_a_line(&double));
            assert!(copy.is_empty() || begins_at_a_line(&copy));
            assert_eq!((single.len(), double.len()), (length, length));
            assert_eq!(copy, double);
            assert!(single.iter().all(|&value| value == 0.0));
            single.fill(1.0);
            let moved = Box::new(single);
            assert!(begins_at_a_line(&moved));
            assert_eq!(*moved, AlignedValues::copied_from(&vec![1.0; length]));
        }
        let values = AlignedValues::collected([1.0, 2.0].into_iter());
        assert_ne!(values, AlignedValues::zeros(2));
        assert!(AlignedValues::<f32>::default().is_empty());
    }
}
