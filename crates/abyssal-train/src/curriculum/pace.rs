//! Which task is learnt when.

/// So many tasks, one after the other, spread evenly over so many epochs. With fewer epochs than tasks, some are left out,
/// evenly spaced, and never the last: its labels are the sharpest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Epochs, at least 1.
    pub epochs: usize,
    /// Tasks, at least 1.
    pub tasks: usize,
}

impl Pace {
    /// The task of an epoch, both counted from 0: `⌊epoch·tasks/epochs⌋`, or `tasks - 1 - ⌊left·tasks/epochs⌋` with the
    /// epochs that are left after it, where there are fewer of them than tasks. After the last epoch it is the last task.
    pub fn task(&self, epoch: usize) -> usize {
        let last = self.tasks - 1;
        if self.epochs < self.tasks {
            let left = (self.epochs - 1).saturating_sub(epoch);
            return last - left * self.tasks / self.epochs;
        }
        (epoch * self.tasks / self.epochs).min(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All tasks come in order, and none takes more than one epoch longer than another.
    #[test]
    fn tasks_come_in_order_and_take_equally_long() {
        for (epochs, tasks) in
            [(300, 6), (300, 7), (10, 10), (11, 10), (5, 1), (7, 11), (5, 11), (10, 11), (1, 11)]
        {
            let pace = Pace { epochs, tasks };
            let visited: Vec<usize> = (0..epochs).map(|epoch| pace.task(epoch)).collect();
            assert!(visited.is_sorted(), "{pace:?}");
            let lengths: Vec<usize> =
                (0..tasks).map(|task| visited.iter().filter(|&&other| other == task).count()).collect();
            let (least, most) = (epochs / tasks, epochs.div_ceil(tasks));
            assert!(lengths.iter().all(|length| (least..=most).contains(length)), "{pace:?}: {lengths:?}");
            let ends = [epochs - 1, epochs, 10 * epochs].map(|epoch| pace.task(epoch));
            assert_eq!(ends, [tasks - 1; 3], "{pace:?}");
        }
    }
}
