//! Messages for people.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Whether standard error can show a bar that moves. A dumb terminal cannot go back to the start of a line.
pub fn shows_bars() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb")
}

/// What came of writing to standard output: whoever read there has read enough if nobody reads any more.
pub fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes a line to standard error. If nobody can read it there any more (a closed terminal, a pipe into `head`), what is
/// computed matters still.
pub fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}
