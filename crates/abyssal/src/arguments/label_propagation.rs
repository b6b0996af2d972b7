//! The options of `abyssal label-propagation`.

use clap::Args;
use toml::Value;

use super::{DataArguments, ThreadArguments, split_setting};

pub const EXAMPLES: &str = "\
Examples:
  abyssal label-propagation --dataset cora
      Several shares; the one with the best validation accuracy is the result.
  abyssal label-propagation --dataset cora --share 0.9 --closed-form
      One share, in the limit of infinitely many steps.
  abyssal label-propagation --edges edges.csv --features x.csv --labels y.csv
      Your own graph. Its features say which nodes there are, and nothing more: without any, give each a 1.

F ← α·D^-½ A D^-½·F + (1-α)·Y, from the labels Y of the training nodes (Zhou et al., NIPS 2004). Nothing is
trained and no features are used, so it shows what the edges alone are worth.";

#[derive(Debug, Args)]
pub struct LabelPropagationArguments {
    #[command(flatten)]
    pub data: DataArguments,

    /// Which nodes' labels are known, and on which a share is chosen and tested, as in abyssal train.
    #[arg(long, value_name = "SPLIT")]
    pub split: Option<String>,

    /// α, how much a node takes from its neighbours, at least 0 and below 1. May be repeated.
    #[arg(long, value_name = "ALPHA", default_values_t = [0.5, 0.8, 0.9, 0.95, 0.99])]
    pub share: Vec<f64>,

    /// The most steps; it ends earlier once no score changes by more than 1e-6.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub steps: usize,

    /// Solve for the limit of infinitely many steps, on graphs of at most 5,000 nodes.
    #[arg(long, conflicts_with = "steps")]
    pub closed_form: bool,

    #[command(flatten)]
    pub threads: ThreadArguments,

    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,

    /// Show no progress.
    #[arg(long, short)]
    pub quiet: bool,
}

impl LabelPropagationArguments {
    /// The settings of all options.
    pub fn settings(&self) -> Vec<(String, Value)> {
        let mut settings = self.data.settings();
        settings.extend(self.split.as_deref().map(split_setting));
        settings
    }
}
