//! Small records for tests.

use abyssal_train::SelectedEpoch;
use abyssal_train::experiments::{
    Experiment, FailureRecord, Protocol, Record, RunRecord, Summary, published,
};

/// A record of 32 layers whose runs have these test accuracies; the paper's rule gives each a point more.
pub(crate) fn record(
    experiment: Experiment,
    dataset: &str,
    protocol: Protocol,
    label: &str,
    accuracies: &[f64],
) -> Record {
    let mean = accuracies.iter().sum::<f64>() / accuracies.len() as f64;
    let squares: f64 = accuracies.iter().map(|accuracy| (accuracy - mean).powi(2)).sum();
    let deviation = if accuracies.len() > 1 { (squares / (accuracies.len() - 1) as f64).sqrt() } else { 0.0 };
    let of = |test_accuracy| SelectedEpoch {
        epoch: 7,
        train_accuracy: 1.0,
        validation_accuracy: 0.8,
        test_accuracy,
    };
    let run = |(seed, &accuracy): (usize, &f64)| RunRecord {
        seed: seed as u64,
        split: "public".to_string(),
        split_fingerprint: "0".to_string(),
        graph: "input".to_string(),
        strict: of(accuracy),
        paper_rule: of(accuracy + 0.01),
        cut_short: None,
        epochs: 10,
        seconds: 1.0,
        teacher: None,
        version: "0.1.0".to_string(),
        threads: 1,
    };
    Record {
        experiment,
        dataset: dataset.to_string(),
        protocol,
        label: label.to_string(),
        layers: 32,
        command: "abyssal reproduce".to_string(),
        published: published(label, dataset, 32),
        test: Some(Summary { mean, deviation }),
        test_by_paper_rule: Some(Summary { mean: mean + 0.01, deviation }),
        validation: Some(Summary { mean: 0.8, deviation: 0.0 }),
        protocol_runs: match (experiment, protocol) {
            (Experiment::Ablation, _) | (_, Protocol::Paper) => 5,
            (_, Protocol::Honest) => 10,
        },
        seconds: accuracies.len() as f64,
        runs: accuracies.iter().enumerate().map(run).collect(),
        failures: Vec::new(),
        data: None,
        configuration: toml::Table::new(),
    }
}

/// A record of a run that diverged.
pub(crate) fn failed(experiment: Experiment, dataset: &str, protocol: Protocol, label: &str) -> Record {
    let failure = FailureRecord { run: "public/seed-0".to_string(), reason: "training diverged".to_string() };
    Record {
        test: None,
        test_by_paper_rule: None,
        validation: None,
        runs: Vec::new(),
        failures: vec![failure],
        ..record(experiment, dataset, protocol, label, &[0.0])
    }
}
