//! Random zeroing, the same for the same stream whoever computes it.

use crate::Scalar;
use crate::random::Stream;

/// Zeroes each value with probability `rate` and scales the others by `1 / (1 - rate)`.
///
/// Whether a value is dropped depends on the stream and the value's position alone.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    rate: f64,
    stream: Stream,
}

impl Dropout {
    /// Dropout with a rate in [0, 1); `None` for rate 0, which drops nothing.
    ///
    /// # Panics
    /// If the rate is outside [0, 1).
    pub fn new(rate: f64, stream: Stream) -> Option<Self> {
        assert!((0.0..1.0).contains(&rate), "dropout rate {rate} is outside [0, 1)");
        (rate > 0.0).then_some(Self { rate, stream })
    }

    /// The factor of the values that stay.
    #[inline(always)]
    pub(crate) fn scale<T: Scalar>(&self) -> T {
        T::from_f64(1.0 / (1.0 - self.rate))
    }

    /// Drops among `values`, which stand at positions `first, first + 1, …`.
    #[inline(always)]
    pub(crate) fn apply<T: Scalar>(&self, first: usize, values: &mut [T]) {
        const STRETCH: usize = 256;
        // A word below the threshold means dropped; 2³² · rate is exact enough to 1 in 4 billion.
        let threshold = (self.rate * 4_294_967_296.0) as u32;
        let scale: T = self.scale();
        let mut words = [0; STRETCH];
        for (index, stretch) in values.chunks_mut(STRETCH).enumerate() {
            let words = &mut words[..stretch.len()];
            self.stream.fill_inline((first + index * STRETCH) as u64, words);
            for (value, &word) in stretch.iter_mut().zip(&*words) {
                *value = if word < threshold { T::ZERO } else { scale * *value };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn drops_the_asked_share_and_keeps_the_mean() {
        let dropout = Dropout::new(0.7, Stream::new(1, Purpose::Dropout, 0, 0)).unwrap();
        let mut values = vec![1.0f32; 100_000];
        dropout.apply(0, &mut values);
        let dropped = values.iter().filter(|&&value| value == 0.0).count() as f64 / 1e5;
        assert!((dropped - 0.7).abs() < 0.01, "{dropped}");
        assert!(values.iter().all(|&value| value == 0.0 || (value - 1.0 / 0.3).abs() < 1e-5));
    }

    #[test]
    fn position_decides_not_the_cutting() {
        let dropout = Dropout::new(0.5, Stream::new(1, Purpose::Dropout, 2, 9)).unwrap();
        let mut whole = vec![1.0f64; 1000];
        dropout.apply(0, &mut whole);
        let mut parts = vec![1.0f64; 1000];
        let (left, right) = parts.split_at_mut(333);
        dropout.apply(0, left);
        dropout.apply(333, right);
        assert_eq!(whole, parts);
    }
}
