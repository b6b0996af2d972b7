//! Which task is learnt when.

/// So many tasks, one after the other, spread evenly over so many epochs. With fewer epochs than tasks, some are left out,
/// evenly spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Epochs, at least 1.
    pub epochs: usize,
    /// Tasks, at least 1.
    pub tasks: usize,
}

impl Pace {
    /// The task of an epoch, both counted from 0: `⌊epoch·tasks/epochs⌋`. After the last epoch it is the last task.
    pub fn task(&self, epoch: usize) -> usize {
        (epoch * self.tasks / self.epochs).min(self.tasks - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All tasks come in order, and none takes more than one epoch longer than another.
    #[test]
    fn tasks_come_in_order_and_take_equally_long() {
        for (epochs, tasks) in [(300, 6), (300, 7), (10, 10), (11, 10), (5, 1), (7, 11)] {
            let pace = Pace { epochs, tasks };
            let visited: Vec<usize> = (0..epochs).map(|epoch| pace.task(epoch)).collect();
            assert!(visited.is_sorted(), "{pace:?}");
            let lengths: Vec<usize> =
                (0..tasks).map(|task| visited.iter().filter(|&&other| other == task).count()).collect();
            let (least, most) = (epochs / tasks, epochs.div_ceil(tasks));
            assert!(lengths.iter().all(|length| (least..=most).contains(length)), "{pace:?}: {lengths:?}");
            assert_eq!((pace.task(epochs), pace.task(10 * epochs)), (tasks - 1, tasks - 1));
        }
    }
}
