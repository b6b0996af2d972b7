//! Files that are either whole or not there.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::GraphError;

/// Replaces a file so that a crash at any moment leaves the old contents or the new, never a part.
///
/// The bytes go to a scratch file beside the target, are synced, and take the target's name by renaming; then the
/// directory is synced, so that the new name itself survives a power failure. Threads and processes that write the
/// same file at once do not disturb each other: the last one wins.
///
/// # Errors
/// If the system does not let us write there; what was there before stays.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), GraphError> {
    write_atomically_with(path, |scratch| fs::write(scratch, bytes))
}

/// As [`write_atomically`], for contents that need not be in memory all at once: `write` makes the scratch file.
///
/// # Errors
/// If the system does not let us write there; what was there before stays.
pub fn write_atomically_with(
    path: &Path,
    write: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<(), GraphError> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let scratch = directory.join(format!(".{name}.{}-{number}.tmp", std::process::id()));
    let written = write(&scratch)
        .and_then(|()| OpenOptions::new().write(true).open(&scratch)?.sync_all())
        .and_then(|()| fs::rename(&scratch, path))
        .and_then(|()| sync_directory(directory));
    if written.is_err() {
        // Best effort: the error that matters is the one of the write.
        let _ = fs::remove_file(&scratch);
    }
    written.map_err(GraphError::io("write", path))
}

/// Directories can be opened and synced on Unix; elsewhere renaming is all there is.
fn sync_directory(directory: &Path) -> std::io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_leaves_no_scratch() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        write_atomically(&path, b"old").unwrap();
        write_atomically(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn threads_that_write_at_once_leave_one_whole_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::thread::scope(|scope| {
            for letter in b'a'..=b'h' {
                let path = &path;
                scope.spawn(move || write_atomically(path, &vec![letter; 100_000]).unwrap());
            }
        });
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() == 100_000 && bytes.iter().all(|&byte| byte == bytes[0]));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_write_that_stops_half_way_leaves_the_old_file_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        write_atomically(&path, b"old").unwrap();
        let stopped = write_atomically_with(&path, |scratch| {
            fs::write(scratch, b"half of")?;
            Err(std::io::Error::other("the disk is full"))
        });
        assert!(stopped.unwrap_err().to_string().contains("the disk is full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_names_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing").join("file");
        let error = write_atomically(&missing, b"x").unwrap_err().to_string();
        assert!(error.starts_with("cannot write") && error.contains("missing"), "{error}");
    }
}
