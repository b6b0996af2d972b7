//! Random starting weights.

use serde::{Deserialize, Serialize};

use crate::random::Stream;
use crate::{Matrix, Scalar};

/// How a weight of shape `inputs × outputs` starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initialization {
    /// Glorot and Bengio (2010): uniform in ±√(6 / (inputs + outputs)).
    #[default]
    XavierUniform,
    /// Glorot and Bengio (2010): normal with variance 2 / (inputs + outputs).
    XavierNormal,
    /// He et al. (2015), for ReLU: uniform in ±√(6 / inputs).
    KaimingUniform,
    /// He et al. (2015), for ReLU: normal with variance 2 / inputs.
    KaimingNormal,
    /// All zero, for biases.
    Zeros,
    /// All one, for coefficients of filters.
    Ones,
    /// Chien et al. (2021), for the coefficients of a walk that returns with probability α, which is in [0, 1]:
    /// `α·(1-α)^k` in column k, and `(1-α)^k` in the last one, so that a row sums to 1.
    PageRank(f64),
    /// Chien et al. (2021), for coefficients: uniform in ±√(3 / outputs), then divided by their absolute sum.
    UniformShares,
}

impl Initialization {
    /// Draws a weight of shape `inputs × outputs`.
    pub fn draw<T: Scalar>(self, inputs: usize, outputs: usize, stream: &Stream) -> Matrix<T> {
        let (both, inputs_only) = ((inputs + outputs) as f64, inputs as f64);
        let value: Box<dyn Fn(u64) -> f64> = match self {
            Self::XavierUniform => uniform(*stream, (6.0 / both).sqrt()),
            Self::XavierNormal => normal(*stream, (2.0 / both).sqrt()),
            Self::KaimingUniform => uniform(*stream, (6.0 / inputs_only).sqrt()),
            Self::KaimingNormal => normal(*stream, (2.0 / inputs_only).sqrt()),
            Self::Zeros => Box::new(|_| 0.0),
            Self::Ones => Box::new(|_| 1.0),
            Self::PageRank(restart) => Box::new(move |position| {
                let column = position as usize % outputs;
                let stays = (1.0 - restart).powi(column as i32);
                if column + 1 == outputs { stays } else { restart * stays }
            }),
            Self::UniformShares => {
                let draw = uniform(*stream, (3.0 / outputs as f64).sqrt());
                let sum: f64 = (0..(inputs * outputs) as u64).map(|position| draw(position).abs()).sum();
                Box::new(move |position| draw(position) / sum)
            }
        };
        Matrix::from_fn(inputs, outputs, |row, column| T::from_f64(value((row * outputs + column) as u64)))
    }
}

fn uniform(stream: Stream, bound: f64) -> Box<dyn Fn(u64) -> f64> {
    Box::new(move |position| bound * (2.0 * stream.uniform(position) - 1.0))
}

fn normal(stream: Stream, deviation: f64) -> Box<dyn Fn(u64) -> f64> {
    Box::new(move |position| deviation * stream.normal(position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn variances_are_those_of_the_papers() {
        let stream = Stream::new(4, Purpose::Initialization, 0, 0);
        for (kind, expected) in [
            (Initialization::XavierUniform, 2.0 / 300.0),
            (Initialization::XavierNormal, 2.0 / 300.0),
            (Initialization::KaimingUniform, 2.0 / 200.0),
            (Initialization::KaimingNormal, 2.0 / 200.0),
            (Initialization::Zeros, 0.0),
            (Initialization::Ones, 1.0),
        ] {
            let weight: Matrix<f64> = kind.draw(200, 100, &stream);
            let squares: f64 = weight.as_slice().iter().map(|value| value * value).sum();
            let variance = squares / 20_000.0;
            assert!((variance - expected).abs() < 0.05 * 0.01, "{kind:?}: {variance}, not {expected}");
        }
    }
    #[test]
    fn shares_sum_to_one() {
        let stream = Stream::new(4, Purpose::Initialization, 0, 0);
        let page_rank: Matrix<f64> = Initialization::PageRank(0.1).draw(1, 11, &stream);
        assert!((page_rank.as_slice().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((page_rank.get(0, 2) - 0.1 * 0.81).abs() < 1e-12);
        let random: Matrix<f64> = Initialization::UniformShares.draw(1, 11, &stream);
        assert!((random.as_slice().iter().map(|value| value.abs()).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(random.as_slice().iter().any(|&value| value < 0.0));
    }
}
