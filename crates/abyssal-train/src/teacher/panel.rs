//! Trains the candidates and listens to them.

use std::path::Path;
use std::sync::atomic::Ordering;

use abyssal_graph::Dataset;
use abyssal_tensor::Matrix;

use super::choice::{Examined, chosen};
use super::{CandidateRecord, LeftOutRecord, TeacherRecord, probabilities_of, read_predictions};
use crate::config::TeacherConfig;
use crate::curriculum::{mean_entropy, propagate_labels, unit_rows};
use crate::metrics::{accuracy, targets};
use crate::run::{Role, RunDirectory, Surroundings};
use crate::{Config, Outcome, RunResult, TrainError};

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

/// What all candidates say.
#[derive(Default)]
struct Panel {
    voices: Vec<Voice>,
    /// One a voice, and so are candidates.
    examined: Vec<Examined>,
    candidates: Vec<CandidateRecord>,
    left_out: Vec<LeftOutRecord>,
    /// How long the training of those that were heard took.
    seconds: f64,
}

/// A run whose teacher is to be heard.
pub(crate) struct Hearing<'run, 'surroundings> {
    /// The configuration of the student.
    pub config: &'run Config,
    /// Who teaches it.
    pub teacher: &'run TeacherConfig,
    /// The student's data.
    pub dataset: &'run Dataset,
    /// Where the runs of teachers are kept.
    pub teachers: &'run Path,
    /// Who watches and may stop.
    pub surroundings: &'run mut Surroundings<'surroundings>,
}

/// What explicit label propagation says. It has no embeddings.
pub(crate) fn hear_propagation(dataset: &Dataset) -> Teaching {
    let known = targets(dataset, dataset.split().train());
    let probabilities = propagate_labels(dataset, &known).rows().clone();
    let voice = Voice { embeddings: Matrix::zeros(dataset.nodes(), 0), probabilities };
    voice.teaching("label propagation".to_string(), dataset)
}

impl Hearing<'_, '_> {
    /// Lets the teacher say what it thinks; its models are trained first, if they are not yet. `None` if that was
    /// interrupted.
    pub(crate) fn hear(mut self) -> Result<Option<Teaching>, TrainError> {
        if self.teacher.rounds > 1 {
            return self.hear_last_student();
        }
        if !self.teacher.predictions.is_empty() {
            return self.hear_file().map(Some);
        }
        self.hear_panel()
    }

    fn hear_file(&self) -> Result<Teaching, TrainError> {
        let path = Path::new(&self.teacher.predictions);
        let probabilities = read_predictions(path, self.teacher.predictions_kind, self.dataset)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Nothing but its predictions tells where it sees the nodes.
        let voice = Voice { embeddings: probabilities.clone(), probabilities };
        Ok(voice.teaching(name, self.dataset))
    }

    /// The student of one round less.
    fn hear_last_student(&mut self) -> Result<Option<Teaching>, TrainError> {
        let (round, rounds) = (self.teacher.rounds - 1, self.teacher.rounds);
        let earlier = TeacherConfig { rounds: round, ..self.teacher.clone() };
        // Runs that share their teacher share this one too.
        let seed = if self.teacher.shared { 0 } else { self.config.seed };
        let student = Config { seed, teacher: Some(earlier), ..self.config.clone() };
        let role = Role::Round { number: round, of: rounds };
        let heard = self.hear_run(&format!("round-{round}"), &student, role)?;
        Ok(heard.map(|(voice, result)| {
            let mut teaching = voice.teaching(format!("student of round {round}"), self.dataset);
            teaching.record.seconds = result.total_seconds();
            teaching.record.teacher = result.teacher.map(Box::new);
            teaching
        }))
    }

    /// All candidates; one of them or an ensemble teaches.
    fn hear_panel(&mut self) -> Result<Option<Teaching>, TrainError> {
        let Some(panel) = self.hear_candidates()? else { return Ok(None) };
        let Panel { voices, examined, candidates, left_out, seconds } = panel;
        let places = chosen(self.teacher.choice, &examined);
        let names: Vec<&str> = places.iter().map(|&place| candidates[place].name.as_str()).collect();
        let name = match names.as_slice() {
            [name] => (*name).to_string(),
            names => format!("ensemble of {}", names.join(", ")),
        };
        let teaching = voices.into_iter().enumerate().filter(|(place, _)| places.contains(place));
        let voice = Voice::ensemble(teaching.map(|(_, voice)| voice).collect());
        let mut teaching = voice.teaching(name, self.dataset);
        teaching.record.candidates = candidates;
        teaching.record.left_out = left_out;
        teaching.record.seconds = seconds;
        Ok(Some(teaching))
    }

    /// All candidates. Those that diverge or do not fit into memory are left out as long as there is another to teach.
    fn hear_candidates(&mut self) -> Result<Option<Panel>, TrainError> {
        let teacher = self.teacher;
        let validation = targets(self.dataset, self.dataset.split().validation());
        let (mut panel, mut first_failure) = (Panel::default(), None);
        for (earlier, name) in teacher.models.iter().enumerate() {
            match self.hear_candidate(name, earlier) {
                Ok(Some((voice, seconds))) => {
                    let examined = Examined::new(&voice.probabilities, &validation);
                    panel.candidates.push(self.record(name, &voice, &examined));
                    panel.examined.push(examined);
                    panel.voices.push(voice);
                    panel.seconds += seconds;
                }
                Ok(None) => return Ok(None),
                Err(error @ (TrainError::TeacherDiverged { .. } | TrainError::TeacherTooLarge { .. })) => {
                    panel.left_out.push(LeftOutRecord { name: name.clone(), reason: error.to_string() });
                    first_failure.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(error) = first_failure.filter(|_| panel.voices.is_empty()) {
            return Err(error);
        }
        panel.left_out.iter().for_each(|candidate| self.surroundings.observer.left_out(candidate));
        Ok(Some(panel))
    }

    /// The models of one candidate as one voice, and the seconds their training took.
    fn hear_candidate(&mut self, name: &str, earlier: usize) -> Result<Option<(Voice, f64)>, TrainError> {
        let teacher = self.teacher;
        let (mut voices, mut seconds) = (Vec::new(), 0.0);
        for seed in teacher.seeds_for(self.config.seed) {
            let number = earlier * teacher.seeds + voices.len() + 1;
            let role = Role::Teacher { number, of: teacher.models.len() * teacher.seeds };
            let run = teacher.candidates[name].config(self.config, seed);
            let heard = self.hear_run(name, &run, role).map_err(|error| error.of_teacher(name))?;
            let Some((voice, result)) = heard else { return Ok(None) };
            voices.push(voice);
            seconds += result.total_seconds();
        }
        Ok(Some((Voice::ensemble(voices), seconds)))
    }

    /// Trains a model, unless that was done before, and lets it speak; with the result of its training.
    fn hear_run(
        &mut self,
        name: &str,
        config: &Config,
        role: Role,
    ) -> Result<Option<(Voice, Box<RunResult>)>, TrainError> {
        // A teacher may look at the same nodes along other edges.
        let other = config.data != self.config.data;
        let own = other.then(|| config.data.load(self.surroundings.library)).transpose()?;
        let dataset = own.as_ref().unwrap_or(self.dataset);
        let directory = RunDirectory::of_teacher(self.teachers, name, config)?;
        let memory = self.surroundings.memory;
        let mut surroundings = Surroundings {
            library: self.surroundings.library,
            observer: &mut *self.surroundings.observer,
            memory: if other { memory.beside(self.dataset) } else { memory },
            stop: self.surroundings.stop,
        };
        let result = match directory.run_as(role, config, dataset, &mut surroundings)? {
            Outcome::Finished(result) => result,
            Outcome::Stopped { .. } => return Ok(None),
        };
        if self.surroundings.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let trainer = directory.load_model(config, dataset)?;
        let probabilities = probabilities_of(&trainer.predict()?);
        Ok(Some((Voice { probabilities, embeddings: trainer.embed()? }, result)))
    }

    fn record(&self, name: &str, voice: &Voice, examined: &Examined) -> CandidateRecord {
        let model = &self.teacher.candidates[name].model;
        CandidateRecord {
            name: name.to_string(),
            model: model.name().to_string(),
            layers: model.layers(),
            seeds: self.teacher.seeds_for(self.config.seed).collect(),
            validation_accuracy: examined.accuracy(),
            validation_loss: Some(examined.loss()),
            test_accuracy: voice.accuracies(self.dataset).1,
        }
    }
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
            left_out: Vec::new(),
            teacher: None,
            seconds: 0.0,
        };
        Teaching { probabilities: self.probabilities, embeddings: self.embeddings, record }
    }
}
