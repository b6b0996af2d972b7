//! Several runs that belong together: other seeds, other models.

use std::fs;
use std::path::{Path, PathBuf};

use abyssal_graph::write_atomically;
use serde::{Deserialize, Serialize};

use crate::{Config, RunDirectory, TrainError};

const PLAN: &str = "plan.json";
/// Where the runs of all teachers are.
const TEACHERS: &str = "teachers";

/// One run of a session.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// Its directory.
    pub directory: RunDirectory,
    /// Its configuration.
    pub config: Config,
}

/// Runs in their order. A single run lives in the session's directory itself, several in directories below it.
#[derive(Clone, Debug)]
pub struct Session {
    /// The directory of the session.
    pub path: PathBuf,
    /// Its runs.
    pub runs: Vec<PlannedRun>,
}

/// The file that lists the directories of a session's runs.
#[derive(Serialize, Deserialize)]
struct Plan {
    runs: Vec<String>,
}

impl Session {
    /// Makes the directories of all runs, so that the session can be resumed from its first moment on.
    ///
    /// # Errors
    /// If there is a session or a run already, or the directories cannot be written.
    pub fn create(path: &Path, configs: Vec<Config>) -> Result<Self, TrainError> {
        if path.join(PLAN).exists() {
            return Err(TrainError::RunExists { path: path.to_path_buf() });
        }
        if let [config] = configs.as_slice() {
            let directory = RunDirectory::create(path, config)?;
            let runs = vec![PlannedRun { directory, config: config.clone() }];
            return Ok(Self { path: path.to_path_buf(), runs });
        }
        let several_splits = configs.iter().any(|config| config.data != configs[0].data);
        let mut names = Vec::new();
        let mut runs = Vec::new();
        for config in configs {
            let split = if several_splits { split_directory(&config) } else { String::new() };
            let name = format!("{}/{split}seed-{}", config.model.name(), config.seed);
            let directory = RunDirectory::create(&path.join(&name), &config)?;
            let directory = directory.with_teachers(&path.join(TEACHERS));
            names.push(name);
            runs.push(PlannedRun { directory, config });
        }
        let plan = serde_json::to_string_pretty(&Plan { runs: names }).expect("a plan is plain data");
        write_atomically(&path.join(PLAN), plan.as_bytes())?;
        Ok(Self { path: path.to_path_buf(), runs })
    }

    /// Opens the runs of an earlier session, or a single run.
    ///
    /// # Errors
    /// If there is none, or a configuration cannot be read.
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        let plan_path = path.join(PLAN);
        let planned = plan_path.exists();
        let names = if planned {
            let text = fs::read_to_string(&plan_path).map_err(TrainError::io("read", &plan_path))?;
            let plan: Plan = serde_json::from_str(&text)
                .map_err(|error| TrainError::io("read", &plan_path)(std::io::Error::other(error)))?;
            plan.runs.into_iter().map(|name| path.join(name)).collect()
        } else {
            vec![path.to_path_buf()]
        };
        let teachers = path.join(TEACHERS);
        let open = |path: &PathBuf| {
            let (directory, config) = RunDirectory::open(path)?;
            let directory = if planned { directory.with_teachers(&teachers) } else { directory };
            Ok(PlannedRun { directory, config })
        };
        Ok(Self {
            path: path.to_path_buf(),
            runs: names.iter().map(open).collect::<Result<_, TrainError>>()?,
        })
    }

    /// The first free directory `parent/name-0001`, `parent/name-0002`, ….
    pub fn free_directory(parent: &Path, name: &str) -> PathBuf {
        (1..)
            .map(|number| parent.join(format!("{name}-{number:04}")))
            .find(|path| !path.exists())
            .expect("there are more numbers than directories")
    }
}

/// A directory for the runs on one of several splits, such as `geom-gcn-3/` or `per-class-20-30-0/`.
pub(crate) fn split_directory(config: &Config) -> String {
    let Some(preparation) = config.data.preparation() else { return String::new() };
    let mut name = preparation.split.to_string();
    if preparation.split.is_random() {
        name.push_str(&format!("-{}", preparation.seed));
    }
    let letter = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' };
    name.chars().map(letter).chain(['/']).collect()
}
