//! The complete description of a run.

mod candidates;
mod curriculum;
mod presets;
mod resolve;
mod teacher;
mod varied;

use std::collections::{BTreeMap, BTreeSet};

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_graph::{DatasetConfig, Fingerprint, GeneratorConfig};
use abyssal_nn::ParameterGroup;
use abyssal_nn::models::{ModelConfig, TaskShape};
use abyssal_tensor::optimizer::{AdamConfig, StepSchedule, WeightDecay};

use crate::{Selection, TrainError};

pub use curriculum::{AuxiliaryGraph, CurriculumConfig, EntropyTarget, Estimation, Temperature};
pub use teacher::{CandidateConfig, CandidateGraph, Choice, PredictionsKind, TeacherConfig};

/// A set of settings to start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The best recipe we have found on validation nodes, teacher included (`presets/abyssal.toml`), and without a curriculum
    /// (`presets/abyssal-direct.toml`); other models than ours have their published settings.
    #[default]
    Abyssal,
    /// The method as the paper describes it, with published settings where there are some for model and dataset
    /// (`presets/MODEL.toml`).
    Paper,
    /// The method as the released code computes it; `presets/reference.toml` lists the differences.
    Reference,
}

impl Preset {
    /// Its name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Abyssal => "abyssal",
            Self::Paper => "paper",
            Self::Reference => "reference",
        }
    }
}

/// Everything that decides the outcome of a run. Written to `config.toml`, it repeats the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The settings this configuration started from.
    pub preset: Preset,
    /// The seed of initial weights and dropout.
    pub seed: u64,
    /// The dataset.
    pub data: DatasetConfig,
    /// The model.
    pub model: ModelConfig,
    /// The training.
    pub train: TrainConfig,
    /// The curriculum, if the method is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curriculum: Option<CurriculumConfig>,
    /// Who teaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teacher: Option<TeacherConfig>,
}

/// How a model is taught.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// On the known labels.
    #[default]
    Direct,
    /// SmoothCurriculum: by a teacher, from smooth labels to sharp ones, then on the known labels.
    Curriculum,
}

/// The weight decay of a part of a model: that of all others, or its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PartDecay {
    /// Its own.
    Own(f64),
    /// `same`: that of all others.
    Same(Same),
}

/// The word `same`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Same {
    /// `same`.
    #[default]
    Same,
}

impl Default for PartDecay {
    fn default() -> Self {
        Self::Same(Same::Same)
    }
}

impl PartDecay {
    /// Its own, or else the given one.
    fn or(self, other: f64) -> f64 {
        match self {
            Self::Own(decay) => decay,
            Self::Same(_) => other,
        }
    }
}

/// How a model is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// How the model is taught: `direct` on the known labels, or by a `curriculum`.
    pub method: Method,
    /// Epochs to train, at least 1; in a curriculum, those of all tasks together.
    pub epochs: usize,
    /// Adam's learning rate at the start, above 0.
    pub learning_rate: f64,
    /// Epochs after which the learning rate is halved.
    pub halve_at: Vec<usize>,
    /// Strength of weight decay, at least 0.
    pub weight_decay: f64,
    /// Its strength for what is between input and output, such as the convolutions of a deep model: `same` or a
    /// number.
    pub hidden_weight_decay: PartDecay,
    /// Its strength for what gives the class scores: `same` or a number.
    pub output_weight_decay: PartDecay,
    /// Where weight decay enters: `l2` (into the gradient) or `decoupled` (AdamW).
    pub weight_decay_kind: WeightDecay,
    /// `S`, how often a step goes through the model, each time with other random dropout, from 1 to 100; its loss is the mean
    /// of theirs.
    pub passes: usize,
    /// `λ`, how much it counts that the passes of a step say the same of all nodes, and are sure of it, at least 0; 0 does
    /// without.
    pub consistency: f64,
    /// Temperature of the mean over the passes that each of them should come to, above 0 and at most 1: the smaller, the surer.
    pub sharpening: f64,
    /// Stop after this many epochs without a better validation accuracy or a lower validation loss; 0 trains all epochs.
    /// A curriculum goes through all of its tasks; its fine-tuning has a patience of its own.
    pub patience: usize,
    /// Which epoch's weights are the result: `strict`, or `paper` for comparison.
    pub selection: Selection,
    /// Seconds between checkpoints, between 0 and 1e9; 0 makes one after every epoch.
    pub checkpoint_seconds: f64,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            method: Method::Direct,
            epochs: 150,
            learning_rate: 0.01,
            halve_at: vec![100],
            weight_decay: 5e-4,
            hidden_weight_decay: PartDecay::default(),
            output_weight_decay: PartDecay::default(),
            weight_decay_kind: WeightDecay::L2,
            passes: 1,
            consistency: 0.0,
            sharpening: 0.5,
            patience: 0,
            selection: Selection::Strict,
            checkpoint_seconds: 10.0,
        }
    }
}

impl TrainConfig {
    /// Other names of settings (the paper's), as `(alias, name)`.
    pub const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("epoch", "epochs"),
        ("lr", "learning_rate"),
        ("lr_decay", "halve_at"),
        ("S", "passes"),
        ("lambda", "consistency"),
    ];

    /// Checks every setting against its range.
    ///
    /// # Errors
    /// With the first one that is out of range.
    pub fn validate(&self) -> Result<(), TrainError> {
        let finite = |value: f64| (0.0..f64::INFINITY).contains(&value);
        require(self.epochs >= 1, "train.epochs", self.epochs, "it must be at least 1")?;
        let positive = finite(self.learning_rate) && self.learning_rate > 0.0;
        require(positive, "train.learning_rate", self.learning_rate, "it must be above 0")?;
        require(finite(self.weight_decay), "train.weight_decay", self.weight_decay, "it must be at least 0")?;
        for (key, decay) in [
            ("train.hidden_weight_decay", self.hidden_weight_decay),
            ("train.output_weight_decay", self.output_weight_decay),
        ] {
            let value = decay.or(0.0);
            require(finite(value), key, value, "it must be `same`, or a number of at least 0")?;
        }
        require((1..=100).contains(&self.passes), "train.passes", self.passes, "it must be from 1 to 100")?;
        require(finite(self.consistency), "train.consistency", self.consistency, "it must be at least 0")?;
        let sharpens = self.sharpening > 0.0 && self.sharpening <= 1.0;
        require(sharpens, "train.sharpening", self.sharpening, "it must be above 0 and at most 1")?;
        let seconds = self.checkpoint_seconds;
        // No run is as long, and not every number of seconds is a `Duration`.
        let fits = (0.0..=1e9).contains(&seconds);
        require(fits, "train.checkpoint_seconds", seconds, "it must be between 0 and 1e9")
    }

    /// Checks that the passes of a step differ: that a model, whose settings are in their ranges, drops something.
    pub(crate) fn validate_passes(&self, model: &ModelConfig) -> Result<(), TrainError> {
        // Any task will do: it says nothing about dropout.
        let drops = || model.build::<f32>(TaskShape { features: 1, classes: 2 }).has_dropout();
        let reason = "the model drops nothing, so that all passes would be the same; let it drop something, or set it to 1";
        require(self.passes == 1 || drops(), "train.passes", self.passes, reason)
    }

    /// Every setting with what it means.
    pub fn descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
        Self::FIELD_NAMES.iter().copied().zip(Self::FIELD_DOCS.iter().copied())
    }

    /// The optimiser's constants.
    pub fn adam(&self) -> AdamConfig {
        AdamConfig { decay: self.weight_decay_kind, ..AdamConfig::default() }
    }

    /// The weight decay of a part of the model.
    pub fn weight_decay_of(&self, group: ParameterGroup) -> f64 {
        match group {
            ParameterGroup::Input => self.weight_decay,
            ParameterGroup::Hidden => self.hidden_weight_decay.or(self.weight_decay),
            ParameterGroup::Output => self.output_weight_decay.or(self.weight_decay),
        }
    }

    /// The learning rate over the epochs.
    pub fn schedule(&self) -> StepSchedule {
        StepSchedule { initial: self.learning_rate, halve_at: self.halve_at.clone() }
    }
}

impl Config {
    /// The largest seed: TOML has no larger whole numbers.
    pub const LARGEST_SEED: u64 = i64::MAX as u64;

    /// Checks every setting.
    ///
    /// # Errors
    /// With the first one that is out of range; the error names it, its value and its range.
    pub fn validate(&self) -> Result<(), TrainError> {
        self.data.validate()?;
        self.model.validate()?;
        self.train.validate()?;
        self.train.validate_passes(&self.model)?;
        let reason = format!("it must be at most {}", Self::LARGEST_SEED);
        require(self.seed <= Self::LARGEST_SEED, "seed", self.seed, &reason)?;
        let Some((curriculum, teacher)) = self.lessons()? else { return Ok(()) };
        curriculum.validate()?;
        teacher.validate()?;
        teacher.validate_seeds(self.seed)?;
        teacher.validate_estimation(curriculum.estimation)?;
        self.validate_selection_of(teacher)
    }

    /// The curriculum and its teacher, if the method has them. One without the other would not be obeyed.
    fn lessons(&self) -> Result<Option<(&CurriculumConfig, &TeacherConfig)>, TrainError> {
        let (method, reason) = match (self.train.method, &self.curriculum, &self.teacher) {
            (Method::Direct, None, None) => return Ok(None),
            (Method::Curriculum, Some(curriculum), Some(teacher)) => return Ok(Some((curriculum, teacher))),
            (Method::Direct, ..) => {
                ("direct", "it takes no curriculum and no teacher; leave them out, or set it to curriculum")
            }
            (Method::Curriculum, ..) => {
                ("curriculum", "it takes a curriculum and a teacher; give both, or set it to direct")
            }
        };
        Err(TrainError::InvalidValue {
            key: resolve::METHOD.to_string(),
            value: method.to_string(),
            reason: reason.to_string(),
        })
    }

    /// A result tells one rule; the epochs of its teachers must not have been chosen by another.
    fn validate_selection_of(&self, teacher: &TeacherConfig) -> Result<(), TrainError> {
        let rule = self.train.selection;
        for (name, candidate) in &teacher.candidates {
            let (key, other) = (format!("teacher.{name}.train.selection"), candidate.train.selection);
            let reason = format!("it must be that of the student, train.selection = {rule}; leave it out");
            require(other == rule, &key, other, &reason)?;
        }
        Ok(())
    }

    /// The contents of `config.toml`.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration is plain data")
    }

    /// A hash that is equal for equal configurations.
    pub fn fingerprint(&self) -> String {
        let mut fingerprint = Fingerprint::new();
        fingerprint.bytes(self.to_toml().as_bytes());
        fingerprint.finish()
    }

    /// The first setting in which two configurations differ, for messages. One that both have tells more than one that
    /// the other lacks: `train.method` more than what is said about a curriculum.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let changes = self.changes(other);
        let changed = changes.iter().find_map(|(key, ours, theirs)| {
            Some(format!("{key} is {} there and {} here", ours.as_ref()?, theirs.as_ref()?))
        });
        let missing = changes
            .iter()
            .find_map(|(key, ours, _)| Some(format!("{key} is {} there and not set here", ours.as_ref()?)));
        let lacking = || (!changes.is_empty()).then(|| "it has settings the other one lacks".to_string());
        changed.or(missing).or_else(lacking)
    }

    /// All settings in which another configuration differs, as `(key, value here, value there)`; nothing stands for a setting
    /// that one of them does not have.
    pub fn changes(&self, other: &Self) -> Vec<(String, Option<toml::Value>, Option<toml::Value>)> {
        let [ours, theirs] =
            [self, other].map(|config| BTreeMap::from_iter(resolve::flatten(&config.table())));
        let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        let pairs =
            keys.into_iter().map(|key| (key.clone(), ours.get(key).cloned(), theirs.get(key).cloned()));
        pairs.filter(|(_, ours, theirs)| ours != theirs).collect()
    }

    /// Every setting, in sections.
    pub(crate) fn table(&self) -> toml::Table {
        toml::Table::try_from(self).expect("a configuration is plain data")
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            preset: Preset::default(),
            seed: 0,
            data: DatasetConfig::named(GeneratorConfig::NAMES[0]).expect("the first name is a name"),
            model: ModelConfig::named(ModelConfig::NAMES[0]).expect("the first name is a name"),
            train: TrainConfig::default(),
            curriculum: None,
            teacher: None,
        }
    }
}

fn require(holds: bool, key: &str, value: impl ToString, reason: &str) -> Result<(), TrainError> {
    if holds {
        return Ok(());
    }
    Err(TrainError::InvalidValue {
        key: key.to_string(),
        value: value.to_string(),
        reason: reason.to_string(),
    })
}
