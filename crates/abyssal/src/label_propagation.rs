//! `abyssal label-propagation`.

use std::error::Error;
use std::io::Write;

use abyssal_graph::{Dataset, GraphRule};
use abyssal_nn::LabelPropagation;
use abyssal_tensor::parallel::with_threads;
use abyssal_train::{Config, SpreadAccuracy, Spreading, TrainError, spread_labels};
use serde::Serialize;

use crate::arguments::LabelPropagationArguments;
use crate::datasets;

#[derive(Debug, Serialize)]
struct Report {
    dataset: String,
    split: String,
    spreading: Spreading,
    /// The share with the best validation accuracy; the first of equal ones.
    selected: SpreadAccuracy,
    shares: Vec<SpreadAccuracy>,
}

/// Runs the command.
pub fn run(arguments: &LabelPropagationArguments) -> Result<(), Box<dyn Error>> {
    // The recipes of models propagate along neighbours by features on some datasets; here the given edges are the question.
    let data = Config::resolve(None, &arguments.settings())?.data.with_graph(GraphRule::Given);
    let library = arguments.data.place.library();
    datasets::provide(&data, &library, arguments.data.place.offline, arguments.quiet)?;
    let dataset = data.load(&library)?;
    let shares = with_threads(arguments.threads.count(), || spread(&dataset, arguments))??;
    let better = |best: SpreadAccuracy, next: &SpreadAccuracy| {
        if next.validation_accuracy > best.validation_accuracy { *next } else { best }
    };
    let report = Report {
        dataset: data.name().to_string(),
        split: dataset.split().name().to_string(),
        spreading: spreading(arguments),
        selected: shares.iter().skip(1).fold(shares[0], better),
        shares,
    };
    let mut output = std::io::stdout().lock();
    match arguments.json {
        true => {
            serde_json::to_writer_pretty(&mut output, &report)?;
            writeln!(output)?;
        }
        false => write_table(&report, &mut output)?,
    }
    Ok(output.flush()?)
}

fn spreading(arguments: &LabelPropagationArguments) -> Spreading {
    if arguments.closed_form { Spreading::ClosedForm } else { Spreading::Iterative }
}

fn spread(
    dataset: &Dataset,
    arguments: &LabelPropagationArguments,
) -> Result<Vec<SpreadAccuracy>, TrainError> {
    let with = |&share: &f64| {
        let settings = LabelPropagation { share, steps: arguments.steps, ..Default::default() };
        spread_labels(dataset, &settings, spreading(arguments))
    };
    arguments.share.iter().map(with).collect()
}

fn write_table(report: &Report, output: &mut impl Write) -> std::io::Result<()> {
    let Report { dataset, split, selected, shares, .. } = report;
    writeln!(output, "label propagation on {dataset}, split {split}")?;
    writeln!(output, "share  validation  test accuracy")?;
    for SpreadAccuracy { share, validation_accuracy, test_accuracy } in shares {
        let (validation, test) = (100.0 * validation_accuracy, 100.0 * test_accuracy);
        writeln!(output, "{share:>5}  {validation:>8.1} %  {test:>11.1} %")?;
    }
    let SpreadAccuracy { share, test_accuracy, .. } = selected;
    writeln!(output, "\nbest on validation: share {share}, test accuracy {:.1} %", 100.0 * test_accuracy)
}
