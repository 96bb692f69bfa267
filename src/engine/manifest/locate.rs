//! Finds the position of a serde error in a section, for any type that derives `Deserialize`.
//!
//! Enums tagged by `kind` are buffered by serde, which loses positions. But serde reads entries in order and stops at
//! the first invalid one, so the wrong entry is the last one of the shortest prefix of the table that gives the same
//! error. This takes several attempts to deserialize, but only if there is a mistake.

use serde::de::DeserializeOwned;

use crate::diag::Place;

use super::deserialize::DeserializeError;
use super::node::{Node, Table, Value};

/// An error of serde in a section, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Kind of error, with the names, types or lengths found and accepted.
    pub complaint: DeserializeError,
    /// Position of the mistake: the value, an unknown key, or the header of a table that lacks a key.
    pub place: Place,
    /// Keys from the section down to the value (without the unknown or missing key itself).
    pub path: Vec<String>,
}

/// Largest number of mistakes that are reported for a section; to find each takes several attempts to read the section.
const MOST: usize = 1000;

/// Deserializes a section as `T`.
///
/// # Errors
/// The mistakes in the section, at most a thousand and up to the first missing key: after each, the wrong entry is left
/// out and the rest is read again.
pub fn deserialize_section<T: DeserializeOwned>(section: &Node) -> Result<T, Vec<Mistake>> {
    let first = match T::deserialize(section) {
        Ok(value) => return Ok(value),
        Err(complaint) => complaint,
    };
    let mut mistakes = Vec::new();
    let mut rest = section.clone();
    let mut next = Some(first);
    while let Some(complaint) = next.take() {
        let found = locate::<T>(&rest, complaint);
        let is_last = matches!(found.mistake.complaint, DeserializeError::Missing { .. });
        mistakes.push(found.mistake);
        if is_last || mistakes.len() == MOST || !remove(&mut rest, &found.entry) {
            break;
        }
        next = T::deserialize(&rest).err();
    }
    // A required key that was left out because its value is wrong is not missing.
    let is_real = |mistake: &Mistake| match mistake.complaint {
        DeserializeError::Missing { name } => !has(section, &mistake.path, name),
        _ => true,
    };
    mistakes.retain(is_real);
    Err(mistakes)
}

struct Found {
    mistake: Mistake,
    /// Path of the table entry to leave out in the next attempt.
    entry: Vec<String>,
}

fn locate<T: DeserializeOwned>(root: &Node, complaint: DeserializeError) -> Found {
    let mut probe = root.clone();
    let mut path: Vec<Step> = Vec::new();
    while let Some(step) = narrow::<T>(&mut probe, &path, &complaint) {
        path.push(step);
    }
    let key = |step: &Step| match step {
        Step::Key(name) => Some(name.clone()),
        Step::Index(_) => None,
    };
    let entry: Vec<String> = path.iter().map_while(key).collect();
    let (place, key) = at(root, &path).unwrap_or((root.place, None));
    let is_unknown_key = matches!(complaint, DeserializeError::UnknownKey { .. });
    let mut names = entry.clone();
    if is_unknown_key {
        names.pop();
    }
    Found {
        mistake: Mistake {
            place: key.filter(|_| is_unknown_key).unwrap_or(place),
            complaint,
            path: names,
        },
        entry,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Finds the faulty entry: cuts the table or list at `path` to its shortest prefix that gives the same error, and
/// returns the step to the last entry of that prefix; `None` when the value at `path` itself is wrong.
fn narrow<T: DeserializeOwned>(
    probe: &mut Node,
    path: &[Step],
    complaint: &DeserializeError,
) -> Option<Step> {
    let whole = descend(probe, path)?.clone();
    let length = match &whole.value {
        Value::Table(table) => table.entries.len(),
        Value::Array(_) if matches!(complaint, DeserializeError::WrongLength { .. }) => {
            return None;
        }
        Value::Array(nodes) => nodes.len(),
        _ => return None,
    };
    for kept in 0..=length {
        *descend(probe, path)? = beginning(&whole, kept);
        if T::deserialize(&*probe).err().as_ref() != Some(complaint) {
            continue;
        }
        // If a required key of the table itself is missing, the table is the faulty value.
        let is_own = matches!(complaint, DeserializeError::Missing { .. }) && is_leaf(&whole, kept);
        return match &whole.value {
            _ if kept == 0 || is_own => {
                *descend(probe, path)? = whole;
                None
            }
            // Every prefix begins with `kind`, so that a mistake in `kind` itself is found at its entry.
            Value::Table(table) => table
                .entries
                .get(order(table, kept - 1))
                .map(|(key, _)| Step::Key(key.name.clone())),
            _ => Some(Step::Index(kept - 1)),
        };
    }
    *descend(probe, path)? = whole;
    None
}

/// Whether the last of the first `kept` entries is neither a table nor a list, so that no key can be missing in it.
fn is_leaf(whole: &Node, kept: usize) -> bool {
    let table = whole.as_table();
    let entry = table.and_then(|table| table.entries.get(order(table, kept.checked_sub(1)?)));
    entry.is_none_or(|(_, node)| node.as_table().is_none() && node.as_array().is_none())
}

/// Index in `table` of the entry that is read as number `nth`, from 0: `kind` is read first, then the others in order.
fn order(table: &Table, nth: usize) -> usize {
    match table.entries.iter().position(|(key, _)| key.name == "kind") {
        Some(kind) if nth == 0 => kind,
        Some(kind) if nth <= kind => nth - 1,
        _ => nth,
    }
}

fn beginning(whole: &Node, kept: usize) -> Node {
    let value = match &whole.value {
        Value::Table(table) => {
            let entries = (0..kept).filter_map(|nth| table.entries.get(order(table, nth)));
            let entries = entries.cloned().collect();
            Value::Table(Table { entries })
        }
        Value::Array(nodes) => Value::Array(nodes.iter().take(kept).cloned().collect()),
        other => other.clone(),
    };
    Node::new(value, whole.place)
}

fn descend<'a>(node: &'a mut Node, path: &[Step]) -> Option<&'a mut Node> {
    path.iter()
        .try_fold(node, |node, step| match (step, &mut node.value) {
            (Step::Key(name), Value::Table(table)) => table.get_mut(name),
            (Step::Index(index), Value::Array(nodes)) => nodes.get_mut(*index),
            _ => None,
        })
}

/// Place of the value at `path` and, if the path ends with a key, place of the key; `None` if there is no such value.
fn at(root: &Node, path: &[Step]) -> Option<(Place, Option<Place>)> {
    let mut found = (root, None);
    for step in path {
        found = match (step, &found.0.value) {
            (Step::Key(name), Value::Table(table)) => {
                let (key, node) = table.entry(name)?;
                (node, Some(key.place))
            }
            (Step::Index(index), Value::Array(nodes)) => (nodes.get(*index)?, None),
            _ => return None,
        };
    }
    Some((found.0.place, found.1))
}

fn remove(root: &mut Node, path: &[String]) -> bool {
    let Some((last, above)) = path.split_last() else {
        return false;
    };
    let steps: Vec<Step> = above.iter().cloned().map(Step::Key).collect();
    descend(root, &steps)
        .and_then(Node::as_table_mut)
        .is_some_and(|table| table.take(last).is_some())
}

fn has(section: &Node, path: &[String], name: &str) -> bool {
    path.iter()
        .try_fold(section, |node, key| node.as_table()?.get(key))
        .and_then(Node::as_table)
        .is_some_and(|table| table.get(name).is_some())
}
