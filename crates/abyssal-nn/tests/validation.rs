//! Settings are checked before work starts: each one out of range is refused with its name, its value and its range.

mod common;

use std::collections::BTreeSet;

use abyssal_nn::aggregation::Backbone;
use abyssal_nn::models::{
    AppnpConfig, BernnetConfig, ChebnetConfig, DagnnConfig, FagcnConfig, FsgnnConfig, GatConfig, GcnConfig,
    GcniiConfig, GinConfig, GprgnnConfig, H2gcnConfig, Head, JknetConfig, MlpConfig, ModelConfig,
    ModelSettings, ModularConfig, PairNormConfig, RSoftGraphAinConfig, SgcConfig,
};
use abyssal_nn::{ConnectionKind, NnError, Rank, RankRounding};
use abyssal_tensor::ops::Gradient;
use serde::Serialize;
use serde::de::DeserializeOwned;

use common::{Problem, connected_graph, random_features};

const AT_LEAST_ONE: &str = "at least 1";
const UNIT: &str = "between 0 and 1";
const RATE: &str = "at least 0 and below 1";
const RATIO: &str = "a ratio above 0 and at most 1";
const SCALE: &str = "above 0 and at most 1e6";
const COUNT: &str = "a count from 1 to model.hidden";

/// Setting, value as written in a configuration, value as shown, range as shown.
type Refused = (&'static str, &'static str, &'static str, &'static str);

const UNIT_REFUSED: &[(&str, &str)] =
    &[("-0.1", "-0.1"), ("1.5", "1.5"), ("nan", "NaN"), ("inf", "inf"), ("-inf", "-inf")];
const RATE_REFUSED: &[(&str, &str)] =
    &[("-0.1", "-0.1"), ("1.0", "1"), ("1.5", "1.5"), ("nan", "NaN"), ("inf", "inf"), ("-inf", "-inf")];

const SCALE_REFUSED: &[(&str, &str)] =
    &[("0.0", "0"), ("-1.0", "-1"), ("1e7", "10000000"), ("nan", "NaN"), ("inf", "inf")];

/// The same refused values for several settings.
fn each(
    keys: &[&'static str],
    values: &'static [(&'static str, &'static str)],
    allowed: &'static str,
) -> Vec<Refused> {
    let of_key =
        |&key: &&'static str| values.iter().map(move |&(written, shown)| (key, written, shown, allowed));
    keys.iter().flat_map(of_key).collect()
}

fn parse<C: DeserializeOwned>(text: &str) -> C {
    toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Every row is refused as it says, and every number among the settings has a row.
fn assert_refused<C: ModelSettings + Serialize + DeserializeOwned>(name: &str, rows: &[Refused]) {
    for &(key, written, shown, allowed) in rows {
        let text = format!("{key} = {written}");
        let error = parse::<C>(&text).validate().expect_err("a value out of range");
        let expected = NnError::OutOfRange { key, value: shown.to_string(), allowed };
        assert_eq!(error, expected, "{text}");
        let message = format!("model.{key} = {shown} is out of range: it must be {allowed}");
        assert_eq!(error.to_string(), message);
        // The registry passes the same on.
        let any: ModelConfig = parse(&format!("name = \"{name}\"\n{text}"));
        assert_eq!(any.validate(), Err(expected), "{text}");
    }
    let settings = toml::Table::try_from(C::default()).expect("settings fit into TOML");
    let numbers = settings.iter().filter(|(_, value)| value.is_float() || value.is_integer());
    let numbers: BTreeSet<&str> = numbers.map(|(key, _)| key.as_str()).collect();
    assert_eq!(rows.iter().map(|row| row.0).collect::<BTreeSet<_>>(), numbers, "settings with a range");
}

/// Rows of the settings that R-SoftGraphAIN and its parts have in common.
fn rows_of_soft_layers() -> Vec<Refused> {
    let mut rows = each(&["layers", "hidden", "heads"], &[("0", "0")], AT_LEAST_ONE);
    rows.extend(each(&["rank"], &[("0", "0"), ("65", "65")], COUNT));
    const RATIO_REFUSED: &[(&str, &str)] =
        &[("0.0", "0"), ("1.01", "1.01"), ("-0.5", "-0.5"), ("-3", "-3"), ("nan", "NaN"), ("inf", "inf")];
    rows.extend(each(&["rank"], RATIO_REFUSED, RATIO));
    const WEIGHT_REFUSED: &[(&str, &str)] =
        &[("-0.1", "-0.1"), ("1e10", "10000000000"), ("nan", "NaN"), ("inf", "inf")];
    rows.push(("aggregated", "0.0", "0", "above 0 and at most 1e9"));
    rows.extend(each(&["aggregated"], WEIGHT_REFUSED, "above 0 and at most 1e9"));
    rows.extend(each(&["residual", "initial"], WEIGHT_REFUSED, "between 0 and 1e9"));
    rows.extend(each(&["strength", "exponent", "residual_memory", "initial_decay"], UNIT_REFUSED, UNIT));
    rows.extend(each(&["input_dropout", "hidden_dropout"], RATE_REFUSED, RATE));
    rows
}

/// `a, b, p, q ∈ [0, 1]`, `α > 0`, `β, γ ≥ 0`, `1 ≤ d₀ ≤ d` or a ratio in (0, 1], dropout in [0, 1), `L, d ≥ 1`,
/// `1 ≤ k ≤ 5`.
#[test]
fn settings_of_r_soft_graph_ain_out_of_range_are_refused() {
    let mut rows = rows_of_soft_layers();
    let head_layers = "between 1 and 5, and 1 with model.head = convolution";
    rows.extend(each(&["head_layers"], &[("0", "0"), ("6", "6")], head_layers));
    rows.extend(each(&["output_dropout"], RATE_REFUSED, RATE));
    assert_refused::<RSoftGraphAinConfig>("r-soft-graph-ain", &rows);
    let config = RSoftGraphAinConfig { head: Head::Convolution, head_layers: 2, ..Default::default() };
    assert!(config.validate().unwrap_err().to_string().contains(head_layers));
}

/// As above, `0 < s ≤ 1e6`, and connections that a backbone without weights cannot have.
#[test]
fn settings_of_modular_out_of_range_are_refused() {
    let mut rows = rows_of_soft_layers();
    rows.extend(each(&["scale"], SCALE_REFUSED, SCALE));
    rows.extend(each(&["drop_edge", "drop_node"], RATE_REFUSED, RATE));
    assert_refused::<ModularConfig>("modular", &rows);
    let (backbone, connection) = (Backbone::Sgc, ConnectionKind::Dense);
    let config = ModularConfig { backbone, connection, ..Default::default() };
    assert!(
        config.validate().unwrap_err().to_string().starts_with("model.connection = dense is out of range")
    );
}

/// `L, d ≥ 1`, dropout in [0, 1).
#[test]
fn settings_of_gcn_out_of_range_are_refused() {
    let mut rows = vec![("layers", "0", "0", AT_LEAST_ONE), ("hidden", "0", "0", AT_LEAST_ONE)];
    rows.extend(each(&["input_dropout", "hidden_dropout"], RATE_REFUSED, RATE));
    assert_refused::<GcnConfig>("gcn", &rows);
}

/// `L, d, K ≥ 1`, K divides d, the slope in [0, 1], dropout in [0, 1).
#[test]
fn settings_of_gat_out_of_range_are_refused() {
    let mut rows = vec![("hidden", "63", "63", "a multiple of model.heads")];
    rows.extend(each(&["layers", "hidden", "heads", "output_heads"], &[("0", "0")], AT_LEAST_ONE));
    rows.extend(each(&["slope"], UNIT_REFUSED, UNIT));
    rows.extend(each(&["input_dropout", "hidden_dropout", "attention_dropout"], RATE_REFUSED, RATE));
    assert_refused::<GatConfig>("gat", &rows);
}

/// `L, d ≥ 1`, dropout in [0, 1).
#[test]
fn settings_of_gin_out_of_range_are_refused() {
    let mut rows = each(&["layers", "hidden"], &[("0", "0")], AT_LEAST_ONE);
    rows.extend(each(&["input_dropout", "hidden_dropout"], RATE_REFUSED, RATE));
    assert_refused::<GinConfig>("gin", &rows);
}

/// `K, L, d ≥ 1`, `α ∈ [0, 1]`, `λ ≥ 0`, dropout in [0, 1).
#[test]
fn settings_of_models_that_propagate_out_of_range_are_refused() {
    let with = |units: &[&'static str], rates: &[&'static str]| {
        let mut rows = vec![("layers", "0", "0", AT_LEAST_ONE), ("hidden", "0", "0", AT_LEAST_ONE)];
        rows.extend(each(units, UNIT_REFUSED, UNIT));
        rows.extend(each(rates, RATE_REFUSED, RATE));
        rows
    };
    let rates = ["input_dropout", "hidden_dropout"];
    assert_refused::<MlpConfig>("mlp", &with(&[], &rates));
    assert_refused::<SgcConfig>("sgc", &with(&[], &[]));
    assert_refused::<AppnpConfig>("appnp", &with(&["restart"], &rates));
    let gprgnn = with(&["restart"], &["input_dropout", "hidden_dropout", "score_dropout"]);
    assert_refused::<GprgnnConfig>("gprgnn", &gprgnn);
    assert_refused::<DagnnConfig>("dagnn", &with(&[], &rates));
    let mut gcnii = with(&["initial"], &rates);
    gcnii.extend(each(
        &["mapping"],
        &[("-0.1", "-0.1"), ("nan", "NaN"), ("inf", "inf")],
        "between 0 and 1e9",
    ));
    assert_refused::<GcniiConfig>("gcnii", &gcnii);
    assert_refused::<JknetConfig>("jknet", &with(&[], &rates));
    let mut chebnet = with(&[], &rates);
    chebnet.push(("order", "0", "0", AT_LEAST_ONE));
    assert_refused::<ChebnetConfig>("chebnet", &chebnet);
    let bernnet = with(&[], &["input_dropout", "hidden_dropout", "score_dropout"]);
    assert_refused::<BernnetConfig>("bernnet", &bernnet);
}

/// `L, d ≥ 1`, `0 < s ≤ 1e6`, dropout in [0, 1).
#[test]
fn settings_of_pairnorm_out_of_range_are_refused() {
    let mut rows = vec![("layers", "0", "0", AT_LEAST_ONE), ("hidden", "0", "0", AT_LEAST_ONE)];
    rows.extend(each(&["scale"], SCALE_REFUSED, SCALE));
    rows.extend(each(&["input_dropout", "hidden_dropout"], RATE_REFUSED, RATE));
    assert_refused::<PairNormConfig>("pairnorm", &rows);
}

/// `K, L, d ≥ 1`, at most six rounds of H2GCN, whose width doubles with each, `ε ∈ [0, 1]`, dropout in [0, 1).
#[test]
fn settings_of_models_for_heterophily_out_of_range_are_refused() {
    let mut h2gcn = each(&["layers", "hidden"], &[("0", "0")], AT_LEAST_ONE);
    let doubles = "between 1 and 6: the width doubles with every layer";
    h2gcn.extend(each(&["layers"], &[("7", "7"), ("64", "64")], doubles));
    h2gcn.extend(each(&["input_dropout", "output_dropout"], RATE_REFUSED, RATE));
    assert_refused::<H2gcnConfig>("h2gcn", &h2gcn);
    assert_eq!(parse::<H2gcnConfig>("layers = 6").validate(), Ok(()));
    let mut fagcn = each(&["layers", "hidden"], &[("0", "0")], AT_LEAST_ONE);
    fagcn.extend(each(&["initial"], UNIT_REFUSED, UNIT));
    fagcn.extend(each(&["input_dropout", "hidden_dropout", "attention_dropout"], RATE_REFUSED, RATE));
    assert_refused::<FagcnConfig>("fagcn", &fagcn);
    let mut fsgnn = each(&["layers", "hidden"], &[("0", "0")], AT_LEAST_ONE);
    fsgnn.extend(each(&["hidden_dropout"], RATE_REFUSED, RATE));
    assert_refused::<FsgnnConfig>("fsgnn", &fsgnn);
}

/// The ends of ranges belong to them where the documentation says so, and defaults are valid.
#[test]
fn settings_at_the_end_of_their_range_are_accepted() {
    for name in ModelConfig::NAMES {
        assert_eq!(ModelConfig::named(name).unwrap().validate(), Ok(()), "{name}");
        assert_eq!(
            parse::<ModelConfig>(&format!("name = \"{name}\"\nlayers = 1\nhidden = 1")).validate(),
            Ok(())
        );
    }
    for text in [
        "strength = 0.0\nexponent = 0.0\nresidual_memory = 0.0\ninitial_decay = 0.0",
        "strength = 1.0\nexponent = 1.0\nresidual_memory = 1.0\ninitial_decay = 1.0",
        "residual = 0.0\ninitial = 0.0\naggregated = 1e-6",
        "rank = 1",
        "rank = 64",
        "rank = 1.0",
        "input_dropout = 0.0\nhidden_dropout = 0.999\noutput_dropout = 0.999",
    ] {
        assert_eq!(parse::<RSoftGraphAinConfig>(text).validate(), Ok(()), "{text}");
    }
}

/// Nothing in a model without layers is left to luck: both models refuse 0 layers before they are built.
#[test]
fn no_layers_are_refused() {
    for name in ModelConfig::NAMES {
        let error = parse::<ModelConfig>(&format!("name = \"{name}\"\nlayers = 0")).validate().unwrap_err();
        assert_eq!(error.to_string(), "model.layers = 0 is out of range: it must be at least 1", "{name}");
    }
}

/// `(α, β, γ)` are divided by their sum: `7·(α, β, γ)` is the same model.
#[test]
fn only_the_proportions_of_the_mixture_count() {
    let config = RSoftGraphAinConfig { layers: 6, hidden: 8, ..Default::default() };
    let scaled = RSoftGraphAinConfig {
        aggregated: 7.0 * config.aggregated,
        residual: 7.0 * config.residual,
        initial: 7.0 * config.initial,
        ..config.clone()
    };
    let other = RSoftGraphAinConfig { aggregated: 7.0 * config.aggregated, ..config.clone() };
    let problem = Problem::new(connected_graph(30, 20, 1), random_features(30, 5, 2), 3);
    let logits = |config: RSoftGraphAinConfig| {
        let setup = problem.setup::<f64>(&ModelConfig::RSoftGraphAin(config), 3);
        setup.evaluate(&setup.parameters).0
    };
    let expected = logits(config);
    assert!(logits(scaled).max_difference(&expected) < 1e-12);
    assert!(logits(other).max_difference(&expected) > 1e-3, "scaling one of them is another model");
}

/// A misspelt setting is an error, not a default; so are the name of no model, and a word that is no choice.
#[test]
fn unknown_words_are_refused() {
    for name in ModelConfig::NAMES {
        let error = toml::from_str::<ModelConfig>(&format!("name = \"{name}\"\nlayer = 3")).unwrap_err();
        assert!(error.to_string().contains("unknown field `layer`"), "{name}: {error}");
    }
    let error = toml::from_str::<ModelConfig>("name = \"gnc\"").unwrap_err().to_string();
    assert!(error.contains("gnc") && error.contains("r-soft-graph-ain"), "{error}");
    for (text, choices) in [
        ("gradient = \"none\"", ["full", "detached"]),
        ("centering = \"none\"", ["aggregated", "combined"]),
        ("activation = \"none\"", ["relu", "identity"]),
        ("head = \"none\"", ["linear", "convolution"]),
        ("rank_rounding = \"none\"", ["ceiling", "floor-plus-one"]),
    ] {
        let error = toml::from_str::<RSoftGraphAinConfig>(text).unwrap_err().to_string();
        assert!(choices.iter().all(|choice| error.contains(choice)), "{text}: {error}");
    }
}

/// A whole number is a count (`rank = 48`), a number with a point a share of the width (`rank = 0.8`, `rank = 1.0`).
#[test]
fn a_rank_is_a_count_or_a_ratio() {
    for (text, expected, count) in [
        ("48", Rank::Count(48), 48),
        ("1", Rank::Count(1), 1),
        ("0.8", Rank::Ratio(0.8), 52),
        ("1.0", Rank::Ratio(1.0), 64),
    ] {
        let config: ModelConfig = parse(&format!("name = \"r-soft-graph-ain\"\nrank = {text}"));
        let ModelConfig::RSoftGraphAin(config) = config else { panic!("{config:?}") };
        assert_eq!(config.rank, expected);
        assert_eq!(config.layer().rank, count);
    }
}

/// What is written reads back as it was, through TOML (configurations) and JSON (results).
#[test]
fn configurations_survive_being_written() {
    let unusual = RSoftGraphAinConfig {
        layers: 7,
        rank: Rank::Ratio(1.0),
        rank_rounding: RankRounding::FloorPlusOne,
        gradient: Gradient::Detached,
        ..Default::default()
    };
    let count = RSoftGraphAinConfig { rank: Rank::Count(48), ..unusual.clone() };
    let named = ModelConfig::NAMES.iter().map(|name| ModelConfig::named(name).unwrap());
    for config in named.chain([unusual, count].map(ModelConfig::RSoftGraphAin)) {
        assert_eq!(parse::<ModelConfig>(&toml::to_string(&config).unwrap()), config);
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<ModelConfig>(&json).unwrap(), config);
    }
}

/// Aliases name settings that exist, and are no settings themselves.
#[test]
fn aliases_lead_to_settings() {
    for name in ModelConfig::NAMES {
        let config = ModelConfig::named(name).unwrap();
        assert_eq!((config.name(), config.summary().is_empty()), (*name, false));
        let settings = toml::Table::try_from(&config).unwrap();
        for (alias, setting) in config.aliases() {
            assert!(settings.contains_key(*setting), "{name}: {alias} leads to {setting}");
            assert!(!settings.contains_key(*alias), "{name}: {alias} is a setting");
        }
    }
}

/// A width that heads do not divide is refused by name, where there are heads.
#[test]
fn heads_divide_the_width() {
    let gat = GatConfig { hidden: 12, ..Default::default() };
    let normalized = RSoftGraphAinConfig { hidden: 12, backbone: Backbone::Gat, ..Default::default() };
    for config in [ModelConfig::Gat(gat), ModelConfig::RSoftGraphAin(normalized.clone())] {
        let error = config.validate().unwrap_err().to_string();
        assert_eq!(error, "model.hidden = 12 is out of range: it must be a multiple of model.heads");
    }
    let plain = RSoftGraphAinConfig { backbone: Backbone::Gcn, ..normalized };
    assert_eq!(ModelConfig::RSoftGraphAin(plain).validate(), Ok(()));
}
