//! Displayed names of axes and their values, and of results.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::compare;
use crate::results::{PlanFile, ResultSet};

/// Largest number of settings in the name of a matrix with a single cell.
const APART: usize = 2;

/// Displayed names: those in `report.names`; for an axis without one the last part of its path (`workers` of
/// `loader.workers`), if that is unique; for a matrix with a single cell the settings that distinguish the cell.
pub(super) fn names(set: &ResultSet) -> BTreeMap<String, String> {
    let mut names: BTreeMap<String, String> = set.plan.report_setting("names");
    for (own, words) in matrices(set) {
        names.entry(own).or_insert(words);
    }
    let axes = set.plan.axes.iter().map(|axis| &*axis.name);
    for own in axes.clone() {
        let short = short_name(own, axes.clone()).to_owned();
        names.entry(own.to_owned()).or_insert(short);
    }
    names
}

/// For each matrix with a single cell, the settings that distinguish the cell (`batch-size 32`), and the heading of
/// their column; empty if a matrix has several cells, or if cells differ in more than [`APART`] settings.
fn matrices(set: &ResultSet) -> BTreeMap<String, String> {
    let axes = set.plan.axes.iter();
    let Some(place) = axes.clone().position(|axis| axis.name == "matrix") else {
        return BTreeMap::new();
    };
    let mut cells: BTreeMap<&str, BTreeMap<String, &Value>> = BTreeMap::new();
    for cell in &set.plan.cells {
        let mut leaves = BTreeMap::new();
        for name in ["model", "dataset", "loss", "train", "loader", "validation"] {
            let section = set.plan.section(cell, name).unwrap_or(&Value::Null);
            compare::collect_settings(name, section, &mut leaves);
        }
        cells.insert(&cell.axes[place], leaves);
    }
    let all = || cells.values().flat_map(BTreeMap::keys);
    let differs = |path: &&String| {
        let mut values = cells.values().map(|leaves| leaves.get(*path));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let paths: BTreeSet<&String> = all().filter(differs).collect();
    if cells.len() < set.plan.cells.len() || !(1..=APART).contains(&paths.len()) {
        return BTreeMap::new();
    }
    let words = |leaves: &BTreeMap<String, &Value>| {
        let each = paths.iter().map(|path| {
            let value = leaves.get(*path).map(|value| compare::setting_text(value));
            format!(
                "{} {}",
                end_of_path(path),
                value.as_deref().unwrap_or("none")
            )
        });
        each.collect::<Vec<_>>().join(", ")
    };
    let named = cells
        .iter()
        .map(|(own, leaves)| ((*own).to_owned(), words(leaves)));
    named
        .chain([("matrix".to_owned(), "setting".to_owned())])
        .collect()
}

/// The last part of a path, if no other path in `all` has the same last part.
pub(crate) fn short_name<'p>(own: &'p str, all: impl Iterator<Item = &'p str>) -> &'p str {
    let short = end_of_path(own);
    if all.filter(|other| end_of_path(other) == short).count() == 1 {
        short
    } else {
        own
    }
}

/// The last part of a dotted path; if that is `kind`, the last two: `optimizer.kind`.
fn end_of_path(path: &str) -> &str {
    let start = |path: &str| path.rfind('.').map_or(0, |dot| dot + 1);
    let last = start(path);
    if &path[last..] == "kind" && last > 0 {
        return &path[start(&path[..last - 1])..];
    }
    &path[last..]
}

/// Name of the results: that of their folder.
pub(crate) fn name_of_results(folder: &Path, set: &ResultSet) -> String {
    let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let name = whole
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let is_plain = |name: &String| {
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        name.starts_with(is_word) && name.chars().all(|c| is_word(c) || c == '-')
    };
    name.filter(is_plain)
        .unwrap_or_else(|| set.plan.name.clone())
}

/// The title of results; or, if they have none, their name.
pub(super) fn title<'p>(plan: &'p PlanFile, name: &'p str) -> &'p str {
    if plan.title.is_empty() {
        name
    } else {
        &plan.title
    }
}
