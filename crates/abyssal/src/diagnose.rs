//! `abyssal diagnose`.

use std::error::Error;
use std::io::Write;

use abyssal_nn::diagnostics::{LayerDiagnosis, Measures};
use abyssal_tensor::parallel::with_threads;
use abyssal_train::memory::{MemoryPlan, MemorySettings};
use abyssal_train::{Config, LastDataset, PlannedRun, RunDirectory, Session, TrainError, Trainer};
use serde::Serialize;

use crate::arguments::DiagnoseArguments;
use crate::datasets;

/// Layers in a table, unless all are asked for.
const SHOWN_LAYERS: usize = 40;
/// The digits of a sparkline.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The layers of one model.
#[derive(Debug, Serialize)]
struct ModelDiagnosis {
    model: String,
    dataset: String,
    seed: u64,
    /// Whether the weights are those of a run, or initial ones.
    trained: bool,
    layers: Vec<LayerDiagnosis>,
}

#[derive(Debug, Serialize)]
struct Report {
    models: Vec<ModelDiagnosis>,
}

/// A column of the table: its title and what stands in it.
type Column = (&'static str, fn(&LayerDiagnosis) -> Option<f64>);

/// The columns of the table.
const COLUMNS: [Column; 8] = [
    ("energy", |layer| measured(layer, |measures| measures.dirichlet_energy)),
    ("normalised", |layer| measured(layer, |measures| measures.normalized_dirichlet_energy)),
    ("MAD", |layer| measured(layer, |measures| measures.neighbour_distance)),
    ("cosine", |layer| measured(layer, |measures| measures.cosine_similarity)),
    ("distance", |layer| measured(layer, |measures| measures.pairwise_distance)),
    ("eff. rank", |layer| measured(layer, |measures| measures.effective_rank)),
    ("stable", |layer| measured(layer, |measures| measures.stable_rank)),
    ("gradient", |layer| layer.gradient_norm),
];

/// Runs the command.
pub fn run(arguments: &DiagnoseArguments) -> Result<(), Box<dyn Error>> {
    let models = match &arguments.run {
        Some(path) => {
            let mut models: Vec<(Config, Option<RunDirectory>)> = Vec::new();
            for PlannedRun { directory, config } in Session::open(path)?.runs {
                // Other seeds and splits of a model tell the same story.
                if models.iter().all(|(other, _)| other.model.name() != config.model.name()) {
                    models.push((config, Some(directory)));
                }
            }
            models
        }
        None => {
            let config = Config::resolve(arguments.model.config.as_deref(), &arguments.settings())?;
            let configs = arguments.model.compared(&arguments.data, config)?;
            configs.into_iter().map(|config| (config, None)).collect()
        }
    };
    let report = with_threads(arguments.threads.count(), || diagnose_all(&models, arguments))??;
    let mut output = std::io::stdout().lock();
    match arguments.json {
        true => {
            serde_json::to_writer_pretty(&mut output, &report)?;
            writeln!(output)?;
        }
        false => report.models.iter().try_for_each(|model| write_table(model, &mut output))?,
    }
    Ok(output.flush()?)
}

fn diagnose_all(
    models: &[(Config, Option<RunDirectory>)],
    arguments: &DiagnoseArguments,
) -> Result<Report, TrainError> {
    let library = arguments.data.place.library();
    let at_most = if arguments.all || arguments.json { usize::MAX } else { SHOWN_LAYERS };
    let mut last = LastDataset::default();
    let mut diagnoses = Vec::new();
    for (config, directory) in models {
        let data = last.get(&config.data, || {
            datasets::provide(&config.data, &library, arguments.data.place.offline, arguments.quiet)?;
            Ok(config.data.load(&library)?)
        })?;
        // It goes back through all layers once, as training does.
        let plan = MemoryPlan::new(config, data, &MemorySettings::default())?;
        let trainer = match directory {
            Some(directory) => directory.load_model(config, data)?,
            None => Trainer::new(config, data)?,
        };
        let trainer = trainer.keeping(plan.kept_layers());
        diagnoses.push(ModelDiagnosis {
            model: config.model.name().to_string(),
            dataset: config.data.name().to_string(),
            seed: config.seed,
            trained: directory.is_some(),
            layers: trainer.diagnose(at_most)?,
        });
    }
    Ok(Report { models: diagnoses })
}

fn write_table(diagnosis: &ModelDiagnosis, output: &mut impl Write) -> std::io::Result<()> {
    let ModelDiagnosis { model, dataset, seed, trained, layers } = diagnosis;
    let weights = if *trained { "trained weights" } else { "initial weights" };
    writeln!(output, "{model} on {dataset}, {weights}, seed {seed}")?;
    write!(output, "layer")?;
    for (title, _) in COLUMNS {
        write!(output, "  {title:>10}")?;
    }
    writeln!(output)?;
    for layer in layers {
        write!(output, "{:>5}", layer.layer)?;
        for (_, value) in COLUMNS {
            write!(output, "  {:>10}", value(layer).map_or("–".to_string(), number))?;
        }
        writeln!(output)?;
    }
    writeln!(output)?;
    for (title, value) in COLUMNS {
        let values: Vec<Option<f64>> = layers.iter().map(value).collect();
        writeln!(output, "{title:>10}  {}", sparkline(&values))?;
    }
    writeln!(output)
}

fn measured(layer: &LayerDiagnosis, value: fn(&Measures) -> f64) -> Option<f64> {
    layer.measures.as_ref().map(value)
}

/// Four digits, with a power of ten where the number is very small or very large.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if (1e-3..1e5).contains(&size) => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

/// One bar a value, from the smallest to the largest of them; a blank where there is none.
///
/// Positive values that span more than a factor of 1000 are drawn by their logarithms.
fn sparkline(values: &[Option<f64>]) -> String {
    let extremes = |values: &[Option<f64>]| {
        let known = values.iter().flatten();
        (
            known.clone().copied().fold(f64::INFINITY, f64::min),
            known.copied().fold(f64::NEG_INFINITY, f64::max),
        )
    };
    let (low, high) = extremes(values);
    let logarithmic = low > 0.0 && high > 1e3 * low;
    let drawn = |value: f64| if logarithmic { value.ln() } else { value };
    let (low, high) = (drawn(low), drawn(high));
    let bar = |value: f64| match high > low {
        true => BARS[((drawn(value) - low) / (high - low) * 7.0).round() as usize],
        false => BARS[0],
    };
    let line: String = values.iter().map(|value| value.map_or(' ', bar)).collect();
    if logarithmic { format!("{line}  (logarithmic)") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparklines_go_from_the_smallest_to_the_largest() {
        let some = |values: &[f64]| values.iter().map(|&value| Some(value)).collect::<Vec<_>>();
        assert_eq!(sparkline(&some(&[0.0, 1.0, 2.0, 7.0])), "▁▂▃█");
        assert_eq!(sparkline(&some(&[3.0, 3.0])), "▁▁");
        assert_eq!(sparkline(&some(&[1e-7, 1e-3, 1.0])), "▁▅█  (logarithmic)");
        assert_eq!(sparkline(&[Some(1.0), None, Some(2.0)]), "▁ █");
        assert_eq!(sparkline(&[None, None]), "  ");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 0.25, 1e-9, 1e7].map(number), ["0", "0.2500", "1.00e-9", "1.00e7"]);
    }
}
