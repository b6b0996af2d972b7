//! Options that say which model, with which settings.

use std::path::PathBuf;

use abyssal_train::config::Method;
use abyssal_train::{Config, TrainConfig, TrainError};
use clap::Args;
use toml::Value;

use super::DataArguments;

/// Which model, how deep, with which settings and from which seed.
#[derive(Debug, Args)]
pub struct ModelArguments {
    /// Model by name, as in abyssal models list [default: r-soft-graph-ain].
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,

    /// Number of layers.
    #[arg(long, value_name = "N")]
    pub layers: Option<u32>,

    /// Take this model too, as deep and as wide as the first, taught directly, and report both. May be repeated.
    ///
    /// A plain gcn is compared with if no data, no --model and no --config is given, whatever --layers and --set say.
    #[arg(long, value_name = "MODEL")]
    pub compare: Vec<String>,

    /// Read settings from a TOML file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Change one setting, such as train.epochs=50 or model.a=0.3. May be repeated; the last one wins, over other options too.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, Value)>,

    /// The seed of initial weights and dropout [default: 0].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
}

impl ModelArguments {
    /// The settings of these options, in the order in which they win over each other.
    pub fn settings(&self) -> Vec<(String, Value)> {
        let mut settings = Vec::new();
        settings
            .extend(self.model.as_ref().map(|name| ("model.name".to_string(), Value::from(name.as_str()))));
        settings.extend(self.layers.map(|layers| ("model.layers".to_string(), Value::from(layers))));
        settings.extend(self.seed.map(|seed| ("seed".to_string(), Value::from(seed as i64))));
        settings.extend_from_slice(&self.set);
        settings
    }

    /// The given configuration, then one for each of the models to compare with: as deep and as wide, on the same data,
    /// with its own published settings where there are some, and with what was said about training in the file or on
    /// the command line.
    pub fn compared(&self, data: &DataArguments, config: Config) -> Result<Vec<Config>, TrainError> {
        let bare = !data.is_given() && self.model.is_none() && self.config.is_none();
        let names =
            if self.compare.is_empty() && bare { vec!["gcn".to_string()] } else { self.compare.clone() };
        let mut configs = vec![config.clone()];
        for name in names {
            let mut settings = data.settings();
            settings.extend(self.settings());
            // A file is about the first model, and holds all of its settings; so is a curriculum.
            let about_first =
                |key: &str| ["model.", "curriculum.", "teacher."].iter().any(|part| key.starts_with(part));
            settings.retain(|(key, _)| self.config.is_none() && !about_first(key));
            settings.push(("model.name".to_string(), name.into()));
            settings.push(("train.method".to_string(), "direct".into()));
            let other = Config::resolve(None, &settings)?;
            // A model that is named twice is taken once.
            if configs.iter().all(|planned| planned.model.name() != other.model.name()) {
                let train = if self.config.is_some() { config.train.clone() } else { other.train };
                configs.push(Config {
                    model: other.model.sized_like(&config.model),
                    train: TrainConfig { method: Method::Direct, ..train },
                    curriculum: None,
                    teacher: None,
                    ..config.clone()
                });
            }
        }
        Ok(configs)
    }
}

/// Reads `key=value`. What is not a TOML value is taken as text, so that quotes are not needed.
fn parse_setting(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("it must be KEY=VALUE, such as train.epochs=50")?;
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() {
        return Err("the key before = is missing".to_string());
    }
    let parsed = format!("value = {value}").parse::<toml::Table>().ok();
    let parsed = parsed.and_then(|mut table| table.remove("value"));
    Ok((key.to_string(), parsed.unwrap_or_else(|| Value::from(value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_need_no_quotes() {
        assert_eq!(parse_setting("a.b=3").unwrap(), ("a.b".to_string(), Value::from(3)));
        assert_eq!(parse_setting("a.b = 0.5").unwrap().1, Value::from(0.5));
        assert_eq!(parse_setting("preset=reference").unwrap().1, Value::from("reference"));
        assert_eq!(parse_setting("x=\"quoted\"").unwrap().1, Value::from("quoted"));
        assert_eq!(parse_setting("x=[1, 2]").unwrap().1, Value::Array(vec![1.into(), 2.into()]));
        assert_eq!(parse_setting("x=r-soft-graph-ain").unwrap().1, Value::from("r-soft-graph-ain"));
        assert!(parse_setting("x").is_err() && parse_setting("=3").is_err());
    }
}
