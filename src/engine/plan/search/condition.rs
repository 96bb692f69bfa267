//! Reads `when`: the earlier choice of the space, or the axis of the matrix, on which a parameter depends.

use std::sync::Arc;

use crate::diag::{Diagnostic, Place, did_you_mean, list};
use crate::manifest::{Key, Node};

use super::super::axes::flatten;
use super::super::axis_info::AxisInfo;
use super::super::homes::long_path;
use super::super::key::value_text;
use super::written::OnAxis;
use super::{Condition, Domain, Written};

/// What a condition can refer to.
pub(super) struct Known<'a> {
    /// Parameters before this one.
    pub(super) earlier: &'a [Written],
    pub(super) all: &'a [(String, String)],
    pub(super) axes: &'a [AxisInfo],
}

pub(super) fn when(
    name: &str,
    node: &Node,
    known: &Known<'_>,
    mistakes: &mut Vec<Diagnostic>,
) -> (Option<Condition>, Vec<OnAxis>) {
    let (mut condition, mut axes) = (None, Vec::new());
    let Some(table) = node.as_table().filter(|table| !table.entries.is_empty()) else {
        mistakes.push(
            Diagnostic::error(format!("parameter `{name}`: `when` names no condition"))
                .at(node.place, "expected a table")
                .help("for example `when = { \"train.optimizer.kind\" = \"sgd\" }`"),
        );
        return (None, Vec::new());
    };
    for (key, node) in &table.entries {
        flatten(key, node, &mut |other, place, node| {
            let nodes = node.as_array().unwrap_or(std::slice::from_ref(node));
            if nodes.is_empty() {
                mistakes.push(
                    Diagnostic::error(format!("parameter `{name}` exists nowhere"))
                        .at(node.place, "no value"),
                );
                return;
            }
            let (other, long) = (other.to_owned(), long(other, place));
            let is_it = |own: &str, path: &str| own == other || path == long;
            let mut earlier = known.earlier.iter();
            let index = earlier.position(|one| is_it(&one.parameter.name, &one.parameter.path));
            if let Some((index, one)) = index.and_then(|i| Some((i, known.earlier.get(i)?))) {
                if condition.is_some() {
                    mistakes.push(second(name, place));
                } else if let Some(choices) = choices(name, one, place, nodes, mistakes) {
                    condition = Some(Condition {
                        parameter: index,
                        choices,
                    });
                }
                return;
            }
            let axis = known
                .axes
                .iter()
                .position(|axis| is_it(&axis.name, &axis.path));
            match axis.and_then(|axis| Some((axis, known.axes.get(axis)?))) {
                Some((index, axis)) => {
                    let values = values(name, axis, nodes, mistakes);
                    axes.push(OnAxis {
                        axis: index,
                        values,
                    });
                }
                None => mistakes.push(nothing(name, &other, &long, place, known)),
            }
        });
    }
    (condition, axes)
}

/// The long path, or what is written.
pub(super) fn long(written: &str, place: Place) -> String {
    long_path(written, place).map_or_else(|_| written.to_owned(), |path| joined(&path))
}

pub(super) fn joined(path: &[Key]) -> String {
    let names: Vec<&str> = path.iter().map(|key| key.name.as_str()).collect();
    names.join(".")
}

fn second(name: &str, place: Place) -> Diagnostic {
    Diagnostic::error(format!(
        "parameter `{name}` depends on two other parameters"
    ))
    .at(place, "the second")
    .help("`when` names one choice of the space, and any axes of the matrix")
}

fn nothing(name: &str, other: &str, long: &str, place: Place, known: &Known<'_>) -> Diagnostic {
    let is_it = |(own, path): &&(String, String)| own == other || path == long;
    let diagnostic = Diagnostic::error(format!(
        "parameter `{name}`: `when` names `{other}`, which {}",
        match known.all.iter().find(is_it) {
            Some((own, _)) if own == name => "is itself",
            Some(_) => "comes later",
            None => "is neither a parameter nor an axis",
        }
    ));
    if known.all.iter().any(|one| is_it(&one)) {
        return diagnostic
            .at(place, "not decided yet")
            .help("parameters are chosen in the order in which they are written; move it down");
    }
    let parameters = known.earlier.iter().map(|one| one.parameter.name.as_str());
    let axes = known.axes.iter().map(|axis| axis.name.as_str());
    let names: Vec<&str> = parameters.chain(axes).collect();
    let diagnostic = diagnostic
        .at(place, "nothing of this name")
        .maybe_help(did_you_mean(other, names.iter().copied()));
    if names.is_empty() {
        return diagnostic.help("nothing is decided before this parameter");
    }
    diagnostic.help(format!("decided before it: {}", list(names)))
}

/// The choices of the parameter `one` that `nodes` name.
fn choices(
    name: &str,
    one: &Written,
    place: Place,
    nodes: &[Node],
    mistakes: &mut Vec<Diagnostic>,
) -> Option<Vec<usize>> {
    let other = &one.parameter.name;
    let Domain::Choice { texts, .. } = &one.parameter.domain else {
        mistakes.push(
            Diagnostic::error(format!(
                "parameter `{name}`: `when` names `{other}`, which is a range"
            ))
            .at(place, "only a choice can be a condition")
            .context(one.place, "a range"),
        );
        return None;
    };
    let found = nodes.iter().map(|node| {
        let text = value_text(node);
        let found = texts.iter().position(|known| *known == text);
        if found.is_none() {
            let known = || texts.iter().map(String::as_str);
            mistakes.push(no_value(name, other, &text, node.place, known));
        }
        found
    });
    let found: Vec<Option<usize>> = found.collect();
    let mut choices: Vec<usize> = found.into_iter().flatten().collect();
    choices.sort_unstable();
    choices.dedup();
    (!choices.is_empty()).then_some(choices)
}

/// The values of `axis` that `nodes` name.
fn values(
    name: &str,
    axis: &AxisInfo,
    nodes: &[Node],
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<Arc<str>> {
    let mut values = Vec::new();
    for node in nodes {
        let text = value_text(node);
        if let Some(value) = axis.values.iter().find(|value| ***value == *text) {
            values.push(Arc::clone(value));
        } else {
            let known = || axis.values.iter().map(|value| &**value);
            mistakes.push(no_value(name, &axis.name, &text, node.place, known));
        }
    }
    values
}

fn no_value<'a, I: Iterator<Item = &'a str>>(
    name: &str,
    other: &str,
    text: &str,
    place: Place,
    known: impl Fn() -> I,
) -> Diagnostic {
    Diagnostic::error(format!("parameter `{name}`: `{other}` is never `{text}`"))
        .at(place, "not one of its values")
        .maybe_help(did_you_mean(text, known()))
        .help(format!("its values are {}", list(known())))
}
