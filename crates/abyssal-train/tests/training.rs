//! The training loop as a whole, on a small generated graph.

use abyssal_graph::Library;
use abyssal_train::{Config, EpochMetrics, Selection, Trainer};
use toml::Value;

fn config(settings: &[(&str, Value)]) -> Config {
    let small = [
        ("data.nodes", Value::from(300)),
        ("data.validation", Value::from(80)),
        ("model.layers", Value::from(4)),
        ("model.hidden", Value::from(16)),
        ("train.epochs", Value::from(30)),
    ];
    let all = small.iter().chain(settings).map(|(key, value)| (key.to_string(), value.clone()));
    Config::resolve(None, &all.collect::<Vec<_>>()).expect("valid settings")
}

/// Trains to the end; gives the trainer and the metrics of every epoch.
fn train(config: &Config) -> (Trainer, Vec<EpochMetrics>) {
    let dataset = config.data.load(&Library::from_environment(None)).expect("a generated dataset");
    let mut trainer = Trainer::new(config, &dataset).expect("a checked configuration");
    let mut history = Vec::new();
    while !trainer.is_finished() {
        history.push(trainer.run_epoch().expect("training converges"));
    }
    (trainer, history)
}

#[test]
fn a_model_learns_and_the_loss_falls() {
    let (trainer, history) = train(&config(&[]));
    assert_eq!(history.len(), 30);
    assert!(history[29].loss < 0.5 * history[0].loss);
    assert!(trainer.state().best.strict.unwrap().test_accuracy > 0.6, "five classes, so guessing gives 0.2");
}

/// The evaluation that comes for free with the next training pass has the bits of an evaluation of its own, which the
/// last epoch gets.
#[test]
fn evaluations_agree_whichever_pass_they_come_from() {
    for (place, rate) in
        [("model.hidden_dropout", 0.0), ("model.hidden_dropout", 0.3), ("model.output_dropout", 0.3)]
    {
        let whole = train(&config(&[(place, rate.into())])).1;
        for epochs in [1, 7] {
            let cut = train(&config(&[(place, rate.into()), ("train.epochs", Value::from(epochs))])).1;
            assert_eq!(cut[..], whole[..epochs as usize], "{place} = {rate}, {epochs} epochs");
        }
    }
}

/// GRAND as its authors train it is better than without a consistency of its passes, and every epoch has passes of its own.
#[test]
fn consistent_passes_help_where_labels_are_few() {
    let grand = |consistency: f64| {
        let settings = [
            ("model.name", Value::from("grand")),
            ("data.nodes", Value::from(1000)),
            ("data.train_per_class", Value::from(3)),
            ("model.layers", Value::from(3)),
            ("train.passes", Value::from(4)),
            ("train.epochs", Value::from(200)),
            ("train.consistency", Value::from(consistency)),
        ];
        let (trainer, history) = train(&config(&settings));
        assert!(history.windows(2).all(|pair| pair[0].loss != pair[1].loss));
        trainer.state().best.strict.unwrap().test_accuracy
    };
    let (with, without) = (grand(1.0), grand(0.0));
    assert!(with > without, "{with} with it, {without} without");
}

#[test]
fn patience_stops_a_run_that_no_longer_improves() {
    let config = config(&[("train.patience", 5.into()), ("train.epochs", 5000.into())]);
    let (trainer, history) = train(&config);
    assert!(history.len() < 5000);
    assert_eq!(history.len(), trainer.state().best.last_progress() + 5);
}

/// The kept weights are those of the selected epoch: training to just there ends with the same ones.
#[test]
fn the_kept_weights_are_those_of_the_selected_epoch() {
    for selection in ["strict", "paper"] {
        let settings = [("train.selection", Value::from(selection))];
        let (trainer, history) = train(&config(&settings));
        let rule = if selection == "strict" { Selection::Strict } else { Selection::Paper };
        let best = *trainer.state().best.under(rule).unwrap();
        let highest = history.iter().map(|metrics| metrics.validation_accuracy).fold(0.0, f64::max);
        assert_eq!(best.validation_accuracy, highest);
        let settings = [("train.selection", selection.into()), ("train.epochs", (best.epoch as i64).into())];
        let (stopped, _) = train(&config(&settings));
        assert_eq!(stopped.state().parameters, trainer.state().best_parameters);
    }
}

#[test]
fn parts_of_a_model_decay_on_their_own() {
    let train = |key: &str, value: f64| train(&config(&[(key, value.into())])).1;
    let plain = train("train.weight_decay", 5e-4);
    assert_eq!(plain, train("train.hidden_weight_decay", 5e-4), "the same number, said twice");
    assert_ne!(plain, train("train.hidden_weight_decay", 0.1));
    assert_ne!(plain, train("train.output_weight_decay", 0.1));
}

#[test]
fn halving_and_decoupled_weight_decay_take_effect() {
    let (_, halved) = train(&config(&[("train.halve_at", Value::Array(vec![10.into(), 20.into()]))]));
    let rates: Vec<f64> = [0, 9, 10, 19, 20].iter().map(|&epoch| halved[epoch].learning_rate).collect();
    assert_eq!(rates, [0.01, 0.01, 0.005, 0.005, 0.0025]);
    let (_, decoupled) = train(&config(&[("train.weight_decay_kind", "decoupled".into())]));
    assert_ne!(decoupled[29], halved[29]);
}

#[test]
fn seeds_give_other_runs_and_the_same_seed_the_same() {
    let run = |seed: i64| train(&config(&[("seed", seed.into()), ("model.hidden_dropout", 0.2.into())])).1;
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
