//! Resolved cells without what every manifest has by default, so that a written manifest says only what it must.

use serde_json::{Map, Value};

use crate::plan::CellSpec;
use crate::report::view::{Cell, View};

/// Sections of a cell, in the order in which a manifest has them.
const SECTIONS: [&str; 10] = [
    "model",
    "model_name",
    "dataset",
    "dataset_name",
    "loss",
    "train",
    "loader",
    "validation",
    "measure",
    "limits",
];

/// The cell's specification as a manifest would write it; `None` where this version cannot read it.
pub(super) fn shortest(view: &View<'_>, cell: &Cell<'_>) -> Option<Map<String, Value>> {
    let mut whole = Map::new();
    for name in SECTIONS {
        whole.insert(name.to_owned(), view.section(cell, name)?.clone());
    }
    whole.insert("key".to_owned(), Value::from(""));
    whole.insert("checkpoint_folder".to_owned(), Value::Null);
    let mut whole = Value::Object(whole);
    let meant: CellSpec = serde_json::from_value(whole.clone()).ok()?;
    let mut paths = Vec::new();
    for name in SECTIONS {
        collect(&whole[name], &mut vec![name.to_owned()], &mut paths);
    }
    for path in paths {
        let Some(removed) = take(&mut whole, &path) else {
            continue;
        };
        let is_default =
            serde_json::from_value::<CellSpec>(whole.clone()).is_ok_and(|spec| spec == meant);
        if !is_default {
            put(&mut whole, &path, removed);
        }
    }
    let Value::Object(mut fields) = whole else {
        return None;
    };
    fields.remove("key");
    fields.remove("checkpoint_folder");
    Some(fields)
}

/// Every key below, outer ones first: what can be left out whole need not be taken apart.
fn collect(value: &Value, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    for (name, below) in value.as_object().into_iter().flatten() {
        path.push(name.clone());
        paths.push(path.clone());
        collect(below, path, paths);
        path.pop();
    }
}

fn parent<'a>(whole: &'a mut Value, path: &[String]) -> Option<&'a mut Map<String, Value>> {
    let (_, above) = path.split_last()?;
    let mut at = whole;
    for name in above {
        at = at.get_mut(name)?;
    }
    at.as_object_mut()
}

fn take(whole: &mut Value, path: &[String]) -> Option<Value> {
    parent(whole, path)?.remove(path.last()?)
}

fn put(whole: &mut Value, path: &[String], value: Value) {
    if let (Some(fields), Some(name)) = (parent(whole, path), path.last()) {
        fields.insert(name.clone(), value);
    }
}
