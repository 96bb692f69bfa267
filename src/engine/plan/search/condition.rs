//! Reads `when`: the earlier choice of the space, or the axis of the matrix, on which a parameter depends.

use std::sync::Arc;

use crate::diag::{Diagnostic, Place};
use crate::manifest::{Key, Node};

use super::super::axis_info::AxisInfo;
use super::super::homes::dotted_path;
use super::super::key::value_text;
use super::written::OnAxis;
use super::{Condition, Domain, SpaceParameter};

/// Parameters and axes that a condition can refer to.
pub(super) struct ConditionTargets<'a> {
    /// Parameters that precede the one with the condition in the manifest.
    pub(super) earlier: &'a [SpaceParameter],
    /// Names and full dotted paths of all parameters.
    pub(super) all: &'a [(String, String)],
    pub(super) axes: &'a [AxisInfo],
}

/// Reads the condition `when` of the parameter `name`: that on another parameter, if there is one, and those on axes.
pub(super) fn read_condition(
    name: &str,
    node: &Node,
    known: &ConditionTargets<'_>,
    mistakes: &mut Vec<Diagnostic>,
) -> (Option<Condition>, Vec<OnAxis>) {
    let (mut condition, mut axes) = (None, Vec::new());
    let Some(table) = node.as_table().filter(|table| !table.entries.is_empty()) else {
        mistakes.push(
            Diagnostic::error(format!("parameter `{name}`: `when` names no condition"))
                .at(node.place, "expected a table")
                .help("for example `when = { \"train.optimizer.kind\" = \"sgd\" }`"),
        );
        return (condition, axes);
    };
    for (key, node) in table.flat() {
        let nodes = node.alternatives();
        if nodes.is_empty() {
            let mistake = Diagnostic::error(format!(
                "parameter `{name}` is never used: a condition in `when` has no values"
            ));
            mistakes.push(mistake.at(node.place, "no value"));
            continue;
        }
        let long = dotted_path(&key.name, key.place);
        let is_it = |name: &str, path: &str| name == key.name || path == long;
        let mut earlier = known.earlier.iter();
        let index = earlier.position(|one| is_it(&one.parameter.name, &one.parameter.path));
        let axis = known
            .axes
            .iter()
            .position(|axis| is_it(&axis.name, &axis.path));
        match (index, axis) {
            (Some(_), _) if condition.is_some() => mistakes.push(second(name, key.place)),
            (Some(parameter), _) => {
                let one = &known.earlier[parameter];
                let choices = choices(name, one, key.place, nodes, mistakes);
                condition = choices.map(|choices| Condition { parameter, choices });
            }
            (None, Some(axis)) => {
                let values = values(name, &known.axes[axis], nodes, mistakes);
                axes.push(OnAxis { axis, values });
            }
            (None, None) => mistakes.push(nothing(name, &key, &long, known)),
        }
    }
    (condition, axes)
}

fn second(name: &str, place: Place) -> Diagnostic {
    Diagnostic::error(format!(
        "parameter `{name}` depends on two other parameters"
    ))
    .at(place, "the second")
    .help("`when` names one choice of the space, and any axes of the matrix")
}

fn nothing(name: &str, other: &Key, long: &str, known: &ConditionTargets<'_>) -> Diagnostic {
    let (other, place) = (other.name.as_str(), other.place);
    let mut all = known.all.iter();
    let later = all.find(|(own, path)| own == other || path == long);
    let what = match later {
        Some((own, _)) if own == name => "is itself",
        Some(_) => "comes later",
        None => "is neither a parameter nor an axis",
    };
    let title = format!("parameter `{name}`: `when` names `{other}`, which {what}");
    let diagnostic = Diagnostic::error(title);
    if later.is_some() {
        return diagnostic
            .at(place, "not decided yet")
            .help("parameters are chosen in the order in which they are written; move it down");
    }
    let parameters = known.earlier.iter().map(|one| one.parameter.name.as_str());
    let axes = known.axes.iter().map(|axis| axis.name.as_str());
    let names: Vec<&str> = parameters.chain(axes).collect();
    let diagnostic = diagnostic.at(place, "nothing of this name");
    if names.is_empty() {
        return diagnostic.help("nothing is decided before this parameter");
    }
    diagnostic.suggest_from(other, "decided before it:", names)
}

/// Indices of the choices of the parameter `one` that `nodes` list; `None` if it has no choices or none of them is
/// listed.
fn choices(
    name: &str,
    one: &SpaceParameter,
    place: Place,
    nodes: &[Node],
    mistakes: &mut Vec<Diagnostic>,
) -> Option<Vec<usize>> {
    let other = &one.parameter.name;
    let Domain::Choice { .. } = &one.parameter.domain else {
        let title = format!("parameter `{name}`: `when` names `{other}`, which is a range");
        let mistake = Diagnostic::error(title).at(place, "only a choice can be a condition");
        mistakes.push(mistake.context(one.place, "a range"));
        return None;
    };
    let texts: Vec<&str> = one.values.iter().map(|value| &*value.text).collect();
    let mut choices = indices(name, other, &texts, nodes, mistakes);
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
    let texts: Vec<&str> = axis.texts().collect();
    let found = indices(name, &axis.name, &texts, nodes, mistakes).into_iter();
    found.map(|index| Arc::clone(&axis.values[index])).collect()
}

/// Indices in `known`, the values of the parameter or axis `other`, of the values in `nodes`; reports unknown ones.
fn indices(
    name: &str,
    other: &str,
    known: &[&str],
    nodes: &[Node],
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<usize> {
    let index = |node: &Node| {
        let text = value_text(node);
        let found = known.iter().position(|known| *known == text);
        if found.is_none() {
            let title = format!("parameter `{name}`: `{other}` is never `{text}`");
            let mistake = Diagnostic::error(title).at(node.place, "not one of its values");
            mistakes.push(mistake.suggest_from(&text, "its values are", known.iter().copied()));
        }
        found
    };
    nodes.iter().filter_map(index).collect()
}
