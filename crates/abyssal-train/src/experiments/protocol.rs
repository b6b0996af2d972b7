//! On which splits and from which seeds a number is computed.

use abyssal_graph::SplitRule;
use abyssal_graph::catalogue::{Benchmark, Format};
use serde::{Deserialize, Serialize};

use crate::Config;

/// How runs are repeated to give a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// What the paper's stored files reveal: one split, five initialisations, one teacher for all of them, and the
    /// faulty first release of Cornell.
    Paper,
    /// What the field asks for today: ten seeds on a public split, ten splits where splits are drawn or there are ten.
    Honest,
}

/// One run of a protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its split; the one of the configuration if there is none.
    pub split: Option<SplitRule>,
    /// The seed a random split is drawn with.
    pub split_seed: u64,
    /// The seed of the run.
    pub seed: u64,
}

impl Protocol {
    /// Both protocols.
    pub const ALL: [Self; 2] = [Self::Paper, Self::Honest];
    /// Seeds, or splits, of the honest protocol.
    const HONEST_RUNS: u64 = 10;
    /// Splits of the honest protocol on Coauthor Physics: a run takes long, and they differ little.
    const HONEST_RUNS_ON_PHYSICS: u64 = 3;
    /// Seeds of the paper's protocol.
    const PAPER_RUNS: u64 = 5;

    /// What to call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Honest => "honest",
        }
    }

    /// The dataset it takes for a name of the paper's tables.
    pub fn dataset(self, name: &str) -> &str {
        match (self, name) {
            // What the paper calls Cornell has Texas's features and labels; the honest protocol takes the repaired one.
            (Self::Paper, "cornell") => "cornell-2020",
            (Self::Paper | Self::Honest, name) => name,
        }
    }

    /// Its runs on a dataset. A graph that is no benchmark keeps the split it has.
    pub fn trials(self, dataset: &str) -> Vec<Trial> {
        let format = Benchmark::named(dataset).map(|benchmark| benchmark.format);
        let split = match (self, format) {
            (_, Some(Format::Planetoid)) => Some(SplitRule::Stored("public".to_string())),
            (Self::Paper, Some(Format::GnnBenchmark)) => Some(SplitRule::Paper),
            (Self::Paper, Some(Format::GeomGcn { .. })) => Some(SplitRule::geom_gcn(0)),
            (Self::Honest, Some(Format::GnnBenchmark)) => {
                let rule = SplitRule::PerClass { train: 20, validation: 30 };
                let splits = if dataset == "coauthor-physics" {
                    Self::HONEST_RUNS_ON_PHYSICS
                } else {
                    Self::HONEST_RUNS
                };
                let trial = |split_seed| Trial { split: Some(rule.clone()), split_seed, seed: 0 };
                return (0..splits).map(trial).collect();
            }
            (Self::Honest, Some(Format::GeomGcn { .. })) => {
                let trial =
                    |number| Trial { split: Some(SplitRule::geom_gcn(number)), split_seed: 0, seed: 0 };
                return (0..SplitRule::GEOM_GCN).map(trial).collect();
            }
            (_, Some(Format::Ogb) | None) => None,
        };
        let seeds = match self {
            Self::Paper => Self::PAPER_RUNS,
            Self::Honest => Self::HONEST_RUNS,
        };
        (0..seeds).map(|seed| Trial { split: split.clone(), split_seed: 0, seed }).collect()
    }

    /// The configuration with what the protocol says about teachers.
    pub(super) fn adapt(self, mut config: Config) -> Config {
        if let (Self::Paper, Some(teacher)) = (self, &mut config.teacher) {
            // The released code has one stored teacher for all of its runs.
            teacher.shared = true;
        }
        config
    }
}

impl Trial {
    /// The configuration of this run.
    pub fn of(&self, config: &Config) -> Config {
        let mut data = config.data.with_seed(self.split_seed);
        if let Some(split) = &self.split {
            data = data.with_split(split.clone());
        }
        Config { seed: self.seed, data, ..config.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splits(protocol: Protocol, dataset: &str) -> Vec<(String, u64, u64)> {
        let text = |trial: Trial| {
            (trial.split.map(|split| split.to_string()).unwrap_or_default(), trial.split_seed, trial.seed)
        };
        protocol.trials(protocol.dataset(dataset)).into_iter().map(text).collect()
    }

    #[test]
    fn the_honest_protocol() {
        for dataset in ["cora", "citeseer", "pubmed"] {
            let expected: Vec<_> = (0..10).map(|seed| ("public".to_string(), 0, seed)).collect();
            assert_eq!(splits(Protocol::Honest, dataset), expected);
        }
        for (dataset, count) in
            [("coauthor-cs", 10), ("coauthor-physics", 3), ("amazon-computers", 10), ("amazon-photo", 10)]
        {
            let expected: Vec<_> = (0..count).map(|seed| ("per-class:20,30".to_string(), seed, 0)).collect();
            assert_eq!(splits(Protocol::Honest, dataset), expected);
        }
        for dataset in ["texas", "wisconsin", "cornell", "actor"] {
            let expected: Vec<_> = (0..10).map(|number| (format!("geom-gcn:{number}"), 0, 0)).collect();
            assert_eq!(splits(Protocol::Honest, dataset), expected);
        }
        assert_eq!(Protocol::Honest.dataset("cornell"), "cornell");
    }

    #[test]
    fn the_papers_protocol() {
        for (split, datasets) in [
            ("public", ["cora", "citeseer", "pubmed", "cora"]),
            ("paper", ["coauthor-cs", "coauthor-physics", "amazon-computers", "amazon-photo"]),
            ("geom-gcn:0", ["texas", "wisconsin", "cornell", "actor"]),
        ] {
            for dataset in datasets {
                let expected: Vec<_> = (0..5).map(|seed| (split.to_string(), 0, seed)).collect();
                assert_eq!(splits(Protocol::Paper, dataset), expected, "{dataset}");
            }
        }
        assert_eq!(Protocol::Paper.dataset("cornell"), "cornell-2020");
        assert_eq!(Protocol::Paper.dataset("texas"), "texas");
    }

    #[test]
    fn other_graphs_keep_their_split() {
        assert_eq!(splits(Protocol::Honest, "csbm").len(), 10);
        assert!(splits(Protocol::Paper, "csbm").iter().all(|(split, ..)| split.is_empty()));
    }
}
