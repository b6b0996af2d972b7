//! The paper's synthetic data: Gaussian clusters in space.

use abyssal_tensor::Matrix;
use serde::{Deserialize, Serialize};

use super::partition::Partition;
use super::{Draw, invalid, scattered};
use crate::{Dataset, GraphError, Split};

/// Gaussian clusters in three dimensions, joined by random edges (paper, appendix "Extensive Visualizations").
///
/// A point of class `i` is drawn from `N(c_i, I)`; its features are its coordinates. The centres `c_i` lie on a
/// sphere around the origin, evenly spread, so that a seed changes the points but not how hard they are to tell
/// apart. Every pair of points is joined independently, more likely so inside a class. A point has the colour
/// (label) of its class, or with probability `label_noise` a random one.
///
/// Shapes: features are nodes×3, dense.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GaussianClustersConfig {
    /// The same seed gives the same dataset. Default: 0.
    pub seed: u64,
    /// Number of points, at least `classes + 2`. Default: 600.
    pub nodes: usize,
    /// Number of clusters, at least 2. Default: 4.
    pub classes: usize,
    /// Radius of the sphere the centres lie on, where clusters have standard deviation 1 in every direction; at
    /// least 0. Default: 2.
    pub separation: f64,
    /// Expected number of neighbours of a point, above 0. Default: 8.
    pub average_degree: f64,
    /// Expected share of edges that stay inside a cluster, in [0, 1]. Default: 0.8.
    pub homophily: f64,
    /// Probability of a label drawn from all classes instead of the point's own, in [0, 1]. Default: 0.05.
    pub label_noise: f64,
    /// Training points of each label, at least 1. Default: 20.
    pub train_per_class: usize,
    /// Validation points, at least 1; all others test. Default: 100.
    pub validation: usize,
}

impl Default for GaussianClustersConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            nodes: 600,
            classes: 4,
            separation: 2.0,
            average_degree: 8.0,
            homophily: 0.8,
            label_noise: 0.05,
            train_per_class: 20,
            validation: 100,
        }
    }
}

impl GaussianClustersConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// With the first field outside its range.
    pub fn validate(&self) -> Result<(), GraphError> {
        self.partition().validate(self.train_per_class, self.validation)?;
        if !(self.separation >= 0.0 && self.separation.is_finite()) {
            return Err(invalid("separation", self.separation, "a finite number, at least 0"));
        }
        if !(0.0..=1.0).contains(&self.label_noise) {
            return Err(invalid("label_noise", self.label_noise, "in [0, 1]"));
        }
        Ok(())
    }

    /// Draws the dataset `clusters`.
    ///
    /// # Errors
    /// If the configuration is not valid, or label noise happens to leave a label too few points to train on.
    pub fn generate(&self) -> Result<Dataset, GraphError> {
        let seed = self.seed;
        self.validate()?;
        let (classes, graph) = self.partition().draw(seed)?;
        let features = scattered(&classes, &self.centres(), seed);
        let labels = self.colours(&classes, seed);
        let split = Split::per_class(&labels, self.classes, self.train_per_class, self.validation, seed)?;
        Dataset::new("clusters", graph, features, labels, self.classes, split)
    }

    fn partition(&self) -> Partition {
        let Self { nodes, classes, average_degree, homophily, .. } = *self;
        Partition { nodes, classes, average_degree, homophily }
    }

    /// The centres, classes×3: a spiral of equal steps in height and of golden angles around the sphere.
    fn centres(&self) -> Matrix<f64> {
        let golden_angle = std::f64::consts::PI * (3.0 - 5f64.sqrt());
        Matrix::from_fn(self.classes, 3, |class, axis| {
            let height = 1.0 - (2 * class + 1) as f64 / self.classes as f64;
            let (sine, cosine) = (golden_angle * class as f64).sin_cos();
            let radius = (1.0 - height * height).sqrt();
            self.separation * [radius * cosine, radius * sine, height][axis]
        })
    }

    fn colours(&self, classes: &[u32], seed: u64) -> Vec<Option<u32>> {
        let (whether, which) = (Draw::Noise.stream(seed, 0), Draw::Noise.stream(seed, 1));
        let colour = |(point, &class): (u64, &u32)| {
            let random = whether.uniform(point) < self.label_noise;
            Some(if random { which.below(point, self.classes) as u32 } else { class })
        };
        (0..).zip(classes).map(colour).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_what_its_fields_say() {
        let dataset = GaussianClustersConfig::default().generate().unwrap();
        assert_eq!((dataset.name(), dataset.nodes(), dataset.classes()), ("clusters", 600, 4));
        assert_eq!(dataset.features().columns(), 3);
        let split = dataset.split();
        assert_eq!((split.train().len(), split.validation().len(), split.test().len()), (80, 100, 420));
    }

    #[test]
    fn the_seed_decides() {
        let fingerprint = |seed| {
            GaussianClustersConfig { seed, ..GaussianClustersConfig::default() }
                .generate()
                .unwrap()
                .fingerprint()
        };
        assert_eq!(fingerprint(1), fingerprint(1));
        assert_ne!(fingerprint(1), fingerprint(2));
    }

    #[test]
    fn centres_lie_on_the_sphere_and_apart() {
        for classes in 2..20 {
            let centres = GaussianClustersConfig { classes, separation: 3.0, ..Default::default() }.centres();
            let distance = |first: usize, second: usize| {
                let pairs = centres.row(first).iter().zip(centres.row(second));
                pairs.map(|(left, right)| (left - right).powi(2)).sum::<f64>().sqrt()
            };
            for first in 0..classes {
                let length = centres.row(first).iter().map(|value| value * value).sum::<f64>().sqrt();
                assert!((length - 3.0).abs() < 1e-12);
                // Even points on a sphere of radius r have about 4πr² / classes of its surface each.
                let apart = 3.0 * (4.0 * std::f64::consts::PI / classes as f64).sqrt();
                assert!((0..first).all(|second| distance(first, second) > 0.7 * apart), "{classes} classes");
            }
        }
    }

    /// Two points that keep their labels agree if they share a cluster; if one does not, they agree by chance.
    #[test]
    fn label_noise_takes_homophily_away() {
        for (label_noise, seed) in [(0.0, 1), (0.3, 2), (1.0, 3)] {
            let config = GaussianClustersConfig { seed, nodes: 8000, label_noise, ..Default::default() };
            let dataset = config.generate().unwrap();
            let both_kept = (1.0 - label_noise) * (1.0 - label_noise);
            let expected = both_kept * 0.8 + (1.0 - both_kept) * 0.25;
            let measured = dataset.graph().edge_homophily(dataset.labels()).unwrap();
            assert!((measured - expected).abs() < 0.02, "{measured} for {expected}");
            let degree = 2.0 * dataset.graph().edges() as f64 / 8000.0;
            assert!((degree - 8.0).abs() < 0.25, "degree {degree}");
        }
    }

    #[test]
    fn fields_outside_their_range_are_named() {
        let default = GaussianClustersConfig::default;
        for (config, field) in [
            (GaussianClustersConfig { nodes: 5, ..default() }, "nodes"),
            (GaussianClustersConfig { classes: 0, ..default() }, "classes"),
            (GaussianClustersConfig { separation: f64::NAN, ..default() }, "separation"),
            (GaussianClustersConfig { average_degree: -1.0, ..default() }, "average_degree"),
            (GaussianClustersConfig { homophily: -0.1, ..default() }, "homophily"),
            (GaussianClustersConfig { label_noise: 1.1, ..default() }, "label_noise"),
            (GaussianClustersConfig { train_per_class: 150, ..default() }, "train_per_class"),
            (GaussianClustersConfig { validation: 520, ..default() }, "validation"),
        ] {
            let error = config.validate().unwrap_err();
            assert!(
                matches!(error, GraphError::InvalidConfig { field: named, .. } if named == field),
                "{error}"
            );
        }
    }

    #[test]
    fn configurations_are_read_strictly() {
        let config: GaussianClustersConfig = toml::from_str("separation = 3.5").unwrap();
        assert_eq!(config, GaussianClustersConfig { separation: 3.5, ..Default::default() });
        assert!(toml::from_str::<GaussianClustersConfig>("seperation = 3.5").is_err());
    }
}
