//! `abyssal datasets list`.

use std::io::Write;

use abyssal_graph::catalogue::Benchmark;
use abyssal_graph::{GeneratorConfig, Library};
use serde::Serialize;

use crate::arguments::ListArguments;

/// One dataset of the list.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    kind: &'static str,
    summary: String,
    here: bool,
}

/// Writes the list.
pub fn run(arguments: &ListArguments, output: &mut impl Write) -> std::io::Result<()> {
    let library = arguments.place.library();
    let entries = entries(&library);
    if arguments.json {
        serde_json::to_writer_pretty(&mut *output, &entries)?;
        return writeln!(output);
    }
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    for entry in &entries {
        let state = if entry.here { "here" } else { "to fetch" };
        writeln!(output, "{:width$}  {:9}  {state:8}  {}", entry.name, entry.kind, entry.summary)?;
    }
    writeln!(output, "\nfiles in {}", library.data_directory().display())
}

fn entries(library: &Library) -> Vec<Entry> {
    let generated = GeneratorConfig::all().into_iter().map(|generator| Entry {
        name: generator.name().to_string(),
        kind: "generated",
        summary: generator.summary().to_string(),
        here: true,
    });
    let benchmarks = Benchmark::all().iter().map(|benchmark| Entry {
        name: benchmark.name.to_string(),
        kind: "benchmark",
        summary: format!("{} ({})", benchmark.title, benchmark.citation),
        here: library.check_present(benchmark.name).is_ok(),
    });
    let imported = library.imported().into_iter().map(|name| Entry {
        name,
        kind: "imported",
        summary: "your own graph".to_string(),
        here: true,
    });
    generated.chain(benchmarks).chain(imported).collect()
}
