//! Our side of the benchmarks in `bench/`: trains an epoch at a time.
//!
//! `epoch_server --export WORKLOAD.safetensors --threads N --memory auto data.name=cora model.name=gcn …` writes the graph, the
//! features as they are prepared, the split, the initial weights and all settings to a file, so that the other side can
//! compute the same; with `-` in place of a file it writes nothing. `--memory` is that of `abyssal train`.
//! Then it prints `ready`, and answers every line on standard input with one epoch and a JSON line: `seconds`, `loss`,
//! `validation_accuracy` and `peak_memory`, the largest memory of this process so far, in bytes.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use abyssal_graph::{Dataset, Features, Library};
use abyssal_tensor::Csr;
use abyssal_tensor::parallel::with_threads;
use abyssal_train::memory::{MemoryPlan, MemorySettings, peak_memory_bytes};
use abyssal_train::{Config, Trainer};
use safetensors::tensor::{Dtype, TensorView, serialize_to_file};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [export, path, of_threads, threads, of_memory, memory, settings @ ..] = arguments.as_slice() else {
        return Err("usage: epoch_server --export FILE --threads N --memory MODE KEY=VALUE…".into());
    };
    let flags = [export, of_threads, of_memory];
    if flags != ["--export", "--threads", "--memory"] {
        return Err(format!("expected --export, --threads and --memory, not {flags:?}").into());
    }
    let memory = MemorySettings { mode: memory.parse()?, ..MemorySettings::default() };
    with_threads(threads.parse()?, || {
        let config = Config::resolve(None, &settings.iter().map(setting).collect::<Outcome<Vec<_>>>()?)?;
        let dataset = config.data.load(&Library::from_environment(None))?;
        let plan = MemoryPlan::new(&config, &dataset, &memory)?;
        let trainer = Trainer::new(&config, &dataset)?.keeping(plan.kept_layers());
        if path != "-" {
            write_workload(Path::new(path), &config, &dataset, &trainer)?;
        }
        drop(dataset);
        serve(trainer)
    })?
}

/// A setting such as `model.name=gcn`; its value is TOML, or else text.
fn setting(text: &String) -> Outcome<(String, toml::Value)> {
    let (key, value) = text.split_once('=').ok_or(format!("{text} is not KEY=VALUE"))?;
    let table: Result<toml::Table, _> = format!("value = {value}").parse();
    let parsed = table.ok().and_then(|mut table| table.remove("value"));
    Ok((key.to_string(), parsed.unwrap_or_else(|| value.into())))
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
            "peak_memory": peak_memory_bytes(),
        });
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

/// Writes what is trained, and on what.
fn write_workload(path: &Path, config: &Config, dataset: &Dataset, trainer: &Trainer) -> Outcome<()> {
    let mut tensors = Tensors::default();
    let pairs: Vec<i64> =
        dataset.graph().pairs().flat_map(|(first, second)| [first.into(), second.into()]).collect();
    tensors.integers("edges", vec![pairs.len() / 2, 2], &pairs);
    // A label that nobody knows is in no split, so any class will do.
    let labels: Vec<i64> = dataset.labels().iter().map(|label| label.unwrap_or(0).into()).collect();
    tensors.integers("labels", vec![labels.len()], &labels);
    let features = match dataset.features() {
        Features::Sparse(matrix) => matrix,
        Features::Dense(matrix) => &Csr::from_dense(matrix),
    };
    let offsets: Vec<i64> = features.offsets().iter().map(|&offset| offset as i64).collect();
    let columns: Vec<i64> = features.indices().iter().map(|&column| column.into()).collect();
    tensors.integers("features.offsets", vec![offsets.len()], &offsets);
    tensors.integers("features.columns", vec![columns.len()], &columns);
    tensors.floats("features.values", vec![columns.len()], features.values());
    let split = dataset.split();
    for (name, nodes) in [("train", split.train()), ("validation", split.validation())] {
        let nodes: Vec<i64> = nodes.iter().map(|&node| node.into()).collect();
        tensors.integers(name, vec![nodes.len()], &nodes);
    }
    for (name, value) in trainer.state().parameters.iter() {
        tensors.floats(&format!("parameters.{name}"), vec![value.rows(), value.columns()], value.as_slice());
    }
    let settings = serde_json::json!({
        "nodes": dataset.nodes(),
        "features": features.columns(),
        "classes": dataset.classes(),
        "dense": matches!(dataset.features(), Features::Dense(_)),
        "config": config,
    });
    tensors.write(path, settings.to_string())
}

/// Named arrays on their way into a file.
#[derive(Default)]
struct Tensors(Vec<(String, Dtype, Vec<usize>, Vec<u8>)>);

impl Tensors {
    fn integers(&mut self, name: &str, shape: Vec<usize>, values: &[i64]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.0.push((name.to_string(), Dtype::I64, shape, bytes));
    }

    fn floats(&mut self, name: &str, shape: Vec<usize>, values: &[f32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.0.push((name.to_string(), Dtype::F32, shape, bytes));
    }

    fn write(&self, path: &Path, settings: String) -> Outcome<()> {
        let views = self.0.iter().map(|(name, kind, shape, bytes)| {
            Ok((name.as_str(), TensorView::new(*kind, shape.clone(), bytes)?))
        });
        let metadata = HashMap::from([("workload".to_string(), settings)]);
        Ok(serialize_to_file(views.collect::<Outcome<Vec<_>>>()?, Some(metadata), path)?)
    }
}
