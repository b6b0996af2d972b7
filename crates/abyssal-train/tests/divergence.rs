//! What a run that diverges says about it.

use abyssal_graph::Library;
use abyssal_train::{Config, TrainError, Trainer};
use toml::Value;

/// The message of a run that must diverge.
fn message(settings: &[(&str, Value)]) -> String {
    let small = [
        ("data.nodes", Value::from(300)),
        ("data.validation", Value::from(80)),
        ("model.hidden", Value::from(16)),
    ];
    let all = small.iter().chain(settings).map(|(key, value)| (key.to_string(), value.clone()));
    let config = Config::resolve(None, &all.collect::<Vec<_>>()).expect("valid settings");
    let dataset = config.data.load(&Library::from_environment(None)).expect("a generated dataset");
    let mut trainer = Trainer::new(&config, &dataset).expect("a checked configuration");
    loop {
        assert!(!trainer.is_finished(), "it did not diverge");
        if let Err(error) = trainer.run_epoch() {
            let TrainError::Diverged { epoch, .. } = &error else { panic!("{error}") };
            assert_eq!(*epoch, trainer.state().epoch + 1);
            return error.to_string();
        }
    }
}

#[test]
fn a_diverging_gcn_names_epoch_and_layer() {
    let text = message(&[
        ("model.name", "gcn".into()),
        ("model.layers", 2.into()),
        ("train.learning_rate", 1e30.into()),
    ]);
    assert!(text.contains("diverged in epoch 1: "), "{text}");
    assert!(text.contains("all weights are finite"), "{text}");
    assert!(text.ends_with("try a lower train.learning_rate"), "{text}");
    assert!(text.contains("the output of layer 2 is the first that is not finite"), "{text}");
}

#[test]
fn a_diverging_deep_gcn_names_the_first_of_its_layers() {
    let text = message(&[
        ("model.name", "gcn".into()),
        ("model.layers", 64.into()),
        ("train.learning_rate", 1e4.into()),
    ]);
    let (_, rest) = text.split_once("the output of layer ").expect("a layer is named");
    let layer: usize = rest.split_once(' ').expect("and more").0.parse().expect("a number");
    assert!((2..64).contains(&layer), "{text}");
}

/// Sums over neighbours grow with every layer; no learning rate helps.
#[test]
fn a_model_that_is_too_deep_to_start_with_says_so() {
    let text = message(&[("model.name", "gin".into()), ("model.layers", 200.into())]);
    assert!(text.contains("diverged in epoch 1: "), "{text}");
    assert!(text.ends_with("take fewer layers, or a model that normalises them"), "{text}");
}

#[test]
fn weights_that_are_not_finite_are_named() {
    let text = message(&[("model.name", "gcn".into()), ("train.learning_rate", 1e300.into())]);
    assert!(text.contains("the weights layers.0.weight are the first that are not finite"), "{text}");
}

#[test]
fn a_normalisation_that_meets_infinity_tells_its_layer() {
    let text = message(&[("model.layers", 8.into()), ("train.learning_rate", 1e30.into())]);
    assert_eq!(text.matches("layer 1: soft normalisation met infinity or NaN").count(), 1, "{text}");
}
