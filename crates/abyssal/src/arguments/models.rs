//! The options of `abyssal models`.

use clap::{Args, Subcommand};

use super::DataArguments;

pub const EXAMPLES: &str = "\
Examples:
  abyssal models list
      All models, in one line each.
  abyssal models info gcn
      Settings with their defaults, and other names of them.
  abyssal models info r-soft-graph-ain --dataset cora
      How many parameters it has there, too.";

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List all models.
    List(ModelListArguments),
    /// Describe a model: settings, defaults, other names of settings, parameters.
    Info(ModelInfoArguments),
}

#[derive(Debug, Args)]
pub struct ModelListArguments {
    /// Print one JSON array.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ModelInfoArguments {
    /// Model by name.
    #[arg(value_name = "NAME")]
    pub name: String,

    #[command(flatten)]
    pub data: DataArguments,

    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}
