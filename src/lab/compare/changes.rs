//! Differences between the specifications of two cells, and whether they do the same work.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::plan::toml_text;
use crate::results::{CellInfo, PlanFile};

use super::cells::Cell;
use super::{SpecChange, Work};

/// Prefixes of the paths of settings that determine the arithmetic per sample.
const WORK: [&str; 5] = [
    "dataset",
    "loss",
    "model",
    "train.algorithm",
    "train.precision",
];

/// Pairs of a field of a stored specification and the manifest section that the field comes from.
const HOMES: [(&str, &str); 2] = [
    ("model_name", "train.model"),
    ("dataset_name", "train.dataset"),
];

/// All differences between two specifications, by path.
///
/// If the cell hashes differ but no setting does, the cause is not a setting: it is listed as `dataset.content` (the data
/// changed, which the task signatures show), else as `cell_hash`.
pub(super) fn changes(before: &Cell<'_>, after: &Cell<'_>) -> Vec<SpecChange> {
    let mut found = setting_changes(before.place(), after.place());
    found.extend(hidden(before, after, &found));
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The settings in which two cells differ, sorted by path. Each cell is given with its plan.
pub fn setting_changes(
    before: (&PlanFile, &CellInfo),
    after: (&PlanFile, &CellInfo),
) -> Vec<SpecChange> {
    let (old, new) = (texts(before), texts(after));
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |path: &String| SpecChange {
        path: path.clone(),
        before: old.get(path).cloned(),
        after: new.get(path).cloned(),
    };
    let mut changes: Vec<SpecChange> = paths.into_iter().map(change).collect();
    changes.retain(|change| change.before != change.after);
    changes
}

/// A change of the data or of the cell hash that no changed setting in `known` explains; `None` if there is none.
fn hidden(before: &Cell<'_>, after: &Cell<'_>, known: &[SpecChange]) -> Option<SpecChange> {
    let is_changed = |section| known.iter().any(|change| is_within(&change.path, section));
    let has_hashed = known.iter().any(|change| is_hashed(&change.path));
    let (old, new) = (before.info, after.info);
    let (path, old, new) = if old.task_signature != new.task_signature && !is_changed("dataset") {
        if is_changed("loss") {
            return None;
        }
        ("dataset.content", &old.task_signature, &new.task_signature)
    } else if old.cell_hash != new.cell_hash && !has_hashed {
        ("cell_hash", &old.cell_hash, &new.cell_hash)
    } else {
        return None;
    };
    let short = |digest: &str| Some(digest.chars().take(8).collect());
    Some(SpecChange {
        path: path.to_owned(),
        before: short(old),
        after: short(new),
    })
}

/// Whether a setting is part of the cell hash. Measurement settings, limits (except `limits.max-loss`) and names are not.
fn is_hashed(path: &str) -> bool {
    let is_limit = is_within(path, "limits") && path != "limits.max-loss";
    let is_name = HOMES.iter().any(|(_, home)| *home == path);
    !is_within(path, "measure") && !is_limit && !is_name
}

/// Whether the setting at `path` is `section` or part of it; `train.clip-by` does not lie in `train.clip`.
pub fn is_within(path: &str, section: &str) -> bool {
    let rest = path.strip_prefix(section);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Every scalar of a specification as a manifest would contain it, strings without quotes.
fn texts((plan, cell): (&PlanFile, &CellInfo)) -> BTreeMap<String, String> {
    let spec = plan.spec(cell);
    let mut found = BTreeMap::new();
    for (section, value) in &spec {
        let home = HOMES.iter().find(|(name, _)| *name == section.as_str());
        let path = home.map_or(section.as_str(), |(_, path)| path);
        collect_settings(path, value, &mut found);
    }
    let found = found.into_iter();
    let texts = found.map(|(path, value)| (path, setting_text(value)));
    texts.collect()
}

/// A setting as text, as a TOML manifest would contain it; a string is without quotes.
pub fn setting_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| toml_text(value), str::to_owned)
}

/// Adds to `found` every setting in `value`, by its dotted path, which begins with `path`; recurses into tables.
pub fn collect_settings<'v>(path: &str, value: &'v Value, found: &mut BTreeMap<String, &'v Value>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                match path {
                    "" => collect_settings(name, value, found),
                    _ => collect_settings(&format!("{path}.{name}"), value, found),
                }
            }
        }
        other => _ = found.insert(path.to_owned(), other),
    }
}

/// Whether two cells do the same arithmetic per sample, in the same precision. `is_treatment`: they differ along the axis
/// declared as the treatment.
pub(super) fn work(
    before: &Cell<'_>,
    after: &Cell<'_>,
    changes: &[SpecChange],
    is_treatment: bool,
) -> Work {
    let is_precision = |change: &SpecChange| change.path == "train.precision";
    let is_same = before.info.work_signature == after.info.work_signature;
    if is_same && !changes.iter().any(is_precision) {
        return Work::Same;
    }
    let of_work = |change: &&SpecChange| {
        WORK.iter().any(|start| is_within(&change.path, start))
            && (!is_same || is_precision(change))
    };
    let parts = changes.iter().filter(of_work).map(in_words).collect();
    if is_treatment {
        Work::Treatments(parts)
    } else {
        Work::Different(parts)
    }
}

/// A changed setting as text: `loss.kind: mse → mae`.
fn in_words(change: &SpecChange) -> String {
    let sides = [&change.before, &change.after];
    let [before, after] = sides.map(|text| text.as_deref().unwrap_or("–"));
    format!("{}: {before} → {after}", change.path)
}
