//! Differences between cells, from their specifications: why a ratio is not shown, and what a treatment changes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::units::human_integer;
use crate::compare;
use crate::plan::{path_names, toml_text};
use crate::report::judged::{distinct, first_names_text};
use crate::report::view::{Cell, View};

/// Parts of a specification that determine the arithmetic per sample, each with its displayed name.
pub(crate) const WORK_PARTS: [(&str, &str); 4] = [
    ("dataset", "dataset"),
    ("loss", "loss"),
    ("model", "model shape"),
    ("train.algorithm", "algorithm"),
];

/// Parts of a specification that can change a result or a time.
pub(crate) const RESULT_PARTS: [(&str, &str); 6] = [
    ("dataset", "dataset"),
    ("model", "model"),
    ("loss", "loss"),
    ("train", "train"),
    ("loader", "loader"),
    ("validation", "validation"),
];

/// Largest number of values of one side in a text.
const NAMED: usize = 4;
/// Largest length in bytes of a value that is shown.
const LONGEST: usize = 100;
/// Largest number of settings of one part in a text.
const SETTINGS: usize = 6;

/// Text of the settings that differ in some parts: `train (batch-size 32 vs 64)`.
pub(crate) fn differing(
    view: &View<'_>,
    one: &[&Cell<'_>],
    other: &[&Cell<'_>],
    parts: &[(&str, &str)],
) -> Vec<String> {
    let found = parts.iter().filter_map(|(path, words)| {
        let (ours, theirs) = (parts_of(view, one, path), parts_of(view, other, path));
        if ours == theirs {
            return None;
        }
        let (left, right) = (names(&ours), names(&theirs));
        if left != right {
            return Some(format!("{words} ({} vs {})", shown(&left), shown(&right)));
        }
        let settings = settings(&ours, &theirs);
        (!settings.is_empty()).then(|| format!("{words} ({})", settings.join(", ")))
    });
    found.collect()
}

/// The different values of a part among cells, in plan order.
fn parts_of<'a>(view: &View<'a>, cells: &[&Cell<'a>], path: &str) -> Vec<&'a Value> {
    let values = cells.iter().map(|cell| part(view, cell, path));
    distinct(values.map(|value| value.unwrap_or(&Value::Null)))
}

/// A section of a cell's specification, or one key of it.
pub(crate) fn part<'a>(view: &View<'a>, cell: &Cell<'a>, path: &str) -> Option<&'a Value> {
    let mut keys = path_names(path);
    let section = view.section(cell, keys.next()?)?;
    keys.try_fold(section, |value, key| value.get(key))
}

/// Each value's `kind`; or the value itself if it has none.
fn names(values: &[&Value]) -> Vec<String> {
    let name = |value: &&Value| match value.get("kind").and_then(Value::as_str) {
        Some(kind) => kind.to_owned(),
        None if value.is_object() => String::new(),
        None => plain(value),
    };
    distinct(values.iter().map(name))
}

/// The settings whose values differ between two sides: `order 4 vs 0`.
fn settings(ours: &[&Value], theirs: &[&Value]) -> Vec<String> {
    let (ours, theirs) = (settings_of(ours), settings_of(theirs));
    // If the `layers` of declared models differ, their parameters and blocks cannot be compared.
    if ours.get("layers") != theirs.get("layers") {
        return vec!["other layers".to_owned()];
    }
    let none = || vec!["none".to_owned()];
    let others = theirs.keys().filter(|path| !ours.contains_key(*path));
    let paths: Vec<&String> = ours.keys().chain(others).collect();
    let mut found: Vec<String> = paths
        .into_iter()
        .filter_map(|path| {
            let left = ours.get(path).cloned().unwrap_or_else(none);
            let right = theirs.get(path).cloned().unwrap_or_else(none);
            let (left, right) = (left != right).then(|| (shown(&left), shown(&right)))?;
            // Long values are not shown: the layers of two blocks, for example, would fill a page.
            Some(if left.len().max(right.len()) > LONGEST {
                format!("other {path}")
            } else {
                format!("{path} {left} vs {right}")
            })
        })
        .collect();
    if found.len() > SETTINGS {
        let more = found.len() - SETTINGS;
        found.truncate(SETTINGS);
        found.push(format!("and {more} more settings"));
    }
    found
}

/// The different values of every setting of some tables, by its dotted path.
fn settings_of(values: &[&Value]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for value in values {
        let mut settings = BTreeMap::new();
        compare::collect_settings("", value, &mut settings);
        for (path, value) in settings {
            let known = found.entry(path).or_default();
            let text = plain(value);
            if !known.contains(&text) {
                known.push(text);
            }
        }
    }
    found
}

/// A value as text: strings without quotes, integers with thousands separators.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number
            .as_u64()
            .map_or_else(|| number.to_string(), human_integer),
        other => toml_text(other),
    }
}

fn shown(names: &[String]) -> String {
    let names: Vec<&str> = names
        .iter()
        .map(|name| if name.is_empty() { "none" } else { name })
        .collect();
    first_names_text(&names, NAMED, ", ")
}
