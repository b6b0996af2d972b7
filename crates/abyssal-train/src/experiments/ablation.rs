//! Our method with parts taken away: the paper's table 3.

use abyssal_nn::models::ModelConfig;

use super::accuracies::OUR_MODEL;
use super::cell::Contestant;
use crate::config::Method;
use crate::{Config, TrainError};

/// The datasets it runs on.
pub(super) const DATASETS: [&str; 3] = ["cora", "citeseer", "pubmed"];

/// Seeds of a variant, as in the paper.
pub(super) const RUNS: usize = 5;

/// What is taken away from the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Nothing.
    Full,
    /// The normalisation ("w.o. SG"): its strength is 0.
    WithoutNormalization,
    /// Residual and initial connections ("w.o. RC"): they weigh nothing.
    WithoutConnections,
    /// Both ("w.o. R-SG"): a GCN of the same size is the student.
    WithoutBoth,
    /// Smooth labels ("w.o. LS"): the only task is the labels as the teacher estimated them.
    WithoutSmoothing,
    /// Curriculum and teacher ("w.o. CL"): the known labels are learnt directly.
    WithoutCurriculum,
}

impl Variant {
    /// All of them, the whole method first.
    pub const ALL: [Self; 6] = [
        Self::Full,
        Self::WithoutNormalization,
        Self::WithoutConnections,
        Self::WithoutBoth,
        Self::WithoutSmoothing,
        Self::WithoutCurriculum,
    ];

    /// What it is called in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::WithoutNormalization => "without-normalization",
            Self::WithoutConnections => "without-connections",
            Self::WithoutBoth => "without-both",
            Self::WithoutSmoothing => "without-smoothing",
            Self::WithoutCurriculum => "without-curriculum",
        }
    }

    /// The variant of a configuration. All else stays as it is, the teacher above all: it is the one of the whole method,
    /// since otherwise two things would change at once.
    pub(super) fn of(self, full: Config) -> Result<Config, TrainError> {
        let mut config = full;
        match (self, &mut config.model) {
            (Self::WithoutNormalization, ModelConfig::RSoftGraphAin(model)) => model.strength = 0.0,
            (Self::WithoutConnections, ModelConfig::RSoftGraphAin(model)) => {
                (model.residual, model.initial) = (0.0, 0.0);
            }
            (Self::WithoutBoth, ours) => {
                let settings = [("model.name", "gcn"), ("data.name", config.data.name())];
                let settings = settings.map(|(key, value)| (key.to_string(), value.into()));
                *ours = Config::resolve(None, &settings)?.model.sized_like(ours);
            }
            (Self::WithoutSmoothing, _) => {
                if let Some(curriculum) = &mut config.curriculum {
                    curriculum.steps = 0;
                }
            }
            (Self::WithoutCurriculum, _) => {
                config.train.method = Method::Direct;
                (config.curriculum, config.teacher) = (None, None);
            }
            (Self::Full | Self::WithoutNormalization | Self::WithoutConnections, _) => {}
        }
        config.validate()?;
        Ok(config)
    }
}

/// All variants.
pub(super) fn contestants() -> Vec<Contestant> {
    let contestant = |variant: Variant| Contestant { variant, ..Contestant::of(variant.label(), OUR_MODEL) };
    Variant::ALL.into_iter().map(contestant).collect()
}
