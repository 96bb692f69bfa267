//! Differences between the machines and builds that two sides were measured on.

use std::collections::{BTreeMap, BTreeSet};

use crate::results::Environment;

use super::cells::Cell;
use super::{FieldChange, FieldClass};

/// A class of environment fields, and a function that reads them.
type Class = (FieldClass, fn(&Environment) -> &BTreeMap<String, String>);

const CLASSES: [Class; 3] = [
    (FieldClass::MustMatch, |environment| &environment.must_match),
    (FieldClass::Warn, |environment| &environment.warn),
    (FieldClass::Info, |environment| &environment.info),
];

/// Fields that differ between the environments of the counted runs of two sides' cells, by class and name. The code
/// hash of the cells is one of the fields.
pub(super) fn differences(before: &[&Cell<'_>], after: &[&Cell<'_>]) -> Vec<FieldChange> {
    let (old, new) = (environments(before), environments(after));
    if old.is_empty() || new.is_empty() {
        return Vec::new();
    }
    let codes = |cells: &[&Cell<'_>]| -> BTreeSet<String> {
        let codes = cells.iter().filter_map(|cell| cell.info.code_hash.clone());
        codes.collect()
    };
    let code = change("code", FieldClass::Info, codes(before), codes(after));
    between(&old, &new).into_iter().chain(code).collect()
}

/// Names of the must-match fields that differ between the environments of two cells; `env_id` if `env.toml` lacks one
/// of the environments.
pub(super) fn differing_fields(before: &Cell<'_>, after: &Cell<'_>) -> Vec<String> {
    let (old, new) = (environments(&[before]), environments(&[after]));
    if old.is_empty() || new.is_empty() || old.keys().eq(new.keys()) {
        return Vec::new();
    }
    let mut found = between(&old, &new);
    found.retain(|field| field.class == FieldClass::MustMatch);
    let names: Vec<String> = found.into_iter().map(|field| field.field).collect();
    if names.is_empty() {
        return vec!["env_id".to_owned()];
    }
    names
}

/// The environments of measured cells by `env_id`; `None` if `env.toml` lacks it.
type Environments<'a> = BTreeMap<&'a str, Option<&'a Environment>>;

fn environments<'a>(cells: &[&'a Cell<'_>]) -> Environments<'a> {
    let of_cell = |cell: &&'a Cell<'_>| {
        let id = cell.env_id()?;
        Some((id, cell.set.environments.get(id)))
    };
    cells.iter().filter_map(of_cell).collect()
}

fn between(before: &Environments<'_>, after: &Environments<'_>) -> Vec<FieldChange> {
    let mut found = Vec::new();
    for (class, fields) in CLASSES {
        let all = before.values().chain(after.values()).flatten();
        let names: BTreeSet<&String> = all.flat_map(|one| fields(one).keys()).collect();
        for name in names {
            let values = |environments: &Environments<'_>| -> BTreeSet<String> {
                let values = environments.values().flatten();
                let values = values.map(|one| fields(one).get(name).cloned().unwrap_or_default());
                values.collect()
            };
            found.extend(change(name, class, values(before), values(after)));
        }
    }
    found
}

fn change(
    field: &str,
    class: FieldClass,
    before: BTreeSet<String>,
    after: BTreeSet<String>,
) -> Option<FieldChange> {
    (before != after).then(|| FieldChange {
        field: field.to_owned(),
        class,
        before: before.into_iter().collect(),
        after: after.into_iter().collect(),
    })
}
