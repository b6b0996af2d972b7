//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use toml::Value;

/// Graph neural networks that stay sharp at any depth.
#[derive(Debug, Parser)]
#[command(name = "abyssal", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a model and report its accuracy.
    #[command(after_long_help = EXAMPLES)]
    Train(TrainArguments),
}

const EXAMPLES: &str = "\
Examples:
  abyssal train
      Train a 32-layer R-SoftGraphAIN on the built-in graph, and a plain 32-layer GCN beside it.
  abyssal train --layers 128 --seeds 5
      Deeper, five seeds, mean and standard deviation.
  abyssal train --model gcn --layers 2
      One model by itself.
  abyssal train --set model.a=0.6 --set train.epochs=300
      Other settings; the paper's letters work.
  abyssal train --config runs/csbm-r-soft-graph-ain-0001/r-soft-graph-ain/seed-0/config.toml
      Repeat a run.
  abyssal train --resume runs/csbm-r-soft-graph-ain-0001
      Go on after an interruption.

Settings (--set, or the same keys in a TOML file):
  preset, seed
  [data]   name, seed, nodes, classes, …
  [model]  name, layers, hidden, strength (a), exponent (b), rank (d0), aggregated (alpha), residual (beta),
           initial (gamma), residual_memory (p), initial_decay (q), gradient, centering, head, …
  [train]  epochs, learning_rate (lr), halve_at (lr_decay), weight_decay, patience, selection, …
  Every run writes all of them with their values to its config.toml.

Exit codes: 0 done, 1 error, 2 wrong usage, 130 interrupted (a checkpoint was made).";

#[derive(Debug, Args)]
pub struct TrainArguments {
    /// Dataset: csbm (noisy features, few labels; the default) or clusters (the paper's synthetic data).
    #[arg(long, value_name = "NAME")]
    pub dataset: Option<String>,

    /// Model: r-soft-graph-ain (the default) or gcn.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,

    /// Number of layers.
    #[arg(long, value_name = "N")]
    pub layers: Option<u32>,

    /// Train this model too, as deep and as wide as the first, and report both. May be repeated.
    ///
    /// Without --dataset, --model, --config and --resume a plain gcn is compared with.
    #[arg(long, value_name = "MODEL")]
    pub compare: Vec<String>,

    /// Read settings from a TOML file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Change one setting, such as train.epochs=50 or model.a=0.3. May be repeated; the last one wins.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, Value)>,

    /// The seed of initial weights and dropout [default: 0].
    #[arg(long, value_name = "N", conflicts_with = "seeds", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,

    /// Train once with each of the seeds 0, 1, …, N-1 and report mean and standard deviation.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub seeds: Option<u64>,

    /// Number of threads; 0 is one for each core. Results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: u16,

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
        let text = |key: &str, value: &Option<String>| {
            value.as_ref().map(|value| (key.to_string(), Value::from(value.as_str())))
        };
        let number = |key: &str, value: Option<i64>| value.map(|value| (key.to_string(), Value::from(value)));
        let mut settings = Vec::new();
        settings.extend(text("data.name", &self.dataset));
        settings.extend(text("model.name", &self.model));
        settings.extend(number("model.layers", self.layers.map(i64::from)));
        settings.extend(number("seed", self.seed.map(|seed| seed as i64)));
        settings.extend_from_slice(&self.set);
        settings
    }

    /// The models to compare with.
    pub fn compared_models(&self) -> Vec<String> {
        let bare = self.dataset.is_none() && self.model.is_none() && self.config.is_none();
        if self.compare.is_empty() && bare { vec!["gcn".to_string()] } else { self.compare.clone() }
    }
}

/// Reads `key=value`. What is not a TOML value is taken as text, so that quotes are not needed.
fn parse_setting(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("it must be KEY=VALUE, such as train.epochs=50")?;
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() {
        return Err("the key before = is missing".to_string());
    }
    let parsed = format!("value = {value}").parse::<toml::Table>().ok();
    let parsed = parsed.and_then(|mut table| table.remove("value"));
    Ok((key.to_string(), parsed.unwrap_or_else(|| Value::from(value))))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn settings_need_no_quotes() {
        assert_eq!(parse_setting("a.b=3").unwrap(), ("a.b".to_string(), Value::from(3)));
        assert_eq!(parse_setting("a.b = 0.5").unwrap().1, Value::from(0.5));
        assert_eq!(parse_setting("preset=reference").unwrap().1, Value::from("reference"));
        assert_eq!(parse_setting("x=\"quoted\"").unwrap().1, Value::from("quoted"));
        assert_eq!(parse_setting("x=[1, 2]").unwrap().1, Value::Array(vec![1.into(), 2.into()]));
        assert_eq!(parse_setting("x=r-soft-graph-ain").unwrap().1, Value::from("r-soft-graph-ain"));
        assert!(parse_setting("x").is_err() && parse_setting("=3").is_err());
    }
}
