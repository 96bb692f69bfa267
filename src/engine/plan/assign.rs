//! Assignments: values that variants, `set` and axes put at a path of the manifest.

use std::sync::Arc;

use crate::diag::Diagnostic;
use crate::manifest::{Key, Node, Table, Value};

use super::homes::long_path;

/// A value at a long path. Each key has the place where the path is written, for messages about a mistyped path; the
/// values of an axis share one path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assignment {
    pub(super) path: Arc<[Key]>,
    pub(super) node: Node,
}

/// Reads a table of overrides (`"train.optimizer.lr" = 1e-4`, `batch-size = 8`); `None` for those with a mistake.
pub(super) fn read(table: &Table, mistakes: &mut Vec<Diagnostic>) -> Vec<Assignment> {
    let mut assignments = Vec::new();
    for (key, node) in &table.entries {
        match long_path(&key.name, key.place) {
            Ok(path) if path.len() == 1 => mistakes.push(
                Diagnostic::error("a variant cannot be chosen here")
                    .at(key.place, "")
                    .help("`variant` is an axis: `[matrix] variant = [\"before\", \"after\"]`"),
            ),
            Ok(path) => assignments.push(Assignment {
                path: path.into(),
                node: node.clone(),
            }),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    assignments
}

/// Applies `assignments` to a clone of the section at `prefix`: longer paths last, later ones win.
///
/// `base` is the section as written; without one, an empty section at `empty`.
pub(super) fn overlay<'a>(
    base: Node,
    prefix: &[&str],
    assignments: impl Iterator<Item = &'a Assignment>,
) -> Node {
    let mut node = base;
    let mut mine: Vec<&Assignment> = assignments
        .filter(|assignment| starts_with(&assignment.path, prefix))
        .collect();
    mine.sort_by_key(|assignment| assignment.path.len());
    for assignment in mine {
        let below = assignment.path.get(prefix.len()..).unwrap_or_default();
        node.put(below, assignment.node.clone());
    }
    node
}

pub(super) fn empty_section(place: crate::diag::Place) -> Node {
    Node {
        value: Value::Table(Table::default()),
        place,
    }
}

fn starts_with(path: &[Key], prefix: &[&str]) -> bool {
    path.len() >= prefix.len() && path.iter().zip(prefix).all(|(key, name)| key.name == *name)
}
