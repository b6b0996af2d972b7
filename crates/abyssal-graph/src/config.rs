//! Where a dataset comes from and what is done to it: the `[data]` of a configuration.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::{Table, Value};

use crate::catalogue::Benchmark;
use crate::formats::RawDataset;
use crate::formats::own::{self, OwnFiles};
use crate::library::{default_preparation, is_name, paper_split};
use crate::preparation::{PaperSplit, Preparation};
use crate::{Dataset, GeneratorConfig, GraphError, GraphRule, Library, SplitRule, Statistics};

/// Any dataset, told apart by `name`.
#[derive(Clone, Debug, PartialEq)]
pub enum DatasetConfig {
    /// A generated one: `csbm` or `clusters`, with the settings of its generator.
    Generated(GeneratorConfig),
    /// A benchmark such as `cora`, or an imported graph, with what is done to it.
    Stored {
        /// Its name.
        name: String,
        /// Transforms and split.
        preparation: Preparation,
    },
    /// The user's own files: `name = "files"`, with `edges`, `features`, `labels` and `masks`.
    Files {
        /// Where they are.
        files: OwnFiles,
        /// Transforms and split.
        preparation: Preparation,
    },
}

impl DatasetConfig {
    /// The name of a dataset in files of the user's own.
    pub const FILES: &'static str = "files";
    /// The settings that name files.
    const ROLES: [&'static str; 4] = ["edges", "features", "labels", "masks"];

    /// The default configuration of a dataset. Any name that could be one of an imported graph gives one; whether
    /// there is such a graph is seen when it is loaded. `None` if it could not.
    pub fn named(name: &str) -> Option<Self> {
        if let Some(generator) = GeneratorConfig::named(name) {
            return Some(Self::Generated(generator));
        }
        if name == Self::FILES {
            let (files, preparation) = (OwnFiles::default(), Preparation::default());
            return Some(Self::Files { files, preparation });
        }
        let preparation = Benchmark::named(name).map(default_preparation).unwrap_or_default();
        is_name(name).then(|| Self::Stored { name: name.to_string(), preparation })
    }

    /// Whether a name means something already and cannot be given to an imported graph.
    pub fn is_reserved(name: &str) -> bool {
        let generated = GeneratorConfig::NAMES.contains(&name);
        generated || name == Self::FILES || Benchmark::named(name).is_some()
    }

    /// The dataset's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Generated(generator) => generator.name(),
            Self::Stored { name, .. } => name,
            Self::Files { .. } => Self::FILES,
        }
    }

    /// Transforms and split, for data that has them.
    pub fn preparation(&self) -> Option<&Preparation> {
        match self {
            Self::Generated(_) => None,
            Self::Stored { preparation, .. } | Self::Files { preparation, .. } => Some(preparation),
        }
    }

    /// The same data with another split.
    pub fn with_split(&self, split: SplitRule) -> Self {
        self.with_preparation(|preparation| preparation.split = split)
    }

    /// The same data with another seed of its random split.
    pub fn with_seed(&self, seed: u64) -> Self {
        self.with_preparation(|preparation| preparation.seed = seed)
    }

    /// The rule that draws the split of this data at random; `None` if the split is not drawn, but given.
    ///
    /// # Errors
    /// If only the data can tell, as for [`DatasetConfig::load`].
    pub fn random_split(&self, library: &Library) -> Result<Option<SplitRule>, GraphError> {
        match self.preparation().map(|preparation| &preparation.split) {
            Some(SplitRule::Default) => {
                Ok(self.read(library)?.0.splits.is_empty().then_some(SplitRule::FALLBACK))
            }
            rule => Ok(rule.filter(|rule| rule.is_random()).cloned()),
        }
    }

    /// The same data with other edges to propagate along.
    pub fn with_graph(&self, graph: GraphRule) -> Self {
        self.with_preparation(|preparation| preparation.graph = graph)
    }

    fn with_preparation(&self, change: impl FnOnce(&mut Preparation)) -> Self {
        let mut changed = self.clone();
        match &mut changed {
            Self::Generated(_) => {}
            Self::Stored { preparation, .. } | Self::Files { preparation, .. } => change(preparation),
        }
        changed
    }

    /// Checks every setting.
    ///
    /// # Errors
    /// With the first one outside its range.
    pub fn validate(&self) -> Result<(), GraphError> {
        match self {
            Self::Generated(generator) => generator.validate(),
            Self::Stored { .. } => Ok(()),
            Self::Files { files, .. } if files.edges.as_os_str().is_empty() => {
                Err(GraphError::InvalidConfig {
                    field: "edges",
                    value: "\"\"".to_string(),
                    range: "a file of edges".to_string(),
                })
            }
            Self::Files { .. } => Ok(()),
        }
    }

    /// Checks that the dataset can be loaded, as far as names of files tell.
    ///
    /// # Errors
    /// If there is no such dataset, or a file is missing.
    pub fn check_present(&self, library: &Library) -> Result<(), GraphError> {
        match self {
            Self::Generated(_) => Ok(()),
            Self::Stored { name, .. } => library.check_present(name),
            Self::Files { files, .. } => {
                for (_, path) in files.given() {
                    std::fs::metadata(path).map_err(GraphError::io("read", path))?;
                }
                Ok(())
            }
        }
    }

    /// Makes or loads the dataset.
    ///
    /// # Errors
    /// If the configuration is not valid, files are missing or damaged, or the split does not exist.
    pub fn load(&self, library: &Library) -> Result<Dataset, GraphError> {
        match self {
            Self::Generated(generator) => generator.load(),
            Self::Stored { preparation, .. } | Self::Files { preparation, .. } => {
                let (raw, paper) = self.read(library)?;
                preparation.apply(self.name(), raw, paper)
            }
        }
    }

    /// Makes or loads a dataset whose nodes are to be predicted. Of the user's own files, those of the features and the edges
    /// are read, and nodes have no labels; the classes are those that somebody has learnt.
    ///
    /// # Errors
    /// If the configuration is not valid, or files are missing or damaged.
    pub fn load_unlabelled(&self, library: &Library, class_names: &[String]) -> Result<Dataset, GraphError> {
        match self {
            Self::Generated(_) | Self::Stored { .. } => self.load(library),
            Self::Files { files, preparation } => {
                self.validate()?;
                preparation.apply_unlabelled(Self::FILES, own::read_unlabelled(files, class_names)?)
            }
        }
    }

    /// What there is before any transform, and the split of the paper's results on it.
    ///
    /// # Errors
    /// As for [`DatasetConfig::load`].
    pub fn read(&self, library: &Library) -> Result<(RawDataset, PaperSplit), GraphError> {
        match self {
            Self::Generated(generator) => Ok((generator.load()?.into(), PaperSplit::None)),
            Self::Stored { name, .. } => {
                let paper = Benchmark::named(name).map_or(PaperSplit::None, paper_split);
                Ok((library.read(name)?, paper))
            }
            Self::Files { files, .. } => {
                self.validate()?;
                Ok((own::read(files)?, PaperSplit::None))
            }
        }
    }

    /// The dataset in numbers, before any transform.
    ///
    /// # Errors
    /// As for [`DatasetConfig::load`].
    pub fn statistics(&self, library: &Library) -> Result<Statistics, GraphError> {
        let (raw, paper) = self.read(library)?;
        Statistics::of(self.name(), &raw, paper)
    }
}

/// One table: `name`, the files where there are some (an empty text is none), and all other settings.
impl Serialize for DatasetConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let table = match self {
            Self::Generated(generator) => Table::try_from(generator),
            Self::Stored { preparation, .. } | Self::Files { preparation, .. } => {
                Table::try_from(preparation)
            }
        };
        let mut table = table.map_err(S::Error::custom)?;
        table.remove("name");
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.name())?;
        if let Self::Files { files, .. } = self {
            for role in Self::ROLES {
                let given = files.given().find(|(given, _)| *given == role);
                let path = given.map(|(_, path)| path.to_string_lossy()).unwrap_or_default();
                map.serialize_entry(role, &path)?;
            }
        }
        for (key, value) in &table {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for DatasetConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Table::deserialize(deserializer)?;
        let name = match table.get("name") {
            Some(Value::String(name)) => name.clone(),
            Some(_) => return Err(D::Error::custom("the name of a dataset must be text")),
            None => return Err(D::Error::custom("the dataset has no name")),
        };
        if GeneratorConfig::named(&name).is_some() {
            return Ok(Self::Generated(convert(table)?));
        }
        table.remove("name");
        if name == Self::FILES {
            let mut path = |role: &str| match table.remove(role) {
                None => Ok(None),
                Some(Value::String(path)) => Ok(Some(path).filter(|path| !path.is_empty()).map(Into::into)),
                Some(_) => Err(D::Error::custom(format!("{role} must be the name of a file"))),
            };
            let [edges, features, labels, masks] = Self::ROLES.map(&mut path);
            let files = OwnFiles {
                edges: edges?.unwrap_or_default(),
                features: features?,
                labels: labels?,
                masks: masks?,
            };
            return Ok(Self::Files { files, preparation: convert(table)? });
        }
        if !is_name(&name) {
            return Err(D::Error::custom(format!("`{name}` cannot be the name of a dataset")));
        }
        Ok(Self::Stored { name, preparation: convert(table)? })
    }
}

fn convert<T: DeserializeOwned, E: serde::de::Error>(table: Table) -> Result<T, E> {
    Value::Table(table).try_into().map_err(|error: toml::de::Error| E::custom(error.message()))
}
