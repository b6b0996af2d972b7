//! `abyssal datasets info`.

use std::error::Error;
use std::io::Write;

use abyssal_graph::{DatasetConfig, SplitSize, Statistics};

use super::provide;
use crate::arguments::InfoArguments;

/// Describes a dataset.
pub fn run(arguments: &InfoArguments, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let library = arguments.data.place.library();
    let mut settings = arguments.data.settings();
    settings.extend(arguments.name.as_ref().map(|name| ("data.name".to_string(), name.as_str().into())));
    let config = abyssal_train::Config::resolve(None, &settings)?.data;
    provide(&config, &library, arguments.data.place.offline, false)?;
    let statistics = config.statistics(&library)?;
    match arguments.json {
        true => {
            serde_json::to_writer_pretty(&mut *output, &statistics)?;
            writeln!(output)?;
        }
        false => write_text(&config, &statistics, output)?,
    }
    Ok(())
}

fn write_text(
    config: &DatasetConfig,
    statistics: &Statistics,
    output: &mut impl Write,
) -> std::io::Result<()> {
    let mut line = |key: &str, value: String| writeln!(output, "{key:18} {value}");
    line("name", statistics.name.clone())?;
    if let Some(benchmark) = abyssal_graph::catalogue::Benchmark::named(config.name()) {
        line("title", format!("{} ({})", benchmark.title, benchmark.citation))?;
        line("licence", benchmark.licence.to_string())?;
    }
    line("nodes", statistics.nodes.to_string())?;
    let extra = format!("{} listed, self-loops: {}", statistics.listed_edges, statistics.self_loops);
    line("edges", format!("{} ({extra})", statistics.edges))?;
    let density = statistics.feature_nonzeros as f64 / (statistics.nodes * statistics.features) as f64;
    line("features", format!("{} ({:.1} % not zero)", statistics.features, 100.0 * density))?;
    line("classes", format!("{} ({})", statistics.classes, classes(statistics)))?;
    if statistics.unlabelled > 0 {
        line("unlabelled nodes", statistics.unlabelled.to_string())?;
    }
    let homophily = statistics.homophily.map_or("–".to_string(), |share| format!("{share:.4}"));
    line("edge homophily", homophily)?;
    let largest = &statistics.largest_component;
    let component = format!("the largest has {} nodes and {} edges", largest.nodes, largest.edges);
    line("components", format!("{} ({component})", statistics.components))?;
    let degree = &statistics.degree;
    line(
        "degree",
        format!(
            "{} to {}, mean {:.2}, median {}; {} isolated nodes",
            degree.minimum, degree.maximum, degree.mean, degree.median, degree.isolated
        ),
    )?;
    let same_size = |first: &SplitSize, second: &SplitSize| {
        (first.train, first.validation, first.test) == (second.train, second.validation, second.test)
    };
    for (number, splits) in statistics.splits.chunk_by(same_size).enumerate() {
        let names = match splits {
            [first, .., last] => format!("{} to {}", first.name, last.name),
            _ => splits[0].name.clone(),
        };
        let SplitSize { train, validation, test, .. } = &splits[0];
        let sizes = format!("{train} train, {validation} validation, {test} test");
        line(if number == 0 { "splits" } else { "" }, format!("{names}: {sizes}"))?;
    }
    if config.preparation().is_some() {
        let (key, and) = if statistics.splits.is_empty() { ("splits", "") } else { ("", "and ") };
        line(key, format!("{and}per-class:20,30, fractions:0.6,0.2 and file:PATH"))?;
    }
    line("fingerprint", statistics.fingerprint.clone())
}

/// Sizes of classes, with names if they have some.
fn classes(statistics: &Statistics) -> String {
    let sizes = statistics.class_sizes.iter().enumerate();
    let named = |(class, size): (usize, &usize)| match statistics.class_names.get(class) {
        Some(name) => format!("{name}: {size}"),
        None => size.to_string(),
    };
    sizes.map(named).collect::<Vec<_>>().join(", ")
}
