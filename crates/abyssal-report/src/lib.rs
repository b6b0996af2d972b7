//! Tables from the records of experiments.
//!
//! [`Records`] are read from a directory of results. A page is text for people with places between `<!-- begin NAME -->` and
//! `<!-- end NAME -->`; [`render`] puts the table of each [`Place`] there and leaves everything else as it is.

mod ablation;
mod accuracies;
mod backbones;
mod baselines;
mod error;
mod numbers;
mod page;
mod records;
mod reference;
mod settings;
mod table;
#[cfg(test)]
mod testing;

pub use error::ReportError;
pub use page::{Place, render};
pub use records::Records;
