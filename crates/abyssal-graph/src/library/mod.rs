//! Where datasets live on this machine.

mod benchmark;
mod cache;

use std::fs;
use std::path::{Path, PathBuf};

use crate::catalogue::Benchmark;
use crate::formats::{RawDataset, container};
use crate::{DatasetConfig, GeneratorConfig, GraphError, write_atomically};

pub use benchmark::check_contents;
pub(crate) use benchmark::{default_preparation, paper_split};

/// The directories of datasets: one with the files of benchmarks and imported graphs, one with parsed copies of them.
///
/// In the data directory, `cora/ind.cora.x` and so on are files of benchmarks as they came, and
/// `imported/NAME.safetensors` are graphs of the user's own. Nothing but fetching and importing writes there. The
/// cache directory can be removed at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    data_directory: PathBuf,
    cache_directory: Option<PathBuf>,
}

impl Library {
    /// A library in the given directories; without a cache directory everything is parsed anew.
    pub fn new(data_directory: impl Into<PathBuf>, cache_directory: Option<PathBuf>) -> Self {
        Self { data_directory: data_directory.into(), cache_directory }
    }

    /// The library of this user: `data_directory` if given, else `ABYSSAL_DATA`, else the system's place for data of
    /// programs; parsed copies in `ABYSSAL_CACHE`, or the system's place for caches.
    pub fn from_environment(data_directory: Option<&Path>) -> Self {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let data_directory = data_directory
            .map(Path::to_path_buf)
            .or_else(|| variable("ABYSSAL_DATA"))
            .or_else(|| dirs::data_dir().map(|directory| directory.join("abyssal")))
            .unwrap_or_else(|| PathBuf::from("abyssal-data"));
        let cache_directory = variable("ABYSSAL_CACHE")
            .or_else(|| dirs::cache_dir().map(|directory| directory.join("abyssal")));
        Self { data_directory, cache_directory }
    }

    /// Where the files are.
    pub fn data_directory(&self) -> &Path {
        &self.data_directory
    }

    /// The names of imported graphs, in alphabetical order.
    pub fn imported(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.data_directory.join("imported")) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                Some(name.strip_suffix(".safetensors")?.to_string())
            })
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort_unstable();
        names
    }

    /// Whether all files of a dataset are here, as far as their names tell.
    ///
    /// # Errors
    /// If there is no such dataset (the nearest known name is told), or its files are missing.
    pub fn check_present(&self, name: &str) -> Result<(), GraphError> {
        match Benchmark::named(name) {
            Some(benchmark) => benchmark::check_present(&self.data_directory, benchmark),
            None if self.imported_path(name).is_file() => Ok(()),
            None => Err(self.unknown(name)),
        }
    }

    /// What the files of a benchmark or an imported graph say.
    ///
    /// # Errors
    /// If there is no such dataset, its files are missing or damaged, or those of a benchmark are not the published
    /// ones.
    pub fn read(&self, name: &str) -> Result<RawDataset, GraphError> {
        self.check_present(name)?;
        let Some(benchmark) = Benchmark::named(name) else {
            let path = self.imported_path(name);
            let bytes = fs::read(&path).map_err(GraphError::io("read", &path))?;
            return container::read(&bytes).map_err(|error| error.in_file(&path));
        };
        let sums = benchmark::verified_sums(&self.data_directory, benchmark)?;
        cache::get_or_parse(self.cache_directory.as_deref(), &cache::key(name, &sums), || {
            let raw = benchmark::parse(&self.data_directory, benchmark)?;
            benchmark::verify_contents(&self.data_directory, benchmark, &raw)?;
            Ok(raw)
        })
    }

    /// Keeps a graph under a name of its own.
    ///
    /// # Errors
    /// If the name is taken or not fit for a file, or the data directory cannot be written.
    pub fn import(&self, name: &str, raw: &RawDataset, replace: bool) -> Result<PathBuf, GraphError> {
        if !is_name(name) {
            return Err(GraphError::InvalidName { name: name.to_string() });
        }
        let path = self.imported_path(name);
        let reserved = DatasetConfig::is_reserved(name);
        if reserved || (path.exists() && !replace) {
            return Err(GraphError::NameTaken { name: name.to_string(), replaceable: !reserved });
        }
        let directory = self.data_directory.join("imported");
        fs::create_dir_all(&directory).map_err(GraphError::io("create the directory", &directory))?;
        write_atomically(&path, &container::write(raw))?;
        Ok(path)
    }

    /// The file of an imported graph.
    pub fn imported_path(&self, name: &str) -> PathBuf {
        self.data_directory.join("imported").join(format!("{name}.safetensors"))
    }

    /// The error for a name no dataset has; it tells the nearest known one.
    pub fn unknown(&self, name: &str) -> GraphError {
        let imported = self.imported();
        let benchmarks = Benchmark::all().iter().map(|benchmark| benchmark.name);
        let known: Vec<&str> = GeneratorConfig::NAMES
            .iter()
            .copied()
            .chain(benchmarks)
            .chain(imported.iter().map(String::as_str))
            .collect();
        let nearest =
            known.iter().min_by_key(|known| strsim::damerau_levenshtein(known, &name.to_lowercase()));
        GraphError::UnknownDataset {
            name: name.to_string(),
            nearest: nearest.copied().unwrap_or_default().to_string(),
            known: known.join(", "),
        }
    }
}

/// Whether a text can be the name of an imported graph: letters, digits, `-`, `_` and `.`, and no dot at its start.
pub(crate) fn is_name(name: &str) -> bool {
    let fit = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(fit)
}
