//! Options that say which data to use.

use std::path::{Path, PathBuf};

use abyssal_graph::{DatasetConfig, Library};
use clap::Args;
use toml::Value;

/// Which data, and where it lies.
#[derive(Debug, Args)]
pub struct DataArguments {
    /// Dataset by name, as in abyssal datasets list [default: csbm, a generated graph].
    #[arg(long, value_name = "NAME")]
    pub dataset: Option<String>,

    #[command(flatten)]
    pub files: FileArguments,

    #[command(flatten)]
    pub place: PlaceArguments,
}

/// The files of the user's own graph.
#[derive(Debug, Args)]
pub struct FileArguments {
    /// Edges: two columns of node ids in csv or tsv; npy of shape m×2; a scipy sparse matrix in npz; or one npz with
    /// everything, as the Coauthor benchmarks have it.
    #[arg(long, help_heading = "Your own graph", value_name = "FILE", conflicts_with = "dataset")]
    pub edges: Option<PathBuf>,

    /// Features: a row a node, with or without a first column of node ids; csv, tsv, npy or npz.
    #[arg(long, help_heading = "Your own graph", value_name = "FILE", requires = "edges")]
    pub features: Option<PathBuf>,

    /// Labels: id and label, or one label a line; a missing one (empty, ?, NA, -1) means: predict it.
    #[arg(long, help_heading = "Your own graph", value_name = "FILE", requires = "edges")]
    pub labels: Option<PathBuf>,

    /// Split: id and train, val or test; or npz with train_mask, val_mask and test_mask.
    #[arg(long, help_heading = "Your own graph", value_name = "FILE", requires = "edges")]
    pub masks: Option<PathBuf>,
}

/// Where files of datasets are.
#[derive(Debug, Args)]
pub struct PlaceArguments {
    /// Directory of datasets [default: $ABYSSAL_DATA, or the system's place for data of programs].
    #[arg(long, help_heading = "Files", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// Fetch nothing: fail if files are missing.
    #[arg(long, help_heading = "Files")]
    pub offline: bool,
}

impl DataArguments {
    /// Whether a dataset is named.
    pub fn is_given(&self) -> bool {
        self.dataset.is_some() || self.files.edges.is_some()
    }

    /// The settings of these options.
    pub fn settings(&self) -> Vec<(String, Value)> {
        let mut settings = Vec::new();
        let mut text = |key: &str, value: &str| settings.push((format!("data.{key}"), Value::from(value)));
        if let Some(name) = &self.dataset {
            text("name", name);
        }
        if self.files.edges.is_some() {
            text("name", DatasetConfig::FILES);
        }
        let FileArguments { edges, features, labels, masks } = &self.files;
        for (role, path) in [("edges", edges), ("features", features), ("labels", labels), ("masks", masks)] {
            if let Some(path) = path {
                settings.push((format!("data.{role}"), absolute(path)));
            }
        }
        settings
    }
}

/// A path as a setting: a run may be resumed from another directory.
pub(super) fn absolute(path: &Path) -> Value {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    Value::from(path.to_string_lossy().as_ref())
}

impl PlaceArguments {
    /// The datasets of this machine.
    pub fn library(&self) -> Library {
        Library::from_environment(self.data_dir.as_deref().map(Path::new))
    }
}

/// The setting of `--split`. A split from a file is found from any directory.
pub(super) fn split_setting(split: &str) -> (String, Value) {
    let path = split.strip_prefix("file:").filter(|path| !path.is_empty());
    let split = match path.and_then(|path| std::path::absolute(path).ok()) {
        Some(path) => format!("file:{}", path.display()),
        None => split.to_string(),
    };
    ("data.split".to_string(), Value::from(split))
}
