//! Reads the values of a parameter: a list of choices, or a table with `choice`, `int` or `float`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::diag::{Diagnostic, Place, did_you_mean};
use crate::manifest::{Key, Node, Table, Value as Toml};

use super::super::key::{axis_value, float};
use super::super::matrix::AxisValue;
use super::super::resolve::{SectionResult, read};
use super::Domain;
use super::section::{FloatSection, IntSection};

/// Keys that define a parameter's values.
const DOMAINS: [&str; 3] = ["choice", "int", "float"];

/// Every key of a parameter.
pub(super) const KEYS: [&str; 6] = ["choice", "int", "float", "step", "log", "when"];

/// A domain, and the values that must be valid for the setting, with their positions: all choices, or both ends of a
/// range.
type Values = (Domain, Vec<AxisValue>);

/// The domain of the parameter `name` with its values. A mistake that leaves the domain clear is added to `mistakes`;
/// any other is returned.
pub(super) fn domain(
    name: &str,
    path: &Arc<[Key]>,
    node: &Node,
    mistakes: &mut Vec<Diagnostic>,
) -> SectionResult<Values> {
    if node.as_array().is_some() {
        return choice(name, path, node, mistakes);
    }
    let Some(table) = node.as_table() else {
        return Err(vec![no_domain(name, node)]);
    };
    let mut entries = table.entries.iter();
    match entries.find(|(key, _)| DOMAINS.contains(&key.name.as_str())) {
        Some((key, node)) if key.name == "choice" => {
            only_choice(name, table, mistakes);
            choice(name, path, node, mistakes)
        }
        Some((key, _)) if key.name == "int" => whole(name, path, table),
        Some(_) => between(name, path, table),
        None => Err(vec![no_domain(name, node)]),
    }
}

/// Reads the domain `{ int = [low, high] }`.
fn whole(name: &str, path: &Arc<[Key]>, table: &Table) -> SectionResult<Values> {
    let IntSection { int, step, log } = section(name, table, "int")?;
    let ([low, high], step) = (int, step.unwrap_or(1));
    let rest = high.abs_diff(low).checked_rem(step.unsigned_abs());
    let below = i128::from(high) - i128::from(rest.unwrap_or(0));
    let range = Range {
        log,
        ends: [low as f64, high as f64],
        fits: step < 1 || rest == Some(0),
        below: below.to_string(),
    };
    let values = range.values(name, path, table, "int", [low, high].map(Toml::Integer))?;
    let domain = Domain::Int {
        low,
        high,
        step,
        log,
    };
    Ok((domain, values))
}

/// Reads the domain `{ float = [low, high] }`.
fn between(name: &str, path: &Arc<[Key]>, table: &Table) -> SectionResult<Values> {
    let FloatSection { float, step, log } = section(name, table, "float")?;
    let [low, high] = float;
    let steps = step.map(|step| (high - low) / step);
    let below = step
        .zip(steps)
        .map_or(high, |(step, steps)| low + steps.floor() * step);
    let range = Range {
        log,
        ends: float,
        fits: steps.is_none_or(|steps| (steps - steps.round()).abs() < 1e-6),
        below: below.to_string(),
    };
    let values = range.values(name, path, table, "float", float.map(Toml::Float))?;
    let domain = Domain::Float {
        low,
        high,
        step,
        log,
    };
    Ok((domain, values))
}

fn no_domain(name: &str, node: &Node) -> Diagnostic {
    let mut names = node.as_table().into_iter().flat_map(Table::names);
    let meant = names.find_map(|name| did_you_mean(name, DOMAINS));
    Diagnostic::error(format!("parameter `{name}` has no values"))
        .at(node.place, "expected choices or a range")
        .maybe_help(meant)
        .help("a list of choices: `[256, 512]`; a range: `{ int = [4, 8] }`, `{ float = [1e-5, 1e-3], log = true }`")
}

/// Reports keys that a parameter with `choice` does not accept.
fn only_choice(name: &str, table: &Table, mistakes: &mut Vec<Diagnostic>) {
    let accepted = ["choice", "when"];
    for (key, _) in &table.entries {
        if !accepted.contains(&key.name.as_str()) {
            let title = format!("unknown key `{}` in `[search.space.{name}]`", key.name);
            let mistake = Diagnostic::error(title).at(key.place, "does not go with `choice`");
            mistakes.push(mistake.maybe_help(did_you_mean(&key.name, accepted)));
        }
    }
}

/// Reads the table of a range as a `T`, without its key `when`, which is read by the module `condition`.
fn section<T: DeserializeOwned + JsonSchema>(
    name: &str,
    table: &Table,
    kind: &str,
) -> SectionResult<T> {
    let mut rest = table.clone();
    rest.take("when");
    let place = table.entry(kind).map(|(key, _)| key.place);
    let node = Node::new(Toml::Table(rest), place.unwrap_or_default());
    read(&node, &format!("search.space.{name}"), &["when"])
}

fn choice(
    name: &str,
    path: &Arc<[Key]>,
    list: &Node,
    mistakes: &mut Vec<Diagnostic>,
) -> SectionResult<Values> {
    let Some(nodes) = list.as_array() else {
        let expected = format!("parameter `{name}` needs a list of choices");
        return Err(vec![list.unexpected(&expected, "expected a list")]);
    };
    if nodes.is_empty() {
        let mistake = Diagnostic::error(format!("parameter `{name}` has no choices"));
        let mistake = mistake.at(list.place, "the list is empty");
        return Err(vec![mistake.help("give it one value or remove it")]);
    }
    let mut values: Vec<AxisValue> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let value = AxisValue::new(path, node.clone());
        if let Some(known) = values.iter().find(|known| known.text == value.text) {
            let title = format!("parameter `{name}` has the choice `{}` twice", value.text);
            let mistake = Diagnostic::error(title).at(node.place, "again");
            mistakes.push(mistake.context(known.assignment.node.place, "first here"));
        } else {
            values.push(value);
        }
    }
    let texts = values
        .iter()
        .map(|value| axis_value(&value.text).into_owned());
    let texts = texts.collect();
    let json = values
        .iter()
        .map(|value| value.assignment.node.to_json())
        .collect();
    let domain = Domain::Choice {
        texts,
        values: json,
    };
    Ok((domain, values))
}

/// A range as written in the manifest.
struct Range {
    ends: [f64; 2],
    log: bool,
    /// Whether whole steps lead exactly to the upper end.
    fits: bool,
    /// The largest value that whole steps reach, as text.
    below: String,
}

impl Range {
    /// Both ends, written in `table` under `kind`, as values; an error if they are not a range.
    fn values(
        &self,
        name: &str,
        path: &Arc<[Key]>,
        table: &Table,
        kind: &str,
        ends: [Toml; 2],
    ) -> SectionResult<Vec<AxisValue>> {
        let whole = table.place_of(kind);
        let place = |index: usize| table.list(kind).get(index).map_or(whole, |end| end.place);
        let wrong = self.wrong_ends(whole, place(0));
        let step = table.get("step").map(|node| node.place);
        let step = step.and_then(|step| self.wrong_step(step, wrong.is_none()));
        let mistake = |wrong: Diagnostic| Diagnostic {
            title: format!("parameter `{name}`: {}", wrong.title),
            ..wrong
        };
        let wrong: Vec<Diagnostic> = wrong.into_iter().chain(step).map(mistake).collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let places = [place(0), place(1)].into_iter().zip(ends);
        let values = places.map(|(place, end)| AxisValue::new(path, Node::new(end, place)));
        Ok(values.collect())
    }

    fn wrong_ends(&self, whole: Place, first: Place) -> Option<Diagnostic> {
        let [low, high] = self.ends;
        if !low.is_finite() || !high.is_finite() {
            let mistake = Diagnostic::error("a range needs finite ends");
            return Some(mistake.at(whole, "not a number, or without end"));
        }
        if low > high {
            let label = format!("nothing is above {} and below {}", float(low), float(high));
            let mistake = Diagnostic::error("the range is empty").at(whole, label);
            return Some(mistake.help("the smaller end comes first"));
        }
        let mistake = || Diagnostic::error("a logarithmic range begins above 0");
        (self.log && low <= 0.0).then(|| mistake().at(first, "has no logarithm"))
    }

    fn wrong_step(&self, step: Place, is_range: bool) -> Option<Diagnostic> {
        let [low, high] = self.ends.map(float);
        if self.log {
            let mistake = Diagnostic::error("a logarithmic range has no step");
            let mistake = mistake.at(step, "steps would not be even");
            return Some(mistake.help("leave out `step` or `log`"));
        }
        let mistake = || {
            Diagnostic::error("the step does not lead to the upper end")
                .at(step, format!("does not divide {low} to {high} evenly"))
                .help(format!("the largest value would be {}", self.below))
        };
        (!self.fits && is_range).then(mistake)
    }
}
