//! Our method and the baselines on all datasets: the paper's tables 1 and 2.

use super::cell::Contestant;

/// What our method is called in tables.
pub const OURS: &str = "ours";
/// What the student of the released code is called, whose teachers are ours.
pub const REFERENCE: &str = "reference";
/// Its model.
pub(super) const OUR_MODEL: &str = "r-soft-graph-ain";
/// What it is compared with, each with its published settings at the same depth.
pub const BASELINES: [&str; 6] = ["gcn", "gcnii", "appnp", "dagnn", "gprgnn", "bernnet"];

/// Ours first, then the student of the released code, then the baselines.
pub(super) fn contestants() -> Vec<Contestant> {
    let baselines = BASELINES.into_iter().map(|model| Contestant::of(model, model));
    [Contestant::of(OURS, OUR_MODEL), reference()].into_iter().chain(baselines).collect()
}

/// The student of the released code. No teacher is published for it, so ours teach it, and its epoch is chosen as ours is.
fn reference() -> Contestant {
    let mut contestant = Contestant { taught_as_ours: true, ..Contestant::of(REFERENCE, OUR_MODEL) };
    let settings = [("preset", "reference"), ("train.selection", "strict")];
    contestant.settings.extend(settings.map(|(key, value)| (key.to_string(), value.into())));
    contestant
}
