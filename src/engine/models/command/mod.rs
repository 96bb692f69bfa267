//! Any program as a trainer (`kind = "command"`): its settings in a manifest. `docs/worker-protocol.md` describes the
//! protocol.

mod parameter;
mod template;

pub(crate) use parameter::text;
pub use parameter::{Parameter, ParameterKind};
pub(crate) use template::escaped;
pub use template::{RUN_PLACEHOLDERS, Template};

use std::collections::BTreeMap;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::Mistake;

/// A program that is run once for every cell and seed. It reads its settings from its arguments or from the file that
/// `FIELDTRIAL_ORDER` names, and reports by lines of JSON in the file that `FIELDTRIAL_EVENTS` names: `docs/worker-protocol.md`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CommandSpec {
    /// The program and its arguments, without a shell, started in `folder`. `{lr}` is the parameter `lr`,
    /// `{train.batch-size}` a setting by its path; `{seed}`, `{threads}`, `{device}`, `{dataset}`, `{split}` (a CSV file that
    /// says of each row whether it is of `train`, `validation` or `test`) and `{folder}` are those of the run; a doubled brace
    /// stands for a brace.
    #[schemars(length(min = 1))]
    pub run: Vec<String>,
    /// How all parameters are passed, in addition to placeholders in `run`: `none`; `flags` (`--lr=0.001`); `json`, as
    /// one argument; `env`, as environment variables (`LR=0.001`).
    #[serde(default)]
    pub pass: ParameterPassing,
    /// Files whose content decides whether a result still holds, relative to `folder`: `["train.py", "lib/**/*.py"]`.
    pub code: Vec<String>,
    /// Folder in which `run`, `requires` and `build` are started and to which paths in `code` and `data` are relative. The path
    /// is relative to the manifest; the default is the manifest's folder.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// Files that the program reads; their content is part of the cell hash.
    #[serde(default)]
    pub data: Vec<String>,
    /// Commands that must succeed before the program can run here; where one fails, its cells are skipped.
    #[serde(default)]
    pub requires: Vec<Vec<String>>,
    /// The command that `fieldtrial ab` builds each side with, in `folder`.
    #[serde(default)]
    pub build: Vec<String>,
    /// Parameters by name: `{ float = [1e-5, 1.0], default = 1e-3 }`, `{ int = [8, 1024] }`, `{ choice = ["adam", "sgd"] }`,
    /// `{ bool = true, flag = "--amp" }`, or a value. An axis or a search changes them: `models.NAME.PARAMETER`.
    #[serde(default)]
    pub parameters: BTreeMap<String, Json>,
    /// Name of the `bool` parameter that turns on each feature, for recommendations:
    /// `{ compile = "compile", amp = "mixed" }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<Role, String>,
    /// Values that the program reports, by name. A run that ends without one of them has failed.
    #[serde(default)]
    pub metrics: BTreeMap<String, MetricSpec>,
    /// Regular expressions that find metrics in what the program prints, for programs that are not to be changed; the first
    /// group is the number.
    #[serde(default)]
    pub scrape: BTreeMap<String, String>,
    /// How the program is measured without a change of its code: `pytorch` measures steps, phases, operations, FLOPs
    /// and memory of a PyTorch program (`docs/pytorch.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<Observe>,
}

/// How a program is measured without a change of its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Observe {
    /// Hooks in PyTorch 2.1 or newer, with Python 3.9 or newer.
    PyTorch,
}

/// A feature that a parameter of a PyTorch program enables.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// `torch.compile`.
    Compile,
    /// Autocast: products and convolutions in 16 bits.
    Amp,
    /// `torch.channels_last`, the format of images in memory.
    ChannelsLast,
    /// `pin_memory` of the loader.
    PinMemory,
}

/// How all parameters of a command are passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterPassing {
    /// Not at all, except in placeholders of `run` and in the order file.
    #[default]
    None,
    /// `--NAME=VALUE`, after `run`.
    Flags,
    /// One argument, a JSON object, after `run`.
    Json,
    /// Variables of the environment, in capital letters.
    Env,
}

/// Metrics that decide the best epoch and fill `best_loss`: the first of them that an epoch reports is used.
pub const DECIDING_LOSSES: [&str; 3] = ["val_loss", "test_loss", "loss"];

/// A value that a command reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MetricSpec {
    /// Whether lower or higher values are better.
    pub better: Better,
    /// Whether the value is a time or another measurement, which varies from run to run. Otherwise it is a fact, equal
    /// on every rerun.
    #[serde(default)]
    pub time: bool,
    /// Relative difference below which two values of a fact count as equal.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub tolerance: f64,
    /// The unit, as tables show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// Whether lower or higher values of a metric are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// A smaller value is better.
    Lower,
    /// A larger value is better.
    Higher,
}

/// Reserved names of fields in events, which metrics cannot have.
const EVENT_KEYS: [&str; 4] = ["event", "epoch", "step", "steps_per_epoch"];

impl CommandSpec {
    /// The parameters with their values.
    ///
    /// # Errors
    /// All mistakes in the parameters.
    pub fn read_parameters(&self) -> Result<BTreeMap<String, Parameter>, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let mut parameters = BTreeMap::new();
        for (name, json) in &self.parameters {
            match Parameter::read(name, json) {
                Ok(parameter) => {
                    parameters.insert(name.clone(), parameter);
                }
                Err(found) => mistakes.extend(found),
            }
        }
        if mistakes.is_empty() {
            Ok(parameters)
        } else {
            Err(mistakes)
        }
    }

    /// All mistakes in the settings that can be found without the other settings of a cell.
    pub fn mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = self.read_parameters().err().unwrap_or_default();
        let path = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        if self.run.first().is_none_or(String::is_empty) {
            let message = "`run` needs a program".to_owned();
            mistakes.push(
                Mistake::new(&path(&["run"]), message)
                    .help("for example `run = [\"python3\", \"train.py\", \"--lr={lr}\"]`"),
            );
        }
        for (index, text) in self.run.iter().enumerate() {
            if let Err(message) = Template::read(text) {
                mistakes.push(Mistake::new(&path(&["run", &index.to_string()]), message));
            }
        }
        for (section, patterns) in [("code", &self.code), ("data", &self.data)] {
            for (index, pattern) in patterns.iter().enumerate() {
                if let Err(error) = glob::Pattern::new(pattern) {
                    let place = path(&[section, &index.to_string()]);
                    let message = format!("`{pattern}` is no pattern of files: {}", error.msg);
                    mistakes.push(Mistake::new(&place, message));
                }
            }
        }
        for (index, command) in self.requires.iter().enumerate() {
            if command.is_empty() {
                let place = path(&["requires", &index.to_string()]);
                mistakes.push(Mistake::new(&place, "an empty command".to_owned()));
            }
        }
        mistakes.extend(self.wrong_roles());
        for name in self.metrics.keys() {
            mistakes.extend(wrong_metric_name(name));
        }
        for (name, expression) in &self.scrape {
            let place = path(&["scrape", name]);
            let wrong = match Regex::new(expression) {
                Ok(regex) if regex.captures_len() < 2 => Some(format!(
                    "`{expression}` has no group `(…)` around the number"
                )),
                Ok(_) => None,
                Err(error) => {
                    let text = error.to_string();
                    let last = text.lines().last().unwrap_or_default();
                    Some(format!("no regular expression: {last}"))
                }
            };
            mistakes.extend(wrong.map(|message| Mistake::new(&place, message)));
            if !self.metrics.contains_key(name) && name != "train_loss" {
                let message = format!("`scrape` finds `{name}`, which is not in `metrics`");
                mistakes.push(Mistake::new(&place, message).of_key().help(format!(
                    "declare it: `metrics.{name} = {{ better = \"lower\" }}`, or `\"higher\"`"
                )));
            }
        }
        if mistakes.is_empty() {
            mistakes.extend(self.unreached());
        }
        mistakes
    }
}

impl CommandSpec {
    /// Whether the program receives the split (`{split}` in `run`), so that its results can be compared with those of
    /// other models.
    pub(crate) fn is_given_split(&self) -> bool {
        self.has_placeholder("split")
    }

    /// Whether an argument in `run` contains the placeholder `{name}`.
    pub(crate) fn has_placeholder(&self, name: &str) -> bool {
        let templates = self.run.iter().flat_map(|text| Template::read(text));
        templates
            .into_iter()
            .any(|one| one.names().any(|own| own == name))
    }

    /// A mistake for each role that does not name a boolean parameter.
    fn wrong_roles(&self) -> Vec<Mistake> {
        let parameters = self.read_parameters().unwrap_or_default();
        let known = || self.parameters.keys().map(String::as_str);
        let mistake = |(role, name): (&Role, &String)| {
            let message = match parameters.get(name) {
                Some(parameter) if parameter.value.is_boolean() => return None,
                Some(_) => format!("`{name}` is not a `bool`, which every role needs"),
                None if self.parameters.contains_key(name) => return None,
                None => format!("`{name}` is no parameter"),
            };
            let key = serde_json::to_value(role).ok()?;
            let place = ["roles".to_owned(), key.as_str()?.to_owned()];
            let meant = crate::diag::did_you_mean(name, known());
            Some(Mistake::new(&place, message).maybe_help(meant))
        };
        self.roles.iter().filter_map(mistake).collect()
    }

    /// A mistake for each parameter that does not reach the program. A program whose metrics are scraped from its
    /// output does not read the order file, so `run` or `pass` must pass each parameter.
    fn unreached(&self) -> Vec<Mistake> {
        if self.scrape.is_empty() || self.pass != ParameterPassing::None {
            return Vec::new();
        }
        let unreached = self
            .parameters
            .keys()
            .filter(|name| !self.has_placeholder(name));
        let mistake = |name: &String| {
            let path = ["parameters".to_owned(), name.clone()];
            let message =
                format!("the program is not given `{name}`: with `scrape` it reads no order file");
            let help =
                format!("name it in `run`: `\"--{name}={{{name}}}\"`, or use `pass = \"flags\"`");
            Mistake::new(&path, message).of_key().help(help)
        };
        unreached.map(mistake).collect()
    }
}

/// Whether a name consists of lower-case letters, digits and `_`, and begins with a letter.
fn is_word(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
}

/// The mistake in the name of a metric, which becomes a column: it has characters other than lower-case letters, digits
/// and `_`, does not begin with a letter, or is a name that events use otherwise. `None` if the name is valid.
fn wrong_metric_name(name: &str) -> Option<Mistake> {
    let message = if !is_word(name) {
        format!("a metric has lower-case letters, digits and `_`, not `{name}`")
    } else if EVENT_KEYS.contains(&name) {
        format!("`{name}` has a meaning of its own in events; a metric needs another name")
    } else {
        return None;
    };
    Some(Mistake::new(&["metrics".to_owned(), name.to_owned()], message).of_key())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(json: Json) -> CommandSpec {
        serde_json::from_value(json).expect("a command")
    }

    fn messages(json: Json) -> Vec<String> {
        let mistakes = spec(json).mistakes().into_iter();
        mistakes
            .map(|mistake| format!("{}: {}", mistake.path.join("."), mistake.message))
            .collect()
    }

    #[test]
    fn a_whole_command_has_no_mistake() {
        let found = messages(json!({
            "run": ["python3", "train.py", "--lr={lr}", "{amp}", "{{}}"],
            "code": ["train.py", "lib/**/*.py"],
            "parameters": {
                "lr": { "float": [1e-5, 1.0], "default": 1e-3 },
                "amp": { "bool": true, "default": false, "flag": "--amp" },
            },
            "metrics": { "val_loss": { "better": "lower", "tolerance": 1e-4 } },
            "scrape": { "val_loss": "val_loss=([0-9.]+)" },
        }));
        assert_eq!(found, Vec::<String>::new());
        let found = messages(json!({
            "run": ["train"], "code": [], "parameters": { "lr": 0.1 },
            "metrics": { "loss": { "better": "lower" } }, "scrape": { "loss": "(.)" },
        }));
        let expected =
            "parameters.lr: the program is not given `lr`: with `scrape` it reads no order file";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_command_is_observed_by_a_name() {
        let found = spec(json!({ "run": ["x"], "code": [], "observe": "pytorch" }));
        assert_eq!(found.observe, Some(Observe::PyTorch));
        let plain = spec(json!({ "run": ["x"], "code": [] }));
        let text = serde_json::to_string(&plain).expect("JSON");
        assert!(!text.contains("observe"), "cells of before keep their hash");
    }

    #[test]
    fn every_mistake_has_its_path() {
        let found = messages(json!({
            "run": ["python3", "--lr={lr"],
            "code": ["a***b"],
            "parameters": { "lr": { "float": [1.0, 0.0], "default": 0.5 }, "x": { "integer": [1, 2] } },
            "metrics": { "Loss": { "better": "lower" }, "epoch": { "better": "lower" } },
            "scrape": { "val_loss": "val_loss=[0-9]+", "y": "(" },
        }));
        let expected = [
            "parameters.lr.float: the range is empty: nothing is above 1 and below 0",
            "parameters.x: `x` needs one of `float`, `int`, `choice` and `bool`",
            "run.1: `{lr` has no `}`; `{{` stands for `{`",
            "code.0: `a***b` is no pattern of files: wildcards are either regular `*` or recursive `**`",
            "metrics.Loss: a metric has lower-case letters, digits and `_`, not `Loss`",
            "metrics.epoch: `epoch` has a meaning of its own in events; a metric needs another name",
            "scrape.val_loss: `val_loss=[0-9]+` has no group `(…)` around the number",
            "scrape.val_loss: `scrape` finds `val_loss`, which is not in `metrics`",
            "scrape.y: no regular expression: error: unclosed group",
            "scrape.y: `scrape` finds `y`, which is not in `metrics`",
        ];
        assert_eq!(found, expected);
    }
}
