//! Models that a manifest describes, layer by layer or as a command: positions of their mistakes, and short paths to
//! their parameters.

use crate::diag::{Diagnostic, Place};
use crate::manifest::{Key, Node, Table, Value};
use crate::models::{Better, CommandSpec, DECIDING_LOSSES, Mistake, ModelSpec};

use super::assign::Assignment;
use super::search::objective;

/// Keys of a declared model that are not parameters.
const OWN: [&str; 4] = ["kind", "layers", "parameters", "blocks"];

/// Expands short paths to parameters in `assignments`: `models.NAME.width` becomes `models.NAME.parameters.width` if
/// the section `base` is a declared model, or `models.NAME.parameters.width.default` if it is a command that gives the
/// parameter a type.
pub(super) fn expand_parameter_paths<'a>(
    base: &Node,
    assignments: impl Iterator<Item = &'a Assignment>,
) -> Vec<Assignment> {
    let table = base.as_table();
    let kind = table.and_then(|table| table.text("kind"));
    let parameters = table.and_then(|table| table.table("parameters"));
    let long = |assignment: &Assignment| {
        let mut assignment = assignment.clone();
        let [models, name, rest @ ..] = &assignment.path[..] else {
            return assignment;
        };
        let parameter = match (kind, rest) {
            (Some("layers"), [parameter]) if !OWN.contains(&&*parameter.name) => parameter,
            // This may be a key of the command itself; only declared parameters are expanded below.
            (Some("command"), [parameter]) => parameter,
            (Some("command"), [section, parameter]) if section.name == "parameters" => parameter,
            _ => return assignment,
        };
        let declared = parameters.and_then(|table| table.get(&parameter.name));
        if models.name != "models" || (kind == Some("command") && declared.is_none()) {
            return assignment;
        }
        let section = Key::new("parameters", parameter.place);
        let mut path = vec![models.clone(), name.clone(), section, parameter.clone()];
        if kind == Some("command") && declared.is_some_and(|node| node.as_table().is_some()) {
            path.push(Key::new("default", parameter.place));
        }
        assignment.path = path.into();
        assignment
    };
    assignments.map(long).collect()
}

/// Whether `name` is a key of sections of `kind = "command"`.
fn is_key_of_command(name: &str) -> bool {
    let keys = serde_json::to_value(CommandSpec::default()).unwrap_or_default();
    name == "kind" || keys.get(name).is_some()
}

/// An error for each assignment to a parameter that the command `command`, with the section `base`, does not declare.
pub(super) fn undeclared_parameter_errors<'a>(
    base: &Node,
    command: &str,
    assignments: impl Iterator<Item = &'a Assignment>,
) -> Vec<Diagnostic> {
    let table = base.as_table();
    let Some(table) = table.filter(|table| table.text("kind") == Some("command")) else {
        return Vec::new();
    };
    let declared = table.table("parameters");
    let names: Vec<&str> = declared.into_iter().flat_map(Table::names).collect();
    let parameter = |assignment: &'a Assignment| match &assignment.path[..] {
        [models, name, key] if models.name == "models" && name.name == command => Some(key),
        _ => None,
    };
    let keys = assignments.filter_map(parameter);
    let keys = keys.filter(|key| !names.contains(&&*key.name) && !is_key_of_command(&key.name));
    let diagnostic = |key: &Key| {
        let title = format!("command `{command}` has no parameter `{}`", key.name);
        let diagnostic = Diagnostic::error(title).at(key.place, "not one of its parameters");
        diagnostic.suggest_from(&key.name, "its parameters are", names.iter().copied())
    };
    keys.map(diagnostic).collect()
}

/// The mistakes of a model that can be found without data; `node` returns its section.
pub(super) fn mistakes(
    name: &str,
    node: impl FnOnce() -> Node,
    model: &ModelSpec,
) -> Vec<Diagnostic> {
    match model {
        ModelSpec::Layers(spec) => diagnostics(name, &node(), &spec.mistakes()),
        ModelSpec::Command(spec) => {
            let mut mistakes = spec.mistakes();
            mistakes.extend(taken_names(spec));
            diagnostics(name, &node(), &mistakes)
        }
        _ => Vec::new(),
    }
}

/// Fixed columns of the CSV files that have metrics, besides [`objective::known_columns`]: names no metric may have.
const OTHER_COLUMNS: [&str; 31] = [
    "key",
    "seed",
    "n",
    "interval",
    "outliers",
    "status",
    "reason",
    "weight_checksum",
    "nondeterministic",
    "train_loss",
    "lr",
    "block",
    "env_id",
    "exclusive",
    "peak_rss_bytes",
    "cpu_s",
    "warmup_steps",
    "measured_steps",
    "observer_ratio",
    "memory_source",
    "threads",
    "numeric_class",
    "device_memory_source",
    "throttle_reasons",
    "gpu_readings",
    "convolutions",
    "resumed_after_s",
    "ranks",
    "estimated_s",
    "session",
    "start_s",
];

/// Whether a command may declare a metric of this name: it must not be a fixed column of the results, except that a
/// time may fill a column that is measured with a clock (not `wall_s`).
pub fn is_free_column(name: &str, is_time: bool) -> bool {
    let is_fixed = OTHER_COLUMNS.contains(&name) || objective::known_columns().contains(&name);
    !is_fixed || (is_time && name != "wall_s" && objective::varies_between_runs(name))
}

/// Mistakes in a command's metrics: names of fixed columns, and losses declared as better when higher.
fn taken_names(spec: &CommandSpec) -> Vec<Mistake> {
    let metrics = spec.metrics.iter();
    let taken = metrics.filter(|(name, metric)| !is_free_column(name, metric.time));
    let mistake = |name: &String| {
        let path = ["metrics".to_owned(), name.clone()];
        let message = format!("the results have a column `{name}`; a metric needs another name");
        let mistake = Mistake::new(&path, message).of_key();
        if name == "train_loss" {
            mistake.help("events and `scrape` may name it without a declaration")
        } else if is_free_column(name, true) {
            mistake.help("with `time = true` it fills this column")
        } else {
            mistake
        }
    };
    let losses = spec.metrics.iter();
    let rising = losses.filter(|(name, metric)| {
        DECIDING_LOSSES.contains(&&***name) && !metric.time && metric.better == Better::Higher
    });
    let rising = rising.map(|(name, _)| {
        let path = ["metrics".to_owned(), name.clone(), "better".to_owned()];
        let message = format!("the best epoch has the lowest `{name}`; a metric of which more is better needs another name");
        Mistake::new(&path, message)
    });
    taken.map(|(name, _)| mistake(name)).chain(rising).collect()
}

/// Mistakes of the model `name` with their positions in its section.
pub(super) fn diagnostics(name: &str, node: &Node, mistakes: &[Mistake]) -> Vec<Diagnostic> {
    let diagnostic = |mistake: &Mistake| {
        let title = format!("model `{name}`: {}", mistake.message);
        let mut diagnostic = Diagnostic::error(title).at(place(node, mistake), "");
        diagnostic.help.clone_from(&mistake.help);
        diagnostic
    };
    mistakes.iter().map(diagnostic).collect()
}

/// Place of a mistake: the value at the longest existing part of its path, or the key of that value, or a byte range in
/// it if it is a text.
fn place(section: &Node, mistake: &Mistake) -> Place {
    let (mut node, mut key) = (section, section.place);
    for step in &mistake.path {
        let next = match &node.value {
            Value::Table(table) => table.entry(step).map(|(key, node)| (node, key.place)),
            Value::Array(nodes) => {
                let index: Option<usize> = step.parse().ok();
                let next = index.and_then(|index| nodes.get(index));
                next.map(|next| (next, next.place))
            }
            _ => None,
        };
        let Some(next) = next else { break };
        (node, key) = next;
    }
    if mistake.is_key {
        return key;
    }
    let whole = node.place;
    match (&mistake.span, node.as_str()) {
        // Byte positions agree only if the text has no escapes and stands in quotation marks of one character.
        (Some(span), Some(text)) if whole.span().len() == text.len() + 2 => {
            let start = whole.start as usize + 1 + span.start;
            // A mistake at the end of a text is shown at its last character.
            let (start, end) = if span.is_empty() && span.start >= text.len() {
                (start - 1, start)
            } else {
                (start, start + span.len().max(1))
            };
            Place::new(whole.source as usize, &(start..end))
        }
        _ => whole,
    }
}
