//! SmoothCurriculum (paper, section "SmoothCurriculum" and supplement "Additional Node Filtering"): labels of all nodes,
//! estimated by a teacher, are smoothed over an auxiliary graph, and learnt from the smoothest to the sharpest.

mod auxiliary;
mod course;
mod labels;
mod pace;
mod propagation;
mod smoothing;
mod temperature;

pub use auxiliary::auxiliary_graph;
pub(crate) use auxiliary::{require_neighbours, to_csv as auxiliary_graph_to_csv, unit_rows};
pub use course::{Course, Stage};
pub use labels::{SoftLabels, normalized_entropy};
pub use pace::Pace;
pub use propagation::propagate_labels;
pub use smoothing::Smoother;
pub use temperature::{find_temperature, mean_entropy, tempered};
