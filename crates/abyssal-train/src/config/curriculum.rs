//! How a curriculum teaches: the `[curriculum]` of a configuration.

use std::fmt;
use std::str::FromStr;

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use super::require;
use crate::TrainError;

/// How labels are estimated, smoothed and taught (paper, section "SmoothCurriculum").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct CurriculumConfig {
    /// Who estimates the labels of nodes that have none: the `teacher`, or explicit `label-propagation`.
    pub estimation: Estimation,
    /// What the teacher's logarithmic probabilities are divided by, above 0; or `entropy:E`, which finds the temperature at
    /// which the mean normalised entropy of its probabilities is E, between 0 and 1.
    pub temperature: Temperature,
    /// Which share of the estimated labels is left out, those with the largest entropy, in [0, 1].
    pub filtered: f64,
    /// The auxiliary graph over which labels are smoothed: `input`, or the nearest neighbours by `features` or by the
    /// teacher's `embeddings`.
    pub graph: AuxiliaryGraph,
    /// Neighbours of a node in the auxiliary graph, at least 1.
    pub neighbours: usize,
    /// Edges of nearest neighbours weigh `ReLU(h_i·h_j)` to this power, at least 0.
    pub weight_exponent: f64,
    /// Whether every node is its own neighbour too, with weight 1, when labels are smoothed.
    pub self_loops: bool,
    /// Steps of smoothing. There is a task for each number of steps, from the smoothest labels to the estimated ones.
    /// With fewer epochs than tasks, some are left out.
    pub steps: usize,
    /// Share of the labels of the next task in those of a task, in [0, 1].
    pub mixing: f64,
    /// Epochs of fine-tuning on the true labels after all tasks.
    pub fine_tuning_epochs: usize,
    /// Their learning rate, above 0.
    pub fine_tuning_learning_rate: f64,
    /// Fine-tuning ends after this many epochs without a better validation accuracy or a lower validation loss; 0 trains
    /// all of them.
    pub fine_tuning_patience: usize,
}

/// Who estimates labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimation {
    /// The `[teacher]`.
    #[default]
    Teacher,
    /// Labels spread along the edges of the graph, known ones held fast.
    LabelPropagation,
}

/// The graph over which labels are smoothed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuxiliaryGraph {
    /// The graph of the model, every edge with weight 1.
    Input,
    /// Nearest neighbours by features.
    Features,
    /// Nearest neighbours by the embeddings of the teacher's last layer.
    #[default]
    Embeddings,
}

/// The temperature of a teacher's probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Temperature {
    /// This one.
    Fixed(f64),
    /// The one that gives a mean normalised entropy.
    Entropy(EntropyTarget),
}

/// A mean normalised entropy, written `entropy:0.8`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EntropyTarget(pub f64);

impl fmt::Display for EntropyTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "entropy:{}", self.0)
    }
}

impl FromStr for EntropyTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let target = text.strip_prefix("entropy:").and_then(|number| number.parse().ok());
        target.map(Self).ok_or_else(|| Temperature::RANGE.to_string())
    }
}

impl TryFrom<String> for EntropyTarget {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<EntropyTarget> for String {
    fn from(target: EntropyTarget) -> Self {
        target.to_string()
    }
}

impl Temperature {
    /// What it may be, for messages.
    pub(super) const RANGE: &'static str =
        "it must be a number above 0, or entropy:E with E between 0 and 1, such as entropy:0.8";
}

impl fmt::Display for Temperature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(temperature) => temperature.fmt(formatter),
            Self::Entropy(target) => target.fmt(formatter),
        }
    }
}

impl Default for CurriculumConfig {
    fn default() -> Self {
        Self {
            estimation: Estimation::default(),
            temperature: Temperature::Fixed(1.0),
            filtered: 1e-4,
            graph: AuxiliaryGraph::default(),
            neighbours: 5,
            weight_exponent: 1.0,
            self_loops: false,
            steps: 10,
            mixing: 0.0,
            fine_tuning_epochs: 50,
            fine_tuning_learning_rate: 0.001,
            fine_tuning_patience: 20,
        }
    }
}

impl CurriculumConfig {
    /// Other names of settings (the paper's), as `(alias, name)`.
    pub const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("n_T", "steps"),
        ("mask_ratio", "filtered"),
        ("k", "neighbours"),
        ("K_knn", "neighbours"),
        ("gamma", "weight_exponent"),
    ];

    /// How many tasks there are: one a step of smoothing, and the labels as estimated.
    pub fn tasks(&self) -> usize {
        self.steps + 1
    }

    /// Every setting with what it means.
    pub fn descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
        Self::FIELD_NAMES.iter().copied().zip(Self::FIELD_DOCS.iter().copied())
    }

    /// Checks every setting against its range.
    ///
    /// # Errors
    /// With the first one that is out of range.
    pub fn validate(&self) -> Result<(), TrainError> {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let finite = |value: f64| (0.0..f64::INFINITY).contains(&value);
        let warm = match self.temperature {
            Temperature::Fixed(temperature) => finite(temperature) && temperature > 0.0,
            Temperature::Entropy(EntropyTarget(target)) => target > 0.0 && target < 1.0,
        };
        require(warm, "curriculum.temperature", self.temperature, Temperature::RANGE)?;
        require(share(self.filtered), "curriculum.filtered", self.filtered, "it must be between 0 and 1")?;
        let reason = "it must be at least 1";
        require(self.neighbours >= 1, "curriculum.neighbours", self.neighbours, reason)?;
        let exponent = self.weight_exponent;
        require(finite(exponent), "curriculum.weight_exponent", exponent, "it must be at least 0")?;
        require(share(self.mixing), "curriculum.mixing", self.mixing, "it must be between 0 and 1")?;
        let rate = self.fine_tuning_learning_rate;
        let positive = finite(rate) && rate > 0.0;
        require(positive, "curriculum.fine_tuning_learning_rate", rate, "it must be above 0")?;
        let possible = self.estimation == Estimation::Teacher || self.graph != AuxiliaryGraph::Embeddings;
        let reason = "label propagation has no embeddings; take input or features";
        require(possible, "curriculum.graph", "embeddings", reason)
    }
}
