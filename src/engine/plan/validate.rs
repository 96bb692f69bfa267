//! Finds all mistakes of a manifest before cells are created.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::datasets::DatasetSpec;
use crate::diag::{Diagnostic, Place};
use crate::losses::LossSpec;
use crate::manifest::{Complaint, Key, Mistake, Value};
use crate::models::ModelSpec;

use super::Plan;
use super::assign::Assignment;
use super::declared;
use super::filters::product;
use super::homes::Unit;
use super::matrix::{Axis, Matrix};
use super::reader::Reader;
use super::resolve::read_where;
use super::units::Units;

/// Largest number of combinations of one unit that are all tried; with more, only representative values are tried.
const TRIED: u64 = 4096;

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
        let is_missing = |mistake: &Mistake| matches!(mistake.complaint, Complaint::Missing { .. });
        let is_meant = |mistake: &Mistake| !(may_miss && is_missing(mistake));
        let shown = format!("{section}.{name}");
        let read = read_where::<T>(node, &shown, &[], is_meant);
        mistakes.extend(read.err().unwrap_or_default());
    }
}

impl Plan {
    /// The long paths that axes, `set`, variants and parameters of a search change.
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

/// Number of mistakes after which no further combination is tried: combinations often repeat the same mistakes, and
/// only a hundred are printed.
pub(super) const MANY: usize = 10_000;

/// Tries every unit of the cells with every combination of the values that affect it.
pub(super) fn cells(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    for matrix in &plan.matrices {
        let reader = Reader::new(plan, matrix);
        for unit in Unit::ALL {
            let axes = reader.axes_of(&[unit]);
            let found = |choices: Vec<Vec<u32>>| {
                let mut all = Vec::new();
                for choice in choices {
                    all.extend(reader.at(&choice).mistakes(unit));
                    if all.len() >= MANY {
                        break;
                    }
                }
                all
            };
            let mut all = found(tries(matrix, &axes, Axis::telling));
            if !all.is_empty() {
                all = found(tries(matrix, &axes, Axis::all));
            }
            let all = all.into_iter();
            mistakes.extend(all.map(|mistake| in_axis(mistake, plan, matrix)));
        }
    }
    if mistakes.is_empty() {
        shapes(plan, mistakes);
    }
}

impl Axis {
    pub(super) fn all(&self) -> Vec<u32> {
        (0..self.values.len() as u32).collect()
    }

    /// Indices of values that suffice to find all mistakes. Valid numbers always form an interval, so only the smallest
    /// and the largest integer and float are needed.
    pub(super) fn telling(&self) -> Vec<u32> {
        let node = |index: &u32| &self.values[*index as usize].assignment.node;
        let is_whole = |index: &u32| matches!(node(index).value, Value::Integer(_));
        let is_float = |index: &u32| matches!(node(index).value, Value::Float(_));
        let (whole, rest): (Vec<u32>, Vec<u32>) = self.all().into_iter().partition(is_whole);
        let (floats, mut telling): (Vec<u32>, Vec<u32>) = rest.into_iter().partition(is_float);
        let size = |index: &u32| node(index).as_f64().unwrap_or(0.0);
        for numbers in [whole, floats] {
            let by_size = |one: &&u32, other: &&u32| size(one).total_cmp(&size(other));
            telling.extend(numbers.iter().min_by(by_size));
            telling.extend(numbers.iter().max_by(by_size));
        }
        telling
    }
}

/// Combinations that suffice to find every mistake of a unit that depends on `axes`: all combinations, or, if there are
/// too many, each value that `which` selects, with the first value of the others.
pub(super) fn tries(
    matrix: &Matrix,
    axes: &[usize],
    which: impl Fn(&Axis) -> Vec<u32>,
) -> Vec<Vec<u32>> {
    let sizes = axes.iter().map(|axis| u64::from(matrix.count_of(*axis)));
    if sizes.fold(1, u64::saturating_mul) > TRIED {
        let first = vec![0; matrix.axes.len()];
        let others = axes.iter().flat_map(|axis| {
            let values = which(&matrix.axes[*axis]).into_iter();
            values.map(|value| with(&first, *axis, value))
        });
        return std::iter::once(first.clone()).chain(others).collect();
    }
    let values = |axis: usize| {
        let tried = axes.contains(&axis);
        (0..if tried { matrix.count_of(axis) } else { 1 }).collect()
    };
    let values: Vec<Vec<u32>> = (0..matrix.axes.len()).map(values).collect();
    let mut choices = product(&values);
    choices.retain(|choice| !is_always_excluded(matrix, axes, choice));
    choices
}

/// `choice` with the value of one axis replaced.
pub(super) fn with(choice: &[u32], axis: usize, value: u32) -> Vec<u32> {
    let mut choice = choice.to_vec();
    choice[axis] = value;
    choice
}

/// Whether no cell has these values of `axes`: a filter that only names these axes removes all of them.
pub(super) fn is_always_excluded(matrix: &Matrix, axes: &[usize], choice: &[u32]) -> bool {
    let is_like = |include: &Vec<u32>| {
        axes.iter()
            .all(|axis| include.get(*axis) == choice.get(*axis))
    };
    matrix.is_excluded_by(choice, |axis| axes.contains(axis))
        && !matrix.includes.iter().any(is_like)
}

/// Adds the axis or variant that a mistake comes from.
pub(super) fn in_axis(mut mistake: Diagnostic, plan: &Plan, matrix: &Matrix) -> Diagnostic {
    let Some(place) = mistake.place() else {
        return mistake;
    };
    for axis in &matrix.axes {
        if let Some(prefix) = prefix(axis, place) {
            return prefixed(mistake, &prefix, &axis.long());
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

/// Puts `prefix`, which names the setting, before the title instead of the setting's path `long`.
pub(super) fn prefixed(mut mistake: Diagnostic, prefix: &str, long: &str) -> Diagnostic {
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

/// Finds declared models whose shapes do not fit for any of their cells, and reports why for the first one.
///
/// A model that fits for some values of an axis is not reported: its other cells are infeasible, each with its own
/// reason.
fn shapes(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    for matrix in &plan.matrices {
        let reader = Reader::new(plan, matrix);
        let axes = reader.axes_of(&[Unit::Model, Unit::Dataset]);
        let mut units = Units::new(reader);
        // The first mistakes of every model, and whether a cell fits.
        let mut found: BTreeMap<String, Option<Vec<Diagnostic>>> = BTreeMap::new();
        for choice in tries(matrix, &axes, Axis::telling) {
            let cell = units.resolve(&choice);
            let ModelSpec::Layers(spec) = &*cell.model.value else {
                continue;
            };
            if cell.data.unknown.is_some() || cell.problem.is_some() {
                continue;
            }
            let (name, facts) = (cell.model.name.to_string(), &cell.data.facts);
            if let Err(wrong) = spec.expand(facts.features, facts.target) {
                let node = reader.at(&choice).named_section("models", &name);
                let own = || Some(declared::diagnostics(&name, &node, &wrong));
                found.entry(name.clone()).or_insert_with(own);
            } else {
                found.insert(name, None);
            }
        }
        let placed = found.into_values().flatten().flatten();
        mistakes.extend(placed.map(|mistake| in_axis(mistake, plan, matrix)));
    }
}
