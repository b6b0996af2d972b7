//! A run and its directory.
//!
//! | file | contents |
//! | --- | --- |
//! | `config.toml` | the complete configuration; `abyssal train --config` with it repeats the run |
//! | `metrics.jsonl` | one line an epoch |
//! | `checkpoint.safetensors` | the state of an unfinished run |
//! | `result.json` | the outcome, once finished |
//! | `model.safetensors` | the weights of the selected epoch, once finished |
//! | `predictions.csv` | what the model says about every node, once finished |
//! | `teachers/` | the runs of the teachers, in a curriculum; runs of one session share them where they are the same |
//! | `teacher.npy` | the probabilities the teacher gave every node |
//! | `auxiliary-graph.csv` | the graph over which labels were smoothed |
//! | `diagnosis.json` | how far the embeddings of each layer have collapsed, once finished; at most 256 layers, evenly spaced |

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use abyssal_graph::{Dataset, Library, write_atomically};

use crate::memory::{MemoryPlan, MemorySettings, peak_memory_bytes};
use crate::result::{Data, graph_of};
use crate::run_lock::RunLock;
use crate::teacher::{LeftOutRecord, TeacherRecord};
use crate::{
    Config, EpochMetrics, RunResult, Selection, StageRecord, TrainError, Trainer, TrainerState, VERSION,
    checkpoint, json, lessons, predictions,
};

/// Layers in `diagnosis.json`: enough for any plot, and few enough to cost less than training does.
const DIAGNOSED_LAYERS: usize = 256;

/// What a model trains for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// To be the result.
    Result,
    /// To teach.
    Teacher {
        /// Which of all teachers, counted from 1.
        number: usize,
        /// How many there are.
        of: usize,
    },
    /// As the student of an early round, to teach the next.
    Round {
        /// Which round, counted from 1.
        number: usize,
        /// How many there are.
        of: usize,
    },
}

/// What a run needs beside its configuration and its data.
pub struct Surroundings<'a> {
    /// Where data comes from; teachers may look at it in their own way.
    pub library: &'a Library,
    /// Who watches.
    pub observer: &'a mut dyn Observer,
    /// How much memory may be used.
    pub memory: MemorySettings,
    /// Looked at after each epoch; if it is set, a checkpoint is made and the run stops.
    pub stop: &'a AtomicBool,
}

/// Watches a run.
pub trait Observer {
    /// A model begins to train, for at most so many epochs, in so much memory.
    fn begin(&mut self, config: &Config, role: Role, epochs: usize, memory: &MemoryPlan);

    /// An epoch is complete.
    fn epoch(&mut self, metrics: &EpochMetrics);

    /// A candidate cannot teach; others do. The result tells so too.
    fn left_out(&mut self, _candidate: &LeftOutRecord) {}

    /// Fine-tuning has diverged and ends; what the tasks taught stays. The result tells so too.
    fn cut_short(&mut self, _reason: &str) {}
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// With a result.
    Finished(Box<RunResult>),
    /// By request, with a checkpoint after this many epochs.
    Stopped {
        /// Epochs that are complete.
        epoch: usize,
    },
}

/// The directory of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunDirectory {
    path: PathBuf,
    /// Where the runs of its teachers are.
    teachers: PathBuf,
}

impl RunDirectory {
    /// Makes a directory for a new run and writes its configuration there.
    ///
    /// # Errors
    /// If there is a run already, or the directory cannot be written.
    pub fn create(path: &Path, config: &Config) -> Result<Self, TrainError> {
        let directory = Self::at(path);
        if Self::is_at(path) {
            return Err(TrainError::RunExists { path: path.to_path_buf() });
        }
        fs::create_dir_all(path).map_err(TrainError::io("create the directory", path))?;
        write_atomically(&directory.config_path(), config.to_toml().as_bytes())?;
        Ok(directory)
    }

    /// Opens the directory of an earlier run and reads its configuration.
    ///
    /// # Errors
    /// If there is no run, or its configuration cannot be read.
    pub fn open(path: &Path) -> Result<(Self, Config), TrainError> {
        let directory = Self::at(path);
        if !Self::is_at(path) {
            return Err(TrainError::NoRun { path: path.to_path_buf() });
        }
        let config = Config::resolve(Some(&directory.config_path()), &[])?;
        Ok((directory, config))
    }

    /// Whether a directory is that of a run.
    pub fn is_at(path: &Path) -> bool {
        Self::at(path).config_path().is_file()
    }

    fn at(path: &Path) -> Self {
        Self { path: path.to_path_buf(), teachers: path.join("teachers") }
    }

    /// The same run, with the runs of its teachers elsewhere: several runs can share them.
    pub fn with_teachers(self, teachers: &Path) -> Self {
        Self { teachers: teachers.to_path_buf(), ..self }
    }

    /// The directory of a teacher's run among others, made if it is not there. Its name has the fingerprint of its
    /// configuration: runs find the teachers they need, and no others.
    pub(crate) fn of_teacher(teachers: &Path, name: &str, config: &Config) -> Result<Self, TrainError> {
        let fingerprint = config.fingerprint();
        let path = teachers.join(format!("{name}-seed-{}-{}", config.seed, &fingerprint[..8]));
        let directory = match Self::create(&path, config) {
            // It is there already, or another program that shares these teachers was faster.
            Err(TrainError::RunExists { .. }) => Self::open(&path)?.0,
            created => created?,
        };
        Ok(directory.with_teachers(teachers))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The result, if the run is finished.
    ///
    /// # Errors
    /// If there is a result that cannot be read.
    pub fn result(&self) -> Result<Option<RunResult>, TrainError> {
        let path = self.path.join("result.json");
        if !path.exists() {
            return Ok(None);
        }
        json::read(&path).map(Some)
    }

    /// A trainer with the weights the run has kept: those of the selected epoch, or the best of an unfinished run so far.
    ///
    /// # Errors
    /// If there are none, or they do not fit the configuration.
    pub fn load_model(&self, config: &Config, dataset: &Dataset) -> Result<Trainer, TrainError> {
        let mut trainer = Trainer::new(config, dataset)?;
        let state = if self.model_path().exists() {
            let weights = checkpoint::load_model(&self.model_path(), &trainer.state().parameters)?;
            TrainerState {
                best_parameters: weights.deep_clone(),
                parameters: weights,
                ..trainer.state().clone()
            }
        } else if self.checkpoint_path().exists() {
            let run = (config, &Data::of(config, dataset));
            checkpoint::load(&self.checkpoint_path(), run, trainer.state())?.0
        } else {
            return Err(TrainError::NotTrained { path: self.path.clone() });
        };
        trainer.restore(state);
        Ok(trainer)
    }

    /// Starts the run, or goes on where its last checkpoint left it. In a curriculum, teachers come first.
    ///
    /// # Errors
    /// If training diverges or files cannot be written; what was written before stays.
    pub fn run(
        &self,
        config: &Config,
        dataset: &Dataset,
        surroundings: &mut Surroundings,
    ) -> Result<Outcome, TrainError> {
        self.run_as(Role::Result, config, dataset, surroundings)
    }

    /// As [`RunDirectory::run`], for a model that trains for something.
    pub(crate) fn run_as(
        &self,
        role: Role,
        config: &Config,
        dataset: &Dataset,
        surroundings: &mut Surroundings,
    ) -> Result<Outcome, TrainError> {
        let mut data = Data::of(config, dataset);
        let _lock = RunLock::take(&self.path, role)?;
        if let Some(result) = self.result()? {
            data.require_same_result(&self.path, &result, role)?;
            return Ok(Outcome::Finished(Box::new(result)));
        }
        // Before anything is trained: even a teacher's time is lost if its student does not fit.
        config.validate()?;
        let settings = match role {
            Role::Result => surroundings.memory,
            Role::Teacher { .. } | Role::Round { .. } => surroundings.memory.along(&config.model),
        };
        let memory = MemoryPlan::new(config, dataset, &settings)?;
        let mut lessons = None;
        if let Some(parts) = config.curriculum.as_ref().zip(config.teacher.as_ref()) {
            lessons = lessons::prepare(&self.path, &self.teachers, config, parts, dataset, surroundings)?;
            if lessons.is_none() {
                return Ok(Outcome::Stopped { epoch: 0 });
            }
        }
        // After its teachers: its memory is theirs until then.
        let mut trainer = Trainer::new(config, dataset)?.keeping(memory.kept_layers());
        let mut teacher = None;
        if let Some(lessons) = lessons {
            data.lessons = Some(lessons.fingerprint);
            trainer = trainer.with_course(lessons.course);
            teacher = Some(lessons.teacher);
        }
        let mut seconds_before = 0.0;
        if self.checkpoint_path().exists() {
            let (state, seconds) =
                checkpoint::load(&self.checkpoint_path(), (config, &data), trainer.state())?;
            trainer.restore(state);
            seconds_before = seconds;
        }
        let mut metrics_file = self.open_metrics(trainer.state().epoch)?;
        surroundings.observer.begin(config, role, trainer.epochs(), &memory);
        let start = Instant::now();
        let seconds = || seconds_before + start.elapsed().as_secs_f64();
        let pause = Duration::from_secs_f64(config.train.checkpoint_seconds);
        let mut last_checkpoint = Instant::now();
        let mut cut_short = None;
        while !trainer.is_finished() {
            let metrics = match trainer.run_epoch() {
                // All tasks are learnt, and the weights of the best epoch are kept.
                Err(error @ TrainError::Diverged { .. }) if trainer.is_fine_tuning() => {
                    let reason = error.to_string();
                    surroundings.observer.cut_short(&reason);
                    cut_short = Some(reason);
                    break;
                }
                metrics => metrics?,
            };
            self.append(&mut metrics_file, &metrics)?;
            surroundings.observer.epoch(&metrics);
            let stopping = surroundings.stop.load(Ordering::Relaxed);
            if !trainer.is_finished() && (stopping || last_checkpoint.elapsed() >= pause) {
                // The metrics of an epoch must be on disk before a checkpoint claims that it is complete.
                metrics_file.sync_data().map_err(TrainError::io("write", &self.metrics_path()))?;
                checkpoint::save(&self.checkpoint_path(), (config, &data), trainer.state(), seconds())?;
                last_checkpoint = Instant::now();
                if stopping {
                    return Ok(Outcome::Stopped { epoch: trainer.state().epoch });
                }
            }
        }
        metrics_file.sync_data().map_err(TrainError::io("write", &self.metrics_path()))?;
        let result = self.finish(config, (dataset, data), &trainer, (teacher, cut_short), seconds())?;
        Ok(Outcome::Finished(Box::new(result)))
    }

    fn finish(
        &self,
        config: &Config,
        (dataset, data): (&Dataset, Data),
        trainer: &Trainer,
        (teacher, cut_short): (Option<TeacherRecord>, Option<String>),
        seconds: f64,
    ) -> Result<RunResult, TrainError> {
        let state = trainer.state();
        let selection = config.train.selection;
        let best = |rule| state.best.under(rule).expect("a finished run has an epoch").into();
        let predictions = predictions::to_csv(dataset, &trainer.predict()?);
        let diagnosis = serde_json::to_string_pretty(&trainer.diagnose(DIAGNOSED_LAYERS)?);
        let diagnosis = diagnosis.expect("a diagnosis is plain data");
        // After all that computes: the result tells the largest memory.
        let result = RunResult {
            model: config.model.name().to_string(),
            layers: config.model.layers(),
            parameters: state.parameters.count(),
            seed: config.seed,
            selection,
            selected: best(selection),
            selected_by_strict_rule: best(Selection::Strict),
            selected_by_paper_rule: best(Selection::Paper),
            epochs: state.epoch,
            teacher,
            cut_short,
            stages: self.stages()?,
            tasks: config.curriculum.as_ref().map_or(0, |curriculum| curriculum.tasks()),
            graph: graph_of(config),
            dataset: data.dataset,
            class_names: dataset.class_names(),
            split: data.split,
            predictions: data.predictions,
            majority_accuracy: dataset.majority_share(dataset.split().test()),
            config_fingerprint: config.fingerprint(),
            version: VERSION.to_string(),
            threads: abyssal_tensor::parallel::threads(),
            seconds,
            peak_memory_bytes: peak_memory_bytes(),
        };
        checkpoint::save_model(&self.model_path(), config, &state.best_parameters)?;
        write_atomically(&self.path.join("predictions.csv"), &predictions)?;
        write_atomically(&self.path.join("diagnosis.json"), diagnosis.as_bytes())?;
        let text = serde_json::to_string_pretty(&result).expect("a result is plain data");
        // Last: a run is finished exactly if it has a result.
        write_atomically(&self.path.join("result.json"), text.as_bytes())?;
        match fs::remove_file(self.checkpoint_path()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(TrainError::io("remove", &self.checkpoint_path())(error))
            }
            _ => Ok(result),
        }
    }

    /// How well the model did at the end of each stage of a curriculum.
    fn stages(&self) -> Result<Vec<StageRecord>, TrainError> {
        let path = self.metrics_path();
        let text = fs::read_to_string(&path).map_err(TrainError::io("read", &path))?;
        let parse = |line: &str| json::parse::<EpochMetrics>(line, &path);
        Ok(StageRecord::of(&text.lines().map(parse).collect::<Result<Vec<_>, _>>()?))
    }

    /// Opens the metrics with exactly the lines of the epochs that are complete: a crash may have left more.
    fn open_metrics(&self, epochs: usize) -> Result<File, TrainError> {
        let path = self.metrics_path();
        let mut kept = String::new();
        if epochs > 0 {
            let file = File::open(&path).map_err(TrainError::io("read", &path))?;
            for line in BufReader::new(file).lines().take(epochs) {
                kept.push_str(&line.map_err(TrainError::io("read", &path))?);
                kept.push('\n');
            }
        }
        write_atomically(&path, kept.as_bytes())?;
        OpenOptions::new().append(true).open(&path).map_err(TrainError::io("write", &path))
    }

    fn append(&self, file: &mut File, metrics: &EpochMetrics) -> Result<(), TrainError> {
        let mut line = serde_json::to_string(metrics).expect("metrics are plain data");
        line.push('\n');
        file.write_all(line.as_bytes()).map_err(TrainError::io("write", &self.metrics_path()))
    }

    fn config_path(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    fn metrics_path(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }

    fn model_path(&self) -> PathBuf {
        self.path.join("model.safetensors")
    }

    fn checkpoint_path(&self) -> PathBuf {
        self.path.join("checkpoint.safetensors")
    }
}
