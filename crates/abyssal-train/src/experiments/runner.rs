//! Trains the runs of cells and keeps records of them.
//!
//! Every run is an ordinary [`RunDirectory`] in `ROOT/EXPERIMENT/CELL/SPLIT/seed-N`; `ROOT/teachers` has the teachers of all
//! of them, which are told apart by their configuration, so that cells find those that are trained already.

use std::path::PathBuf;

use super::{Cell, FailureRecord, Record};
use crate::session::split_directory;
use crate::{Config, LastDataset, Outcome, RunDirectory, Surroundings, TrainError};

/// Where runs and records are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runner {
    /// The directory of all runs.
    pub runs: PathBuf,
    /// The directory of all records.
    pub results: PathBuf,
}

/// A run of a cell.
struct Planned {
    /// Its directory in that of the cell.
    name: String,
    path: PathBuf,
    config: Config,
}

impl Runner {
    /// How many of the runs of a cell are finished, and how many there are. Nothing is written.
    ///
    /// # Errors
    /// If one has another configuration than it would get now, or the cell has a setting that does not fit.
    pub fn progress(&self, cell: &Cell) -> Result<(usize, usize), TrainError> {
        let runs = self.plan(cell)?;
        let mut finished = 0;
        for run in runs.iter().filter(|run| RunDirectory::is_at(&run.path)) {
            finished += usize::from(self.open(run)?.result()?.is_some());
        }
        Ok((finished, runs.len()))
    }

    /// Trains the runs of a cell that are not finished, goes on with those that were interrupted, and writes the record.
    /// A run that diverges does not keep the others from their turn. `None` if it was interrupted.
    ///
    /// A quick look takes nothing away: runs beyond the cell's limit that are finished count too, and a record of the same
    /// configuration with more runs stays.
    ///
    /// # Errors
    /// If a run has another configuration than the cell, or files cannot be read or written.
    pub fn run(&self, cell: &Cell, surroundings: &mut Surroundings) -> Result<Option<Record>, TrainError> {
        let cell = &cell.with_runs(self.finished(cell)?.max(cell.configs()?.len()));
        let runs = self.plan(cell)?;
        let (mut results, mut failures) = (Vec::new(), Vec::new());
        let mut data = LastDataset::default();
        for run in &runs {
            match self.train(run, &mut data, surroundings) {
                Ok(Outcome::Finished(result)) => results.push(*result),
                Ok(Outcome::Stopped { .. }) => return Ok(None),
                Err(error) if error.concerns_one_run() => {
                    failures.push(FailureRecord { run: run.name.clone(), reason: error.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        let record = Record::new(cell, &runs[0].config, &results, failures);
        if !self.kept(&record).is_some_and(|kept| kept.is_fuller_than(&record)) {
            record.write(&self.results)?;
        }
        Ok(Some(record))
    }

    /// What the results have of a record's cell.
    pub fn kept(&self, record: &Record) -> Option<Record> {
        Record::read(&self.results.join(record.path())).ok()
    }

    /// How many runs of a cell's protocol are finished, from the first one on.
    fn finished(&self, cell: &Cell) -> Result<usize, TrainError> {
        let runs = self.plan(&cell.with_runs(usize::MAX))?;
        let is_finished = |run: &&Planned| {
            RunDirectory::is_at(&run.path)
                && self.open(run).is_ok_and(|run| matches!(run.result(), Ok(Some(_))))
        };
        Ok(runs.iter().take_while(is_finished).count())
    }

    fn plan(&self, cell: &Cell) -> Result<Vec<Planned>, TrainError> {
        let directory = self.runs.join(cell.directory());
        let planned = |config: Config| {
            let name = format!("{}seed-{}", split_directory(&config), config.seed);
            Planned { path: directory.join(&name), name, config }
        };
        Ok(cell.configs()?.into_iter().map(planned).collect())
    }

    /// The directory of a run, made if it is not there.
    fn open(&self, run: &Planned) -> Result<RunDirectory, TrainError> {
        let directory = if RunDirectory::is_at(&run.path) {
            let (directory, config) = RunDirectory::open(&run.path)?;
            if let Some(difference) = config.difference(&run.config) {
                return Err(TrainError::OtherExperiment { path: run.path.clone(), difference });
            }
            directory
        } else {
            RunDirectory::create(&run.path, &run.config)?
        };
        Ok(directory.with_teachers(&self.runs.join("teachers")))
    }

    /// Trains a run; `data` is what the last one learnt from, which is often the same.
    fn train(
        &self,
        run: &Planned,
        data: &mut LastDataset,
        surroundings: &mut Surroundings,
    ) -> Result<Outcome, TrainError> {
        let directory = self.open(run)?;
        if let Some(result) = directory.result()? {
            return Ok(Outcome::Finished(Box::new(result)));
        }
        let source = &run.config.data;
        let dataset = data.get(source, || Ok(source.load(surroundings.library)?))?;
        directory.run(&run.config, dataset, surroundings)
    }
}
