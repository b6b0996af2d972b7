//! The options of `abyssal diagnose`.

use std::path::PathBuf;

use clap::Args;
use toml::Value;

use super::{DataArguments, ModelArguments, ThreadArguments};

pub const EXAMPLES: &str = "\
Examples:
  abyssal diagnose
      A 32-layer R-SoftGraphAIN and a 32-layer GCN as they start, on the built-in graph.
  abyssal diagnose --dataset cora --layers 64 --compare gcn
      A benchmark, deeper.
  abyssal diagnose --run runs/csbm-r-soft-graph-ain-0001
      The models of a finished session, with the weights it kept.
  abyssal diagnose --layers 512 --all --json
      Every layer, for a plot.

Measures of the output H of a layer, rows h_i:
  energy      Dirichlet energy: squared differences along edges, a node
  normalised  the same with rows divided by the root of their degree + 1
  MAD         mean cosine distance of neighbours; 0: they point the same way
  cosine      mean cosine of all pairs of nodes; 1: all point the same way
  distance    root of the mean squared distance of all pairs
  eff. rank   exp of the entropy of the singular values; 1: one direction is left
  stable      sum of squared singular values over the largest
  gradient    length of the gradient of the training loss by the layer's weights";

#[derive(Debug, Args)]
pub struct DiagnoseArguments {
    /// Look at trained weights: a run, or a session, of which the first run of each model is taken.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dataset", "edges", "model", "layers", "compare", "config", "set", "seed"])]
    pub run: Option<PathBuf>,

    #[command(flatten)]
    pub data: DataArguments,

    #[command(flatten)]
    pub model: ModelArguments,

    #[command(flatten)]
    pub threads: ThreadArguments,

    /// Show all layers; without it the table has 40, evenly spaced.
    #[arg(long)]
    pub all: bool,

    /// Print one JSON object with every layer.
    #[arg(long)]
    pub json: bool,

    /// Show no progress.
    #[arg(long, short)]
    pub quiet: bool,
}

impl DiagnoseArguments {
    /// The settings of all options, in the order in which they win over each other.
    pub fn settings(&self) -> Vec<(String, Value)> {
        let mut settings = self.data.settings();
        settings.extend(self.model.settings());
        settings
    }
}
