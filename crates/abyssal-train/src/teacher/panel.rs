//! Trains the candidates and listens to them.

use std::path::Path;
use std::sync::atomic::Ordering;

use abyssal_graph::Dataset;
use abyssal_tensor::Matrix;

use super::{CandidateRecord, TeacherRecord, probabilities_of, read_predictions};
use crate::config::{Choice, TeacherConfig};
use crate::curriculum::{mean_entropy, propagate_labels, unit_rows};
use crate::metrics::{accuracy, targets};
use crate::run::{Role, RunDirectory, Surroundings};
use crate::{Config, Outcome, TrainError};

/// What a teacher says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Teaching {
    /// The probability of every class for every node, n×C; zeros for a node it knows nothing about.
    pub probabilities: Matrix<f32>,
    /// Where it sees the nodes, n×d.
    pub embeddings: Matrix<f32>,
    /// Who it is. Temperature and entropy are those of the probabilities as they are.
    pub record: TeacherRecord,
}

/// What one candidate, or one model of its ensemble, says.
struct Voice {
    probabilities: Matrix<f32>,
    embeddings: Matrix<f32>,
}

/// Lets the teacher of a run say what it thinks; its models are trained first, if they are not yet. Their runs are kept in
/// `teachers`. `None` if that was interrupted.
pub(crate) fn hear(
    config: &Config,
    teacher: &TeacherConfig,
    dataset: &Dataset,
    teachers: &Path,
    surroundings: &mut Surroundings,
) -> Result<Option<Teaching>, TrainError> {
    if teacher.rounds > 1 {
        return hear_last_student(config, teacher, dataset, teachers, surroundings);
    }
    if !teacher.predictions.is_empty() {
        let path = Path::new(&teacher.predictions);
        let probabilities = read_predictions(path, teacher.predictions_kind, dataset)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let voice = Voice { embeddings: probabilities.clone(), probabilities };
        return Ok(Some(voice.teaching(name, dataset)));
    }
    hear_panel(config, teacher, dataset, teachers, surroundings)
}

/// What explicit label propagation says. It has no embeddings.
pub(crate) fn hear_propagation(dataset: &Dataset) -> Teaching {
    let known = targets(dataset, dataset.split().train());
    let probabilities = propagate_labels(dataset, &known).rows().clone();
    let voice = Voice { embeddings: Matrix::zeros(dataset.nodes(), 0), probabilities };
    voice.teaching("label propagation".to_string(), dataset)
}

/// The student of one round less.
fn hear_last_student(
    config: &Config,
    teacher: &TeacherConfig,
    dataset: &Dataset,
    teachers: &Path,
    surroundings: &mut Surroundings,
) -> Result<Option<Teaching>, TrainError> {
    let round = teacher.rounds - 1;
    let earlier = TeacherConfig { rounds: round, ..teacher.clone() };
    let student = Config { teacher: Some(earlier), ..config.clone() };
    let name = format!("student of round {round}");
    let role = Role::Round { number: round, of: teacher.rounds };
    let heard = hear_run(&format!("round-{round}"), &student, dataset, teachers, role, surroundings)?;
    Ok(heard.map(|(voice, seconds)| {
        let mut teaching = voice.teaching(name, dataset);
        teaching.record.seconds = seconds;
        teaching
    }))
}

/// All candidates; the best, or the ensemble of them, teaches.
fn hear_panel(
    config: &Config,
    teacher: &TeacherConfig,
    dataset: &Dataset,
    teachers: &Path,
    surroundings: &mut Surroundings,
) -> Result<Option<Teaching>, TrainError> {
    let mut panel = Vec::new();
    let (mut number, mut seconds) = (0, 0.0);
    for name in &teacher.models {
        let candidate = &teacher.candidates[name];
        let mut voices = Vec::new();
        for seed in teacher.seeds_for(config.seed) {
            number += 1;
            let role = Role::Teacher { number, of: teacher.models.len() * teacher.seeds };
            let run = candidate.config(config, seed);
            // A teacher may look at the same nodes along other edges.
            let own = (run.data != config.data).then(|| run.data.load(surroundings.library)).transpose()?;
            let data = own.as_ref().unwrap_or(dataset);
            match hear_run(name, &run, data, teachers, role, surroundings)? {
                Some((voice, needed)) => {
                    voices.push(voice);
                    seconds += needed;
                }
                None => return Ok(None),
            }
        }
        panel.push((name, candidate, Voice::ensemble(voices)));
    }
    let candidates: Vec<CandidateRecord> = panel
        .iter()
        .map(|(name, candidate, voice)| {
            let (validation_accuracy, test_accuracy) = voice.accuracies(dataset);
            CandidateRecord {
                name: name.to_string(),
                model: candidate.model.name().to_string(),
                layers: candidate.model.layers(),
                seeds: teacher.seeds_for(config.seed).collect(),
                validation_accuracy,
                test_accuracy,
            }
        })
        .collect();
    let (name, voice) = match teacher.choice {
        Choice::Ensemble if panel.len() > 1 => {
            let name = format!("ensemble of {}", teacher.models.join(", "));
            (name, Voice::ensemble(panel.into_iter().map(|(_, _, voice)| voice).collect()))
        }
        Choice::Ensemble | Choice::Best => {
            let better = |best: usize, index: usize| {
                if candidates[index].validation_accuracy > candidates[best].validation_accuracy {
                    index
                } else {
                    best
                }
            };
            let best = (1..candidates.len()).fold(0, better);
            let (name, _, voice) = panel.swap_remove(best);
            (name.clone(), voice)
        }
    };
    let mut teaching = voice.teaching(name, dataset);
    teaching.record.candidates = candidates;
    teaching.record.seconds = seconds;
    Ok(Some(teaching))
}

/// Trains a model, unless that was done before, and lets it speak; with the seconds its training took.
fn hear_run(
    name: &str,
    config: &Config,
    dataset: &Dataset,
    teachers: &Path,
    role: Role,
    surroundings: &mut Surroundings,
) -> Result<Option<(Voice, f64)>, TrainError> {
    let directory = RunDirectory::of_teacher(teachers, name, config)?;
    let seconds = match directory.run_as(role, config, dataset, surroundings)? {
        Outcome::Finished(result) => result.total_seconds(),
        Outcome::Stopped { .. } => return Ok(None),
    };
    if surroundings.stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let trainer = directory.load_model(config, dataset)?;
    let voice = Voice { probabilities: probabilities_of(&trainer.predict()?), embeddings: trainer.embed()? };
    Ok(Some((voice, seconds)))
}

impl Voice {
    /// Several voices as one: probabilities are averaged, embeddings stand side by side, each with rows of length 1, so
    /// that all have the same say in what is near.
    fn ensemble(mut voices: Vec<Self>) -> Self {
        if voices.len() == 1 {
            return voices.remove(0);
        }
        let count = voices.len() as f64;
        let (nodes, classes) = voices[0].probabilities.shape();
        let mean = |node, class| {
            let sum: f64 = voices.iter().map(|voice| f64::from(voice.probabilities.get(node, class))).sum();
            (sum / count) as f32
        };
        let probabilities = Matrix::from_fn(nodes, classes, mean);
        let width = voices.iter().map(|voice| voice.embeddings.columns()).sum();
        let mut embeddings = Matrix::zeros(nodes, width);
        voices.iter_mut().for_each(|voice| voice.embeddings = unit_rows(&voice.embeddings));
        for node in 0..nodes {
            let row = voices.iter().flat_map(|voice| voice.embeddings.row(node));
            embeddings.row_mut(node).iter_mut().zip(row).for_each(|(place, &value)| *place = value);
        }
        Self { probabilities, embeddings }
    }

    /// Accuracy on validation and test nodes.
    fn accuracies(&self, dataset: &Dataset) -> (f64, f64) {
        let split = dataset.split();
        let on = |nodes| accuracy(&self.probabilities, &targets(dataset, nodes));
        (on(split.validation()), on(split.test()))
    }

    fn teaching(self, name: String, dataset: &Dataset) -> Teaching {
        let (validation_accuracy, test_accuracy) = self.accuracies(dataset);
        let record = TeacherRecord {
            name,
            validation_accuracy,
            test_accuracy,
            temperature: 1.0,
            entropy: mean_entropy(&self.probabilities),
            candidates: Vec::new(),
            seconds: 0.0,
        };
        Teaching { probabilities: self.probabilities, embeddings: self.embeddings, record }
    }
}
