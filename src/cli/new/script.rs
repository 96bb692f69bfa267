//! A manifest for a Python script: its arguments become settings and parameters, printed values become metrics.

mod arguments;
mod asked;
mod parts;

use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::base::file;
use crate::base::text::count;

use super::super::Problem;
use super::super::printed::PrintedMetric;
use super::super::problem::mistake_with_help;
use super::draft::{Draft, filled, quoted};
use super::place::{NewManifest, relative_to_current_dir};
use arguments::Argument;
use asked::{regex, run_python_helper};
use parts::{ArgumentEntries, parts};

/// Python program that lists the files that a script imports.
const IMPORTS: &str = include_str!("script/imports.py");

/// A script, and what the new manifest contains about it.
struct Script<'a> {
    path: &'a Path,
    /// Arguments with fixed values.
    fixed: Vec<&'a str>,
    parts: Vec<ArgumentEntries>,
    metrics: Vec<PrintedMetric>,
    /// Files and patterns of files that decide the result.
    code: Vec<String>,
    is_torch: bool,
    /// Whether the script uses a PyTorch `DataLoader`, whose samples can be counted.
    has_loader: bool,
}

/// Message about a script in which no printed metric was found.
const NO_METRIC: &str =
    "no metric found: `check-command` runs the script briefly and proposes metrics from its output";

/// Message about a script that uses Hydra.
const HYDRA_OVERRIDES: &str = "no override of Hydra: put those that vary into `run` (`\"opt.lr={lr}\"`, with `lr` in `parameters`); `docs/pytorch.md` has an example";

pub(super) fn draft(manifest: &NewManifest, given: &str) -> Result<Draft, Problem> {
    let mut words = given.split_whitespace();
    let script = words.next().unwrap_or_default();
    let fixed: Vec<&str> = words.collect();
    let path = Path::new(script);
    let source = file::read(path).map_err(|error| {
        mistake_with_help(
            format!("cannot read `{script}`: {error}"),
            "`--script train.py` names a Python script; arguments that never change follow it: `--script 'train.py --data=photos'`",
        )
    })?;
    let source = String::from_utf8_lossy(&source).into_owned();
    let (arguments, how) = arguments::of_script((script, &fixed), &source);
    let open = open(&arguments, &fixed);
    refuse_needed(script, &open)?;
    let (parts, left_out) = parts(&open);
    let files = local_files(path);
    let all = sources(path, &files);
    let found = Script {
        code: code(path, &files, &fixed),
        path,
        fixed,
        parts,
        metrics: PrintedMetric::in_source(&source),
        is_torch: PYTORCH.is_match(&all),
        has_loader: LOADERS.is_match(&all),
    };
    let text = text(manifest, &found);
    let Script {
        parts,
        metrics,
        code,
        ..
    } = found;
    let mut guesses = vec![format!("{}, {how}", count(arguments.len(), "argument"))];
    guesses.extend(parts.into_iter().map(|part| part.guess));
    guesses.extend(left_out);
    let also: Vec<String> = code
        .iter()
        .skip(1)
        .map(|name| format!("`{name}`"))
        .collect();
    if !also.is_empty() {
        let also = also.join(", ");
        guesses.push(format!("your files that it uses, listed in `code`: {also}"));
    }
    if HYDRA.is_match(&all) {
        guesses.push(HYDRA_OVERRIDES.to_owned());
    }
    guesses.extend(metrics.iter().map(|one| {
        let (name, before, better) = (&one.name, &one.before, one.better);
        format!("`{name}` is what follows `{before}` in what it prints; {better} is better")
    }));
    if metrics.is_empty() {
        guesses.push(NO_METRIC.to_owned());
    }
    Ok(Draft {
        guesses,
        ..Draft::plain(text)
    })
}

/// The arguments whose values are not fixed.
fn open<'a>(arguments: &'a [Argument], fixed: &[&str]) -> Vec<&'a Argument> {
    let is_named = |argument: &Argument| {
        let names = |word: &&str| word.split('=').next() == Some(&*argument.option);
        fixed.iter().any(names)
    };
    // Words without an option before them are positional arguments.
    let pairs = fixed.iter().zip(std::iter::once(&"").chain(fixed));
    let is_flag = |word: &str| {
        let mut all = arguments.iter();
        all.any(|argument| argument.is_flag && argument.option == word)
    };
    let is_value =
        |before: &str| before.starts_with('-') && !before.contains('=') && !is_flag(before);
    let words = pairs.filter(|(word, before)| !word.starts_with('-') && !is_value(before));
    let mut positional = words.count();
    let mut is_fixed = |argument: &&Argument| {
        if !argument.option.is_empty() {
            return is_named(argument);
        }
        let is_given = positional > 0;
        positional = positional.saturating_sub(1);
        is_given
    };
    arguments.iter().filter(|one| !is_fixed(one)).collect()
}

/// Refuses a script that needs an argument without a fixed value.
fn refuse_needed(script: &str, open: &[&Argument]) -> Result<(), Problem> {
    let needed = || open.iter().filter(|one| one.is_required);
    let name = |one: &Argument| match &*one.option {
        "" => one.name.clone(),
        option => option.to_owned(),
    };
    let names: Vec<String> = needed().map(|one| name(one)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let given = needed().map(|one| match &*one.option {
        "" => one.name.to_uppercase(),
        option => format!("{option}=…"),
    });
    let given: Vec<String> = given.collect();
    let title = format!("`{script}` needs {}", names.join(", "));
    let help = format!(
        "give it with the script: `--script '{script} {}'`",
        given.join(" ")
    );
    Err(mistake_with_help(title, help))
}

/// The script and the files that it imports or reads settings from, relative to its folder.
fn local_files(script: &Path) -> Vec<PathBuf> {
    let found = run_python_helper(
        IMPORTS,
        (&script.to_string_lossy(), &[]),
        "@files@",
        "for its imports",
    );
    found.unwrap_or_else(|| script.file_name().map(PathBuf::from).into_iter().collect())
}

/// The text of the files, one after another.
fn sources(script: &Path, files: &[PathBuf]) -> String {
    let folder = script.parent().unwrap_or(Path::new(""));
    let read = |inside: &PathBuf| file::read(&folder.join(inside)).ok();
    let all: Vec<u8> = files.iter().filter_map(read).flatten().collect();
    String::from_utf8_lossy(&all).into_owned()
}

/// Extensions of files that contain programs or settings, not data.
const NO_DATA: [&str; 7] = ["py", "yaml", "yml", "toml", "ini", "cfg", "json"];

/// The entries of `code`: the script first; all modules of a folder as one pattern; files that `fixed` arguments name.
fn code(script: &Path, files: &[PathBuf], fixed: &[&str]) -> Vec<String> {
    let folder = script.parent().unwrap_or(Path::new(""));
    let mut code = vec![relative_to_current_dir(script)];
    for file in files {
        let is_module = file.extension().is_some_and(|extension| extension == "py");
        let entry = match file.components().next() {
            Some(Component::Normal(top)) if is_module && file.components().count() > 1 => {
                format!("{}/**/*.py", relative_to_current_dir(&folder.join(top)))
            }
            _ => relative_to_current_dir(&folder.join(file)),
        };
        if !code.contains(&entry) {
            code.push(entry);
        }
    }
    let named = fixed.iter().map(|word| word.rsplit('=').next());
    for path in named.flatten().map(Path::new) {
        let end = path.extension().and_then(|end| end.to_str());
        let entry = relative_to_current_dir(path);
        if end.is_some_and(|end| NO_DATA.contains(&end)) && path.is_file() && !code.contains(&entry)
        {
            code.push(entry);
        }
    }
    code
}

static PYTORCH: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?m)^\s*(?:from\s+|import\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*)(?:torch|lightning|pytorch_lightning|transformers|accelerate|timm)\b",
    )
});

static HYDRA: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^\s*@hydra\.main\b"));

/// Names of loaders of PyTorch, and of libraries that use them.
static LOADERS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?im)\bimport\b.*\bdataloader\b|\bdataloader\s*\(|\b\w*Trainer\s*\(|^\s*(?:from|import)\s+(?:lightning|pytorch_lightning|accelerate|timm)\b",
    )
});

/// The script's default of a setting, `usual` if it has none; `None` without such an argument.
fn default_of(parts: &[ArgumentEntries], setting: &str, usual: u64) -> Option<u64> {
    let mut settings = parts.iter().filter_map(|part| part.setting.as_ref());
    let own = settings.find(|(name, _)| *name == setting);
    own.map(|(_, default)| default.as_u64().unwrap_or(usual))
}

/// The script's default of the workers and of the batch size.
fn workers_and_batch(parts: &[ArgumentEntries]) -> [Option<u64>; 2] {
    let batch = default_of(parts, "train.batch-size", 32);
    [
        default_of(parts, "loader.workers", 0),
        batch.map(|batch| batch.max(1)),
    ]
}

/// Axes for the most common bottlenecks of a script: workers and batch size, each with a second value.
fn matrix(parts: &[ArgumentEntries]) -> String {
    let mut axes = Vec::new();
    let [workers, batch] = workers_and_batch(parts);
    if let Some(workers) = workers {
        let other = if workers == 0 { 2 } else { 0 };
        axes.push(format!("\"loader.workers\" = [{workers}, {other}]"));
    }
    if let Some(batch) = batch {
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

/// The sections `[train]` and `[loader]` with the script's defaults, for settings that no axis of `[matrix]` varies.
fn defaults(parts: &[ArgumentEntries]) -> String {
    let [workers, batch] = workers_and_batch(parts);
    let epochs = default_of(parts, "train.epochs", 1).map(|epochs| format!("epochs = {epochs}\n"));
    let batch = batch.map(|batch| format!("batch-size = {batch}\n"));
    let train: String = epochs.into_iter().chain(batch).collect();
    let train = (!train.is_empty()).then(|| format!("[train]\n{train}"));
    let loader = workers.map(|workers| format!("[loader]\nworkers = {workers}\n"));
    train
        .into_iter()
        .chain(loader)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The TOML line with the folder in which the script starts; empty if that is the manifest's folder.
fn folder(manifest: &NewManifest) -> String {
    match &*manifest.relative_to_manifest(Path::new("")) {
        "." => String::new(),
        up => format!(
            "folder = {}                       # the script starts in the folder in which `new` was called",
            quoted(up)
        ),
    }
}

/// The command line of the script, as words: the value of `run`.
fn words_of(script: &Script<'_>) -> Vec<String> {
    let fixed = script.fixed.iter().map(|word| (*word).to_owned());
    let begin = ["python3".to_owned(), relative_to_current_dir(script.path)];
    let parts = script.parts.iter().map(|part| part.word.clone());
    begin.into_iter().chain(fixed).chain(parts).collect()
}

fn text(manifest: &NewManifest, script: &Script<'_>) -> String {
    let words = words_of(script);
    let in_quotes = |words: Vec<String>| {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        words.join(", ")
    };
    let lines = |title: &str, lines: Vec<String>| match &lines[..] {
        [] => String::new(),
        lines => format!("[models.script.{title}]\n{}\n", lines.join("\n")),
    };
    let parameters = script
        .parts
        .iter()
        .filter_map(|part| part.parameter.clone());
    let roles = script.parts.iter().filter_map(|part| part.role.clone());
    let metrics = script.metrics.iter();
    let declared = metrics.clone().filter_map(PrintedMetric::metrics_line);
    let scraped = metrics.map(PrintedMetric::scrape_line);
    let of_torch = |line: &str| if script.is_torch { line } else { "" }.to_owned();
    let fastest = if script.has_loader {
        "samples_per_s"
    } else {
        "step_ms"
    };
    let fillings = [
        ("words", in_quotes(words)),
        ("code", in_quotes(script.code.clone())),
        ("folder", folder(manifest)),
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
        ("metrics", lines("metrics", declared.collect())),
        ("scrape", lines("scrape", scraped.collect())),
        ("matrix", matrix(&script.parts)),
        ("train", defaults(&script.parts)),
        (
            "operations",
            of_torch(
                "ops = true                          # times and FLOPs of operations by layer, of a few steps",
            ),
        ),
        (
            "report",
            of_torch(&format!(
                "[report]\nanswer = [\"where\", \"{fastest}\"] # where a step's time goes, and what is fastest; a metric of the script asks for the best results\ntemplates = [\"analysis\", \"profiling\"]"
            )),
        ),
    ];
    let about = format!("the script {}", script.path.display());
    let filled = filled(manifest, include_str!("script.toml"), &about, &fillings);
    // Keep at most one blank line where empty sections were.
    GAPS.replace_all(&filled, "\n\n").into_owned()
}

static GAPS: LazyLock<Regex> = LazyLock::new(|| regex(r"\n{3,}"));

#[cfg(test)]
mod tests;
