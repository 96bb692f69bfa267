//! Assignments: values that variants, `set` and axes put at a path of the manifest.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::diag::{Diagnostic, Place};
use crate::manifest::{Key, Node, Table};

use super::homes::long_path;

/// A value for the setting at a full dotted path. Every key of the path holds the source position of the whole path,
/// for error messages about a mistyped path. The values of an axis share one path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assignment {
    pub(super) path: Arc<[Key]>,
    pub(super) node: Node,
}

impl Assignment {
    /// Position of the assignment's path in the manifest.
    pub(super) fn place(&self) -> Place {
        self.path.first().map(|key| key.place).unwrap_or_default()
    }
}

/// Reads a table of overrides (`"train.optimizer.lr" = 1e-4`, `batch-size = 8`); entries with a mistake are left out.
pub(super) fn read(table: &Table, mistakes: &mut Vec<Diagnostic>) -> Vec<Assignment> {
    let mut assignments = Vec::new();
    for (key, node) in &table.entries {
        match long_path(&key.name, key.place) {
            Ok(path) if path.len() == 1 => {
                let help = "`variant` is an axis: `[matrix] variant = [\"before\", \"after\"]`";
                let mistake = Diagnostic::error("a variant cannot be chosen here");
                mistakes.push(mistake.at(key.place, "").help(help));
            }
            Ok(path) => assignments.push(Assignment {
                path: path.into(),
                node: node.clone(),
            }),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    assignments
}

/// Applies to the section `node` those `assignments` whose path begins with `prefix`. Shorter paths come first, so that
/// a single setting overrides the whole table that contains it; of equal paths the last one counts.
pub(super) fn overlay<'a>(
    mut node: Node,
    prefix: &[&str],
    assignments: impl Iterator<Item = &'a Assignment>,
) -> Node {
    let is_mine = |one: &&Assignment| starts_with(&one.path, prefix);
    let mut mine: Vec<&Assignment> = assignments.filter(is_mine).collect();
    mine.sort_by_key(|assignment| assignment.path.len());
    for assignment in mine {
        let below = assignment.path.get(prefix.len()..).unwrap_or_default();
        node.put(below, assignment.node.clone());
    }
    node
}

/// Whether the full dotted path `path` is the setting `name` of `[train]`.
pub(super) fn is_of_train(path: &[Key], name: &str) -> bool {
    matches!(path, [train, key] if train.name == "train" && key.name == name)
}

fn starts_with(path: &[Key], prefix: &[&str]) -> bool {
    path.len() >= prefix.len() && path.iter().zip(prefix).all(|(key, name)| key.name == *name)
}

/// The parts of a manifest from which cells are resolved.
#[derive(Debug)]
pub(super) struct ManifestSections {
    /// The tree of the manifest, without the matrices.
    pub(super) root: Table,
    /// The assignments of each variant.
    pub(super) variants: Variants,
    /// Absolute folder that the manifest's paths are relative to.
    pub(super) folder: PathBuf,
}

/// The assignments of each variant.
pub(super) type Variants = BTreeMap<String, Vec<Assignment>>;
