//! Removes default values from resolved cells, so that a written manifest has only the necessary keys.

use serde_json::{Map, Value};

use crate::plan::CellSpec;
use crate::report::view::{Cell, View};

/// Sections of a specification that recommendations may change, and its fields with the names of model and dataset.
const FIELDS: [&str; 10] = [
    "model",
    "dataset",
    "loss",
    "train",
    "loader",
    "validation",
    "measure",
    "limits",
    "model_name",
    "dataset_name",
];

/// The cell's specification without keys that have their default value; `None` if this version cannot read it.
pub(super) fn spec_without_defaults(
    view: &View<'_>,
    cell: &Cell<'_>,
) -> Option<Map<String, Value>> {
    let mut whole = Map::new();
    for name in FIELDS {
        whole.insert(name.to_owned(), view.section(cell, name)?.clone());
    }
    whole.insert("key".to_owned(), Value::from(""));
    whole.insert("checkpoint_folder".to_owned(), Value::Null);
    let mut whole = Value::Object(whole);
    let meant: CellSpec = serde_json::from_value(whole.clone()).ok()?;
    let mut keys = Vec::new();
    for name in FIELDS {
        collect(&whole[name], &format!("/{name}"), &mut keys);
    }
    for (table, key) in keys {
        let fields = whole.pointer_mut(&table).and_then(Value::as_object_mut);
        let Some(removed) = fields.and_then(|fields| fields.remove_entry(&key)) else {
            continue;
        };
        let is_default =
            serde_json::from_value::<CellSpec>(whole.clone()).is_ok_and(|spec| spec == meant);
        if let Some(Value::Object(fields)) = whole.pointer_mut(&table).filter(|_| !is_default) {
            fields.extend([removed]);
        }
    }
    let Value::Object(mut fields) = whole else {
        return None;
    };
    fields.remove("key");
    fields.remove("checkpoint_folder");
    Some(fields)
}

/// Collects every key of `value` with the JSON pointer of its table, outer keys first, so that whole tables are removed
/// before their keys.
fn collect(value: &Value, table: &str, keys: &mut Vec<(String, String)>) {
    for (name, below) in value.as_object().into_iter().flatten() {
        keys.push((table.to_owned(), name.clone()));
        let escaped = name.replace('~', "~0").replace('/', "~1");
        collect(below, &format!("{table}/{escaped}"), keys);
    }
}
