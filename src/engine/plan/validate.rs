//! Finds every mistake of a manifest before any cell is made.

use serde::de::DeserializeOwned;

use crate::datasets::DatasetSpec;
use crate::diag::{Diagnostic, Place};
use crate::loader::LoaderSpec;
use crate::losses::LossSpec;
use crate::manifest::{Complaint, Mistake, Node, Value};
use crate::models::ModelSpec;
use crate::optim::OptimizerSpec;

use super::Plan;
use super::cell::ValidationSpec;
use super::declared;
use super::homes::Unit;
use super::matrix::{Axis, Matrix};
use super::reader::{Reader, alone};
use super::resolve::read_where;
use super::search;
use super::settings::{LimitsSpec, MeasureSpec};

/// Most combinations of one unit that are all tried; beyond it, only values that represent the others.
const TRIED: u64 = 4096;

/// Checks the sections as written, including those that no cell uses because an axis or a variant replaces them.
pub(super) fn sections(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    each_named::<ModelSpec>(plan, "models", mistakes);
    each_named::<DatasetSpec>(plan, "datasets", mistakes);
    each_named::<LossSpec>(plan, "losses", mistakes);
    let (written, none) = (&plan.written, std::iter::empty);
    let found = [
        written.train(none()).err(),
        written
            .train_part("optimizer", "adam", OptimizerSpec::check, none())
            .err(),
        written
            .train_part("schedule", "constant", alone, none())
            .err(),
        written.plain::<LoaderSpec>("loader", none()).err(),
        written.plain::<ValidationSpec>("validation", none()).err(),
        written.plain::<MeasureSpec>("measure", none()).err(),
        written.plain::<LimitsSpec>("limits", none()).err(),
    ];
    mistakes.extend(found.into_iter().flatten().flatten());
}

fn each_named<T: DeserializeOwned>(plan: &Plan, section: &str, mistakes: &mut Vec<Diagnostic>) {
    let table = plan.written.root.get(section).and_then(Node::as_table);
    for (key, node) in table.into_iter().flat_map(|table| &table.entries) {
        let is_plain =
            |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if key.name.is_empty() || !key.name.chars().all(is_plain) {
            mistakes.push(
                Diagnostic::error(format!("`{section}` cannot have the name `{}`", key.name))
                    .at(key.place, "")
                    .help("a name has letters, digits, `-` and `_`"),
            );
        }
        // An axis may set a required key; this is checked with the cells.
        let may_miss = is_changed(plan, section, &key.name);
        let is_meant = |mistake: &Mistake| {
            !(may_miss && matches!(mistake.complaint, Complaint::Missing { .. }))
        };
        let shown = format!("{section}.{}", key.name);
        mistakes.extend(
            read_where::<T>(node, section, &shown, &[], is_meant)
                .err()
                .unwrap_or_default(),
        );
    }
}

fn is_changed(plan: &Plan, section: &str, name: &str) -> bool {
    let set = plan
        .matrices
        .iter()
        .flat_map(|matrix| &matrix.set)
        .map(|assignment| &assignment.path);
    let axes = plan
        .matrices
        .iter()
        .flat_map(|matrix| &matrix.axes)
        .map(|axis| &axis.path);
    let variants = plan
        .written
        .variants
        .values()
        .flatten()
        .map(|assignment| &assignment.path);
    let parameters = plan.searched.parameters.iter();
    set.chain(axes)
        .chain(variants)
        .chain(parameters.map(|one| &one.path))
        .any(|path| matches!(&path[..], [first, second, ..] if first.name == section && second.name == name))
}

/// Tries every unit of the cells with every combination of the values that affect it.
pub(super) fn cells(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    if plan.search.is_some() {
        return search::cells(plan, mistakes);
    }
    for matrix in &plan.matrices {
        let reader = Reader { plan, matrix };
        for unit in Unit::ALL {
            let axes = reader.axes_of(&[unit]);
            let found = |choices: Vec<Vec<u32>>| -> Vec<Diagnostic> {
                let found = choices
                    .iter()
                    .flat_map(|choice| reader.mistakes(unit, choice));
                found.collect()
            };
            let mut all = found(tries(matrix, &axes, Axis::telling));
            if !all.is_empty() {
                all = found(tries(matrix, &axes, Axis::all));
            }
            let placed = all
                .into_iter()
                .map(|mistake| in_axis(mistake, plan, matrix));
            mistakes.extend(placed);
        }
    }
    if mistakes.is_empty() {
        declared::shapes(plan, mistakes);
    }
}

impl Axis {
    pub(super) fn all(&self) -> Vec<u32> {
        (0..self.values.len() as u32).collect()
    }

    /// Values that represent all. Valid numbers always form one interval, so that of the integers and of the floats only
    /// the smallest and the largest are tried.
    pub(super) fn telling(&self) -> Vec<u32> {
        let node = |index: &u32| {
            self.values
                .get(*index as usize)
                .map(|value| &value.assignment.node.value)
        };
        let size = |index: &u32| match node(index) {
            Some(Value::Integer(number)) => *number as f64,
            Some(Value::Float(number)) => *number,
            _ => 0.0,
        };
        let (whole, rest): (Vec<u32>, Vec<u32>) = self
            .all()
            .into_iter()
            .partition(|index| matches!(node(index), Some(Value::Integer(_))));
        let (floats, mut telling): (Vec<u32>, Vec<u32>) = rest
            .into_iter()
            .partition(|index| matches!(node(index), Some(Value::Float(_))));
        for numbers in [whole, floats] {
            let by_size = |one: &&u32, other: &&u32| size(one).total_cmp(&size(other));
            let ends = [
                numbers.iter().min_by(by_size),
                numbers.iter().max_by(by_size),
            ];
            telling.extend(ends.into_iter().flatten());
        }
        telling
    }
}

/// Choices that show every mistake of a unit that depends on `axes`: all combinations, or, if there are too many, each
/// value that `which` selects, with the first value of the others.
pub(super) fn tries(
    matrix: &Matrix,
    axes: &[usize],
    which: impl Fn(&Axis) -> Vec<u32>,
) -> Vec<Vec<u32>> {
    let count = |axis: usize| {
        matrix
            .axes
            .get(axis)
            .map_or(0, |axis| axis.values.len() as u32)
    };
    let first = vec![0; matrix.axes.len()];
    let size = axes
        .iter()
        .map(|axis| u64::from(count(*axis)))
        .fold(1, u64::saturating_mul);
    let mut choices = vec![first.clone()];
    if size > TRIED {
        for axis in axes {
            let values = matrix.axes.get(*axis).map_or_else(Vec::new, &which);
            choices.extend(values.into_iter().map(|value| with(&first, *axis, value)));
        }
        return choices;
    }
    for axis in axes {
        let extend =
            |choice: Vec<u32>| (0..count(*axis)).map(move |value| with(&choice, *axis, value));
        choices = choices.into_iter().flat_map(extend).collect();
    }
    choices.retain(|choice| !is_always_excluded(matrix, axes, choice));
    choices
}

fn with(choice: &[u32], axis: usize, value: u32) -> Vec<u32> {
    let mut choice = choice.to_vec();
    if let Some(slot) = choice.get_mut(axis) {
        *slot = value;
    }
    choice
}

/// Whether no cell has these values of `axes`: a filter on these axes alone removes them all.
pub(super) fn is_always_excluded(matrix: &Matrix, axes: &[usize], choice: &[u32]) -> bool {
    let fits = |(axis, values): &(usize, Vec<u32>)| {
        axes.contains(axis)
            && choice
                .get(*axis)
                .is_some_and(|value| values.contains(value))
    };
    matrix.excludes.iter().any(|filter| filter.iter().all(fits))
        && !matrix.includes.iter().any(|include| {
            axes.iter()
                .all(|axis| include.get(*axis) == choice.get(*axis))
        })
}

/// Adds the axis or variant that a mistake comes from.
pub(super) fn in_axis(mut mistake: Diagnostic, plan: &Plan, matrix: &Matrix) -> Diagnostic {
    let Some(place) = mistake.place() else {
        return mistake;
    };
    for axis in &matrix.axes {
        if let Some(prefix) = prefix(axis, place) {
            // The prefix already names the setting.
            let path = format!("`{}`", axis.long());
            let rest = mistake
                .title
                .strip_prefix(&path)
                .map(|rest| rest.trim_start_matches([':', ' ']));
            mistake.title = format!("{prefix}: {}", rest.unwrap_or(&mistake.title));
            return mistake;
        }
    }
    for (name, set) in &plan.written.variants {
        let is_here = |path: &crate::manifest::Key| path.place == place;
        if set
            .iter()
            .any(|one| one.node.place.contains(place) || one.path.iter().any(is_here))
        {
            mistake.title = format!("variant `{name}`: {}", mistake.title);
            return mistake;
        }
    }
    mistake
}

fn prefix(axis: &Axis, place: Place) -> Option<String> {
    if axis.place == place {
        return Some(format!("axis `{}`", axis.name));
    }
    let index = axis
        .values
        .iter()
        .position(|value| value.assignment.node.place.contains(place))?;
    let position = format!("value {} of {}", index + 1, axis.listed);
    let which = if index < axis.listed {
        position
    } else {
        "an included value".to_owned()
    };
    Some(format!("axis `{}`, {which}", axis.name))
}
