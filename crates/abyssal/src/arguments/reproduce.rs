//! The options of `abyssal reproduce`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use abyssal_train::experiments::{Protocol, Request};
use clap::{Args, Subcommand, ValueEnum};

use super::ThreadArguments;
use super::data::PlaceArguments;

pub const EXAMPLES: &str = "\
Examples:
  abyssal reproduce accuracies --datasets cora texas --labels ours gcnii
      Our method and GCNII on two datasets, 32 layers deep.
  abyssal reproduce accuracies --labels ours --protocol paper --layers 32 64
      Our method as the paper ran it: its splits, five seeds, one teacher for all of them.
  abyssal reproduce ablation --datasets cora --runs-per-cell 2
      What each part of the method is worth, from two seeds instead of five.
  abyssal reproduce backbones --list
      Tell what would be computed.
  abyssal reproduce tables
      Put all numbers there are into docs/results.md.

Every number is a cell: a model on a dataset at a depth under a protocol. The runs of a cell
are kept in runs/reproduce and its record, with every setting and every run, in results/. What is
finished is not trained again, and what was interrupted goes on: give the same command again.
Cells of one dataset share their teachers, so let no two commands compute them in the same
directory at the same time; on different datasets they do not disturb each other.

Exit codes: 0 done, 1 error, 2 wrong usage, 130 interrupted (a checkpoint was made). Runs that
diverge are part of the record.";

const TABLE_EXAMPLES: &str = "\
Examples:
  abyssal reproduce tables
      Put the records in results/ into docs/results.md.
  abyssal reproduce tables --check
      Only tell whether that was done.

The page is text for people. Its tables are between <!-- begin NAME --> and <!-- end NAME -->:
accuracies-32, accuracies-64, baselines-32, baselines-64, reference, backbones, ablation and
settings. Everything else in it stays as it is.";

#[derive(Debug, Subcommand)]
pub enum ReproduceCommand {
    /// Our method and the baselines on all datasets (the paper's tables 1 and 2).
    #[command(after_long_help = EXAMPLES)]
    Accuracies(ComparisonArguments),
    /// Our method on the aggregations of GAT and GIN (tables 1 and 2).
    #[command(after_long_help = EXAMPLES)]
    Backbones(ComparisonArguments),
    /// Our method with parts taken away, on public splits (table 3).
    #[command(after_long_help = EXAMPLES)]
    Ablation(CellArguments),
    /// Put tables of all records into a page of documentation.
    #[command(after_long_help = TABLE_EXAMPLES)]
    Tables(TableArguments),
}

/// Which records, and which page.
#[derive(Debug, Args)]
pub struct TableArguments {
    /// Where records are kept.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,

    /// The page.
    #[arg(long, value_name = "FILE", default_value = "docs/results.md")]
    pub page: PathBuf,

    /// Write nothing; fail if the page is not up to date.
    #[arg(long)]
    pub check: bool,
}

/// Which cells, and under which protocol.
#[derive(Debug, Args)]
pub struct ComparisonArguments {
    /// How runs are repeated [default: honest for baselines, both for our method].
    #[arg(long, value_name = "PROTOCOL")]
    protocol: Option<ProtocolChoice>,

    #[command(flatten)]
    pub cells: CellArguments,
}

/// Protocols, as they are asked for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtocolChoice {
    /// Ten seeds on a public split; ten splits where splits are random, or there are ten.
    Honest,
    /// The paper's one split, five seeds, and one teacher for all of them.
    Paper,
    /// One after the other.
    Both,
}

/// Which cells, and where they are kept.
#[derive(Debug, Args)]
pub struct CellArguments {
    /// Datasets by name [default: all of the experiment].
    #[arg(long, value_name = "NAME", num_args = 1..)]
    datasets: Vec<String>,

    /// Models or variants by their label, as --list shows them [default: all].
    #[arg(long, value_name = "LABEL", num_args = 1..)]
    labels: Vec<String>,

    /// Numbers of layers [default: 32; ablation: 32 and 64].
    #[arg(long, value_name = "N", num_args = 1..)]
    layers: Vec<NonZeroUsize>,

    /// Train at most N of the runs the protocol asks for. The record tells.
    #[arg(long, value_name = "N")]
    runs_per_cell: Option<NonZeroUsize>,

    /// Print the cells, how many runs they have and how many are finished, and do nothing.
    #[arg(long)]
    pub list: bool,

    /// Where runs are kept.
    #[arg(long, value_name = "DIR", default_value = "runs/reproduce")]
    pub directory: PathBuf,

    /// Where records are kept.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,

    #[command(flatten)]
    pub threads: ThreadArguments,

    /// Show no progress.
    #[arg(long, short)]
    pub quiet: bool,

    #[command(flatten)]
    pub place: PlaceArguments,
}

impl ComparisonArguments {
    /// What is asked for.
    pub fn request(&self) -> Request {
        let protocols = match self.protocol {
            None => Vec::new(),
            Some(ProtocolChoice::Honest) => vec![Protocol::Honest],
            Some(ProtocolChoice::Paper) => vec![Protocol::Paper],
            Some(ProtocolChoice::Both) => Protocol::ALL.to_vec(),
        };
        Request { protocols, ..self.cells.request() }
    }
}

impl CellArguments {
    /// What is asked for, under any protocol.
    pub fn request(&self) -> Request {
        Request {
            datasets: self.datasets.clone(),
            labels: self.labels.clone(),
            protocols: Vec::new(),
            layers: self.layers.iter().map(|layers| layers.get()).collect(),
            runs_per_cell: self.runs_per_cell,
        }
    }
}
