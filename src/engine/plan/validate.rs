//! Finds all mistakes of a manifest before cells are created.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::datasets::DatasetSpec;
use crate::diag::{Diagnostic, Place};
use crate::losses::LossSpec;
use crate::manifest::{DeserializeError, Key, Mistake};
use crate::models::ModelSpec;

use super::Plan;
use super::assign::Assignment;
use super::homes::Unit;
use super::matrix::{Axis, Matrix};
use super::reader::Reader;
use super::resolve::read_where;

/// Checks the sections as written, including those that no cell uses because an axis or a variant replaces them.
pub(super) fn sections(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    each_named::<ModelSpec>(plan, "models", mistakes);
    each_named::<DatasetSpec>(plan, "datasets", mistakes);
    each_named::<LossSpec>(plan, "losses", mistakes);
    let matrix = Matrix::default();
    let reader = Reader::new(plan, &matrix);
    let is_named = |unit: &Unit| matches!(unit, Unit::Model | Unit::Dataset | Unit::Loss);
    let plain = Unit::ALL.into_iter().filter(|unit| !is_named(unit));
    mistakes.extend(plain.flat_map(|unit| reader.mistakes(unit)));
}

fn each_named<T: DeserializeOwned + JsonSchema>(
    plan: &Plan,
    section: &str,
    mistakes: &mut Vec<Diagnostic>,
) {
    for (key, node) in plan.written.root.entries_of(section) {
        let name = &key.name;
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if name.is_empty() || !name.chars().all(is_plain) {
            let mistake = Diagnostic::error(format!("`{section}` cannot have the name `{name}`"));
            let help = "a name has letters, digits, `-` and `_`";
            mistakes.push(mistake.at(key.place, "").help(help));
        }
        // A required key may be set by an axis, so missing keys are checked with the cells.
        let is_it = |path: &[Key]| matches!(path, [first, second, ..] if first.name == section && second.name == *name);
        let may_miss = plan.paths().any(is_it);
        let is_missing =
            |mistake: &Mistake| matches!(mistake.complaint, DeserializeError::Missing { .. });
        let is_meant = |mistake: &Mistake| !(may_miss && is_missing(mistake));
        let shown = format!("{section}.{name}");
        let read = read_where::<T>(node, &shown, &[], is_meant);
        mistakes.extend(read.err().unwrap_or_default());
    }
}

impl Plan {
    /// The full dotted paths that axes, `set`, variants and parameters of a search change.
    pub(super) fn paths(&self) -> impl Iterator<Item = &[Key]> {
        let axes = self.matrices.iter().flat_map(|matrix| &matrix.axes);
        let set = self.matrices.iter().flat_map(|matrix| &matrix.set);
        let assigned = set.chain(self.written.variants.values().flatten());
        let searched = self.searched.parameters.iter();
        let axes = axes.map(|axis| &axis.path);
        let paths = axes.chain(assigned.map(|one| &one.path));
        paths
            .chain(searched.map(|one| &one.path))
            .map(|path| &path[..])
    }

    /// Every assignment of the manifest: those of `set`, of the values of axes, and of variants.
    pub(super) fn assignments(&self) -> impl Iterator<Item = &Assignment> {
        let assigned = self.matrices.iter().flat_map(|matrix| {
            let values = matrix.axes.iter().flat_map(|axis| &axis.values);
            let values = values.map(|value| &value.assignment);
            matrix.set.iter().chain(values)
        });
        assigned.chain(self.written.variants.values().flatten())
    }
}

/// Adds to a mistake the name of the axis or variant that it comes from.
pub(super) fn with_axis_name(mut mistake: Diagnostic, plan: &Plan, matrix: &Matrix) -> Diagnostic {
    let Some(place) = mistake.place() else {
        return mistake;
    };
    for axis in &matrix.axes {
        if let Some(prefix) = prefix(axis, place) {
            return with_title_prefix(mistake, &prefix, &axis.long());
        }
    }
    for (name, set) in &plan.written.variants {
        let is_it = |one: &Assignment| {
            let mut path = one.path.iter();
            one.node.place.contains(place) || path.any(|key| key.place == place)
        };
        if set.iter().any(is_it) {
            mistake.title = format!("variant `{name}`: {}", mistake.title);
            return mistake;
        }
    }
    mistake
}

/// Replaces the setting's path `long` at the start of the title by `prefix`, which names the setting for the user.
pub(super) fn with_title_prefix(mut mistake: Diagnostic, prefix: &str, long: &str) -> Diagnostic {
    let rest = mistake.title.strip_prefix(&format!("`{long}`"));
    let rest = rest.map(|rest| rest.trim_start_matches([':', ' ']));
    mistake.title = format!("{prefix}: {}", rest.unwrap_or(&mistake.title));
    mistake
}

fn prefix(axis: &Axis, place: Place) -> Option<String> {
    if axis.place == place {
        return Some(format!("axis `{}`", axis.name));
    }
    let mut values = axis.values.iter();
    let index = values.position(|value| value.assignment.node.place.contains(place))?;
    let which = if index < axis.listed {
        format!("value {} of {}", index + 1, axis.listed)
    } else {
        "an included value".to_owned()
    };
    Some(format!("axis `{}`, {which}", axis.name))
}
