//! The options of `abyssal predict`.

use std::path::PathBuf;

use clap::Args;
use toml::Value;

use super::ThreadArguments;
use super::data::{PlaceArguments, absolute};

pub const EXAMPLES: &str = "\
Examples:
  abyssal predict --run runs/files-r-soft-graph-ain-0001
      Every node of the run's graph, as its files are now: nodes and edges may have come or gone.
  abyssal predict --run runs/files-r-soft-graph-ain-0001 --edges e.csv --features f.csv --out today.csv
      Another graph with the same features. It needs no labels.
  abyssal predict --run five-seeds --probabilities --out teacher.csv
      The mean of all runs of the first model of a session, as a file for abyssal train --teacher-predictions.

Columns: node, the predicted class, its probability, and the probability of every class.
Features are prepared as in training; data.standardize takes mean and variance of the graph at hand.";

#[derive(Debug, Args)]
pub struct PredictArguments {
    /// A finished run, or a session: of its first model all runs, whose probabilities are averaged.
    #[arg(long, value_name = "DIR")]
    pub run: PathBuf,

    /// Other edges than those of the run, of a graph of your own.
    #[arg(long, help_heading = "Your own graph", value_name = "FILE")]
    pub edges: Option<PathBuf>,

    /// Other features: as many columns, in the same order.
    #[arg(long, help_heading = "Your own graph", value_name = "FILE")]
    pub features: Option<PathBuf>,

    /// Write nodes and the probabilities of all classes only, under their names.
    #[arg(long)]
    pub probabilities: bool,

    /// Where to write the table [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    #[command(flatten)]
    pub threads: ThreadArguments,

    /// Say nothing about fetching and writing.
    #[arg(long, short)]
    pub quiet: bool,

    #[command(flatten)]
    pub place: PlaceArguments,
}

impl PredictArguments {
    /// The settings of the files that take the place of those of the run.
    pub fn settings(&self) -> Vec<(String, Value)> {
        let files = [("edges", &self.edges), ("features", &self.features)];
        let given = files.into_iter().filter_map(|(role, path)| Some((role, path.as_ref()?)));
        given.map(|(role, path)| (format!("data.{role}"), absolute(path))).collect()
    }
}
