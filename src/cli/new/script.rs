//! A manifest for a Python script: its arguments become settings and parameters, printed values become metrics.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::base::file;
use crate::base::text::count;
use crate::plan::{REQUIREMENT_TIME, output};

use super::super::Problem;
use super::super::printed::Printed;
use super::super::problem::refused;
use super::draft::{Draft, filled, quoted};
use super::place::NewManifest;

/// The Python that lists the arguments of a script.
const LIST: &str = include_str!("arguments.py");

/// Marks the beginning of the list in the script's output.
const MARK: &str = "@arguments@";

/// An argument of the script.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Argument {
    /// Option of the argument, such as `--batch-size`; empty for a positional one.
    option: String,
    /// `batch_size`.
    name: String,
    /// Type of the argument: `int`, `float`, `str`; empty if the script gives none.
    kind: String,
    default: Json,
    choices: Vec<String>,
    is_flag: bool,
    is_required: bool,
}

/// Manifest settings that scripts often have as arguments, with common names of these arguments.
const ROLES: [(&str, &[&str]); 4] = [
    (
        "train.batch-size",
        &[
            "batch_size",
            "batch",
            "bs",
            "train_batch_size",
            "per_device_train_batch_size",
        ],
    ),
    (
        "loader.workers",
        &[
            "workers",
            "num_workers",
            "n_workers",
            "dataloader_num_workers",
            "loader_workers",
        ],
    ),
    (
        "train.epochs",
        &[
            "epochs",
            "num_epochs",
            "n_epochs",
            "max_epochs",
            "num_train_epochs",
        ],
    ),
    ("seed", &["seed", "random_seed", "manual_seed"]),
];

/// Names of flags with a role (`[models.X.roles]`).
const SWITCHES: [(&str, &[&str]); 4] = [
    ("compile", &["compile", "use_compile", "torch_compile"]),
    (
        "amp",
        &["amp", "use_amp", "mixed", "mixed_precision", "autocast"],
    ),
    ("channels-last", &["channels_last", "use_channels_last"]),
    ("pin-memory", &["pin_memory", "pin", "pin_mem"]),
];

/// Parts of the manifest that an argument of a script becomes.
struct Part {
    /// The part's word in `run`.
    word: String,
    /// The part's line in `parameters`.
    parameter: Option<String>,
    /// The part's line in `roles`.
    role: Option<String>,
    /// The line that tells the user what was guessed.
    guess: String,
}

pub(super) fn draft(manifest: &NewManifest, given: &str) -> Result<Draft, Problem> {
    let mut words = given.split_whitespace();
    let script = words.next().unwrap_or_default();
    let fixed: Vec<&str> = words.collect();
    let path = Path::new(script);
    let source = file::read(path).map_err(|error| {
        refused(
            format!("cannot read `{script}`: {error}"),
            "`--script train.py` names a Python script; arguments that never change follow it: `--script 'train.py --data=photos'`",
        )
    })?;
    let source = String::from_utf8_lossy(&source).into_owned();
    // Only a script that parses its arguments is started with `--help`; another one would start to train.
    let asked = PARSES.is_match(&source).then(|| by_running(script));
    let (arguments, how) = match asked.flatten() {
        Some(found) => (found, "asked of the script itself"),
        None => (by_reading(&source), "read in its source"),
    };
    let is_fixed = |argument: &Argument| {
        let names = |word: &&str| word.split('=').next() == Some(&*argument.option);
        fixed.iter().any(names)
    };
    let open: Vec<&Argument> = arguments.iter().filter(|one| !is_fixed(one)).collect();
    let needed: Vec<&str> = open
        .iter()
        .filter(|one| one.is_required)
        .map(|one| {
            if one.option.is_empty() {
                &*one.name
            } else {
                &*one.option
            }
        })
        .collect();
    if !needed.is_empty() {
        let title = format!("`{script}` needs {}", needed.join(", "));
        let help = format!(
            "give it with the script: `--script '{script} {}=…'`",
            needed.join("=… ")
        );
        return Err(refused(title, help));
    }
    let parts: Vec<Part> = open.iter().filter_map(|one| part(one)).collect();
    let metrics = Printed::in_source(&source);
    let is_torch = PYTORCH.is_match(&source);
    let text = text(manifest, path, &fixed, &open, &parts, &metrics, is_torch);
    let mut guesses = vec![format!("{}, {how}", count(arguments.len(), "argument"))];
    guesses.extend(parts.into_iter().map(|part| part.guess));
    guesses.extend(metrics.iter().map(|one| {
        let (name, before, better) = (&one.name, &one.before, one.better);
        format!("`{name}` is what follows `{before}` in what it prints; {better} is better")
    }));
    if metrics.is_empty() {
        let none =
            "no metric: `check-command` runs the script for a moment and proposes what it prints";
        guesses.push(none.to_owned());
    }
    Ok(Draft {
        guesses,
        ..Draft::plain(text)
    })
}

static PYTORCH: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?m)^\s*(?:from\s+|import\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*)(?:torch|lightning|pytorch_lightning|transformers|accelerate|timm)\b",
    )
});

static PARSES: LazyLock<Regex> = LazyLock::new(|| regex(r"\bparse_(?:known_)?args"));

static ADDED: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"add_argument\(\s*((?:["'][^"']+["']\s*,?\s*)+)([^\n]*)"#));

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("a regular expression")
}

/// Finds the arguments by running the script up to `parse_args`; `None` if that fails.
fn by_running(script: &str) -> Option<Vec<Argument>> {
    let command = ["python3", "-c", LIST, script].map(str::to_owned);
    let (_, said) = output(Path::new("."), &command, REQUIREMENT_TIME).ok()?;
    let (_, list) = said.rsplit_once(MARK)?;
    serde_json::from_str(list.lines().next()?).ok()
}

/// Finds the arguments by searching single-line calls of `add_argument` in the source.
fn by_reading(source: &str) -> Vec<Argument> {
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
        let default = value(rest, "default");
        let default = default.map(|text| serde_json::from_str(&text).unwrap_or(Json::String(text)));
        Argument {
            name: option.trim_start_matches('-').replace('-', "_"),
            kind: value(rest, "type").unwrap_or_default(),
            default: default.unwrap_or_default(),
            is_flag: rest.contains("store_true"),
            is_required: rest.contains("required=True") || !option.starts_with('-'),
            option,
            ..Argument::default()
        }
    };
    ADDED.captures_iter(source).map(argument).collect()
}

/// The manifest setting that corresponds to the argument, if any.
fn role(argument: &Argument) -> Option<&'static str> {
    let found = ROLES
        .iter()
        .find(|(_, names)| names.contains(&&*argument.name));
    found.map(|(setting, _)| *setting)
}

/// The declaration of a parameter, as TOML; `None` for one whose default is enough.
fn form(argument: &Argument) -> Option<String> {
    let is_whole = argument.kind == "int" || argument.default.is_i64();
    let number = argument.default.as_f64();
    Some(if argument.is_flag {
        format!(
            "{{ bool = true, default = false, flag = {} }}",
            quoted(&argument.option)
        )
    } else if !argument.choices.is_empty() {
        let is_number = ["int", "float"].contains(&&*argument.kind);
        let written = |choice: &str| {
            if is_number {
                choice.to_owned()
            } else {
                quoted(choice)
            }
        };
        let choices: Vec<String> = argument.choices.iter().map(|one| written(one)).collect();
        let default = match &argument.default {
            Json::Null => choices[0].clone(),
            Json::String(word) => written(word),
            number => number.to_string(),
        };
        format!(
            "{{ choice = [{}], default = {default} }}",
            choices.join(", ")
        )
    } else if let Some(value) = number.filter(|value| is_whole && *value > 0.0) {
        let (low, high) = ((value / 4.0).ceil().max(1.0), value * 4.0);
        format!("{{ int = [{low}, {high}], default = {value} }}")
    } else if let Some(value) = number.filter(|value| *value > 0.0) {
        format!(
            "{{ float = [{:e}, {:e}], default = {value:e} }}",
            value / 100.0,
            value * 100.0
        )
    } else {
        return None;
    })
}

/// The parts for an argument with a name; `None` for one whose default is enough.
fn part(argument: &Argument) -> Option<Part> {
    let (option, name) = (&argument.option, argument.name.replace('_', "-"));
    if let Some(setting) = role(argument) {
        return Some(Part {
            word: format!("{option}={{{setting}}}"),
            parameter: None,
            role: None,
            guess: format!("`{option}` is `{setting}`"),
        });
    }
    let form = form(argument)?;
    let word = if argument.is_flag {
        format!("{{{name}}}")
    } else {
        format!("{option}={{{name}}}")
    };
    let switch = SWITCHES
        .iter()
        .find(|(_, names)| argument.is_flag && names.contains(&&*argument.name));
    let what = switch.map_or(String::new(), |(role, _)| {
        format!(", with the role `{role}`")
    });
    Some(Part {
        word,
        role: switch.map(|(role, _)| format!("{role} = {}", quoted(&name))),
        guess: format!("`{option}` is the parameter `{name}`{what}: `{form}`"),
        parameter: Some(format!("{name} = {form}")),
    })
}

/// The default of the argument that sets `setting`, `usual` if it has none; `None` without such an argument.
fn default_of(arguments: &[&Argument], setting: &str, usual: u64) -> Option<u64> {
    let own = arguments.iter().find(|one| role(one) == Some(setting));
    own.map(|one| one.default.as_u64().unwrap_or(usual))
}

/// Axes for the most common bottlenecks of a script: workers and batch size, each with a second value.
fn matrix(arguments: &[&Argument]) -> String {
    let mut axes = Vec::new();
    if let Some(workers) = default_of(arguments, "loader.workers", 0) {
        let other = if workers == 0 { 2 } else { 0 };
        axes.push(format!("\"loader.workers\" = [{workers}, {other}]"));
    }
    if let Some(batch) = default_of(arguments, "train.batch-size", 32) {
        let batch = batch.max(1);
        axes.push(format!("\"train.batch-size\" = [{batch}, {}]", 2 * batch));
    }
    if axes.is_empty() {
        return String::new();
    }
    format!(
        "[matrix]                            # each combination of the values is a cell; any setting can be an axis, by its path\n{}\n",
        axes.join("\n")
    )
}

fn text(
    manifest: &NewManifest,
    script: &Path,
    fixed: &[&str],
    arguments: &[&Argument],
    parts: &[Part],
    metrics: &[Printed],
    is_torch: bool,
) -> String {
    let path = manifest.seen_from_manifest(script);
    let fixed = fixed.iter().map(|word| (*word).to_owned());
    let words = ["python3".to_owned(), path.clone()]
        .into_iter()
        .chain(fixed);
    let words = words.chain(parts.iter().map(|part| part.word.clone()));
    let words: Vec<String> = words.map(|word| quoted(&word)).collect();
    let matrix = matrix(arguments);
    let epochs = default_of(arguments, "train.epochs", 1);
    let train = epochs.map(|epochs| format!("[train]\nepochs = {epochs}\n"));
    let lines = |title: &str, lines: Vec<String>| match &lines[..] {
        [] => String::new(),
        lines => format!("[models.script.{title}]\n{}\n", lines.join("\n")),
    };
    let parameters = parts.iter().filter_map(|part| part.parameter.clone());
    let roles = parts.iter().filter_map(|part| part.role.clone());
    let judged = metrics.iter().filter_map(Printed::declared);
    let scraped = metrics.iter().map(Printed::scraped);
    let of_torch = |line: &str| if is_torch { line } else { "" }.to_owned();
    let fillings = [
        ("words", words.join(", ")),
        ("code", quoted(&path)),
        (
            "requires",
            of_torch("requires = [[\"python3\", \"-c\", \"import torch\"]]"),
        ),
        (
            "observe",
            of_torch(
                "observe = \"pytorch\"                 # steps, phases and operations, without a line in the script",
            ),
        ),
        ("parameters", lines("parameters", parameters.collect())),
        ("roles", lines("roles", roles.collect())),
        ("metrics", lines("metrics", judged.collect())),
        ("scrape", lines("scrape", scraped.collect())),
        ("matrix", matrix),
        ("train", train.unwrap_or_default()),
        (
            "operations",
            of_torch(
                "ops = true                          # times and FLOPs of operations by layer, of a few steps",
            ),
        ),
        (
            "report",
            of_torch(
                "[report]\nanswer = [\"where\", \"samples_per_s\"] # where a step's time goes, and what is fastest; a metric of the script asks for the best results\ntemplates = [\"analysis\", \"profiling\"]",
            ),
        ),
    ];
    let about = format!("the script {}", script.display());
    let filled = filled(manifest, include_str!("script.toml"), &about, &fillings);
    // Sections that are empty leave no gaps.
    GAPS.replace_all(&filled, "\n\n").into_owned()
}

static GAPS: LazyLock<Regex> = LazyLock::new(|| regex(r"\n{3,}"));

#[cfg(test)]
mod tests;
