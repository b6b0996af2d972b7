//! The options of `abyssal datasets`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::data::{DataArguments, FileArguments, PlaceArguments};

pub const EXAMPLES: &str = "\
Examples:
  abyssal datasets list
      All datasets, and which of them are here.
  abyssal datasets fetch cora citeseer
      Get benchmarks from their homes; what is here already is left alone.
  abyssal datasets info texas
      Nodes, edges, features, classes, homophily, degrees and splits.
  abyssal datasets import --edges e.csv --features f.csv --labels l.csv --name mine
      Keep your own graph, for --dataset mine.

Environment:
  ABYSSAL_DATA    directory of datasets, as --data-dir
  ABYSSAL_CACHE   directory of parsed copies; may be removed at any time
  ABYSSAL_MIRROR  fetch from {ABYSSAL_MIRROR}/cora/ind.cora.x and so on instead of the homes of the benchmarks";

#[derive(Debug, Subcommand)]
pub enum DatasetsCommand {
    /// List all datasets and tell which of them are here.
    List(ListArguments),
    /// Describe a dataset: size, homophily, components, degrees, splits.
    Info(InfoArguments),
    /// Get the files of benchmarks.
    Fetch(FetchArguments),
    /// Compare files that are here with what they must be.
    Verify(VerifyArguments),
    /// Keep your own graph under a name.
    Import(ImportArguments),
    /// Write a dataset to one safetensors file, for other programs.
    Export(ExportArguments),
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Print one JSON array.
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub place: PlaceArguments,
}

#[derive(Debug, Args)]
pub struct InfoArguments {
    /// Dataset by name, as --dataset.
    #[arg(value_name = "NAME", conflicts_with_all = ["dataset", "edges"])]
    pub name: Option<String>,

    #[command(flatten)]
    pub data: DataArguments,

    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct FetchArguments {
    /// Benchmarks by name.
    #[arg(value_name = "NAME", required_unless_present = "all")]
    pub names: Vec<String>,

    /// All of them.
    #[arg(long)]
    pub all: bool,

    /// Replace files that are here but are not what they must be.
    #[arg(long)]
    pub force: bool,

    #[command(flatten)]
    pub place: PlaceArguments,

    /// Show no progress.
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Benchmarks by name; without names, all that are here.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    #[command(flatten)]
    pub place: PlaceArguments,
}

#[derive(Debug, Args)]
pub struct ImportArguments {
    /// What to call it, in letters, digits, dots, - and _
    #[arg(long, value_name = "NAME")]
    pub name: String,

    #[command(flatten)]
    pub files: FileArguments,

    /// Replace an imported graph of this name.
    #[arg(long)]
    pub force: bool,

    #[command(flatten)]
    pub place: PlaceArguments,
}

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Dataset by name.
    #[arg(value_name = "NAME")]
    pub name: String,

    /// The file to write; edges, features, labels and splits are tensors in it.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,

    #[command(flatten)]
    pub place: PlaceArguments,
}
