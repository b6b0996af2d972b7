//! Every model and every choice of it.

use abyssal_nn::aggregation::{Backbone, Neighbourhood};
use abyssal_nn::models::*;
use abyssal_nn::{ConnectionKind, NormalizationKind, Rank};
use abyssal_tensor::ops::PairNormalization;

pub const NORMALIZATIONS: [NormalizationKind; 10] = [
    NormalizationKind::None,
    NormalizationKind::Batch,
    NormalizationKind::Layer,
    NormalizationKind::Pair,
    NormalizationKind::PairSi,
    NormalizationKind::PairScs,
    NormalizationKind::Mean,
    NormalizationKind::Node,
    NormalizationKind::Group,
    NormalizationKind::SoftGraphAin,
];

pub const CONNECTIONS: [ConnectionKind; 7] = [
    ConnectionKind::None,
    ConnectionKind::Residual,
    ConnectionKind::Initial,
    ConnectionKind::Dense,
    ConnectionKind::Jumping,
    ConnectionKind::JumpingMaximum,
    ConnectionKind::Fuzzy,
];

/// H2GCN goes no deeper.
const DEEPEST_H2GCN: usize = 6;

const BACKBONES: [Backbone; 4] = [Backbone::Gcn, Backbone::Gat, Backbone::Gin, Backbone::Sgc];

/// Every model and every choice of it, this deep and this wide (an even number), dropping what it can drop.
pub fn models(layers: usize, hidden: usize) -> Vec<(String, ModelConfig)> {
    let mut models = baselines(layers, hidden);
    models.extend(modular(layers, hidden));
    models.extend(normalized(layers, hidden));
    models.into_iter().map(|(name, config)| (format!("{} ({name})", config.name()), config)).collect()
}

fn baselines(layers: usize, hidden: usize) -> Vec<(String, ModelConfig)> {
    let (input_dropout, hidden_dropout, score_dropout) = (0.2, 0.3, 0.2);
    let gat = GatConfig { layers, hidden, heads: 2, input_dropout, hidden_dropout, ..Default::default() };
    let gat = GatConfig { attention_dropout: 0.2, ..gat };
    let gin = GinConfig { layers, hidden, input_dropout, hidden_dropout, ..Default::default() };
    let mean = GinConfig { neighbourhood: Neighbourhood::Mean, learn_epsilon: false, ..gin.clone() };
    let gprgnn = GprgnnConfig { layers, hidden, input_dropout, hidden_dropout, ..Default::default() };
    let gprgnn = GprgnnConfig { score_dropout, ..gprgnn };
    let random = GprgnnConfig { start: CoefficientStart::Random, ..gprgnn.clone() };
    let gcnii = GcniiConfig { layers, hidden, input_dropout, hidden_dropout, ..Default::default() };
    let concat = JknetConfig { layers, hidden, mode: Jump::Concat, input_dropout, hidden_dropout };
    let appnp = AppnpConfig { layers, hidden, input_dropout, hidden_dropout, ..Default::default() };
    let chebnet = ChebnetConfig { layers, hidden, order: 3, input_dropout, hidden_dropout };
    let bernnet = BernnetConfig { layers, hidden, input_dropout, hidden_dropout, score_dropout };
    let h2gcn_layers = layers.min(DEEPEST_H2GCN);
    let h2gcn = H2gcnConfig { layers: h2gcn_layers, hidden, input_dropout, output_dropout: 0.3 };
    let fagcn = FagcnConfig { layers, hidden, input_dropout, hidden_dropout, ..Default::default() };
    let fagcn = FagcnConfig { attention_dropout: 0.2, initial: 0.4, ..fagcn };
    let grand = GrandConfig { layers, hidden, drop_node: 0.3, input_dropout, hidden_dropout };
    let pair = |mode| {
        let pair = PairNormConfig { layers, hidden, mode, scale: 2.0, input_dropout, hidden_dropout };
        ModelConfig::PairNorm(pair)
    };
    let named = |name: &str, config| (name.to_string(), config);
    vec![
        named("", ModelConfig::Gcn(GcnConfig { layers, hidden, input_dropout, hidden_dropout })),
        named("", ModelConfig::Mlp(MlpConfig { layers, hidden, input_dropout, hidden_dropout })),
        named("", ModelConfig::Sgc(SgcConfig { layers, hidden })),
        named("2 and 1 heads", ModelConfig::Gat(gat.clone())),
        named("1 and 2 heads", ModelConfig::Gat(GatConfig { heads: 1, output_heads: 2, ..gat })),
        named("sum", ModelConfig::Gin(gin.clone())),
        named("mean", ModelConfig::Gin(mean)),
        named("max", ModelConfig::Gin(GinConfig { neighbourhood: Neighbourhood::Max, ..gin })),
        named("", ModelConfig::Appnp(appnp)),
        named("page rank", ModelConfig::Gprgnn(gprgnn)),
        named("random start", ModelConfig::Gprgnn(random)),
        named("", ModelConfig::Dagnn(DagnnConfig { layers, hidden, input_dropout, hidden_dropout })),
        named("plain", ModelConfig::Gcnii(gcnii.clone())),
        named("star", ModelConfig::Gcnii(GcniiConfig { star: true, ..gcnii })),
        named("concat", ModelConfig::Jknet(concat.clone())),
        named("max", ModelConfig::Jknet(JknetConfig { mode: Jump::Max, ..concat })),
        named("order 1", ModelConfig::Chebnet(ChebnetConfig { order: 1, ..chebnet.clone() })),
        named("order 3", ModelConfig::Chebnet(chebnet)),
        named("", ModelConfig::Bernnet(bernnet)),
        named("", ModelConfig::H2gcn(h2gcn)),
        named("", ModelConfig::Fagcn(fagcn)),
        named("", ModelConfig::Fsgnn(FsgnnConfig { layers, hidden, hidden_dropout })),
        named("", ModelConfig::Grand(grand)),
        named("PN", pair(PairNormalization::Pn)),
        named("PN-SI", pair(PairNormalization::PnSi)),
        named("PN-SCS", pair(PairNormalization::PnScs)),
    ]
}

/// Every part on the GCN backbone, then the parts that change what a layer reads on the other ones.
fn modular(layers: usize, hidden: usize) -> Vec<(String, ModelConfig)> {
    let base = ModularConfig { layers, hidden, heads: 2, rank: Rank::Ratio(1.0), ..Default::default() };
    let base = ModularConfig { input_dropout: 0.2, hidden_dropout: 0.3, ..base };
    let mut configs = Vec::new();
    for normalization in NORMALIZATIONS {
        configs.push(ModularConfig { normalization, ..base.clone() });
    }
    for connection in CONNECTIONS {
        configs.push(ModularConfig { connection, ..base.clone() });
        let normalization = NormalizationKind::Batch;
        configs.push(ModularConfig { connection, normalization, ..base.clone() });
    }
    for backbone in BACKBONES {
        let (drop_edge, drop_node) = (0.4, 0.3);
        configs.push(ModularConfig { backbone, drop_edge, ..base.clone() });
        configs.push(ModularConfig { backbone, drop_node, ..base.clone() });
        for (normalization, connection) in [
            (NormalizationKind::SoftGraphAin, ConnectionKind::Fuzzy),
            (NormalizationKind::Pair, ConnectionKind::Initial),
            (NormalizationKind::Group, ConnectionKind::Jumping),
        ] {
            configs.push(ModularConfig { backbone, normalization, connection, ..base.clone() });
        }
    }
    let name = |config: &ModularConfig| {
        let ModularConfig { backbone, normalization, connection, drop_edge, drop_node, .. } = config;
        format!("{backbone:?}, {normalization:?}, {connection:?}, drops {drop_edge} and {drop_node}")
    };
    configs.into_iter().map(|config| (name(&config), ModelConfig::Modular(config))).collect()
}

fn normalized(layers: usize, hidden: usize) -> Vec<(String, ModelConfig)> {
    let base = RSoftGraphAinConfig { layers, hidden, heads: 2, rank: Rank::Ratio(1.0), ..Default::default() };
    let base = RSoftGraphAinConfig { input_dropout: 0.2, hidden_dropout: 0.3, output_dropout: 0.1, ..base };
    let on = BACKBONES.map(|backbone| {
        let config = RSoftGraphAinConfig { backbone, ..base.clone() };
        (format!("{backbone:?}"), ModelConfig::RSoftGraphAin(config))
    });
    let perceptron = RSoftGraphAinConfig { backbone: Backbone::Sgc, head_layers: 3, ..base };
    let perceptron = ("Sgc, 3 layers of the classifier".into(), ModelConfig::RSoftGraphAin(perceptron));
    on.into_iter().chain([perceptron]).collect()
}
