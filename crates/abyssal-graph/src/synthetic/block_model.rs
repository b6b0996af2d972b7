//! The contextual stochastic block model.

use abyssal_tensor::Matrix;
use serde::{Deserialize, Serialize};

use super::partition::Partition;
use super::{Draw, invalid, scattered};
use crate::{Dataset, GraphError, Split};

/// The contextual stochastic block model (Deshpande, Sen, Montanari, Mossel, 2018), for any number of classes.
///
/// Classes are balanced and random. Every pair of nodes is joined independently, more likely so inside a class.
/// Features are `x_i = signal · μ(class_i) + N(0, I)` with class means `μ` of length 1 in random directions, none
/// common to all classes. With the defaults, features alone tell little, and features averaged over a node's wider
/// surroundings tell nearly everything: the task deep models are for.
///
/// Shapes: features are nodes×features, dense.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BlockModelConfig {
    /// The same seed gives the same dataset. Default: 0.
    pub seed: u64,
    /// Number of nodes, at least `classes + 2`. Default: 3000.
    pub nodes: usize,
    /// Number of classes, at least 2. Default: 5.
    pub classes: usize,
    /// Expected number of neighbours of a node, above 0. Default: 6.
    pub average_degree: f64,
    /// Expected share of edges that stay inside a class, in [0, 1]. Default: 0.75.
    pub homophily: f64,
    /// Number of features of a node, at least 1. Default: 64.
    pub features: usize,
    /// Distance of the class means from the origin, where the noise has standard deviation 1 in every direction;
    /// at least 0. Default: 1.3.
    pub signal: f64,
    /// Training nodes of each class, at least 1. Default: 20.
    pub train_per_class: usize,
    /// Validation nodes, at least 1; all others test. Default: 500.
    pub validation: usize,
}

impl Default for BlockModelConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            nodes: 3000,
            classes: 5,
            average_degree: 6.0,
            homophily: 0.75,
            features: 64,
            signal: 1.3,
            train_per_class: 20,
            validation: 500,
        }
    }
}

impl BlockModelConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// With the first field outside its range.
    pub fn validate(&self) -> Result<(), GraphError> {
        self.partition().validate(self.train_per_class, self.validation)?;
        if self.features == 0 {
            return Err(invalid("features", self.features, "at least 1"));
        }
        if !(self.signal >= 0.0 && self.signal.is_finite()) {
            return Err(invalid("signal", self.signal, "a finite number, at least 0"));
        }
        Ok(())
    }

    /// Draws the dataset `csbm`.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn generate(&self) -> Result<Dataset, GraphError> {
        let seed = self.seed;
        self.validate()?;
        let (classes, graph) = self.partition().draw(seed)?;
        let features = scattered(&classes, &self.means(seed), seed);
        let labels: Vec<Option<u32>> = classes.into_iter().map(Some).collect();
        let split = Split::per_class(&labels, self.classes, self.train_per_class, self.validation, seed)?;
        Dataset::new("csbm", graph, features, labels, self.classes, split)
    }

    fn partition(&self) -> Partition {
        let Self { nodes, classes, average_degree, homophily, .. } = *self;
        Partition { nodes, classes, average_degree, homophily }
    }

    /// The class means, classes×features.
    fn means(&self, seed: u64) -> Matrix<f64> {
        let stream = Draw::Centres.stream(seed, 0);
        let place = |class: usize, column: usize| (class * self.features + column) as u64;
        let mut means =
            Matrix::from_fn(self.classes, self.features, |class, column| stream.normal(place(class, column)));
        // What all classes share tells nothing about the class: take it out.
        for column in 0..self.features {
            let common =
                (0..self.classes).map(|class| means.get(class, column)).sum::<f64>() / self.classes as f64;
            for class in 0..self.classes {
                means.set(class, column, means.get(class, column) - common);
            }
        }
        for class in 0..self.classes {
            let mean = means.row_mut(class);
            let length = mean.iter().map(|value| value * value).sum::<f64>().sqrt();
            mean.iter_mut().for_each(|value| *value *= self.signal / length);
        }
        means
    }
}

#[cfg(test)]
mod tests {
    use abyssal_tensor::parallel::with_threads;

    use super::*;

    #[test]
    fn the_default_is_what_its_fields_say() {
        let config = BlockModelConfig::default();
        let dataset = config.generate().unwrap();
        assert_eq!((dataset.name(), dataset.nodes(), dataset.classes()), ("csbm", 3000, 5));
        assert_eq!(dataset.features().columns(), 64);
        let split = dataset.split();
        assert_eq!((split.train().len(), split.validation().len(), split.test().len()), (100, 500, 2400));
        let degree = 2.0 * dataset.graph().edges() as f64 / 3000.0;
        assert!((degree - 6.0).abs() < 0.3, "degree {degree}");
        let homophily = dataset.graph().edge_homophily(dataset.labels()).unwrap();
        assert!((homophily - 0.75).abs() < 0.025, "homophily {homophily}");
        assert!((dataset.majority_share(split.test()) - 0.2).abs() < 0.02);
    }

    #[test]
    fn the_seed_decides_and_the_number_of_threads_does_not() {
        let generate = |seed, threads| {
            with_threads(threads, || BlockModelConfig { seed, ..BlockModelConfig::default() }.generate())
                .unwrap()
                .unwrap()
        };
        let dataset = generate(3, 1);
        assert_eq!(dataset, generate(3, 2));
        assert_eq!(dataset.fingerprint(), generate(3, 3).fingerprint());
        let other = generate(4, 1);
        assert_ne!(dataset.fingerprint(), other.fingerprint());
        assert_ne!(dataset.split().fingerprint(), other.split().fingerprint());
        assert_ne!(dataset.graph(), other.graph());
    }

    #[test]
    fn class_means_have_the_length_of_the_signal() {
        let means = BlockModelConfig { signal: 2.5, ..Default::default() }.means(9);
        for class in 0..5 {
            let length = means.row(class).iter().map(|value| value * value).sum::<f64>().sqrt();
            assert!((length - 2.5).abs() < 1e-12);
        }
    }

    #[test]
    fn fields_outside_their_range_are_named() {
        let default = BlockModelConfig::default;
        for (config, field) in [
            (BlockModelConfig { nodes: 0, ..default() }, "nodes"),
            (BlockModelConfig { nodes: usize::MAX, ..default() }, "nodes"),
            (BlockModelConfig { classes: 1, ..default() }, "classes"),
            (BlockModelConfig { classes: usize::MAX, ..default() }, "nodes"),
            (BlockModelConfig { average_degree: 0.0, ..default() }, "average_degree"),
            (BlockModelConfig { average_degree: f64::NAN, ..default() }, "average_degree"),
            (BlockModelConfig { average_degree: 2500.0, ..default() }, "average_degree"),
            (BlockModelConfig { homophily: 1.5, ..default() }, "homophily"),
            (BlockModelConfig { homophily: f64::NAN, ..default() }, "homophily"),
            (BlockModelConfig { features: 0, ..default() }, "features"),
            (BlockModelConfig { signal: -1.0, ..default() }, "signal"),
            (BlockModelConfig { signal: f64::INFINITY, ..default() }, "signal"),
            (BlockModelConfig { train_per_class: 0, ..default() }, "train_per_class"),
            (BlockModelConfig { train_per_class: 600, ..default() }, "train_per_class"),
            (BlockModelConfig { validation: 0, ..default() }, "validation"),
            (BlockModelConfig { validation: 2900, ..default() }, "validation"),
        ] {
            let error = config.generate().unwrap_err();
            assert!(
                matches!(error, GraphError::InvalidConfig { field: named, .. } if named == field),
                "{error}"
            );
        }
        let error = BlockModelConfig { validation: 2900, ..default() }.validate().unwrap_err();
        assert_eq!(
            error.to_string(),
            "data.validation = 2900 is out of range: it must be from 1 to 2899, to leave a node to test"
        );
    }

    #[test]
    fn the_smallest_dataset_there_is() {
        let config = BlockModelConfig {
            seed: 0,
            nodes: 4,
            classes: 2,
            average_degree: 1.0,
            homophily: 0.5,
            features: 1,
            signal: 0.0,
            train_per_class: 1,
            validation: 1,
        };
        assert_eq!(config.generate().unwrap().split().test().len(), 1);
    }

    #[test]
    fn configurations_are_read_strictly() {
        let config: BlockModelConfig = toml::from_str("nodes = 50\nhomophily = 0.9").unwrap();
        assert_eq!(config, BlockModelConfig { nodes: 50, homophily: 0.9, ..Default::default() });
        assert!(toml::from_str::<BlockModelConfig>("node = 50").is_err());
    }
}
