//! One file, from any of its addresses to its place.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::Agent;

use super::attempt::{Failure, attempt};
use super::partial::Partial;
use super::state::{FileState, fault, state};
use super::{AddressFailure, Check, FetchError, FetchOptions, FetchProgress};
use crate::GraphError;
use crate::catalogue::RemoteFile;

/// No pause between two attempts is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// An address that brings a file this much further deserves all its attempts again.
const PROGRESS: u64 = 1 << 20;

/// Held while a file of a directory is fetched. It is a file of its own, which stays: the partial file gets another
/// name or is removed while others wait for it, and they would then hold a lock that nobody else sees. On Windows,
/// nobody could read a locked file to check it, either.
const LOCK: &str = ".fetch.lock";

/// A file to be fetched to a place.
pub(super) struct Download<'a> {
    pub(super) agent: &'a Agent,
    pub(super) options: &'a FetchOptions,
    pub(super) check: &'a Check<'a>,
    pub(super) file: &'a RemoteFile,
    pub(super) target: PathBuf,
}

impl Download<'_> {
    /// Makes sure that the file is there. Returns its size if it had to be fetched.
    pub(super) fn run(&self, progress: &mut dyn FetchProgress) -> Result<Option<u64>, GraphError> {
        if self.is_present()? {
            return Ok(None);
        }
        let directory = self.target.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(directory).map_err(GraphError::io("create", directory))?;
        let (_lock, waited) = self.lock(&directory.join(LOCK), progress)?;
        // Whoever had the lock before may have fetched it, even if that was too short ago to wait for.
        if self.is_present()? {
            if waited {
                progress.finish();
            }
            return Ok(None);
        }
        let mut partial = Partial::open(&self.target)?;
        match self.fetch_into(&mut partial, progress) {
            Ok(()) => {
                let bytes = partial.length();
                partial.rename_to(&self.target)?;
                progress.finish();
                Ok(Some(bytes))
            }
            Err(error) => {
                partial.leave();
                Err(error)
            }
        }
    }

    /// Whether there is nothing to do.
    fn is_present(&self) -> Result<bool, GraphError> {
        match state(self.file, &self.target, self.check) {
            FileState::Good => Ok(true),
            FileState::Missing => Ok(false),
            FileState::Wrong { .. } if self.options.replace => Ok(false),
            FileState::Wrong { found } => Err(FetchError::Wrong { path: self.target.clone(), found }.into()),
            FileState::Unreadable { reason } => {
                Err(GraphError::Io { action: "read", path: self.target.clone(), reason })
            }
        }
    }

    /// Waits until no one else fetches into the directory, and tells whether that was necessary. Others wait until the
    /// file this returns is dropped.
    fn lock(&self, path: &Path, progress: &mut dyn FetchProgress) -> Result<(File, bool), GraphError> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let lock = options.open(path).map_err(GraphError::io("create", path))?;
        let (locked, waited) = match lock.try_lock() {
            Ok(()) => (Ok(()), false),
            Err(TryLockError::WouldBlock) => {
                progress.start(&self.file.path, 0, self.file.bytes);
                let reason = "another process fetches into the same directory";
                progress.retry(&self.file.path, reason, Duration::ZERO);
                (lock.lock(), true)
            }
            Err(TryLockError::Error(error)) => (Err(error), false),
        };
        match locked {
            Ok(()) => Ok((lock, waited)),
            // Some network file systems have no locks.
            Err(error) => {
                let reason = format!("{error}; choose a directory on another disk with --data-dir");
                Err(GraphError::Io { action: "lock", path: path.to_path_buf(), reason })
            }
        }
    }

    /// Completes the partial file from the first address that gives it.
    fn fetch_into(&self, partial: &mut Partial, progress: &mut dyn FetchProgress) -> Result<(), GraphError> {
        let mut failures = Vec::new();
        for address in self.addresses() {
            match self.fetch_from(&address, partial, progress) {
                Ok(()) => return Ok(()),
                Err(Failure::Local(error)) => return Err(error),
                Err(Failure::Again(reason) | Failure::GiveUp(reason)) => {
                    failures.push(AddressFailure { address, reason });
                }
            }
        }
        let target = std::path::absolute(&self.target).unwrap_or_else(|_| self.target.clone());
        let home = self.file.addresses.first().cloned();
        Err(FetchError::Failed { path: self.file.path.clone(), target, home, failures }.into())
    }

    /// Where to ask: the mirror if there is one, and nowhere else.
    fn addresses(&self) -> Vec<String> {
        match &self.options.mirror {
            Some(mirror) => vec![format!("{}/{}", mirror.trim_end_matches('/'), self.file.path)],
            None => self.file.addresses.clone(),
        }
    }

    /// Asks one address until the file is complete and right, or the address has failed too often.
    fn fetch_from(
        &self,
        address: &str,
        partial: &mut Partial,
        progress: &mut dyn FetchProgress,
    ) -> Result<(), Failure> {
        let mut failures = 0;
        let mut farthest = partial.length();
        let mut was_wrong = false;
        loop {
            let reason = match attempt(self.agent, self.options.stall, address, self.file, partial, progress)
            {
                Ok(()) => match self.fault(partial)? {
                    None => return Ok(()),
                    // What an earlier attempt left, or one bad line, may be to blame, but not twice.
                    Some(reason) if was_wrong => return Err(Failure::GiveUp(reason)),
                    Some(reason) => {
                        was_wrong = true;
                        reason
                    }
                },
                Err(Failure::Again(reason)) => reason,
                Err(failure) => return Err(failure),
            };
            if partial.length() >= farthest.saturating_add(PROGRESS) {
                farthest = partial.length();
                failures = 0;
            }
            failures += 1;
            if failures >= self.options.attempts {
                return Err(Failure::GiveUp(format!("{reason} (attempt {failures} of {failures})")));
            }
            let pause = self.pause_after(failures);
            progress.retry(&self.file.path, &reason, pause);
            std::thread::sleep(pause);
        }
    }

    /// What is wrong with the complete file, which is then cleared away.
    fn fault(&self, partial: &mut Partial) -> Result<Option<String>, GraphError> {
        partial.sync()?;
        let fault = fault(self.file, partial.path(), self.check);
        let fault = fault.map_err(GraphError::io("read", partial.path()))?;
        if fault.is_some() {
            partial.clear()?;
        }
        Ok(fault.map(|fault| format!("what the server sent is not the file: {fault}")))
    }

    /// Twice as long after each failure in a row.
    fn pause_after(&self, failures: u32) -> Duration {
        let factor = 2u32.saturating_pow(failures.saturating_sub(1));
        self.options.first_pause.saturating_mul(factor).min(LONGEST_PAUSE)
    }
}
