//! A file that is not complete yet.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::GraphError;

/// `<target>.partial`: the first bytes of a file, to which more are added. Its errors are those of the own disk.
pub(super) struct Partial {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Partial {
    /// Opens the partial file of a target, with what an earlier attempt left in it.
    pub(super) fn open(target: &Path) -> Result<Self, GraphError> {
        let mut path = OsString::from(target);
        path.push(".partial");
        let path = PathBuf::from(path);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(GraphError::io("create", &path))?;
        let length = file.seek(SeekFrom::End(0)).map_err(GraphError::io("read", &path))?;
        Ok(Self { file, path, length })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes are there.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Adds bytes at the end.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), GraphError> {
        self.file.write_all(bytes).map_err(GraphError::io("write", &self.path))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Forgets what is there.
    pub(super) fn clear(&mut self) -> Result<(), GraphError> {
        let cleared = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        cleared.map_err(GraphError::io("write", &self.path))?;
        self.length = 0;
        Ok(())
    }

    /// Brings everything to the disk.
    pub(super) fn sync(&self) -> Result<(), GraphError> {
        self.file.sync_all().map_err(GraphError::io("write", &self.path))
    }

    /// Gives the file its name, for good.
    pub(super) fn rename_to(self, target: &Path) -> Result<(), GraphError> {
        drop(self.file);
        fs::rename(&self.path, target).map_err(GraphError::io("create", target))?;
        // This makes the name as safe as the bytes. Some file systems cannot; then the worst that happens is that a
        // power cut takes the file away, and it is fetched again. Only Unix opens directories.
        if cfg!(unix)
            && let Some(directory) = target.parent()
        {
            let _ = File::open(directory).and_then(|directory| directory.sync_all());
        }
        Ok(())
    }

    /// Removes the file if there is nothing in it to go on from.
    pub(super) fn leave(self) {
        if self.length == 0 {
            drop(self.file);
            // Who gets here has an error of more weight to tell; an empty file does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}
