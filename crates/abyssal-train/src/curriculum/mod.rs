//! SmoothCurriculum (paper, section "SmoothCurriculum" and supplement "Additional Node Filtering"): labels of all nodes,
//! estimated by a teacher, are smoothed over an auxiliary graph, and learnt from the smoothest to the sharpest.

mod labels;
mod pace;
mod smoothing;

pub use labels::{SoftLabels, normalized_entropy};
pub use pace::Pace;
pub use smoothing::Smoother;
