//! What is shown while a run goes on, always on standard error.

use std::time::Duration;

use abyssal_train::curriculum::Stage;
use abyssal_train::memory::{MemoryMode, MemoryPlan, readable_bytes};
use abyssal_train::{Config, EpochMetrics, LeftOutRecord, Observer, Role};
use indicatif::{ProgressBar, ProgressStyle};

use crate::say::{say, shows_bars};

/// Progress of one run and of its teachers: a bar on a terminal, a line now and then elsewhere, or nothing.
pub struct Progress {
    display: Display,
    /// Tasks of the curriculum of the model that trains now.
    tasks: usize,
}

enum Display {
    Bar(ProgressBar),
    Lines { epochs: usize, last: Stage },
    Quiet,
}

impl Progress {
    /// Before any model trains.
    pub fn new(quiet: bool) -> Self {
        let display = match (quiet, shows_bars()) {
            (true, _) => Display::Quiet,
            (false, true) => Display::Bar(ProgressBar::hidden()),
            (false, false) => Display::Lines { epochs: 0, last: Stage::Direct },
        };
        Self { display, tasks: 0 }
    }

    /// Takes the bar away.
    pub fn finish(self) {
        if let Display::Bar(bar) = self.display {
            bar.finish_and_clear();
        }
    }

    /// Says something that must not be lost above the bar.
    fn tell(&self, message: &str) {
        match &self.display {
            Display::Bar(bar) => bar.suspend(|| say(message)),
            Display::Lines { .. } => say(message),
            Display::Quiet => {}
        }
    }

    /// The part of a curriculum an epoch belongs to, for people; nothing without one.
    fn stage(&self, stage: Stage) -> String {
        match stage {
            Stage::Direct => String::new(),
            Stage::Task(task) => format!("stage {task} of {}  ", self.tasks),
            Stage::FineTuning => "fine-tuning  ".to_string(),
        }
    }
}

impl Observer for Progress {
    fn begin(&mut self, config: &Config, role: Role, epochs: usize, memory: &MemoryPlan) {
        self.tasks = config.curriculum.as_ref().map_or(0, |curriculum| curriculum.tasks());
        let is_result = role == Role::Result;
        let role = match role {
            Role::Result => String::new(),
            Role::Teacher { number, of } => format!("teacher {number} of {of}: "),
            Role::Round { number, of } => format!("round {number} of {of}: "),
        };
        let title =
            format!("{role}{}, {} layers, seed {}", config.model.name(), config.model.layers(), config.seed);
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
        if !matches!(self.display, Display::Quiet) && is_result {
            say(memory_line(memory));
        }
        match &mut self.display {
            Display::Bar(bar) => {
                let template = "{prefix} {bar:24} epoch {pos}/{len}  {msg}  {eta} left";
                let style = ProgressStyle::with_template(template).expect("a valid template");
                *bar = ProgressBar::new(epochs as u64).with_style(style).with_prefix(title);
                bar.enable_steady_tick(Duration::from_millis(200));
            }
            Display::Lines { epochs: all, last } => {
                say(format_args!("training {title}"));
                (*all, *last) = (epochs, Stage::Direct);
            }
            Display::Quiet => {}
        }
    }

    fn epoch(&mut self, metrics: &EpochMetrics) {
        let numbers = format!(
            "{}loss {:.4}  validation {:.1} %",
            self.stage(metrics.stage),
            metrics.loss,
            100.0 * metrics.validation_accuracy
        );
        match &mut self.display {
            Display::Bar(bar) => {
                if bar.position() == 0 {
                    // A resumed run does not start at 0; the time left must not count epochs of earlier.
                    bar.reset_eta();
                }
                bar.set_position(metrics.epoch as u64);
                bar.set_message(numbers);
            }
            Display::Lines { epochs, last } => {
                let step = (*epochs / 10).max(1);
                let tuning = metrics.stage == Stage::FineTuning && *last != metrics.stage;
                let due =
                    metrics.epoch == 1 || metrics.epoch.is_multiple_of(step) || metrics.epoch == *epochs;
                if due || tuning {
                    say(format_args!("epoch {}/{epochs}  {numbers}", metrics.epoch));
                }
                *last = metrics.stage;
            }
            Display::Quiet => {}
        }
    }

    fn left_out(&mut self, candidate: &LeftOutRecord) {
        self.tell(&format!("not among the teachers: {}", candidate.reason));
    }

    fn cut_short(&mut self, reason: &str) {
        self.tell(&format!("warning: fine-tuning ends early: {reason}"));
    }
}

/// What a run will take, before it begins.
fn memory_line(plan: &MemoryPlan) -> String {
    let how = match plan.mode {
        MemoryMode::Checkpoint(layers) => {
            let full = readable_bytes(plan.full_bytes);
            format!(
                ", keeping {layers} layers at a time and computing the others again (--memory full: faster, about {full})"
            )
        }
        _ => String::new(),
    };
    format!("about {} of memory{how}", readable_bytes(plan.bytes))
}
