//! How a split is asked for.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which split to use, written as text: `public`, `geom-gcn:3`, `per-class:20,30`, `fractions:0.6,0.2`, ….
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SplitRule {
    /// `default`: the one that came with the data if there is one, else `fractions:0.6,0.2`.
    #[default]
    Default,
    /// `paper`: the one of the paper's results.
    Paper,
    /// A split that came with the data: `public` (Planetoid), `official` (OGB), `given` (masks of your own graph), or
    /// `geom-gcn:K` for K from 0 to 9.
    Stored(String),
    /// `per-class:TRAIN,VALIDATION`: so many random nodes of every class, all others test.
    PerClass {
        /// Training nodes of each class.
        train: usize,
        /// Validation nodes of each class.
        validation: usize,
    },
    /// `fractions:TRAIN,VALIDATION`: random shares of every class, all others test.
    Fractions {
        /// The share that trains.
        train: f64,
        /// The share that validates.
        validation: f64,
    },
    /// `file:PATH`: masks in a file.
    File(PathBuf),
}

impl SplitRule {
    /// How many splits geom-gcn has for a dataset.
    pub const GEOM_GCN: usize = 10;
    /// What `default` is where no split came with the data.
    pub const FALLBACK: Self = Self::Fractions { train: 0.6, validation: 0.2 };
    const FORMS: &'static str = "default, paper, public, official, given, geom-gcn:K (K from 0 to 9), \
                                 per-class:20,30, fractions:0.6,0.2 or file:PATH";

    /// One of geom-gcn's splits.
    pub fn geom_gcn(number: usize) -> Self {
        Self::Stored(format!("geom-gcn:{number}"))
    }

    /// Whether the split depends on the seed of the data. `default` may, too; [`DatasetConfig::random_split`] tells.
    ///
    /// [`DatasetConfig::random_split`]: crate::DatasetConfig::random_split
    pub fn is_random(&self) -> bool {
        matches!(self, Self::PerClass { .. } | Self::Fractions { .. })
    }
}

impl fmt::Display for SplitRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(formatter, "default"),
            Self::Paper => write!(formatter, "paper"),
            Self::Stored(name) => write!(formatter, "{name}"),
            Self::PerClass { train, validation } => write!(formatter, "per-class:{train},{validation}"),
            Self::Fractions { train, validation } => write!(formatter, "fractions:{train},{validation}"),
            Self::File(path) => write!(formatter, "file:{}", path.display()),
        }
    }
}

impl FromStr for SplitRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, details) = match text.split_once(':') {
            Some((kind, details)) => (kind, Some(details)),
            None => (text, None),
        };
        match (kind, details) {
            ("default", None) => Ok(Self::Default),
            ("paper", None) => Ok(Self::Paper),
            ("public" | "official" | "given", None) => Ok(Self::Stored(text.to_string())),
            ("geom-gcn", Some(number)) => match number.parse::<usize>() {
                Ok(number) if number < Self::GEOM_GCN => Ok(Self::geom_gcn(number)),
                _ => Err(format!("geom-gcn has the splits 0 to 9, not `{number}`; write geom-gcn:0")),
            },
            ("per-class", Some(details)) => {
                let (train, validation) = pair::<usize>(details)
                    .filter(|&(train, validation)| train >= 1 && validation >= 1)
                    .ok_or("per-class needs two whole numbers of at least 1, such as per-class:20,30")?;
                Ok(Self::PerClass { train, validation })
            }
            ("fractions", Some(details)) => {
                let (train, validation) = pair::<f64>(details)
                    .filter(|&(train, validation)| {
                        train > 0.0 && validation > 0.0 && train + validation < 1.0
                    })
                    .ok_or(
                        "fractions needs two shares above 0 whose sum is below 1 (the rest tests), such as \
                         fractions:0.6,0.2",
                    )?;
                Ok(Self::Fractions { train, validation })
            }
            ("file", Some(path)) if !path.is_empty() => Ok(Self::File(PathBuf::from(path))),
            _ => Err(format!("a split is {}", Self::FORMS)),
        }
    }
}

/// Two numbers with a comma between.
fn pair<N: FromStr>(text: &str) -> Option<(N, N)> {
    let (first, second) = text.split_once(',')?;
    Some((first.trim().parse().ok()?, second.trim().parse().ok()?))
}

impl TryFrom<String> for SplitRule {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<SplitRule> for String {
    fn from(rule: SplitRule) -> Self {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_they_are_read() {
        for text in [
            "default",
            "paper",
            "public",
            "official",
            "given",
            "geom-gcn:0",
            "geom-gcn:9",
            "per-class:20,30",
            "fractions:0.6,0.2",
            "file:masks/my split.csv",
        ] {
            assert_eq!(text.parse::<SplitRule>().unwrap().to_string(), text);
        }
        let rule: SplitRule = "per-class: 20 , 30".parse().unwrap();
        assert_eq!(rule, SplitRule::PerClass { train: 20, validation: 30 });
    }

    #[test]
    fn what_is_no_rule_is_told_what_would_be() {
        for (text, expected) in [
            ("", "a split is default, paper"),
            ("pulbic", "a split is default, paper"),
            ("public:1", "a split is"),
            ("geom-gcn", "geom-gcn:K"),
            ("geom-gcn:10", "the splits 0 to 9, not `10`"),
            ("geom-gcn:-1", "the splits 0 to 9"),
            ("per-class:20", "two whole numbers"),
            ("per-class:0,30", "at least 1"),
            ("fractions:0.6,0.4", "sum is below 1"),
            ("fractions:-0.1,0.2", "above 0"),
            ("fractions:nan,0.2", "above 0"),
            ("file:", "a split is"),
        ] {
            let error = text.parse::<SplitRule>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
