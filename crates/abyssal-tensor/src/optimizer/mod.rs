//! Optimisers and learning-rate schedules.

mod adam;
mod schedule;

pub use adam::{Adam, AdamConfig, Moments, WeightDecay};
pub use schedule::StepSchedule;
