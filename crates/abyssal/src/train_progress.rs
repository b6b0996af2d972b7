//! What is shown while a run goes on, always on standard error.

use std::io::IsTerminal;
use std::time::Duration;

use abyssal_train::{Config, EpochMetrics, Observer};
use indicatif::{ProgressBar, ProgressStyle};

/// Progress of one run: a bar on a terminal, a line now and then elsewhere, or nothing.
pub enum Progress {
    Bar(ProgressBar),
    Lines { epochs: usize },
    Quiet,
}

impl Progress {
    /// Announces a run.
    pub fn new(config: &Config, quiet: bool) -> Self {
        if quiet {
            return Self::Quiet;
        }
        let title =
            format!("{}, {} layers, seed {}", config.model.name(), config.model.layers(), config.seed);
        let epochs = config.train.epochs;
        if !std::io::stderr().is_terminal() {
            eprintln!("training {title}");
            return Self::Lines { epochs };
        }
        let style = ProgressStyle::with_template("{prefix} {bar:24} epoch {pos}/{len}  {msg}  {eta} left")
            .expect("a valid template");
        let bar = ProgressBar::new(epochs as u64).with_style(style).with_prefix(title);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self::Bar(bar)
    }

    /// Takes the bar away.
    pub fn finish(self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn epoch(&mut self, metrics: &EpochMetrics) {
        let numbers =
            format!("loss {:.4}  validation {:.1} %", metrics.loss, 100.0 * metrics.validation_accuracy);
        match self {
            Self::Bar(bar) => {
                if bar.position() == 0 {
                    // A resumed run does not start at 0; the time left must not count epochs of earlier.
                    bar.reset_eta();
                }
                bar.set_position(metrics.epoch as u64);
                bar.set_message(numbers);
            }
            Self::Lines { epochs } => {
                let step = (*epochs / 10).max(1);
                if metrics.epoch == 1 || metrics.epoch.is_multiple_of(step) || metrics.epoch == *epochs {
                    eprintln!("epoch {}/{epochs}  {numbers}", metrics.epoch);
                }
            }
            Self::Quiet => {}
        }
    }
}
