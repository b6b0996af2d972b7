//! Training for Abyssal: configuration, the full-batch loop, honest selection, crash-safe checkpoints, and run
//! directories from which every result can be repeated.
//!
//! ```
//! use abyssal_graph::Library;
//! use abyssal_train::{Config, Trainer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut config = Config::default();
//! config.train.epochs = 3;
//! let dataset = config.data.load(&Library::from_environment(None))?;
//! let mut trainer = Trainer::new(&config, &dataset)?;
//! while !trainer.is_finished() {
//!     let metrics = trainer.run_epoch()?;
//!     println!("{}: {:.3}", metrics.epoch, metrics.validation_accuracy);
//! }
//! # Ok(())
//! # }
//! ```

pub mod config;
pub mod curriculum;
pub mod experiments;
pub mod memory;
pub mod predictions;

mod checkpoint;
mod divergence;
mod error;
mod json;
mod last_dataset;
mod lessons;
mod metrics;
mod objective;
mod result;
mod run;
mod run_lock;
mod selection;
mod session;
mod spread_labels;
mod statistics;
mod teacher;
mod trainer;

/// The version of this library, with the commit it was built from where that is known: `0.1.0+36ff3d4e02`.
pub const VERSION: &str = env!("ABYSSAL_VERSION");

pub use config::{Config, CurriculumConfig, TeacherConfig, TrainConfig};
pub use divergence::Remedy;
pub use error::TrainError;
pub use last_dataset::LastDataset;
pub use lessons::check_lessons;
pub use metrics::EpochMetrics;
pub use result::{DatasetRecord, RunResult, SelectedEpoch, SplitRecord, StageRecord};
pub use run::{Observer, Outcome, Role, RunDirectory, Surroundings};
pub use selection::{Best, Selection};
pub use session::{PlannedRun, Session};
pub use spread_labels::{SpreadAccuracy, Spreading, spread_labels};
pub use statistics::{mean, sample_deviation};
pub use teacher::{CandidateRecord, LeftOutRecord, TeacherRecord, read_predictions};
pub use trainer::{Trainer, TrainerState};
