//! One process at a time for a run.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::{Role, TrainError};

/// Holds a run until it is dropped, or the process ends in whatever way.
pub(crate) struct RunLock {
    _directory: Option<File>,
}

impl RunLock {
    /// Takes a run's directory for this process. While another one has it, a result is refused, since two would write the
    /// same files; a teacher is waited for, since it is there for both.
    ///
    /// Where the system cannot lock directories, nobody is kept away.
    ///
    /// # Errors
    /// If another process trains this result.
    pub fn take(path: &Path, role: Role) -> Result<Self, TrainError> {
        let Ok(directory) = File::open(path) else { return Ok(Self { _directory: None }) };
        let locked = match (directory.try_lock(), role) {
            (Err(TryLockError::WouldBlock), Role::Result) => {
                return Err(TrainError::RunInUse { path: path.to_path_buf() });
            }
            (Err(TryLockError::WouldBlock), Role::Teacher { .. } | Role::Round { .. }) => {
                directory.lock().is_ok()
            }
            (tried, _) => tried.is_ok(),
        };
        Ok(Self { _directory: locked.then_some(directory) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_result_is_trained_by_one_at_a_time_and_a_teacher_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let first = RunLock::take(path, Role::Result).unwrap();
        let second = RunLock::take(path, Role::Result).map(|_| ());
        assert!(matches!(second, Err(TrainError::RunInUse { .. })), "{second:?}");
        let teacher = Role::Teacher { number: 1, of: 1 };
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| RunLock::take(path, teacher).map(|_| ()));
            drop(first);
            assert!(waiting.join().unwrap().is_ok());
        });
        assert!(RunLock::take(path, Role::Result).is_ok());
    }
}
