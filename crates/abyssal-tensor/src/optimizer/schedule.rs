//! How the learning rate changes over the epochs.

/// A learning rate that is halved at given epochs.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSchedule {
    /// The learning rate at the start.
    pub initial: f64,
    /// Epochs (counted from 0) from which on the rate is half of what it was before.
    pub halve_at: Vec<usize>,
}

impl StepSchedule {
    /// The learning rate of an epoch.
    pub fn rate(&self, epoch: usize) -> f64 {
        let halvings = self.halve_at.iter().filter(|&&at| at <= epoch).count();
        self.initial * 0.5f64.powi(halvings as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_at_each_given_epoch() {
        let schedule = StepSchedule { initial: 0.1, halve_at: vec![20, 10] };
        let rates = [0, 9, 10, 19, 20, 99].map(|epoch| schedule.rate(epoch));
        assert_eq!(rates, [0.1, 0.1, 0.05, 0.05, 0.025, 0.025]);
    }
}
