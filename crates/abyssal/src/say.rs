//! Messages for people.

use std::fmt::Display;
use std::io::Write;

/// Writes a line to standard error. If nobody can read it there any more (a closed terminal, a pipe into `head`), what is
/// computed matters still.
pub fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
