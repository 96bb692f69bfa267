//! Reads the values of a parameter: a list of choices, or a table with `choice`, `int` or `float`.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::diag::{Diagnostic, Place, did_you_mean};
use crate::manifest::{Key, Node, Table, Value as Toml};

use super::super::head::json;
use super::super::key::float;
use super::super::matrix::AxisValue;
use super::super::resolve::read;
use super::section::{FloatSection, IntSection};
use super::{Domain, Written};

/// Keys that define a parameter's values.
const DOMAINS: [&str; 3] = ["choice", "int", "float"];

/// Every key of a parameter.
pub(super) const KEYS: [&str; 6] = ["choice", "int", "float", "step", "log", "when"];

/// The domain of the parameter `name`, and its values to validate with their places.
pub(super) fn domain(
    name: &str,
    path: &Arc<[Key]>,
    node: &Node,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<(Domain, Vec<AxisValue>)> {
    if let Some(nodes) = node.as_array() {
        return choice(name, path, node.place, nodes, mistakes);
    }
    let Some(table) = node.as_table() else {
        mistakes.push(no_domain(name, node));
        return None;
    };
    let mut named = table.entries.iter();
    let named = named.find(|(key, _)| DOMAINS.contains(&key.name.as_str()));
    let shown = format!("search.space.{name}");
    match named {
        Some((key, node)) if key.name == "choice" => {
            only(table, &["choice", "when"], &shown, mistakes);
            listed(name, path, node, mistakes)
        }
        Some((key, _)) if key.name == "int" => {
            let section: IntSection = section(table, "int", &shown, mistakes)?;
            let [low, high] = section.int;
            let step = section.step.unwrap_or(1);
            let fits = step < 1 || high.abs_diff(low) % step.unsigned_abs() == 0;
            let rest = high.abs_diff(low).checked_rem(step.unsigned_abs());
            let below = i128::from(high) - i128::from(rest.unwrap_or(0));
            let range = Range::of(table, "int", section.log, below.to_string());
            range.check(name, low as f64, high as f64, fits, mistakes)?;
            let domain = Domain::Int {
                low,
                high,
                step,
                log: section.log,
            };
            Some((
                domain,
                range.values(path, &[Toml::Integer(low), Toml::Integer(high)]),
            ))
        }
        Some(_) => between(name, path, table, mistakes),
        None => {
            mistakes.push(no_domain(name, node));
            None
        }
    }
}

/// `{ choice = [...] }`.
fn listed(
    name: &str,
    path: &Arc<[Key]>,
    node: &Node,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<(Domain, Vec<AxisValue>)> {
    let Some(nodes) = node.as_array() else {
        mistakes.push(
            Diagnostic::error(format!(
                "parameter `{name}` needs a list of choices, found {}",
                node.kind()
            ))
            .at(node.place, "expected a list"),
        );
        return None;
    };
    choice(name, path, node.place, nodes, mistakes)
}

/// `{ float = [low, high] }`.
fn between(
    name: &str,
    path: &Arc<[Key]>,
    table: &Table,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<(Domain, Vec<AxisValue>)> {
    let shown = format!("search.space.{name}");
    let FloatSection { float, step, log }: FloatSection =
        section(table, "float", &shown, mistakes)?;
    let [low, high] = float;
    let steps = step.map(|step| (high - low) / step);
    let fits = steps.is_none_or(|steps| (steps - steps.round()).abs() < 1e-6);
    let below = step.map_or(high, |step| low + ((high - low) / step).floor() * step);
    let range = Range::of(table, "float", log, below.to_string());
    range.check(name, low, high, fits, mistakes)?;
    let domain = Domain::Float {
        low,
        high,
        step,
        log,
    };
    let ends = [Toml::Float(low), Toml::Float(high)];
    Some((domain, range.values(path, &ends)))
}

fn no_domain(name: &str, node: &Node) -> Diagnostic {
    let names = || node.as_table().into_iter().flat_map(Table::names);
    let meant = names().find_map(|name| did_you_mean(name, DOMAINS));
    Diagnostic::error(format!("parameter `{name}` has no values"))
        .at(node.place, "expected choices or a range")
        .maybe_help(meant)
        .help("a list of choices: `[256, 512]`; a range: `{ int = [4, 8] }`, `{ float = [1e-5, 1e-3], log = true }`")
}

/// Reports keys that do not apply to this domain.
fn only(table: &Table, accepted: &[&str], shown: &str, mistakes: &mut Vec<Diagnostic>) {
    for (key, _) in &table.entries {
        if !accepted.contains(&key.name.as_str()) {
            mistakes.push(
                Diagnostic::error(format!("unknown key `{}` in `[{shown}]`", key.name))
                    .at(key.place, "does not go with `choice`")
                    .maybe_help(did_you_mean(&key.name, accepted.iter().copied())),
            );
        }
    }
}

/// The table of a range without `when`, which `condition` reads.
fn section<T: DeserializeOwned>(
    table: &Table,
    kind: &str,
    shown: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<T> {
    let mut rest = table.clone();
    rest.take("when");
    let node = Node {
        place: table
            .entry(kind)
            .map_or_else(Place::default, |(key, _)| key.place),
        value: Toml::Table(rest),
    };
    let read = read(&node, &format!("search.space.{kind}"), shown, &["when"]);
    read.map_err(|found| mistakes.extend(found)).ok()
}

fn choice(
    name: &str,
    path: &Arc<[Key]>,
    place: Place,
    nodes: &[Node],
    mistakes: &mut Vec<Diagnostic>,
) -> Option<(Domain, Vec<AxisValue>)> {
    if nodes.is_empty() {
        mistakes.push(
            Diagnostic::error(format!("parameter `{name}` has no choices"))
                .at(place, "the list is empty")
                .help("give it one value or remove it"),
        );
        return None;
    }
    let mut values: Vec<AxisValue> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let value = Written::value_of(path, node.clone());
        match values.iter().find(|known| known.text == value.text) {
            Some(known) => mistakes.push(
                Diagnostic::error(format!(
                    "parameter `{name}` has the choice `{}` twice",
                    value.text
                ))
                .at(node.place, "again")
                .context(known.assignment.node.place, "first here"),
            ),
            None => values.push(value),
        }
    }
    let domain = Domain::Choice {
        texts: values.iter().map(|value| value.text.to_string()).collect(),
        values: values
            .iter()
            .map(|value| json(&value.assignment.node))
            .collect(),
    };
    Some((domain, values))
}

/// Where a range is written.
struct Range {
    whole: Place,
    ends: [Place; 2],
    step: Option<Place>,
    log: bool,
    /// The largest value that the step reaches.
    below: String,
}

impl Range {
    fn of(table: &Table, kind: &str, log: bool, below: String) -> Self {
        let node = table.get(kind);
        let whole = node.map_or_else(Place::default, |node| node.place);
        let end = |index: usize| {
            let ends = node.and_then(Node::as_array);
            ends.and_then(|ends| ends.get(index))
                .map_or(whole, |end| end.place)
        };
        Self {
            whole,
            ends: [end(0), end(1)],
            step: table.get("step").map(|node| node.place),
            log,
            below,
        }
    }

    /// `None` where the ends are no range.
    fn check(
        &self,
        name: &str,
        low: f64,
        high: f64,
        fits: bool,
        mistakes: &mut Vec<Diagnostic>,
    ) -> Option<()> {
        let before = mistakes.len();
        if !low.is_finite() || !high.is_finite() {
            mistakes.push(
                Diagnostic::error(format!("parameter `{name}`: a range needs finite ends"))
                    .at(self.whole, "not a number, or without end"),
            );
        } else if low > high {
            mistakes.push(
                Diagnostic::error(format!("parameter `{name}`: the range is empty"))
                    .at(
                        self.whole,
                        format!("nothing is above {} and below {}", float(low), float(high)),
                    )
                    .help("the smaller end comes first"),
            );
        } else if self.log && low <= 0.0 {
            mistakes.push(
                Diagnostic::error(format!(
                    "parameter `{name}`: a logarithmic range begins above 0"
                ))
                .at(self.ends[0], "has no logarithm"),
            );
        }
        if let Some(step) = self.step {
            if self.log {
                mistakes.push(
                    Diagnostic::error(format!(
                        "parameter `{name}`: a logarithmic range has no step"
                    ))
                    .at(step, "steps would not be even")
                    .help("leave out `step` or `log`"),
                );
            } else if !fits && mistakes.len() == before {
                mistakes.push(
                    Diagnostic::error(format!(
                        "parameter `{name}`: the step does not lead to the upper end"
                    ))
                    .at(
                        step,
                        format!("does not divide {} to {} evenly", float(low), float(high)),
                    )
                    .help(format!("the largest value would be {}", self.below)),
                );
            }
        }
        (mistakes.len() == before).then_some(())
    }

    fn values(&self, path: &Arc<[Key]>, ends: &[Toml; 2]) -> Vec<AxisValue> {
        let places = self.ends.iter().zip(ends);
        places
            .map(|(place, value)| {
                let node = Node {
                    value: value.clone(),
                    place: *place,
                };
                Written::value_of(path, node)
            })
            .collect()
    }
}
