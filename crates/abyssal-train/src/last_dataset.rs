//! The data of the run before, which is often that of the next.

use abyssal_graph::{Dataset, DatasetConfig};

use crate::TrainError;

/// At most one dataset in memory, and what it was loaded from.
#[derive(Debug, Default)]
pub struct LastDataset(Option<(DatasetConfig, Dataset)>);

impl LastDataset {
    /// The dataset of a configuration; loaded if it is not the last one, which is dropped first.
    ///
    /// # Errors
    /// If it cannot be loaded.
    pub fn get(
        &mut self,
        source: &DatasetConfig,
        load: impl FnOnce() -> Result<Dataset, TrainError>,
    ) -> Result<&Dataset, TrainError> {
        let (_, dataset) = match self.0.take().filter(|(last, _)| last == source) {
            Some(last) => self.0.insert(last),
            None => self.0.insert((source.clone(), load()?)),
        };
        Ok(dataset)
    }
}
