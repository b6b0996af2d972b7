//! What can be said on the command line.

mod data;
mod datasets;
mod train;

use clap::{Parser, Subcommand};

pub use data::DataArguments;
pub use datasets::{
    DatasetsCommand, ExportArguments, FetchArguments, ImportArguments, InfoArguments, ListArguments,
    VerifyArguments,
};
pub use train::TrainArguments;

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
    #[command(after_long_help = train::EXAMPLES)]
    Train(TrainArguments),
    /// List, describe, fetch, verify and import datasets.
    #[command(subcommand, after_long_help = datasets::EXAMPLES)]
    Datasets(DatasetsCommand),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }
}
