//! `abyssal models`.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;

use abyssal_nn::models::{ModelConfig, TaskShape};
use abyssal_train::{Config, CurriculumConfig, TeacherConfig, TrainConfig};
use serde::Serialize;

use crate::arguments::{ModelInfoArguments, ModelListArguments, ModelsCommand};
use crate::datasets;

/// One model of the list.
#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    year: Option<u16>,
    summary: &'static str,
}

/// A model in detail.
#[derive(Debug, Serialize)]
struct Description {
    #[serde(flatten)]
    entry: Entry,
    /// All settings with their defaults.
    settings: ModelConfig,
    /// What they mean.
    meanings: BTreeMap<&'static str, String>,
    /// How it is trained by default.
    train: TrainConfig,
    /// How it is taught by default, if it is by a curriculum.
    #[serde(skip_serializing_if = "Option::is_none")]
    curriculum: Option<CurriculumConfig>,
    /// Who teaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    teacher: Option<TeacherConfig>,
    aliases: Vec<Alias>,
    /// How many numbers it learns on the given data.
    parameters: Option<usize>,
}

/// Another name of a setting.
#[derive(Debug, Serialize)]
struct Alias {
    alias: &'static str,
    setting: &'static str,
}

/// Runs the command.
pub fn run(command: &ModelsCommand) -> Result<(), Box<dyn Error>> {
    let mut output = std::io::stdout().lock();
    match command {
        ModelsCommand::List(arguments) => list(arguments, &mut output)?,
        ModelsCommand::Info(arguments) => info(arguments, &mut output)?,
    }
    Ok(output.flush()?)
}

fn list(arguments: &ModelListArguments, output: &mut impl Write) -> std::io::Result<()> {
    let named = |name: &&str| ModelConfig::named(name).expect("a registered name");
    let entries: Vec<Entry> = ModelConfig::NAMES.iter().map(|name| entry(&named(name))).collect();
    if arguments.json {
        serde_json::to_writer_pretty(&mut *output, &entries)?;
        return writeln!(output);
    }
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    for Entry { name, year, summary } in &entries {
        let year = year.map_or("–".to_string(), |year| year.to_string());
        writeln!(output, "{name:width$}  {year:4}  {summary}")?;
    }
    Ok(())
}

fn info(arguments: &ModelInfoArguments, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut settings = arguments.data.settings();
    settings.push(("model.name".to_string(), arguments.name.as_str().into()));
    let config = Config::resolve(None, &settings)?;
    let aliases = config.model.aliases().iter().map(|&(alias, setting)| Alias { alias, setting });
    let description = Description {
        entry: entry(&config.model),
        aliases: aliases.collect(),
        parameters: if arguments.data.is_given() { Some(parameters(arguments, &config)?) } else { None },
        meanings: config.model.descriptions().map(|(name, text)| (name, plain(text))).collect(),
        settings: config.model,
        train: config.train,
        curriculum: config.curriculum,
        teacher: config.teacher,
    };
    match arguments.json {
        true => {
            serde_json::to_writer_pretty(&mut *output, &description)?;
            writeln!(output)?;
        }
        false => write_text(&description, config.data.name(), output)?,
    }
    Ok(())
}

fn write_text(
    description: &Description,
    dataset: &str,
    output: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let Description { entry, settings, train, aliases, parameters, .. } = description;
    writeln!(output, "{}: {}", entry.name, entry.summary)?;
    if let Some(parameters) = parameters {
        writeln!(output, "{parameters} parameters on {dataset}")?;
    }
    write_section("model", settings, settings.descriptions(), output)?;
    write_section("train", train, TrainConfig::descriptions(), output)?;
    if let Some(curriculum) = &description.curriculum {
        write_section("curriculum", curriculum, CurriculumConfig::descriptions(), output)?;
    }
    if let Some(teacher) = &description.teacher {
        let alone = TeacherConfig { candidates: BTreeMap::new(), ..teacher.clone() };
        write_section("teacher", &alone, TeacherConfig::descriptions(), output)?;
    }
    let aliases: Vec<String> =
        aliases.iter().map(|Alias { alias, setting }| format!("{alias} = {setting}")).collect();
    if !aliases.is_empty() {
        writeln!(output, "\nOther names: {}", aliases.join(", "))?;
    }
    Ok(())
}

/// Settings as they stand in a configuration file, each below what it means.
fn write_section(
    name: &str,
    settings: &impl Serialize,
    descriptions: impl Iterator<Item = (&'static str, &'static str)>,
    output: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let meanings: BTreeMap<&str, &str> = descriptions.collect();
    writeln!(output, "\n[{name}]")?;
    for line in toml::to_string(settings)?.lines() {
        if let Some(meaning) = line.split(" = ").next().and_then(|key| meanings.get(key)) {
            for line in wrapped(&plain(meaning)) {
                writeln!(output, "# {line}")?;
            }
        }
        writeln!(output, "{line}")?;
    }
    Ok(())
}

/// A doc comment on one line, without the marks of code and links.
fn plain(comment: &str) -> String {
    let words = comment.split_whitespace().collect::<Vec<_>>().join(" ");
    words.replace("[`", "").replace("`]", "").replace('`', "")
}

/// Lines of at most 96 letters.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= 96 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

fn entry(model: &ModelConfig) -> Entry {
    Entry { name: model.name(), year: year(model.summary()), summary: model.summary() }
}

/// The year of the paper: the last number of four digits in the summary, as in `(Kipf and Welling, 2017)`.
fn year(summary: &str) -> Option<u16> {
    let mut numbers = summary.split(|letter: char| !letter.is_ascii_digit());
    numbers.rfind(|number| number.len() == 4)?.parse().ok()
}

/// How many numbers the model learns on the data.
fn parameters(arguments: &ModelInfoArguments, config: &Config) -> Result<usize, Box<dyn Error>> {
    let library = arguments.data.place.library();
    datasets::provide(&config.data, &library, arguments.data.place.offline, false)?;
    let dataset = config.data.load(&library)?;
    let task = TaskShape { features: dataset.features().columns(), classes: dataset.classes() };
    let specs = config.model.build::<f32>(task).specs();
    Ok(specs.iter().map(|spec| spec.shape.0 * spec.shape.1).sum())
}
