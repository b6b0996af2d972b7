//! Probabilities made softer or sharper.

use abyssal_tensor::Matrix;

use super::normalized_entropy;
use crate::TrainError;
use crate::config::{EntropyTarget, Temperature};

/// Between these, every temperature of use is found.
const COLDEST: f64 = 1e-3;
const HOTTEST: f64 = 1e3;
/// Halvings of that range, in logarithms, until the temperature is known to six digits and more.
const HALVINGS: usize = 32;
/// How far from the wanted mean entropy is near enough.
const TOLERANCE: f64 = 1e-3;

/// `p_c^(1/T) / Σ_k p_k^(1/T)` for every row, n×C: for the softmax of scores, the softmax of scores divided by T.
pub fn tempered(probabilities: &Matrix<f32>, temperature: f64) -> Matrix<f32> {
    let mut result = probabilities.clone();
    if temperature == 1.0 {
        return result;
    }
    for row in 0..result.rows() {
        let row = result.row_mut(row);
        let most = f64::from(row.iter().copied().fold(0.0, f32::max)).ln();
        let power = |value: f32| ((f64::from(value).ln() - most) / temperature).exp();
        let sum: f64 = row.iter().map(|&value| power(value)).sum();
        if sum > 0.0 {
            row.iter_mut().for_each(|value| *value = (power(*value) / sum) as f32);
        }
    }
    result
}

/// The mean over the rows of their [normalised entropy](normalized_entropy).
pub fn mean_entropy(probabilities: &Matrix<f32>) -> f64 {
    let rows = probabilities.rows();
    (0..rows).map(|row| normalized_entropy(probabilities.row(row))).sum::<f64>() / rows.max(1) as f64
}

/// The temperature a setting asks for. Entropy grows with temperature, so it is found by halving.
///
/// # Errors
/// If no temperature gives the wanted entropy.
pub fn find_temperature(probabilities: &Matrix<f32>, wanted: Temperature) -> Result<f64, TrainError> {
    let EntropyTarget(target) = match wanted {
        Temperature::Fixed(temperature) => return Ok(temperature),
        Temperature::Entropy(target) => target,
    };
    let (mut cold, mut hot) = (COLDEST.ln(), HOTTEST.ln());
    for _ in 0..HALVINGS {
        let middle = 0.5 * (cold + hot);
        match mean_entropy(&tempered(probabilities, middle.exp())) < target {
            true => cold = middle,
            false => hot = middle,
        }
    }
    let temperature = (0.5 * (cold + hot)).exp();
    let reached = mean_entropy(&tempered(probabilities, temperature));
    if (reached - target).abs() > TOLERANCE {
        let reason = format!(
            "no temperature gives its probabilities a mean entropy of {target}; the nearest is {reached:.3}, so set \
             curriculum.temperature to something else"
        );
        return Err(TrainError::InvalidTeacher { reason });
    }
    Ok(temperature)
}

#[cfg(test)]
mod tests {
    use abyssal_tensor::random::{Purpose, Stream};

    use super::*;

    fn probabilities() -> Matrix<f32> {
        let stream = Stream::new(3, Purpose::Generation, 0, 0);
        let mut matrix = Matrix::from_fn(40, 5, |row, class| {
            (8.0 * stream.uniform((5 * row + class) as u64)).exp() as f32
        });
        for row in 0..40 {
            let sum: f32 = matrix.row(row).iter().sum();
            matrix.row_mut(row).iter_mut().for_each(|value| *value /= sum);
        }
        matrix
    }

    #[test]
    fn a_temperature_divides_scores() {
        let scores = [0.3f64, -1.2, 2.0];
        let softmax = |temperature: f64| {
            let sum: f64 = scores.iter().map(|score| (score / temperature).exp()).sum();
            Matrix::from_rows(&[scores.map(|score| ((score / temperature).exp() / sum) as f32)])
        };
        assert!(tempered(&softmax(1.0), 2.5).max_difference(&softmax(2.5)) < 1e-6);
        assert_eq!(tempered(&softmax(1.0), 1.0), softmax(1.0));
    }

    #[test]
    fn certainty_stays_at_any_temperature_and_zeros_are_no_trouble() {
        let rows = Matrix::from_rows(&[[0.0, 1.0], [0.0, 0.0]]);
        assert_eq!(tempered(&rows, 1000.0), rows);
        assert_eq!(tempered(&rows, 0.001), rows);
    }

    #[test]
    fn the_wanted_entropy_is_hit() {
        for target in [0.1, 0.5, 0.81, 0.95] {
            let wanted = Temperature::Entropy(EntropyTarget(target));
            let temperature = find_temperature(&probabilities(), wanted).unwrap();
            let reached = mean_entropy(&tempered(&probabilities(), temperature));
            assert!((reached - target).abs() < 1e-4, "{target}: {reached}");
        }
    }

    #[test]
    fn an_entropy_that_cannot_be_reached_is_refused() {
        let certain = Matrix::from_rows(&[[0.0, 1.0], [1.0, 0.0]]);
        let wanted = Temperature::Entropy(EntropyTarget(0.5));
        let error = find_temperature(&certain, wanted).unwrap_err().to_string();
        assert!(error.contains("mean entropy of 0.5"), "{error}");
    }
}
