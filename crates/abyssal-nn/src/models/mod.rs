//! The models: one file each, and one line in the registry below.

mod appnp;
mod bernnet;
mod chebnet;
mod dagnn;
mod fagcn;
mod fsgnn;
mod gat;
mod gcn;
mod gcnii;
mod gin;
mod gprgnn;
mod grand;
mod h2gcn;
mod jknet;
mod mlp;
mod modular;
mod pair_norm;
mod r_soft_graph_ain;
mod sgc;

pub use appnp::AppnpConfig;
pub use bernnet::BernnetConfig;
pub use chebnet::ChebnetConfig;
pub use dagnn::DagnnConfig;
pub use fagcn::FagcnConfig;
pub use fsgnn::FsgnnConfig;
pub use gat::GatConfig;
pub use gcn::GcnConfig;
pub use gcnii::GcniiConfig;
pub use gin::GinConfig;
pub use gprgnn::{CoefficientStart, GprgnnConfig};
pub use grand::GrandConfig;
pub use h2gcn::H2gcnConfig;
pub use jknet::{JknetConfig, Jump};
pub use mlp::MlpConfig;
pub use modular::ModularConfig;
pub use pair_norm::PairNormConfig;
pub use r_soft_graph_ain::{Head, RSoftGraphAinConfig};
pub use sgc::SgcConfig;

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::Scalar;
use abyssal_tensor::tape::Variable;

use crate::{GraphInput, NnError, ParameterSpec, Pass};

/// The shape of a task: what a model reads and what it must give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskShape {
    /// Features of a node.
    pub features: usize,
    /// Classes to tell apart.
    pub classes: usize,
}

/// A model: its parameters and its way from a graph to class scores.
pub trait Model<T: Scalar>: Send + Sync {
    /// All parameters, in the order [`Pass::parameters`] holds them.
    fn specs(&self) -> Vec<ParameterSpec>;

    /// Whether the scores of training passes differ from those of evaluation: whether anything is dropped on the way to
    /// them.
    fn has_dropout(&self) -> bool;

    /// The rate at which the scores themselves are dropped in training. [`Model::forward`] leaves that to
    /// [`Pass::drop_scores`], because an evaluation with the same weights can use the scores before it.
    fn score_dropout(&self) -> f64 {
        0.0
    }

    /// Scores (logits) of every node for every class. Shape n×C.
    ///
    /// # Errors
    /// If a normalisation meets numbers that are not finite. Where nothing is normalised, they come out in the scores.
    fn forward<'m>(
        &'m self,
        pass: &Pass<'_, 'm, T>,
        graph: &'m GraphInput<T>,
    ) -> Result<Variable<T>, NnError>;

    /// Whether layers can be [computed again](Pass::keeping) instead of being kept. Models that keep little say no.
    fn recomputes(&self) -> bool {
        false
    }
}

/// What every model's configuration offers.
pub trait ModelSettings: Default + DocumentedFields {
    /// One line for lists of models.
    const SUMMARY: &'static str;
    /// Other names of settings (the paper's letters), as `(alias, name)`.
    const ALIASES: &'static [(&'static str, &'static str)];

    /// Checks every setting against its range.
    ///
    /// # Errors
    /// If one is out of range; the error names it, its value and its range.
    fn validate(&self) -> Result<(), NnError>;

    /// Builds the model for a task.
    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>>;
}

macro_rules! registry {
    ($($name:literal => $variant:ident($config:ty),)*) => {
        /// The configuration of any model, told apart by `name`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        pub enum ModelConfig {
            $(
                #[doc = concat!("The model `", $name, "`.")]
                #[serde(rename = $name)]
                $variant($config),
            )*
        }

        impl ModelConfig {
            /// The names of all models.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The default configuration of a model; `None` if there is no model of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant(<$config>::default())),)*
                    _ => None,
                }
            }

            /// The model's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// The model in one line.
            pub fn summary(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => <$config>::SUMMARY,)*
                }
            }

            /// How many layers it has.
            pub fn layers(&self) -> usize {
                match self {
                    $(Self::$variant(config) => config.layers,)*
                }
            }

            /// How wide its embeddings are.
            pub fn hidden(&self) -> usize {
                match self {
                    $(Self::$variant(config) => config.hidden,)*
                }
            }

            /// The same model with another number of layers.
            pub fn with_layers(mut self, layers: usize) -> Self {
                match &mut self {
                    $(Self::$variant(config) => config.layers = layers,)*
                }
                self
            }

            /// The same model with as many layers, as wide, as another one: what a comparison wants.
            pub fn sized_like(mut self, other: &Self) -> Self {
                match &mut self {
                    $(Self::$variant(config) => config.hidden = other.hidden(),)*
                }
                self.with_layers(other.layers())
            }

            /// Other names of its settings, as `(alias, name)`.
            pub fn aliases(&self) -> &'static [(&'static str, &'static str)] {
                match self {
                    $(Self::$variant(_) => <$config>::ALIASES,)*
                }
            }

            /// Every setting with what it means.
            pub fn descriptions(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
                let (names, meanings) = match self {
                    $(Self::$variant(_) => (<$config>::FIELD_NAMES, <$config>::FIELD_DOCS),)*
                };
                names.iter().copied().zip(meanings.iter().copied())
            }

            /// Checks every setting against its range.
            ///
            /// # Errors
            /// If one is out of range; the error names it, its value and its range.
            pub fn validate(&self) -> Result<(), NnError> {
                match self {
                    $(Self::$variant(config) => config.validate(),)*
                }
            }

            fn build_any<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
                match self {
                    $(Self::$variant(config) => config.build(task),)*
                }
            }
        }
    };
}

impl ModelConfig {
    /// Builds the model for a task.
    pub fn build<T: Precision>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        T::build(self, task)
    }
}

/// A number type models are built for.
///
/// Its implementations are not generic, so that the code of all models is compiled once, in this crate, and not again
/// in every crate and test that builds one.
pub trait Precision: Scalar {
    /// Builds a model for a task.
    fn build(config: &ModelConfig, task: TaskShape) -> Box<dyn Model<Self>>;
}

impl Precision for f32 {
    fn build(config: &ModelConfig, task: TaskShape) -> Box<dyn Model<Self>> {
        config.build_any(task)
    }
}

impl Precision for f64 {
    fn build(config: &ModelConfig, task: TaskShape) -> Box<dyn Model<Self>> {
        config.build_any(task)
    }
}

registry! {
    "r-soft-graph-ain" => RSoftGraphAin(RSoftGraphAinConfig),
    "gcn" => Gcn(GcnConfig),
    "gat" => Gat(GatConfig),
    "gin" => Gin(GinConfig),
    "mlp" => Mlp(MlpConfig),
    "sgc" => Sgc(SgcConfig),
    "appnp" => Appnp(AppnpConfig),
    "gprgnn" => Gprgnn(GprgnnConfig),
    "dagnn" => Dagnn(DagnnConfig),
    "gcnii" => Gcnii(GcniiConfig),
    "jknet" => Jknet(JknetConfig),
    "chebnet" => Chebnet(ChebnetConfig),
    "bernnet" => Bernnet(BernnetConfig),
    "h2gcn" => H2gcn(H2gcnConfig),
    "fagcn" => Fagcn(FagcnConfig),
    "fsgnn" => Fsgnn(FsgnnConfig),
    "grand" => Grand(GrandConfig),
    "pairnorm" => PairNorm(PairNormConfig),
    "modular" => Modular(ModularConfig),
}
