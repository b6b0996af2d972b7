//! The option that says how many threads compute.

use clap::Args;

#[derive(Debug, Args)]
pub struct ThreadArguments {
    /// Number of threads; 0 is one for each core. Results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    threads: u16,
}

impl ThreadArguments {
    /// How many were asked for.
    pub fn count(&self) -> usize {
        usize::from(self.threads)
    }
}
