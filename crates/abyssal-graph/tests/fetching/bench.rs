//! A directory, a file to fetch into it, and what to look at afterwards.

use std::path::{Path, PathBuf};
use std::time::Duration;

use abyssal_graph::catalogue::RemoteFile;
use abyssal_graph::fetch::{FetchError, FetchOptions, FetchProgress, FetchReport, fetch};
use abyssal_graph::{Fingerprint, GraphError};
use tempfile::TempDir;

/// Where the file lies in the data directory.
pub const PATH: &str = "example/data.bin";

/// Bytes without a pattern that a repeated or lost part could keep.
pub fn body(length: usize) -> Vec<u8> {
    (0..length as u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// The sum as a constant would have it.
pub fn sum(bytes: &[u8]) -> &'static str {
    let mut fingerprint = Fingerprint::new();
    fingerprint.bytes(bytes);
    fingerprint.finish().leak()
}

/// A file with known sum and size.
pub fn file(bytes: &[u8], addresses: Vec<String>) -> RemoteFile {
    RemoteFile {
        path: PATH.to_string(),
        addresses,
        sha256: Some(sum(bytes)),
        bytes: Some(bytes.len() as u64),
    }
}

/// A file of which only the contents can tell that it is right.
pub fn unknown(addresses: Vec<String>) -> RemoteFile {
    RemoteFile { path: PATH.to_string(), addresses, sha256: None, bytes: None }
}

/// Options that wait for nothing, except a stalled server, briefly.
pub fn quick() -> FetchOptions {
    FetchOptions {
        first_pause: Duration::ZERO,
        // Long enough for a busy machine to answer, save where a test wants a stall.
        stall: Duration::from_secs(20),
        ..FetchOptions::default()
    }
}

/// What happened, in words.
#[derive(Default)]
pub struct Diary(pub Vec<String>);

impl FetchProgress for Diary {
    fn start(&mut self, path: &str, done: u64, total: Option<u64>) {
        let total = total.map_or("?".to_string(), |total| total.to_string());
        self.0.push(format!("start {path} {done}/{total}"));
    }
    fn advance(&mut self, bytes: u64) {
        // How bytes are bundled is left to the network: only their sum is the same every time.
        match self.0.last_mut().and_then(|last| last.strip_prefix("advance ")?.parse::<u64>().ok()) {
            Some(before) => *self.0.last_mut().expect("it was there") = format!("advance {}", before + bytes),
            None => self.0.push(format!("advance {bytes}")),
        }
    }
    fn retry(&mut self, _: &str, reason: &str, pause: Duration) {
        self.0.push(format!("retry after {pause:?}: {reason}"));
    }
    fn finish(&mut self) {
        self.0.push("finish".to_string());
    }
}

/// A data directory of its own.
pub struct Bench {
    directory: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory for the test") }
    }

    /// A data directory in which an earlier process left some bytes.
    pub fn with_partial(bytes: &[u8]) -> Self {
        let bench = Self::new();
        bench.put(&bench.partial(), bytes);
        bench
    }

    /// A data directory with something in the place of the file.
    pub fn with_target(bytes: &[u8]) -> Self {
        let bench = Self::new();
        bench.put(&bench.target(), bytes);
        bench
    }

    fn put(&self, path: &Path, bytes: &[u8]) {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a writable directory");
        std::fs::write(path, bytes).expect("a writable directory");
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn target(&self) -> PathBuf {
        self.directory().join(PATH)
    }

    pub fn partial(&self) -> PathBuf {
        self.directory().join(format!("{PATH}.partial"))
    }

    /// Fetches a file that has a sum.
    pub fn fetch(&self, file: &RemoteFile, options: &FetchOptions) -> Result<FetchReport, GraphError> {
        let check = |_: &RemoteFile, _: &Path| panic!("the sum is known");
        fetch(self.directory(), std::slice::from_ref(file), options, &check, &mut ())
    }

    /// Fetches a file that has no sum, of which the contents must be these.
    pub fn fetch_unknown(&self, file: &RemoteFile, contents: &[u8]) -> Result<FetchReport, GraphError> {
        let check = |_: &RemoteFile, path: &Path| match std::fs::read(path) {
            Ok(found) if found == contents => Ok(()),
            _ => Err("its contents are others".to_string()),
        };
        fetch(self.directory(), std::slice::from_ref(file), &quick(), &check, &mut ())
    }

    /// The reason of the only address, or of the last one.
    pub fn last_reason(&self, result: Result<FetchReport, GraphError>) -> String {
        match result {
            Err(GraphError::Fetch(FetchError::Failed { mut failures, .. })) => {
                failures.pop().expect("an address was tried").reason
            }
            other => panic!("fetching should have failed at all addresses: {other:?}"),
        }
    }

    /// The file is there, and nothing else but the lock.
    pub fn assert_complete(&self, bytes: &[u8]) {
        assert!(std::fs::read(self.target()).expect("the file") == bytes, "the file has other bytes");
        assert!(!self.partial().exists(), "the partial file is still there");
    }

    /// Neither the file nor a part of it is there.
    pub fn assert_nothing(&self) {
        assert!(!self.target().exists(), "a file that is not complete and verified has its name");
        assert!(!self.partial().exists(), "useless bytes were kept");
    }
}
