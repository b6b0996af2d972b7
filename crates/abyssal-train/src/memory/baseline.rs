//! What this process had before it trained anything.

use std::sync::OnceLock;

use super::system::{peak_memory_bytes, present_memory_bytes};

/// Memory of this process beside its data and its models.
///
/// After the first training the system cannot tell it any more: what a model has given back, the allocator keeps for the
/// next one, and the largest memory there was is that of the largest model so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Baseline {
    /// The program, and what loading its first data left behind.
    program: u64,
    /// The most there was until then: loading may take more than training.
    peak: u64,
}

impl Baseline {
    /// That of this process. The first call takes it, with so many bytes of data in memory and nothing trained.
    pub fn of_process(data: u64) -> Self {
        static TAKEN: OnceLock<Baseline> = OnceLock::new();
        *TAKEN.get_or_init(|| {
            Self::taken(present_memory_bytes().unwrap_or(0), peak_memory_bytes().unwrap_or(0), data)
        })
    }

    fn taken(present: u64, peak: u64, data: u64) -> Self {
        Self { program: present.saturating_sub(data), peak }
    }

    /// The largest memory with so many bytes of data, and so many more for training.
    pub fn with(&self, data: u64, training: u64) -> u64 {
        self.peak.max(self.program.saturating_add(data).saturating_add(training))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_exchanged_and_loading_is_a_floor() {
        let baseline = Baseline::taken(50, 60, 30);
        assert_eq!(baseline.with(30, 100), 150);
        assert_eq!(baseline.with(10, 100), 130);
        assert_eq!(baseline.with(30, 5), 60);
        assert_eq!(baseline.with(30, u64::MAX), u64::MAX);
        // Where the system tells nothing, data and training are still known.
        assert_eq!(Baseline::taken(0, 0, 30).with(30, 100), 130);
    }
}
