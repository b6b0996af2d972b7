//! Our method with parts taken away: the paper's table 3.

use abyssal_nn::models::{GcnConfig, ModelConfig, RSoftGraphAinConfig};

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
    /// Both ("w.o. R-SG"): a GCN of the same size is the student, with the same dropout but for that of class scores, which
    /// it has not.
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
            (Self::WithoutBoth, ModelConfig::RSoftGraphAin(model)) => {
                let &mut RSoftGraphAinConfig { layers, hidden, input_dropout, hidden_dropout, .. } = model;
                config.model = ModelConfig::Gcn(GcnConfig { layers, hidden, input_dropout, hidden_dropout });
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
            // Cells of this experiment have no other model.
            (Self::Full | Self::WithoutNormalization | Self::WithoutConnections | Self::WithoutBoth, _) => {}
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use toml::{Table, Value};

    use super::*;
    use crate::experiments::{Experiment, Request};

    /// The settings in which two configurations differ; a section only one of them has stands for itself.
    fn differences(one: &Table, other: &Table, prefix: &str) -> BTreeSet<String> {
        let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        let mut found = BTreeSet::new();
        for key in keys {
            match (one.get(key), other.get(key)) {
                (Some(Value::Table(one)), Some(Value::Table(other))) => {
                    found.extend(differences(one, other, &format!("{prefix}{key}.")));
                }
                (one, other) if one != other => {
                    found.insert(format!("{prefix}{key}"));
                }
                _ => {}
            }
        }
        found
    }

    #[test]
    fn variants_differ_in_what_is_taken_away_and_in_nothing_else() {
        let cells = Experiment::Ablation.cells(&Request::default()).unwrap();
        assert_eq!(cells.len(), 3 * 2 * 6);
        for variants in cells.chunks(6) {
            let configs: Vec<Config> =
                variants.iter().map(|cell| cell.configs().unwrap().swap_remove(0)).collect();
            let full = &configs[0];
            assert!(full.teacher.is_some() && full.train.method == Method::Curriculum);
            for (cell, config) in variants.iter().zip(&configs) {
                let found = differences(&full.table(), &config.table(), "");
                let found: Vec<&str> = found.iter().map(String::as_str).collect();
                let title = cell.title();
                match cell.contestant.variant {
                    Variant::Full => assert_eq!(found, [""; 0], "{title}"),
                    Variant::WithoutNormalization => assert_eq!(found, ["model.strength"], "{title}"),
                    Variant::WithoutConnections => {
                        assert_eq!(found, ["model.initial", "model.residual"], "{title}");
                    }
                    Variant::WithoutBoth => {
                        let ModelConfig::Gcn(GcnConfig { layers, hidden, input_dropout, hidden_dropout }) =
                            &config.model
                        else {
                            panic!("{title}: {} is no GCN", config.model.name());
                        };
                        let ModelConfig::RSoftGraphAin(ours) = &full.model else { panic!("{title}") };
                        assert_eq!((*layers, *hidden), (ours.layers, ours.hidden), "{title}");
                        let dropout = (ours.input_dropout, ours.hidden_dropout);
                        assert_eq!((*input_dropout, *hidden_dropout), dropout, "{title}");
                        assert!(found.iter().all(|key| key.starts_with("model.")), "{title}: {found:?}");
                    }
                    Variant::WithoutSmoothing => assert_eq!(found, ["curriculum.steps"], "{title}"),
                    Variant::WithoutCurriculum => {
                        assert_eq!(found, ["curriculum", "teacher", "train.method"], "{title}");
                    }
                }
                let taught = cell.contestant.variant != Variant::WithoutCurriculum;
                assert!(!taught || config.teacher == full.teacher, "{title}: another teacher");
            }
        }
    }
}
