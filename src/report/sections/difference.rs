//! Differences between the work of two cells, from their specifications: why a ratio of their times is not shown.

use serde_json::Value;

use crate::base::units::human_integer;
use crate::compare::{SpecChange, is_within, setting_changes};
use crate::plan::{path_names, toml_text};
use crate::report::view::{Cell, View};

/// Parts of a specification that determine the arithmetic per sample, each with its displayed name.
const WORK_PARTS: [(&str, &str); 4] = [
    ("dataset", "dataset"),
    ("loss", "loss"),
    ("model", "model shape"),
    ("train.algorithm", "algorithm"),
];

/// Largest length in bytes of a value that is shown.
const LONGEST: usize = 100;
/// Largest number of settings of one part in a text.
const SETTINGS: usize = 6;

/// The parts in which the work of two cells differs, with their settings: `model shape (hidden 16 vs 256)`.
pub(crate) fn work_differences(view: &View<'_>, one: &Cell<'_>, other: &Cell<'_>) -> Vec<String> {
    let plan = &view.set.plan;
    let changes = setting_changes((plan, one.info), (plan, other.info));
    let found = WORK_PARTS.iter().filter_map(|(part, words)| {
        let changes = changes.iter();
        let changes: Vec<_> = changes
            .filter(|change| is_within(&change.path, part))
            .collect();
        (!changes.is_empty()).then(|| format!("{words} ({})", in_words(part, &changes)))
    });
    found.collect()
}

/// Both sides' `kind` if it differs, else every setting that does.
fn in_words(part: &str, changes: &[&SpecChange]) -> String {
    let find = |name: &str| {
        let path = format!("{part}{name}");
        changes.iter().find(|change| change.path == path)
    };
    let kind = find("").or_else(|| find(".kind"));
    if let Some(kind) = kind {
        return both_sides(kind);
    }
    // If the `layers` of declared models differ, their parameters and blocks cannot be compared.
    if find(".layers").is_some() {
        return "other layers".to_owned();
    }
    let mut texts: Vec<String> = changes
        .iter()
        .map(|change| {
            let path = change.path[part.len()..].trim_start_matches('.');
            let mut values = [&change.before, &change.after].into_iter().flatten();
            // Long values are not shown: the layers of two blocks, for example, would fill a page.
            if values.any(|value| value.len() > LONGEST) {
                format!("other {path}")
            } else {
                format!("{path} {}", both_sides(change))
            }
        })
        .collect();
    if texts.len() > SETTINGS {
        let more = texts.len() - SETTINGS;
        texts.truncate(SETTINGS);
        texts.push(format!("and {more} more settings"));
    }
    texts.join(", ")
}

/// `32 vs 10,000`; `none` for a side that lacks the setting.
fn both_sides(change: &SpecChange) -> String {
    let text = |value: &Option<String>| {
        let value = value.as_deref().unwrap_or("none");
        value
            .parse()
            .map_or_else(|_| value.to_owned(), human_integer)
    };
    format!("{} vs {}", text(&change.before), text(&change.after))
}

/// A section of a cell's specification, or one key of it.
pub(crate) fn part<'a>(view: &View<'a>, cell: &Cell<'a>, path: &str) -> Option<&'a Value> {
    let mut keys = path_names(path);
    let section = view.section(cell, keys.next()?)?;
    keys.try_fold(section, |value, key| value.get(key))
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
