//! The options of `abyssal train`.

use std::path::PathBuf;

use abyssal_train::memory::{MemoryMode, MemorySettings, parse_bytes};
use clap::Args;
use toml::Value;

use super::data::absolute;
use super::{DataArguments, ModelArguments, ThreadArguments, split_setting};

pub const EXAMPLES: &str = "\
Examples:
  abyssal train
      Train a 32-layer R-SoftGraphAIN on the built-in graph, and a plain 32-layer GCN beside it.
  abyssal train --layers 128 --seeds 5
      Deeper, five seeds, mean and standard deviation.
  abyssal train --model gcn --layers 2
      One model by itself.
  abyssal train --dataset cora --layers 64
      A benchmark; its files are fetched if they are not here (abyssal datasets list). Teachers come first.
  abyssal train --dataset cora --teacher gcnii --set teacher.gcnii.model.layers=16 --set teacher.seeds=3
      Another teacher: an ensemble of three GCNII. --no-curriculum trains without one.
  abyssal train --dataset texas --split geom-gcn --seeds 3
      Ten splits, three seeds each.
  abyssal train --edges edges.csv --features features.csv --labels labels.csv
      Your own graph.
  abyssal train --set model.a=0.6 --set train.epochs=300
      Other settings; the paper's letters work.
  abyssal train --config runs/csbm-r-soft-graph-ain-0001/r-soft-graph-ain/seed-0/config.toml
      Repeat a run.
  abyssal train --dataset cora --no-curriculum --layers 1000 --memory-budget 1GiB
      A thousand layers in a gibibyte.
  abyssal train --resume runs/csbm-r-soft-graph-ain-0001
      Go on after an interruption.

Settings (--set, or the same keys in a TOML file):
  preset, seed
  [data]   name, split, seed, graph, row_normalize, binarize, standardize, largest_component, symmetrize,
           self_loops, noise_features; of generated graphs: nodes, classes, …
  [model]  name, layers, hidden, strength (a), exponent (b), rank (d0), aggregated (alpha), residual (beta),
           initial (gamma), residual_memory (p), initial_decay (q), gradient, centering, head, …
  [train]  method, epochs, learning_rate (lr), halve_at (lr_decay), weight_decay, patience, selection, …
  [curriculum]  estimation, temperature, filtered (mask_ratio), graph, neighbours (k), weight_exponent (gamma),
           self_loops, steps (n_T), mixing, fine_tuning_epochs, fine_tuning_learning_rate, fine_tuning_patience
  [teacher]  models, choice, seeds, shared, rounds, predictions, predictions_kind; [teacher.NAME.model] and
           [teacher.NAME.train] for each of the models
  Every run writes all of them with their values to its config.toml.

Exit codes: 0 done, 1 error, 2 wrong usage, 130 interrupted (a checkpoint was made).";

#[derive(Debug, Args)]
pub struct TrainArguments {
    #[command(flatten)]
    pub data: DataArguments,

    /// Which nodes train, validate and test, such as public, geom-gcn:3, per-class:20,30 or file:masks.csv.
    ///
    /// public and official come with their datasets; geom-gcn:0 to geom-gcn:9 are those of geom-gcn, and geom-gcn
    /// trains on all ten; per-class:20,30 draws 20 nodes of each class to train and 30 to validate;
    /// fractions:0.6,0.2 draws shares; given are the masks of your own graph; file:PATH reads some; paper is the
    /// one of the paper's results. Random splits depend on data.seed.
    #[arg(long, value_name = "SPLIT")]
    pub split: Option<String>,

    /// Train on N splits: random ones with data.seed 0, 1, …, N-1, or the first N of geom-gcn.
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub splits: Option<u64>,

    #[command(flatten)]
    pub model: ModelArguments,

    /// Learn the known labels directly, without a teacher. The default for other models than r-soft-graph-ain, and on
    /// generated graphs.
    #[arg(long, conflicts_with = "curriculum")]
    pub no_curriculum: bool,

    /// Learn by SmoothCurriculum: a teacher estimates all labels, and they are learnt from smooth to sharp.
    #[arg(long)]
    pub curriculum: bool,

    /// Who teaches: a model by name, self, or panel (several, of which those teach that do best together on validation nodes). May be
    /// repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "no_curriculum")]
    pub teacher: Vec<String>,

    /// Let the predictions in this file teach: npy, npz or csv, a row a node, a column a class, probabilities or logits.
    ///
    /// Columns are in the order of the classes, as abyssal datasets info lists them (labels of your own graph are sorted);
    /// where the header of a csv file has the names of all classes, they are found by name.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_curriculum", "teacher"])]
    pub teacher_predictions: Option<PathBuf>,

    /// Train once with each of the seeds 0, 1, …, N-1 and report mean and standard deviation.
    #[arg(long, value_name = "N", conflicts_with = "seed", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub seeds: Option<u64>,

    #[command(flatten)]
    pub threads: ThreadArguments,

    /// What a training pass keeps: auto, full, or checkpoint:K. Results do not depend on it.
    ///
    /// full keeps what every layer computed until the gradient comes back to it. checkpoint:K keeps the last K layers, and
    /// computes those before them again, K at a time: up to one more forward pass, for much less memory. auto is full if
    /// that fits into the budget, else checkpoint with the largest K that does; without a budget it is full up to 2 GiB and
    /// keeps half of the layers beyond. Teachers and compared models that cannot do checkpoint:K do auto.
    #[arg(long, value_name = "MODE", default_value_t)]
    pub memory: MemoryMode,

    /// The most memory to use, such as 2GiB; a run that will not fit says so before it starts [default: what is free].
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory_budget: Option<u64>,

    /// Where to keep the run [default: the first free runs/DATASET-MODEL-0001].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Go on with an interrupted run.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "seeds", "compare"])]
    pub resume: Option<PathBuf>,

    /// Print the result as one JSON object.
    #[arg(long)]
    pub json: bool,

    /// Show no progress.
    #[arg(long, short)]
    pub quiet: bool,
}

impl TrainArguments {
    /// The settings of all options, in the order in which they win over each other.
    pub fn settings(&self) -> Vec<(String, Value)> {
        let mut settings = self.data.settings();
        // All ten splits of geom-gcn are ten runs, each with a setting of its own.
        let split = self.split.as_ref().filter(|_| !self.wants_all_of_geom_gcn());
        settings.extend(split.map(String::as_str).map(split_setting));
        settings.extend(self.curriculum_settings());
        settings.extend(self.model.settings());
        settings
    }

    fn curriculum_settings(&self) -> Vec<(String, Value)> {
        let mut settings = Vec::new();
        let mut set = |key: &str, value: Value| settings.push((key.to_string(), value));
        let taught = self.curriculum || !self.teacher.is_empty() || self.teacher_predictions.is_some();
        if self.no_curriculum || taught {
            set("train.method", if taught { "curriculum" } else { "direct" }.into());
        }
        if !self.teacher.is_empty() {
            set(
                "teacher.models",
                Value::Array(self.teacher.iter().map(|name| name.as_str().into()).collect()),
            );
        }
        if let Some(path) = &self.teacher_predictions {
            set("teacher.predictions", absolute(path));
            // Nobody else needs to be trained.
            set("teacher.models", Value::Array(Vec::new()));
        }
        settings
    }

    /// How much memory may be used.
    pub fn memory_settings(&self) -> MemorySettings {
        MemorySettings { mode: self.memory, budget: self.memory_budget, ..MemorySettings::default() }
    }

    /// Whether `--split geom-gcn` asks for all of its splits.
    pub fn wants_all_of_geom_gcn(&self) -> bool {
        self.split.as_deref() == Some("geom-gcn")
    }
}
