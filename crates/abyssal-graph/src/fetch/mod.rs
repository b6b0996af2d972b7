//! Fetching the files of a benchmark.
//!
//! A file appears under its name only when it is complete and verified. Until then it grows beside it as
//! `<name>.partial`, from which the next attempt goes on, in this process or a later one. Servers and proxies are
//! trusted with nothing: what they send is bounded, recognised if it is a web page, and compared with the known sum
//! or contents before it counts.

mod attempt;
mod download;
mod error;
mod partial;
mod state;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use ureq::{Agent, Proxy};

use crate::GraphError;
use crate::catalogue::RemoteFile;
use download::Download;

pub use error::{AddressFailure, FetchError};
pub use state::{FileState, verify};

/// Connections, TLS included, are made within this time.
const CONNECT: Duration = Duration::from_secs(15);

/// Tells whether the contents of a file are right, for files without a known sum; otherwise what is wrong with them.
/// The path it gets can end with `.partial`, since files are checked before they get their name.
pub type Check<'a> = dyn Fn(&RemoteFile, &Path) -> Result<(), String> + 'a;

/// How to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchOptions {
    /// Where to fetch from instead of the homes of the files: `{mirror}/{path}`, by https or http.
    pub mirror: Option<String>,
    /// Whether to go through the proxy that `ALL_PROXY`, `HTTPS_PROXY` or `HTTP_PROXY` names, except to the hosts in
    /// `NO_PROXY`.
    pub system_proxy: bool,
    /// Whether to replace a file that is there but not the right one.
    pub replace: bool,
    /// How often an address may fail in a row before the next one is tried. An attempt that brings the file a
    /// mebibyte further starts the count anew, so a bad line does not end a long download.
    pub attempts: u32,
    /// How long to wait after the first failure; twice as long after each further one, 30 seconds at most.
    pub first_pause: Duration,
    /// An attempt ends when nothing arrives for this long. There is no limit on the time of a whole download.
    pub stall: Duration,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            mirror: None,
            system_proxy: false,
            replace: false,
            attempts: 5,
            first_pause: Duration::from_secs(1),
            stall: Duration::from_secs(30),
        }
    }
}

impl FetchOptions {
    /// The defaults, with the mirror in `ABYSSAL_MIRROR` if it is set, and through the system's proxy if there is one.
    pub fn from_environment() -> Self {
        let mirror = mirror(std::env::var_os("ABYSSAL_MIRROR"));
        Self { mirror, system_proxy: true, ..Self::default() }
    }

    /// The client that makes all requests. It verifies certificates.
    fn agent(&self) -> Agent {
        let proxy = if self.system_proxy { Proxy::try_from_env() } else { None };
        let config = Agent::config_builder()
            .proxy(proxy)
            .user_agent(concat!("abyssal/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .http_status_as_error(false)
            .max_redirects(10)
            .save_redirect_history(true)
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .timeout_per_read(Some(self.stall))
            .timeout_per_write(Some(self.stall));
        config.build().new_agent()
    }
}

/// The mirror a variable of the environment names. An empty one names none.
fn mirror(variable: Option<OsString>) -> Option<String> {
    // What is not Unicode becomes an address that does not exist, and an error that shows it.
    variable.map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

/// Someone who wants to see how fetching goes. `()` does not. Of files that are already there, nothing is told.
pub trait FetchProgress {
    /// A file starts to arrive, or starts again: `done` bytes of `total` (if that is known) are already there.
    fn start(&mut self, path: &str, done: u64, total: Option<u64>);
    /// More bytes of it have arrived.
    fn advance(&mut self, bytes: u64);
    /// A file does not go on now, for a reason, and is tried again after a pause; this may come before any `start`.
    fn retry(&mut self, path: &str, reason: &str, pause: Duration);
    /// The file is complete, verified and in its place.
    fn finish(&mut self);
}

impl FetchProgress for () {
    fn start(&mut self, _: &str, _: u64, _: Option<u64>) {}
    fn advance(&mut self, _: u64) {}
    fn retry(&mut self, _: &str, _: &str, _: Duration) {}
    fn finish(&mut self) {}
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchReport {
    /// Paths of the files that were fetched, relative to the data directory.
    pub fetched: Vec<String>,
    /// Paths of the files that were already there.
    pub kept: Vec<String>,
    /// Size of the fetched files.
    pub bytes: u64,
}

/// Makes sure that files are in a data directory, and fetches those that are not. A file is right if its size and
/// SHA-256 are those known, or if `check` accepts it where no sum is known. Right files are left alone.
///
/// Several processes may fetch the same files at once: the first one does, the others wait and find them.
///
/// # Errors
/// With the first file that no address gives, with a file that is there but wrong (unless it is to be replaced), or if
/// the directory cannot be written.
pub fn fetch(
    data_directory: &Path,
    files: &[RemoteFile],
    options: &FetchOptions,
    check: &Check<'_>,
    progress: &mut dyn FetchProgress,
) -> Result<FetchReport, GraphError> {
    let agent = options.agent();
    let mut report = FetchReport::default();
    for file in files {
        let target = data_directory.join(&file.path);
        let download = Download { agent: &agent, options, check, file, target };
        match download.run(progress)? {
            Some(bytes) => {
                report.bytes = report.bytes.saturating_add(bytes);
                report.fetched.push(file.path.clone());
            }
            None => report.kept.push(file.path.clone()),
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_mirror_is_none() {
        assert_eq!(mirror(None), None);
        assert_eq!(mirror(Some("".into())), None);
        assert_eq!(mirror(Some("http://data.local".into())), Some("http://data.local".into()));
    }
}
