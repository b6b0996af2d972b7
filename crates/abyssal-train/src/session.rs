//! Several runs that belong together: other seeds, other models.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use abyssal_graph::write_atomically;
use serde::{Deserialize, Serialize};

use crate::{Config, RunDirectory, TrainError, json};

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
    /// If there is something in the directory already, or the directories cannot be written.
    pub fn create(path: &Path, configs: &[Config]) -> Result<Self, TrainError> {
        if path.join(PLAN).exists() || RunDirectory::is_at(path) {
            return Err(TrainError::RunExists { path: path.to_path_buf() });
        }
        if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(TrainError::NotEmpty { path: path.to_path_buf() });
        }
        if path.exists() {
            Self::write(path, configs)?;
            return Self::open(path);
        }
        let unfinished = Unfinished::beside(path);
        Self::write(&unfinished.path, configs)?;
        match fs::rename(&unfinished.path, path) {
            Ok(()) => {}
            Err(error) if is_taken(error.kind()) => {
                return Err(TrainError::RunExists { path: path.to_path_buf() });
            }
            // Not every name of a directory can be given to one, such as `new/.`.
            Err(_) => Self::write(path, configs)?,
        }
        Self::open(path)
    }

    /// As [`Session::create`], in the first of the directories `parent/name-0001`, `parent/name-0002`, … that is not there:
    /// of several programs that start together, each gets its own.
    ///
    /// # Errors
    /// If the directories cannot be written.
    pub fn create_next(parent: &Path, name: &str, configs: &[Config]) -> Result<Self, TrainError> {
        let unfinished = Unfinished::beside(&parent.join(name));
        Self::write(&unfinished.path, configs)?;
        let numbered = (1u64..).map(|number| parent.join(format!("{name}-{number:04}")));
        for path in numbered.filter(|path| !path.exists()) {
            match fs::rename(&unfinished.path, &path) {
                Ok(()) => return Self::open(&path),
                // Another program was faster.
                Err(error) if is_taken(error.kind()) => {}
                Err(error) => return Err(TrainError::io("create the directory", &path)(error)),
            }
        }
        unreachable!("there are more numbers than directories")
    }

    /// Writes the runs of a session, and the plan if there are several.
    fn write(path: &Path, configs: &[Config]) -> Result<(), TrainError> {
        if let [config] = configs {
            return RunDirectory::create(path, config).map(|_| ());
        }
        let several_splits = configs.iter().any(|config| config.data != configs[0].data);
        let mut names = Vec::new();
        for config in configs {
            let split = if several_splits { split_directory(config) } else { String::new() };
            let name = format!("{}/{split}seed-{}", config.model.name(), config.seed);
            RunDirectory::create(&path.join(&name), config)?;
            names.push(name);
        }
        let plan = serde_json::to_string_pretty(&Plan { runs: names }).expect("a plan is plain data");
        Ok(write_atomically(&path.join(PLAN), plan.as_bytes())?)
    }

    /// Opens the runs of an earlier session, or a single run.
    ///
    /// # Errors
    /// If there is none, or a configuration cannot be read.
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        let plan_path = path.join(PLAN);
        let planned = plan_path.exists();
        let names = if planned {
            json::read::<Plan>(&plan_path)?.runs.into_iter().map(|name| path.join(name)).collect()
        } else {
            vec![path.to_path_buf()]
        };
        let teachers = if planned { Some(path.join(TEACHERS)) } else { teachers_of_session(path) };
        let open = |path: &PathBuf| {
            let (mut directory, config) = RunDirectory::open(path)?;
            if let Some(teachers) = &teachers {
                directory = directory.with_teachers(teachers);
            }
            Ok(PlannedRun { directory, config })
        };
        Ok(Self {
            path: path.to_path_buf(),
            runs: names.iter().map(open).collect::<Result<_, TrainError>>()?,
        })
    }
}

/// Where a session is put together, beside the place it will have: one that is interrupted meanwhile is not there at all,
/// where half a plan could be neither resumed nor made anew.
struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    /// With a name that nobody else takes: in a container, every process may have the same number.
    fn beside(path: &Path) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let unique = format!(".{name}-{process}-{}-{number}", since.as_nanos());
        Self { path: path.with_file_name(unique) }
    }
}

impl Drop for Unfinished {
    /// Takes away what was not needed; what was is in its place by now.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Whether a directory cannot be put somewhere because there is one.
fn is_taken(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty)
}

/// Where the teachers of a run are that is opened by itself and belongs to a session: with those of all its runs.
fn teachers_of_session(run: &Path) -> Option<PathBuf> {
    let run = fs::canonicalize(run).ok()?;
    let has_run = |session: &&Path| {
        let plan = json::read::<Plan>(&session.join(PLAN));
        plan.is_ok_and(|plan| plan.runs.iter().any(|name| session.join(name) == run))
    };
    // model/split/seed-0 is the longest name of a run.
    run.ancestors().skip(1).take(3).find(has_run).map(|session| session.join(TEACHERS))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn seeds(count: u64) -> Vec<Config> {
        let config = Config::resolve(None, &[]).unwrap();
        (0..count).map(|seed| Config { seed, ..config.clone() }).collect()
    }

    #[test]
    fn programs_that_start_together_get_directories_of_their_own() {
        let parent = tempfile::tempdir().unwrap();
        let runs = parent.path().join("runs");
        let create = |count| Session::create_next(&runs, "csbm-gcn", &seeds(count)).unwrap().path;
        let created: BTreeSet<PathBuf> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|number| scope.spawn(move || create(1 + number % 2))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let numbered = (1..=16).map(|number| runs.join(format!("csbm-gcn-{number:04}")));
        assert_eq!(created, numbered.collect());
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 16, "nothing else is left");
    }

    /// Whatever a directory holds may be dear to its owner.
    #[test]
    fn a_directory_with_something_in_it_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        for count in [1, 2] {
            let path = parent.path().join(format!("session-{count}"));
            fs::create_dir(&path).unwrap();
            Session::create(&path, &seeds(count)).expect("an empty directory");
            let again = Session::create(&path, &seeds(count)).unwrap_err();
            assert!(matches!(again, TrainError::RunExists { .. }), "{again}");
        }
        // A name that cannot be given to a directory, but can be written to.
        Session::create(&parent.path().join("new/."), &seeds(2)).unwrap();
        let hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with('.');
        assert!(!fs::read_dir(parent.path()).unwrap().any(|entry| hidden(&entry.unwrap())));
        fs::write(parent.path().join("predictions.csv"), "mine").unwrap();
        let error = Session::create(parent.path(), &seeds(1)).unwrap_err();
        assert!(matches!(error, TrainError::NotEmpty { .. }), "{error}");
    }

    /// A run that is opened by itself finds the teachers of its session, and a copy of it elsewhere has its own.
    #[test]
    fn a_run_finds_the_teachers_of_its_session() {
        let parent = tempfile::tempdir().unwrap();
        let session = Session::create(&parent.path().join("session"), &seeds(2)).unwrap();
        let planned = &session.runs[1].directory;
        let opened = Session::open(planned.path()).unwrap().runs.remove(0);
        let teachers = fs::canonicalize(&session.path).unwrap().join(TEACHERS);
        assert_eq!(opened.directory, planned.clone().with_teachers(&teachers));
        let alone = RunDirectory::create(&session.path.join("copy"), &seeds(1)[0]).unwrap();
        assert_eq!(Session::open(alone.path()).unwrap().runs[0].directory, alone);
    }
}
