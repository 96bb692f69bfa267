//! Differences along an axis that is declared as the treatment, other than the settings of the axis.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::{is_within, setting_changes, setting_text};
use crate::report::judged::distinct;
use crate::report::view::{Cell, View};

/// Sections of a specification that affect neither work nor results.
const ASIDE: [&str; 3] = ["measure", "limits", "report"];
/// Sections of a specification, and the sections of a manifest that set them.
const HOMES: [(&str, [&str; 2]); 3] = [
    ("model", ["train.model", "models."]),
    ("dataset", ["train.dataset", "datasets."]),
    ("loss", ["train.loss", "losses."]),
];

/// Largest number of variants explained below a table, and of settings for each.
const EXPLAINED: [usize; 2] = [6, 3];

/// Settings of the variants of some cells, settings with text values first: ` Variants: a1 (model canned-net), b1 (…).`
/// Empty if no variant needs an explanation.
pub(crate) fn variants_note(view: &View<'_>, cells: &[&Cell<'_>]) -> String {
    let plan = &view.set.plan;
    let mut axes = view.axes_in_names.iter();
    let Some(&place) = axes.find(|&&place| plan.axes[place].is_called("variant")) else {
        return String::new();
    };
    let names = distinct(cells.iter().map(|cell| &*cell.info.axes[place]));
    let [most, each] = EXPLAINED;
    // Values with a display name in the manifest need no explanation.
    let coded = names.into_iter().filter(|name| view.value(name) == *name);
    let told = coded.filter_map(|name| {
        let sets = plan.variants.get(name)?.iter();
        let mut sets: Vec<_> = sets
            .filter(|(_, value)| value.as_str() != Some(name))
            .collect();
        sets.sort_by_key(|(_, value)| !value.is_string());
        let shown = sets.iter().take(each).map(|(path, value)| {
            let path = path.strip_prefix("train.").unwrap_or(path);
            format!("{path} {}", setting_text(value))
        });
        let mut words: Vec<String> = shown.collect();
        let left = sets.len() - words.len();
        words.extend((left > 0).then(|| format!("{left} more")));
        (!words.is_empty()).then(|| format!("{name} ({})", words.join(", ")))
    });
    let told: Vec<String> = told.take(most).collect();
    match told.len() {
        0 => String::new(),
        _ => format!(" Variants: {}.", told.join(", ")),
    }
}

/// Paths of settings that differ between cells which differ only in the treatment, although the treatment does not set
/// them.
pub(crate) fn undeclared_settings(view: &View<'_>) -> Vec<String> {
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
        let reference = *references
            .entry(cell.axis_values_except(place))
            .or_insert(cell);
        let changes = setting_changes((plan, reference.info), (plan, cell.info)).into_iter();
        found.extend(changes.map(|change| change.path));
    }
    found.retain(|path| {
        changes_work_or_result(path) && !declared.iter().any(|set| covers(set, path))
    });
    found.into_iter().collect()
}

/// Whether a setting decides work or result.
pub(crate) fn changes_work_or_result(path: &str) -> bool {
    !ASIDE.contains(&path.split('.').next().unwrap_or_default())
}

/// Whether setting `set` sets the setting at `path`.
fn covers(set: &str, path: &str) -> bool {
    let section = path.split('.').next().unwrap_or_default();
    // `dataset_name` is the name chosen for the section `dataset`.
    let section = section.strip_suffix("_name").unwrap_or(section);
    let homes = HOMES.iter().filter(|(name, _)| *name == section);
    let is_home = homes
        .flat_map(|(_, homes)| homes)
        .any(|home| set.starts_with(home));
    is_home || is_within(path, set) || is_within(set, path)
}
