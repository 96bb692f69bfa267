//! Differences between the machines and builds that two sides were measured on.

use std::collections::{BTreeMap, BTreeSet};

use crate::results::{Environment, ResultSet};

use super::cells::Cell;
use super::{FieldChange, FieldClass};

/// A class of fields, and its accessor.
type Class = (FieldClass, fn(&Environment) -> &BTreeMap<String, String>);

const CLASSES: [Class; 3] = [
    (FieldClass::MustMatch, |environment| &environment.must_match),
    (FieldClass::Warn, |environment| &environment.warn),
    (FieldClass::Info, |environment| &environment.info),
];

/// A result and its compared cells.
pub(super) type Part<'a> = (&'a ResultSet, Vec<&'a Cell<'a>>);

/// Fields that differ between the environments of the counted runs of two sides, by class and name. The code hash of the
/// cells is treated as such a field.
pub(super) fn differences(before: &Part<'_>, after: &Part<'_>) -> Vec<FieldChange> {
    let ids = |part: &Part<'_>| -> BTreeSet<String> {
        let ids = part.1.iter().filter_map(|cell| cell.env_id());
        ids.map(str::to_owned).collect()
    };
    let (ids_before, ids_after) = (ids(before), ids(after));
    if ids_before.is_empty() || ids_after.is_empty() {
        return Vec::new();
    }
    let mut found = between((before.0, &ids_before), (after.0, &ids_after));
    let codes = |part: &Part<'_>| -> BTreeSet<String> {
        let codes = part.1.iter().filter_map(|cell| cell.info.code_hash.clone());
        codes.collect()
    };
    found.extend(change(
        "code",
        FieldClass::Info,
        codes(before),
        codes(after),
    ));
    found
}

/// Names of the must-match fields that differ between the environments of two cells; `env_id` if a file does not describe an
/// environment.
pub(super) fn obstacles(before: (&ResultSet, &str), after: (&ResultSet, &str)) -> Vec<String> {
    if before.1 == after.1 {
        return Vec::new();
    }
    let one = |id: &str| BTreeSet::from([id.to_owned()]);
    let found = between((before.0, &one(before.1)), (after.0, &one(after.1)));
    let must = found
        .into_iter()
        .filter(|field| field.class == FieldClass::MustMatch);
    let names: Vec<String> = must.map(|field| field.field).collect();
    if names.is_empty() {
        vec!["env_id".to_owned()]
    } else {
        names
    }
}

type Named<'a> = (&'a ResultSet, &'a BTreeSet<String>);

fn between(before: Named<'_>, after: Named<'_>) -> Vec<FieldChange> {
    let environments = |(set, ids): Named<'_>| -> Vec<Environment> {
        let known = ids.iter().filter_map(|id| set.environments.get(id));
        known.cloned().collect()
    };
    let (old, new) = (environments(before), environments(after));
    let mut found = Vec::new();
    for (class, fields) in CLASSES {
        let all = old.iter().chain(&new).flat_map(|one| fields(one).keys());
        let names: BTreeSet<&String> = all.collect();
        for name in names {
            let values = |environments: &[Environment]| -> BTreeSet<String> {
                let values = environments.iter().map(|one| fields(one).get(name));
                let text = |value: Option<&String>| value.cloned().unwrap_or_default();
                values.map(text).collect()
            };
            found.extend(change(name, class, values(&old), values(&new)));
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
