//! What differs along an axis that is declared as the treatment, beside what it sets.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::report::view::{Cell, View};

use super::difference::leaves;

/// Sections of a specification that decide neither work nor result.
const ASIDE: [&str; 3] = ["measure", "limits", "report"];
/// Sections of a specification, and where a manifest sets them.
const HOMES: [(&str, [&str; 2]); 3] = [
    ("model", ["train.model", "models."]),
    ("dataset", ["train.dataset", "datasets."]),
    ("loss", ["train.loss", "losses."]),
];

/// The settings in which cells that differ along the treatment only differ, and that it does not set; by path.
pub(crate) fn undeclared(view: &View<'_>) -> Vec<String> {
    let plan = &view.set.plan;
    let Some(place) = view.treatment() else {
        return Vec::new();
    };
    let mut declared = vec![plan.axes[place].path.as_str()];
    let variants = plan.variants.values().flat_map(BTreeMap::keys);
    declared.extend(variants.map(String::as_str));
    let mut references: BTreeMap<Vec<&str>, &Cell<'_>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for cell in &view.cells {
        let others = cell.info.axes.iter().enumerate();
        let others = others
            .filter(|(at, _)| *at != place)
            .map(|(_, text)| &**text);
        let reference = *references.entry(others.collect()).or_insert(cell);
        for name in sections(view) {
            let of = |cell| leaves(view.section(cell, name).unwrap_or(&Value::Null));
            let (one, other) = (of(reference), of(cell));
            let paths = one.keys().chain(other.keys());
            let differing = paths.filter(|path| one.get(*path) != other.get(*path));
            found.extend(differing.map(|path| match &**path {
                "" => name.to_owned(),
                path => format!("{name}.{path}"),
            }));
        }
    }
    found.retain(|path| !declared.iter().any(|set| covers(set, path)));
    found.into_iter().collect()
}

fn sections<'a>(view: &View<'a>) -> impl Iterator<Item = &'a str> {
    let first = view.set.plan.cells.first();
    let all = first
        .and_then(|cell| cell.spec.as_object())
        .into_iter()
        .flatten();
    all.map(|(name, _)| name.as_str())
        .filter(|name| !ASIDE.contains(name))
}

/// Whether setting `set` sets the setting at `path`.
fn covers(set: &str, path: &str) -> bool {
    let is_within = |inner: &str, outer: &str| {
        inner == outer
            || inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.starts_with('.'))
    };
    let section = path.split('.').next().unwrap_or_default();
    // The name of a section follows from what is chosen for it.
    let section = section.strip_suffix("_name").unwrap_or(section);
    let homes = HOMES.iter().filter(|(name, _)| *name == section);
    let is_home = homes
        .flat_map(|(_, homes)| homes)
        .any(|home| set.starts_with(home));
    is_home || is_within(path, set) || is_within(set, path)
}
