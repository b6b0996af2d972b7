//! Every generated dataset by name.

use serde::{Deserialize, Serialize};

use crate::synthetic::{BlockModelConfig, GaussianClustersConfig};
use crate::{Dataset, GraphError};

macro_rules! registry {
    ($($name:literal, $summary:literal => $variant:ident($config:ty),)*) => {
        /// A generated dataset, told apart by `name`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        pub enum GeneratorConfig {
            $(
                #[doc = concat!("`", $name, "`: ", $summary, ".")]
                #[serde(rename = $name)]
                $variant($config),
            )*
        }

        impl GeneratorConfig {
            /// The names of all generators.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The default configuration of a generator; `None` if there is none of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant(<$config>::default())),)*
                    _ => None,
                }
            }

            /// All generators with their default configurations.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant(<$config>::default())),*]
            }

            /// The dataset's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// The dataset in one line.
            pub fn summary(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $summary,)*
                }
            }

            /// Checks every setting.
            ///
            /// # Errors
            /// With the first one outside its range.
            pub fn validate(&self) -> Result<(), GraphError> {
                match self {
                    $(Self::$variant(config) => config.validate(),)*
                }
            }

            /// Makes the dataset.
            ///
            /// # Errors
            /// If the configuration is not valid.
            pub fn load(&self) -> Result<Dataset, GraphError> {
                match self {
                    $(Self::$variant(config) => config.generate(),)*
                }
            }
        }
    };
}

registry! {
    "csbm", "contextual stochastic block model, noisy features and few labels" => BlockModel(BlockModelConfig),
    "clusters", "the paper's Gaussian clusters in three dimensions" => GaussianClusters(GaussianClustersConfig),
}
