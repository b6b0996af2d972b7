//! Our method on other aggregations: Ours(GAT) and Ours(GIN) of the paper's tables 1 and 2.

use super::accuracies::OUR_MODEL;
use super::cell::Contestant;

/// The datasets it runs on.
pub(super) const DATASETS: [&str; 7] =
    ["cora", "citeseer", "pubmed", "texas", "wisconsin", "cornell", "actor"];

/// Backbones beside GCN. Everything else is as for GCN, as in the paper.
pub(super) fn contestants() -> Vec<Contestant> {
    let contestant = |backbone: &str| {
        let mut contestant = Contestant::of(&format!("ours-{backbone}"), OUR_MODEL);
        contestant.settings.push(("model.backbone".to_string(), backbone.into()));
        contestant
    };
    ["gat", "gin"].map(contestant).to_vec()
}
