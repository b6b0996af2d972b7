//! Our side of `bench/compare.py` and `bench/baselines.py`: trains an epoch at a time.
//!
//! `epoch_server WORKLOAD.safetensors --threads N` takes graph, weights and settings from a file,
//! `epoch_server data.name=cora model.name=gcn … --threads N` takes any settings. It prints `ready`; then every line on
//! standard input is answered with one epoch and a JSON line `{"seconds": …, "loss": …, "validation_accuracy": …}`.

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use abyssal_graph::{Dataset, Features, Graph, Library, Split};
use abyssal_nn::Parameters;
use abyssal_tensor::parallel::with_threads;
use abyssal_tensor::{Csr, Matrix};
use abyssal_train::{Config, Trainer, TrainerState};
use safetensors::SafeTensors;
use serde_json::Value;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [given @ .., flag, threads] = arguments.as_slice() else {
        return Err("usage: epoch_server WORKLOAD.safetensors|SETTINGS… --threads N".into());
    };
    if flag != "--threads" {
        return Err(format!("unknown option {flag}").into());
    }
    with_threads(threads.parse()?, || match given {
        [path] if path.ends_with(".safetensors") => serve(load(&std::fs::read(path)?)?),
        settings => serve(load_settings(settings)?),
    })?
}

/// A trainer of settings such as `model.name=gcn`; values are TOML, or else text.
fn load_settings(settings: &[String]) -> Outcome<Trainer> {
    let parse = |setting: &String| -> Outcome<(String, toml::Value)> {
        let (key, text) = setting.split_once('=').ok_or(format!("{setting} is not KEY=VALUE"))?;
        let table: Result<toml::Table, _> = format!("value = {text}").parse();
        let value = table.ok().and_then(|mut table| table.remove("value"));
        Ok((key.to_string(), value.unwrap_or_else(|| text.into())))
    };
    let config = Config::resolve(None, &settings.iter().map(parse).collect::<Outcome<Vec<_>>>()?)?;
    let dataset = config.data.load(&Library::from_environment(None))?;
    Ok(Trainer::new(&config, &dataset)?)
}

fn serve(mut trainer: Trainer) -> Outcome<()> {
    let mut output = std::io::stdout();
    writeln!(output, "ready")?;
    output.flush()?;
    for line in std::io::stdin().lock().lines() {
        line?;
        let start = Instant::now();
        let metrics = trainer.run_epoch()?;
        let answer = serde_json::json!({
            "seconds": start.elapsed().as_secs_f64(),
            "loss": metrics.loss,
            "validation_accuracy": metrics.validation_accuracy,
        });
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn load(bytes: &[u8]) -> Outcome<Trainer> {
    let tensors = SafeTensors::deserialize(bytes)?;
    let (_, metadata) = SafeTensors::read_metadata(bytes)?;
    let text = metadata.metadata().as_ref().and_then(|entries| entries.get("config"));
    let workload: Value = serde_json::from_str(text.ok_or("the workload has no config")?)?;
    let size = |key: &str| workload[key].as_u64().map(|value| value as usize).ok_or(format!("no {key}"));
    let (nodes, features) = (size("nodes")?, size("features")?);

    let edges = integers(&tensors, "edges")?;
    let edges = edges.as_chunks::<2>().0.iter().map(|&[first, second]| (first as u32, second as u32));
    let csr = Csr::new(
        nodes,
        features,
        integers(&tensors, "features.row_offsets")?.into_iter().map(|offset| offset as usize).collect(),
        integers(&tensors, "features.columns")?.into_iter().map(|column| column as u32).collect(),
        floats(&tensors, "features.values")?,
    )?;
    let labels = integers(&tensors, "labels")?.into_iter().map(|label| Some(label as u32)).collect();
    let mask = |name: &str| -> Outcome<Vec<bool>> {
        Ok(tensors.tensor(name)?.data().iter().map(|&byte| byte != 0).collect())
    };
    let split = Split::from_masks(&mask("train")?, &mask("validation")?, &mask("test")?)?;
    let graph = Graph::from_edges(nodes, edges)?;
    let dataset = Dataset::new("workload", graph, Features::Sparse(csr), labels, size("classes")?, split)?;

    let config = Config::resolve(None, &settings(&workload))?;
    let mut trainer = Trainer::new(&config, &dataset)?;
    let given = trainer.state().parameters.iter().map(|(name, value)| {
        let values = floats(&tensors, &format!("parameters.{name}"))?;
        Ok((name.to_string(), Matrix::from_vec(value.rows(), value.columns(), values)))
    });
    let parameters = Parameters::from_named(given.collect::<Outcome<Vec<_>>>()?);
    let state = TrainerState { parameters, ..trainer.state().clone() };
    trainer.restore(state);
    Ok(trainer)
}

/// The workload's settings, by our names.
fn settings(workload: &Value) -> Vec<(String, toml::Value)> {
    let mut settings = vec![("train.halve_at".to_string(), toml::Value::Array(Vec::new()))];
    let sections = [
        ("train", &["learning_rate", "weight_decay"][..]),
        (
            "model",
            &[
                "layers",
                "hidden",
                "strength",
                "exponent",
                "rank",
                "gradient",
                "centering",
                "head",
                "aggregated",
                "residual",
                "initial",
                "residual_memory",
                "initial_decay",
                "hidden_dropout",
            ],
        ),
    ];
    for (section, keys) in sections {
        for key in keys {
            if let Ok(value) = toml::Value::try_from(&workload[key]) {
                settings.push((format!("{section}.{key}"), value));
            }
        }
    }
    settings
}

fn integers(tensors: &SafeTensors, name: &str) -> Outcome<Vec<i64>> {
    let chunks = tensors.tensor(name)?.data().as_chunks::<8>().0;
    Ok(chunks.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect())
}

fn floats(tensors: &SafeTensors, name: &str) -> Outcome<Vec<f32>> {
    let chunks = tensors.tensor(name)?.data().as_chunks::<4>().0;
    Ok(chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}
