//! What is kept of a teacher.

use serde::{Deserialize, Serialize};

/// Who taught, and how well it does itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TeacherRecord {
    /// Its name.
    pub name: String,
    /// Its accuracy on the validation nodes, as a share.
    pub validation_accuracy: f64,
    /// Its accuracy on the test nodes. Never used for a decision.
    pub test_accuracy: f64,
    /// What its logarithmic probabilities were divided by.
    pub temperature: f64,
    /// The mean normalised entropy of its probabilities after that, over all nodes.
    pub entropy: f64,
    /// All candidates that were heard, in their order.
    pub candidates: Vec<CandidateRecord>,
    /// Candidates whose training diverged, or that did not fit into memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutRecord>,
    /// Who taught the teacher, if it is the student of an earlier round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teacher: Option<Box<TeacherRecord>>,
    /// Seconds their training took together.
    pub seconds: f64,
}

impl TeacherRecord {
    /// Seconds of the teachers of several runs. One that teaches more than one of them counts once.
    pub fn seconds_of<'a>(teachers: impl IntoIterator<Item = &'a Self>) -> f64 {
        let mut different: Vec<&Self> = Vec::new();
        for teacher in teachers {
            // Measured times are never the same twice: equal records are about the same teacher.
            if !different.contains(&teacher) {
                different.push(teacher);
            }
        }
        different.iter().map(|teacher| teacher.seconds).sum()
    }

    /// The teachers of earlier rounds, the last one first.
    pub fn earlier(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(self.teacher.as_deref(), |teacher| teacher.teacher.as_deref())
    }
}

/// One candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidateRecord {
    /// Its name.
    pub name: String,
    /// Its model.
    pub model: String,
    /// The layers of its model.
    pub layers: usize,
    /// The seeds of its ensemble.
    pub seeds: Vec<u64>,
    /// Its accuracy on the validation nodes.
    pub validation_accuracy: f64,
    /// Its cross-entropy there; results before ensembles could be grown have none.
    #[serde(default)]
    pub validation_loss: Option<f64>,
    /// Its accuracy on the test nodes.
    pub test_accuracy: f64,
}

/// A candidate that could not be heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutRecord {
    /// Its name.
    pub name: String,
    /// What went wrong, and what may help.
    pub reason: String,
}
