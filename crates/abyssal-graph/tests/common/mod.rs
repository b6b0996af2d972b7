//! What tests on real data share.

use std::io::Write;
use std::path::PathBuf;

/// The data directory; without one, a line says that the test is skipped.
pub fn data() -> Option<PathBuf> {
    let data = std::env::var_os("ABYSSAL_DATA").map(PathBuf::from);
    if data.is_none() {
        skip("ABYSSAL_DATA is not set");
    }
    data
}

/// Says that a test is skipped. Directly, because what a passing test prints is not shown.
pub fn skip(reason: &str) {
    writeln!(std::io::stderr(), "skipped: {reason}").ok();
}
