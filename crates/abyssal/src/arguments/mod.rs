//! What can be said on the command line.

mod data;
mod datasets;
mod diagnose;
mod label_propagation;
mod model;
mod models;
mod predict;
mod reproduce;
mod threads;
mod train;

use clap::{Parser, Subcommand};

pub use data::DataArguments;
use data::split_setting;
pub use datasets::{
    DatasetsCommand, ExportArguments, FetchArguments, ImportArguments, InfoArguments, ListArguments,
    VerifyArguments,
};
pub use diagnose::DiagnoseArguments;
pub use label_propagation::LabelPropagationArguments;
pub use model::ModelArguments;
pub use models::{ModelInfoArguments, ModelListArguments, ModelsCommand};
pub use predict::PredictArguments;
pub use reproduce::{CellArguments, ReproduceCommand, TableArguments};
use threads::ThreadArguments;
pub use train::TrainArguments;

/// Graph neural networks that stay sharp at any depth.
#[derive(Debug, Parser)]
#[command(name = "abyssal", version = abyssal_train::VERSION, arg_required_else_help = true, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a model and report its accuracy.
    #[command(after_long_help = train::EXAMPLES)]
    Train(TrainArguments),
    /// Predict the classes of all nodes with a trained model, also of nodes that are new.
    #[command(after_long_help = predict::EXAMPLES)]
    Predict(PredictArguments),
    /// Show layer by layer how far embeddings collapse and which gradients arrive.
    #[command(after_long_help = diagnose::EXAMPLES)]
    Diagnose(DiagnoseArguments),
    /// Spread known labels over the graph, without a model.
    #[command(after_long_help = label_propagation::EXAMPLES)]
    LabelPropagation(LabelPropagationArguments),
    /// Compute the numbers of the paper's tables, and those of the baselines beside them.
    #[command(subcommand, after_long_help = reproduce::EXAMPLES)]
    Reproduce(ReproduceCommand),
    /// List and describe models.
    #[command(subcommand, after_long_help = models::EXAMPLES)]
    Models(ModelsCommand),
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
