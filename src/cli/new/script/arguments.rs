//! [`Argument`]: the arguments of a Python script, asked of the script itself or read in its source.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value as Json;

use super::asked::{regex, run_python_helper};

/// Python program that lists the arguments of a script.
const LIST: &str = include_str!("arguments.py");

/// An argument of the script.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Argument {
    /// Option of the argument, such as `--batch-size`; empty for a positional one.
    pub(super) option: String,
    /// Name of the argument's variable in Python, such as `batch_size`.
    pub(super) name: String,
    /// Type of the argument: `int`, `float`, `str`; empty if the script gives none.
    pub(super) kind: String,
    pub(super) default: Json,
    pub(super) choices: Vec<String>,
    pub(super) is_flag: bool,
    pub(super) is_required: bool,
    pub(super) help: String,
}

/// The arguments of a script, and how they were found.
pub(super) fn of_script(
    (script, fixed): (&str, &[&str]),
    source: &str,
) -> (Vec<Argument>, &'static str) {
    // Only a script that parses its arguments is started with `--help`; another one would start to train.
    let asked = PARSES.is_match(source).then(|| by_running((script, fixed)));
    match asked.flatten() {
        Some(found) => (found, "asked of the script itself"),
        None => (by_reading(source), "read in its source"),
    }
}

static PARSES: LazyLock<Regex> = LazyLock::new(|| regex(r"\bparse_(?:known_)?args"));

static ADDED: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"add_argument\(\s*((?:["'][^"']+["']\s*,?\s*)+)([^\n]*)"#));

/// Finds the arguments by running the script up to `parse_args`; `None` if that fails.
fn by_running(script: (&str, &[&str])) -> Option<Vec<Argument>> {
    run_python_helper(LIST, script, "@arguments@", "for its arguments")
}

/// Finds the arguments by searching single-line calls of `add_argument` in the source.
pub(super) fn by_reading(source: &str) -> Vec<Argument> {
    let option = |text: &str| -> String {
        let names = text
            .split(',')
            .map(|name| name.trim().trim_matches(['"', '\'']));
        names
            .max_by_key(|name| name.len())
            .unwrap_or_default()
            .to_owned()
    };
    let value = |rest: &str, key: &str| -> Option<String> {
        let (_, value) = rest.split_once(&format!("{key}="))?;
        let end = value.find([',', ')']).unwrap_or(value.len());
        Some(value[..end].trim().trim_matches(['"', '\'']).to_owned())
    };
    let argument = |found: regex::Captures<'_>| {
        let (option, rest) = (option(&found[1]), &found[2]);
        let is_positional = !option.starts_with('-');
        let default = value(rest, "default");
        let default = default.map(|text| serde_json::from_str(&text).unwrap_or(Json::String(text)));
        Argument {
            name: option.trim_start_matches('-').replace('-', "_"),
            kind: value(rest, "type").unwrap_or_default(),
            default: default.unwrap_or_default(),
            is_flag: rest.contains("store_true") || rest.contains("store_false"),
            is_required: rest.contains("required=True") || is_positional,
            help: value(rest, "help").unwrap_or_default(),
            option: if is_positional { String::new() } else { option },
            ..Argument::default()
        }
    };
    ADDED.captures_iter(source).map(argument).collect()
}
