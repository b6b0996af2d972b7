//! How much memory training may take, and what is given up to take less.
//!
//! A training pass keeps what every layer computed until the gradient comes back to it. Where that is too much, it keeps the
//! last `k` layers, where the way back begins, and of those before only what every `k` of them give: what lies between is
//! computed again, `L - k` layers of a forward pass, for memory that grows with `L/k + k` instead of `L`. A run that would take
//! gibibytes does that with half of its layers unless it is told how much there is, and embeddings too large for the caches are never
//! kept where one product gives them again. Nothing that is learnt depends on it, so it is no part of a run's configuration.

mod baseline;
mod footprint;
mod system;

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use abyssal_graph::Dataset;
use abyssal_nn::models::ModelConfig;

use crate::{Config, TrainError};
use baseline::Baseline;
use footprint::{Footprints, check_recomputes, least_bytes};
pub use system::peak_memory_bytes;
use system::{available_memory_bytes, present_memory_bytes};

/// Embeddings of so many bytes come from memory, whatever else is there: to compute one again takes a tenth of the time that its
/// layer takes, and saves up to half of the memory.
const SPARED_BYTES: usize = 16 << 20;

/// More than this is taken for granted only where somebody said how much there is: half of the layers computed again are up to half of
/// the memory, for a fifth more time.
const LARGE_BYTES: u64 = 2 << 30;

/// So much of a budget is left alone where there is a choice of layers to keep: estimates are not exact.
const SPARE_SHARE: f64 = 0.1;

/// Whether a training pass should be [sparing](abyssal_tensor::tape::Pool::sparing) with embeddings of so many nodes.
pub(crate) fn spares_embeddings(model: &ModelConfig, nodes: usize) -> bool {
    nodes.saturating_mul(model.hidden()).saturating_mul(size_of::<f32>()) >= SPARED_BYTES
}

/// What a training pass keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryMode {
    /// All, if that fits into the budget; else as many layers at a time as do. Without a budget, all up to 2 GiB and else half of the
    /// layers, or as many as fit into what is free.
    #[default]
    Auto,
    /// All that more than a product is needed for.
    Full,
    /// So many layers at a time; the others are computed again.
    Checkpoint(NonZeroUsize),
}

impl MemoryMode {
    /// How many layers are kept at a time, if not all.
    fn kept_layers(self) -> Option<NonZeroUsize> {
        match self {
            Self::Checkpoint(layers) => Some(layers),
            _ => None,
        }
    }
}

impl FromStr for MemoryMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let layers = text.strip_prefix("checkpoint:").map(str::parse);
        match (text, layers) {
            ("auto", _) => Ok(Self::Auto),
            ("full", _) => Ok(Self::Full),
            (_, Some(Ok(layers))) => Ok(Self::Checkpoint(layers)),
            _ => Err("expected auto, full, or checkpoint:K with K layers kept at a time".to_string()),
        }
    }
}

impl fmt::Display for MemoryMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => formatter.write_str("auto"),
            Self::Full => formatter.write_str("full"),
            Self::Checkpoint(layers) => write!(formatter, "checkpoint:{layers}"),
        }
    }
}

/// What the user allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemorySettings {
    /// What a pass keeps.
    pub mode: MemoryMode,
    /// The most bytes this process may have; what the system has free, if not given.
    pub budget: Option<u64>,
    /// Bytes of data in memory beside what the model learns from.
    pub other_data: u64,
}

impl MemorySettings {
    /// For a model that trains along with the one they are about, such as its teacher: layers are computed again where it
    /// can do that, and else it is as if nothing had been said.
    pub fn along(self, model: &ModelConfig) -> Self {
        let mode = match self.mode {
            MemoryMode::Checkpoint(_) if check_recomputes(model).is_err() => MemoryMode::Auto,
            mode => mode,
        };
        Self { mode, ..self }
    }

    /// For a model that learns from other data while these stay in memory.
    pub(crate) fn beside(self, dataset: &Dataset) -> Self {
        Self { other_data: self.other_data + dataset.bytes() as u64, ..self }
    }
}

/// How a run will use memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// [`MemoryMode::Full`] or [`MemoryMode::Checkpoint`].
    pub mode: MemoryMode,
    /// The largest memory this process will have, estimated.
    pub bytes: u64,
    /// The same if all layers were kept.
    pub full_bytes: u64,
}

impl MemoryPlan {
    /// Decides how to train a model on a dataset that is in memory already.
    ///
    /// # Errors
    /// If it cannot be done within the budget, or the model cannot compute layers again.
    pub fn new(config: &Config, dataset: &Dataset, settings: &MemorySettings) -> Result<Self, TrainError> {
        let data = dataset.bytes() as u64 + settings.other_data;
        let baseline = Baseline::of_process(data);
        let free = || Some(present_memory_bytes()? + available_memory_bytes()?);
        let budget = settings.budget.or_else(free);
        let least = baseline.with(data, least_bytes(&config.model, dataset));
        if let Some(budget) = budget.filter(|budget| least > *budget) {
            let plan = MemoryPlan { mode: MemoryMode::Full, bytes: least, full_bytes: least };
            return Err(TrainError::TooLarge { plan, budget, instead: None });
        }
        let footprints = Footprints::of(config, dataset);
        let bytes = |kept_layers| baseline.with(data, footprints.bytes(kept_layers));
        let full_bytes = bytes(None);
        let plan = |mode: MemoryMode| MemoryPlan { mode, bytes: bytes(mode.kept_layers()), full_bytes };
        let fits = |plan: &MemoryPlan| budget.is_none_or(|budget| plan.bytes <= budget);
        let fits_easily = |plan: &MemoryPlan| {
            budget.is_none_or(|budget| plan.bytes as f64 <= (1.0 - SPARE_SHARE) * budget as f64)
        };
        let (full, layers) = (plan(MemoryMode::Full), config.model.layers());
        let (most, is_large) = match settings.budget {
            Some(_) => (layers.saturating_sub(1), false),
            None => (layers.div_ceil(2), full_bytes > LARGE_BYTES),
        };
        let saving = footprints.most_frugal().map(|fewest| {
            let kept = (fewest.get()..=most).rev().filter_map(NonZeroUsize::new);
            let mut plans = kept.map(|layers| plan(MemoryMode::Checkpoint(layers)));
            plans.find(fits_easily).unwrap_or_else(|| plan(MemoryMode::Checkpoint(fewest)))
        });
        let saving = saving.filter(|saving| saving.bytes < full_bytes);
        let wanted = match settings.mode {
            MemoryMode::Auto => saving.filter(|_| is_large || !fits(&full)).unwrap_or(full),
            MemoryMode::Full => full,
            mode @ MemoryMode::Checkpoint(_) => {
                check_recomputes(&config.model)?;
                plan(mode)
            }
        };
        match budget {
            Some(budget) if !fits(&wanted) => {
                Err(TrainError::TooLarge { plan: wanted, budget, instead: saving.filter(fits) })
            }
            _ => Ok(wanted),
        }
    }

    /// How many layers are kept at a time, if not all.
    pub fn kept_layers(&self) -> Option<NonZeroUsize> {
        self.mode.kept_layers()
    }
}

/// A number of bytes for people: `1.5 GiB`.
pub fn readable_bytes(bytes: u64) -> String {
    match bytes as f64 / f64::from(1 << 20) {
        mebibytes if mebibytes < 10.0 => format!("{mebibytes:.1} MiB"),
        mebibytes if mebibytes < 1000.0 => format!("{mebibytes:.0} MiB"),
        mebibytes => format!("{:.1} GiB", mebibytes / 1024.0),
    }
}

/// Two numbers of bytes for people, one of which is the larger: with more digits where they would read the same.
pub(crate) fn readable_beside(bytes: u64, others: u64) -> [String; 2] {
    let readable = [bytes, others].map(readable_bytes);
    if bytes == others || readable[0] != readable[1] {
        return readable;
    }
    let mebibytes = [bytes, others].map(|bytes| format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20)));
    if mebibytes[0] != mebibytes[1] {
        return mebibytes;
    }
    [bytes, others].map(|bytes| format!("{bytes} bytes"))
}

/// Reads a number of bytes: `2GiB`, `1.5 GB`, `300M`. `K`, `M`, `G` and `T` count by 1024, with `B` after them by 1000.
///
/// # Errors
/// If it is no positive number with such a unit.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let split = text.find(|character: char| !character.is_ascii_digit() && character != '.');
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let unit = unit.trim().to_ascii_lowercase();
    let power = |prefix: &str| ["", "k", "m", "g", "t"].iter().position(|one| *one == prefix);
    let factor = match unit.as_bytes() {
        [] | [b'b'] => Some(1.0),
        [.., b'i', b'b'] => power(&unit[..unit.len() - 2]).map(|power| 1024f64.powi(power as i32)),
        [.., b'b'] => power(&unit[..unit.len() - 1]).map(|power| 1000f64.powi(power as i32)),
        _ => power(&unit).map(|power| 1024f64.powi(power as i32)),
    };
    let bytes = number.parse::<f64>().ok().zip(factor).map(|(number, factor)| number * factor);
    match bytes.filter(|bytes| (1.0..1e18).contains(bytes)) {
        Some(bytes) => Ok(bytes as u64),
        None => Err("expected a number of bytes, such as 2GiB or 800MB".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use abyssal_graph::Library;
    use toml::Value;

    use super::*;

    fn with_settings<const N: usize>(settings: [(&str, Value); N]) -> (Config, Dataset) {
        let settings = settings.map(|(key, value)| (key.to_string(), value));
        let config = Config::resolve(None, &settings).unwrap();
        let dataset = config.data.load(&Library::from_environment(None)).unwrap();
        (config, dataset)
    }

    #[test]
    fn data_beside_those_of_a_model_are_counted() {
        // So many tasks that loading takes less.
        let (config, dataset) = with_settings([
            ("train.method", Value::from("curriculum")),
            ("curriculum.steps", Value::from(100_000)),
        ]);
        let alone = MemorySettings { budget: Some(u64::MAX), ..MemorySettings::default() };
        let [alone, beside] = [alone, alone.beside(&dataset)]
            .map(|settings| MemoryPlan::new(&config, &dataset, &settings).unwrap().bytes);
        assert_eq!(beside - alone, dataset.bytes() as u64);
    }

    #[test]
    fn as_many_layers_are_kept_as_fit() {
        // So many layers that loading takes less.
        let (config, dataset) = with_settings([("model.layers", Value::from(5000))]);
        let plan = |mode, budget| {
            let settings = MemorySettings { mode, budget: Some(budget), ..MemorySettings::default() };
            MemoryPlan::new(&config, &dataset, &settings)
        };
        let full = plan(MemoryMode::Auto, u64::MAX).unwrap();
        assert_eq!(full.mode, MemoryMode::Full);
        let mut before = config.model.layers();
        for share in [0.9, 0.5, 0.3] {
            let budget = (share * full.bytes as f64) as u64;
            let chosen = plan(MemoryMode::Auto, budget).unwrap();
            let layers = chosen.kept_layers().expect("not all layers fit").get();
            assert!(layers < before, "{layers} layers with {share} of the memory");
            assert!(chosen.bytes <= budget / 10 * 9, "{chosen:?} leaves nothing of {budget}");
            // A hundred layers more are too many, whatever their stretches' ends take.
            let more = MemoryMode::Checkpoint(NonZeroUsize::new(layers + 100).unwrap());
            assert!(plan(more, u64::MAX).unwrap().bytes > budget / 10 * 9, "{chosen:?} of {budget}");
            assert!(
                matches!(plan(MemoryMode::Full, budget), Err(TrainError::TooLarge { instead: Some(instead), .. }) if instead == chosen)
            );
            before = layers;
        }
    }

    /// Trying them ended the program for want of memory, or took minutes.
    #[test]
    fn models_too_large_to_be_tried_are_refused() {
        let settings = MemorySettings { budget: Some(16 << 30), ..MemorySettings::default() };
        for (layers, hidden) in [(1, 1_000_000), (2, i64::MAX / 8 * 8), (i64::MAX, 64)] {
            let sizes = [("model.layers", Value::from(layers)), ("model.hidden", Value::from(hidden))];
            let (config, dataset) = with_settings(sizes);
            let refused = MemoryPlan::new(&config, &dataset, &settings);
            let refused = matches!(refused, Err(TrainError::TooLarge { instead: None, .. }));
            assert!(refused, "{layers} layers of width {hidden}");
        }
    }

    /// However much memory there is, so that one does not wonder where it went.
    #[test]
    fn half_of_a_large_model_is_kept_unless_there_is_a_budget() {
        for (layers, is_large) in [(100, false), (5000, true)] {
            let (config, dataset) = with_settings([("model.layers", Value::from(layers))]);
            let plan = |budget| {
                let settings = MemorySettings { budget, ..MemorySettings::default() };
                MemoryPlan::new(&config, &dataset, &settings).unwrap()
            };
            let (free, granted) = (plan(None), plan(Some(u64::MAX)));
            assert_eq!(granted.mode, MemoryMode::Full);
            assert_eq!(granted.bytes > LARGE_BYTES, is_large);
            // Less than half where less than that is free.
            assert_eq!(free.kept_layers().is_some_and(|kept| kept.get() <= 2500), is_large, "{free:?}");
        }
    }

    #[test]
    fn modes_are_read_as_they_are_written() {
        for text in ["auto", "full", "checkpoint:1", "checkpoint:250"] {
            assert_eq!(text.parse::<MemoryMode>().unwrap().to_string(), text);
        }
        for text in ["", "none", "checkpoint", "checkpoint:", "checkpoint:0", "checkpoint:-3"] {
            assert!(text.parse::<MemoryMode>().unwrap_err().contains("checkpoint:K"), "{text}");
        }
    }

    #[test]
    fn bytes_are_read_with_their_units() {
        let cases =
            [("12", 12), ("2GiB", 2 << 30), ("2g", 2 << 30), ("1.5 GB", 1_500_000_000), ("64 kb", 64_000)];
        for (text, bytes) in cases {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "GiB", "-1", "0", "1x", "1 giga", "1e99", "ib", "nan"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
        assert_eq!(readable_bytes(3 << 19), "1.5 MiB");
        assert_eq!(readable_bytes(300 << 20), "300 MiB");
        assert_eq!(readable_bytes(3 << 29), "1.5 GiB");
    }

    /// A refusal said "would take about 1.2 GiB, and 1.2 GiB may be used".
    #[test]
    fn what_is_more_than_what_may_be_used_reads_as_more() {
        assert_eq!(readable_beside(3 << 30, 2 << 30), ["3.0 GiB", "2.0 GiB"]);
        assert_eq!(readable_beside(1240 << 20, 1210 << 20), ["1240 MiB", "1210 MiB"]);
        assert_eq!(readable_beside((40 << 20) + 9, 40 << 20), ["41943049 bytes", "41943040 bytes"]);
        assert_eq!(readable_beside(2 << 30, 2 << 30), ["2.0 GiB", "2.0 GiB"]);
    }
}
