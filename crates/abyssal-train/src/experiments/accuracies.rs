//! Our method and the baselines on all datasets: the paper's tables 1 and 2.

use super::cell::Contestant;

/// What our method is called in tables.
pub const OURS: &str = "ours";
/// Its model.
pub(super) const OUR_MODEL: &str = "r-soft-graph-ain";
/// What it is compared with, each with its published settings at the same depth.
pub const BASELINES: [&str; 6] = ["gcn", "gcnii", "appnp", "dagnn", "gprgnn", "bernnet"];

/// Ours first, then the baselines.
pub(super) fn contestants() -> Vec<Contestant> {
    let baselines = BASELINES.into_iter().map(|model| Contestant::of(model, model));
    std::iter::once(Contestant::of(OURS, OUR_MODEL)).chain(baselines).collect()
}
