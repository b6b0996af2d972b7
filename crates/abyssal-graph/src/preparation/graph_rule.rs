//! Which edges models propagate along.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Distance;

/// Which edges models propagate along, written as text: `given`, `knn:7`, `knn:7,cosine`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum GraphRule {
    /// `given`: those of the data.
    #[default]
    Given,
    /// `knn:K` or `knn:K,cosine`: every node and its K nearest by (transformed) features, without directions and
    /// weights. The edges of the data are not used.
    NearestNeighbours {
        /// How many neighbours.
        count: usize,
        /// Nearest in what sense.
        distance: Distance,
    },
}

impl fmt::Display for GraphRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given => write!(formatter, "given"),
            Self::NearestNeighbours { count, distance: Distance::Euclidean } => {
                write!(formatter, "knn:{count}")
            }
            Self::NearestNeighbours { count, distance: Distance::Cosine } => {
                write!(formatter, "knn:{count},cosine")
            }
        }
    }
}

impl FromStr for GraphRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The names results have for them are understood, too.
        if ["given", "input"].contains(&text) {
            return Ok(Self::Given);
        }
        let rule = text.strip_prefix("features-").unwrap_or(text).strip_prefix("knn:").and_then(|details| {
            let (count, distance) = match details.split_once(',') {
                Some((count, "cosine")) => (count, Distance::Cosine),
                Some((count, "euclidean")) => (count, Distance::Euclidean),
                Some(_) => return None,
                None => (details, Distance::Euclidean),
            };
            let count = count.parse().ok().filter(|&count| count >= 1)?;
            Some(Self::NearestNeighbours { count, distance })
        });
        rule.ok_or_else(|| "a graph is given, knn:K (such as knn:7) or knn:K,cosine".to_string())
    }
}

impl TryFrom<String> for GraphRule {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<GraphRule> for String {
    fn from(rule: GraphRule) -> Self {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_they_are_read() {
        for text in ["given", "knn:7", "knn:12,cosine"] {
            assert_eq!(text.parse::<GraphRule>().unwrap().to_string(), text);
        }
        assert_eq!("knn:7,euclidean".parse::<GraphRule>(), "knn:7".parse());
        assert_eq!("input".parse::<GraphRule>(), "given".parse());
        assert_eq!("features-knn:7".parse::<GraphRule>(), "knn:7".parse());
        for text in ["", "knn", "knn:", "knn:0", "knn:-1", "knn:7,manhattan", "Given"] {
            assert!(text.parse::<GraphRule>().unwrap_err().contains("knn:7"), "{text}");
        }
    }
}
