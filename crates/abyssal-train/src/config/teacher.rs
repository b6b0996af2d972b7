//! Who teaches: the `[teacher]` of a configuration.

use std::collections::BTreeMap;

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_graph::GraphRule;
use abyssal_nn::models::ModelConfig;

use super::candidates::MODELS;
use super::{Config, Estimation, Preset, Same, TrainConfig, require};
use crate::TrainError;

/// The teacher of a curriculum.
///
/// Every name in `models` stands for a candidate with settings of its own, `[teacher.NAME.model]` and `[teacher.NAME.train]`.
/// A name is that of a model, which starts from its published settings; or `self`, the model of the student, taught directly;
/// or any other word, if `teacher.NAME.model.name` says which model it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default)]
pub struct TeacherConfig {
    /// The candidates, such as `["self"]` or `["gcnii", "appnp", "mlp"]`; `panel` stands for several good ones.
    pub models: Vec<String>,
    /// Who of several candidates teaches: the `best` on the validation nodes, all as an `ensemble`, or an ensemble that is `grown`
    /// from those who lower its validation loss.
    pub choice: Choice,
    /// Every candidate is an ensemble of models from this many seeds, from 1 to 1000.
    pub seeds: usize,
    /// Whether runs that differ in nothing but their seed have the same teacher, as in the released code; otherwise each
    /// has its own.
    pub shared: bool,
    /// Rounds, from 1 to 100: the student of each teaches the next.
    pub rounds: usize,
    /// A file of predictions (npy, npz or csv, a row a node, a column a class) that takes the place of all candidates. Columns
    /// are in the order of the classes, unless a header has the names of all classes.
    pub predictions: String,
    /// What the numbers of that file are: `probabilities`, `logits`, or `auto`, which takes them for logits if some are
    /// negative.
    pub predictions_kind: PredictionsKind,
    /// The settings of the candidates.
    #[serde(flatten)]
    pub candidates: BTreeMap<String, CandidateConfig>,
}

/// Who of several candidates teaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The one with the best validation accuracy; of equal ones, that with the lower validation loss.
    Best,
    /// All: their probabilities are averaged.
    Ensemble,
    /// Those who together have a low validation loss: whoever lowers that of the ensemble most joins it, until nobody does.
    #[default]
    Grown,
}

/// What the numbers of a file of predictions are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PredictionsKind {
    /// Logits if some are negative, probabilities otherwise.
    #[default]
    Auto,
    /// Not negative; a row sums to 1.
    Probabilities,
    /// Any numbers; their softmax is taken.
    Logits,
}

/// One candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateConfig {
    /// The edges it propagates along: `same` as the student, or as in `data.graph`.
    pub graph: CandidateGraph,
    /// The model.
    pub model: ModelConfig,
    /// Its training.
    pub train: TrainConfig,
}

/// The edges a candidate propagates along.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CandidateGraph {
    /// `same`: those of the student.
    Same(Same),
    /// Its own.
    Own(GraphRule),
}

impl Default for TeacherConfig {
    fn default() -> Self {
        Self {
            models: vec![Self::SELF.to_string()],
            choice: Choice::default(),
            seeds: 1,
            shared: false,
            rounds: 1,
            predictions: String::new(),
            predictions_kind: PredictionsKind::default(),
            candidates: BTreeMap::new(),
        }
    }
}

impl TeacherConfig {
    /// The candidate that is the student's own model, taught directly.
    pub const SELF: &'static str = "self";
    /// What stands for the candidates of [`TeacherConfig::PANEL_MODELS`].
    pub const PANEL: &'static str = "panel";
    /// Models that see features alone, near and far neighbours, each distance by itself, and frequencies high and low: one of
    /// them is good at most graphs.
    pub const PANEL_MODELS: &'static [&'static str] =
        &["mlp", "gcn", "gcnii", "appnp", "gprgnn", "fsgnn", "self"];

    /// Every setting with what it means.
    pub fn descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
        Self::FIELD_NAMES.iter().copied().zip(Self::FIELD_DOCS.iter().copied())
    }

    /// Checks every setting against its range.
    ///
    /// # Errors
    /// With the first one that is out of range.
    pub fn validate(&self) -> Result<(), TrainError> {
        let given = !self.models.is_empty() || !self.predictions.is_empty();
        require(given, "teacher.models", "[]", "name at least one model, such as self or panel")?;
        let (seeds, rounds) = (self.seeds, self.rounds);
        require((1..=1000).contains(&seeds), "teacher.seeds", seeds, "it must be from 1 to 1000")?;
        // All students of earlier rounds are in memory until the first of them is trained.
        require((1..=100).contains(&rounds), "teacher.rounds", rounds, "it must be from 1 to 100")?;
        for name in &self.models {
            Self::validate_name(name)?;
            let known = self.candidates.contains_key(name) || !self.predictions.is_empty();
            let reason = "it has no settings among the candidates; Config::resolve gives every name some";
            require(known, MODELS, name, reason)?;
        }
        for (name, candidate) in &self.candidates {
            let direct = candidate.train.method == super::Method::Direct;
            let key = format!("teacher.{name}.train.method");
            require(
                direct,
                &key,
                "curriculum",
                "a teacher learns directly; teacher.rounds repeats the curriculum",
            )?;
            candidate.validate().map_err(|error| error.of_teacher(name))?;
        }
        Ok(())
    }

    /// Checks what a candidate is called. Its name is a part of keys and of the names of directories.
    pub(super) fn validate_name(name: &str) -> Result<(), TrainError> {
        let fit = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let is_name = (1..=100).contains(&name.len()) && name.chars().all(fit);
        let reason = "a name has letters, digits, `-` and `_`, at most 100 of them";
        require(is_name, MODELS, format!("\"{name}\""), reason)?;
        let reason = format!("teacher.{name} is a setting; give the candidate another name");
        require(!Self::FIELD_NAMES.contains(&name), MODELS, format!("\"{name}\""), &reason)
    }

    /// Checks that there are as many seeds as the candidates of a run with this seed need.
    pub(super) fn validate_seeds(&self, seed: u64) -> Result<(), TrainError> {
        let count = self.seeds as u64;
        let last = seed.checked_mul(count).and_then(|first| first.checked_add(count - 1));
        let largest = Config::LARGEST_SEED;
        let reason = format!(
            "with teacher.seeds = {count} those of its teachers would be above {largest}; take a smaller seed, or set \
             teacher.shared=true"
        );
        require(self.shared || last.is_some_and(|last| last <= largest), "seed", seed, &reason)
    }

    /// Checks that nothing is asked of the teacher where it is not the one to estimate labels.
    pub(super) fn validate_estimation(&self, estimation: Estimation) -> Result<(), TrainError> {
        if estimation == Estimation::Teacher {
            return Ok(());
        }
        let reason =
            "label propagation takes the teacher's place; leave it out, or set curriculum.estimation=teacher";
        require(self.rounds == 1, "teacher.rounds", self.rounds, reason)?;
        require(self.predictions.is_empty(), "teacher.predictions", &self.predictions, reason)
    }

    /// The seeds of a candidate's models, for a run with the given seed. In a configuration that was checked they are
    /// different.
    pub fn seeds_for(&self, seed: u64) -> impl Iterator<Item = u64> + use<> {
        let count = self.seeds as u64;
        // Ensembles of different runs share no model.
        let first = if self.shared { 0 } else { seed.saturating_mul(count) };
        (0..count).map(move |index| first.saturating_add(index))
    }
}

impl CandidateConfig {
    fn validate(&self) -> Result<(), TrainError> {
        self.train.validate()?;
        self.model.validate()?;
        self.train.validate_passes(&self.model)
    }

    /// The run that trains this candidate for a student.
    pub fn config(&self, student: &Config, seed: u64) -> Config {
        let data = match &self.graph {
            CandidateGraph::Same(_) => student.data.clone(),
            CandidateGraph::Own(rule) => student.data.with_graph(rule.clone()),
        };
        Config {
            // Its settings are complete: it is the same teacher, whatever the preset of its student is called.
            preset: Preset::default(),
            seed,
            data,
            model: self.model.clone(),
            train: TrainConfig { checkpoint_seconds: student.train.checkpoint_seconds, ..self.train.clone() },
            curriculum: None,
            teacher: None,
        }
    }
}
