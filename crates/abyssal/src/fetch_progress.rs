//! What is shown while files are fetched, always on standard error.

use std::time::Duration;

use abyssal_graph::fetch::FetchProgress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::say::{say, shows_bars};

/// Progress of fetching: a bar for each file on a terminal, a line for each elsewhere, or nothing.
pub struct FetchBar {
    quiet: bool,
    bar: Option<ProgressBar>,
    path: String,
}

impl FetchBar {
    /// Shows nothing yet.
    pub fn new(quiet: bool) -> Self {
        Self { quiet, bar: None, path: String::new() }
    }
}

impl FetchProgress for FetchBar {
    fn start(&mut self, path: &str, done: u64, total: Option<u64>) {
        let again = self.path == path;
        self.path = path.to_string();
        if self.quiet {
            return;
        }
        if !shows_bars() {
            if !again {
                say(format_args!("fetching {path}"));
            }
            return;
        }
        let template = match total {
            Some(_) => "{prefix} {bar:24} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left",
            None => "{prefix} {spinner} {bytes}  {bytes_per_sec}",
        };
        let style = ProgressStyle::with_template(template).expect("a valid template");
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::new_spinner(),
        };
        let bar = bar.with_style(style).with_prefix(path.to_string()).with_position(done);
        bar.reset_eta();
        bar.enable_steady_tick(Duration::from_millis(200));
        self.bar = Some(bar);
    }

    fn advance(&mut self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(bytes);
        }
    }

    fn retry(&mut self, path: &str, reason: &str, pause: Duration) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        if !self.quiet {
            let pause = pause.as_secs_f64().ceil();
            match pause > 0.0 {
                true => say(format_args!("{path}: {reason}; trying again in {pause} s")),
                false => say(format_args!("{path}: {reason}; waiting")),
            }
        }
    }

    fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.path.clear();
    }
}

impl Drop for FetchBar {
    /// An error ends fetching without a last word to the bar.
    fn drop(&mut self) {
        self.finish();
    }
}
