//! Training for Abyssal: configuration, the full-batch loop, honest selection, crash-safe checkpoints, and run
//! directories from which every result can be repeated.

pub mod config;

mod checkpoint;
mod error;
mod metrics;
mod result;
mod run;
mod selection;
mod session;
mod statistics;
mod storage;
mod trainer;

pub use config::{Config, TrainConfig};
pub use error::TrainError;
pub use metrics::EpochMetrics;
pub use result::{DatasetRecord, RunResult, SelectedEpoch, SplitRecord};
pub use run::{Observer, Outcome, RunDirectory};
pub use selection::{Best, Selection};
pub use session::{PlannedRun, Session};
pub use statistics::{mean, sample_deviation};
pub use trainer::{Trainer, TrainerState};
