//! Means and deviations over seeds.

/// The mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The unbiased sample standard deviation, as leaderboards of this field ask for; 0 for a single value.
pub fn sample_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_three_numbers() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        assert!((sample_deviation(&[1.0, 2.0, 6.0]) - 7.0f64.sqrt()).abs() < 1e-12);
        assert_eq!(sample_deviation(&[4.0]), 0.0);
    }
}
