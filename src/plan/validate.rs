//! Finds every mistake of a manifest before any cell is made.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use crate::datasets::DatasetSpec;
use crate::diag::{Diagnostic, Place, did_you_mean, list};
use crate::loader::LoaderSpec;
use crate::losses::LossSpec;
use crate::manifest::{Complaint, Mistake, Node};
use crate::models::ModelSpec;
use crate::optim::{OptimizerSpec, ScheduleSpec};

use super::Plan;
use super::cell::{TrainSpec, ValidationSpec};
use super::homes::Unit;
use super::key::value_text;
use super::matrix::{Axis, Matrix};
use super::planned::{Resolver, axes_of};
use super::resolve::read_where;
use super::settings::{LimitsSpec, MeasureSpec};

/// Combinations of one unit that are all tried; beyond it, every value and every pair of neighbours is.
const TRIED: u64 = 4096;

/// Checks the sections as they are written, also what no cell uses because an axis or a variant replaces it.
pub(super) fn sections(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    each_named::<ModelSpec>(plan, "models", mistakes);
    each_named::<DatasetSpec>(plan, "datasets", mistakes);
    each_named::<LossSpec>(plan, "losses", mistakes);
    let (written, none) = (&plan.written, std::iter::empty);
    let found = [
        written.train::<TrainSpec>(none()).err(),
        written
            .train_part::<OptimizerSpec>("optimizer", "adam", none())
            .err(),
        written
            .train_part::<ScheduleSpec>("schedule", "constant", none())
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
        // An axis may give a required key; the cells will tell.
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
    set.chain(axes)
        .chain(variants)
        .any(|path| matches!(path.as_slice(), [first, second, ..] if first.name == section && second.name == name))
}

/// Tries every unit of the cells with every combination of the values that touch it.
pub(super) fn cells(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    for matrix in &plan.matrices {
        let resolver = Resolver::new(plan, matrix);
        for unit in Unit::ALL {
            let axes = axes_of(plan, matrix, &[unit]);
            for choice in tries(matrix, &axes) {
                let found = resolver.mistakes(unit, &choice);
                mistakes.extend(
                    found
                        .into_iter()
                        .map(|mistake| in_axis(mistake, plan, matrix)),
                );
            }
        }
    }
}

/// Choices that show every mistake of a unit that `axes` touch: the others stay at their first value.
fn tries(matrix: &Matrix, axes: &[usize]) -> Vec<Vec<u32>> {
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
            choices.extend((0..count(*axis)).map(|value| with(&first, *axis, value)));
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

/// Whether no cell has these values of `axes`: a filter over none but them takes all out.
fn is_always_excluded(matrix: &Matrix, axes: &[usize], choice: &[u32]) -> bool {
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

/// Says which axis or variant a mistake comes from.
fn in_axis(mut mistake: Diagnostic, plan: &Plan, matrix: &Matrix) -> Diagnostic {
    let Some(place) = mistake.place() else {
        return mistake;
    };
    for axis in &matrix.axes {
        if let Some(prefix) = prefix(axis, place) {
            // The axis has named the setting already.
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

/// Checks names that other sections use, and finds sections that nobody uses.
pub(super) fn references(
    plan: &Plan,
    mistakes: &mut Vec<Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) {
    for (section, what) in [
        ("models", "model"),
        ("datasets", "dataset"),
        ("losses", "loss"),
    ] {
        unused(plan, section, what, warnings);
    }
    unused_variants(plan, warnings);
    baseline(plan, mistakes);
    treatment(plan, mistakes);
    matrix_paths(plan, mistakes);
    set_twice(plan, mistakes);
}

fn unused(plan: &Plan, section: &str, what: &str, warnings: &mut Vec<Diagnostic>) {
    let table = plan.written.root.get(section).and_then(Node::as_table);
    let mut used: BTreeSet<String> = BTreeSet::new();
    for matrix in &plan.matrices {
        let axes = axes_choosing(plan, matrix, what);
        for choice in tries(matrix, &axes) {
            let assignments = plan.written.assignments(matrix, &choice);
            if let Some(Ok(chosen)) = plan.written.chosen(what, assignments) {
                used.insert(chosen.name);
            }
        }
    }
    for (key, _) in table.into_iter().flat_map(|table| &table.entries) {
        if !used.contains(&key.name) {
            warnings.push(
                Diagnostic::warning(format!("{what} `{}` is never used", key.name))
                    .at(key.place, format!("no cell has this {what}"))
                    .help(format!(
                        "add it to the axis `{what}` of `[matrix]`, or set `{what}` in `[train]`"
                    )),
            );
        }
    }
}

fn axes_choosing(plan: &Plan, matrix: &Matrix, what: &str) -> Vec<usize> {
    let is_choice = |path: &[crate::manifest::Key]| matches!(path, [train, key] if train.name == "train" && key.name == what);
    let by_variant = plan
        .written
        .variants
        .values()
        .flatten()
        .any(|one| is_choice(&one.path));
    let axes = matrix.axes.iter().enumerate();
    axes.filter(|(_, axis)| is_choice(&axis.path) || axis.path.len() == 1 && by_variant)
        .map(|(index, _)| index)
        .collect()
}

fn unused_variants(plan: &Plan, warnings: &mut Vec<Diagnostic>) {
    let axes = plan
        .matrices
        .iter()
        .flat_map(|matrix| &matrix.axes)
        .filter(|axis| axis.path.len() == 1);
    let used: BTreeSet<&str> = axes
        .flat_map(|axis| &axis.values)
        .map(|value| value.text.as_str())
        .collect();
    let table = plan.written.root.get("variants").and_then(Node::as_table);
    for (key, _) in table.into_iter().flat_map(|table| &table.entries) {
        if !used.contains(key.name.as_str()) {
            warnings.push(
                Diagnostic::warning(format!("variant `{}` is never used", key.name))
                    .at(key.place, "no cell has this variant")
                    .help(format!("add `variant = [\"{}\"]` to `[matrix]`", key.name)),
            );
        }
    }
}

fn baseline(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let report = plan.written.root.get("report").and_then(Node::as_table);
    let table = report
        .and_then(|report| report.get("baseline"))
        .and_then(Node::as_table);
    for (key, node) in table.into_iter().flat_map(|table| &table.entries) {
        let Some(axis) = plan
            .axes
            .iter()
            .find(|axis| axis.name == key.name || axis.path == key.name)
        else {
            let names = || plan.axes.iter().map(|axis| axis.name.as_str());
            mistakes.push(
                Diagnostic::error(format!(
                    "`report.baseline` names `{}`, which is no axis",
                    key.name
                ))
                .at(key.place, "not an axis")
                .maybe_help(did_you_mean(&key.name, names()))
                .help(format!("the axes are {}", list(names()))),
            );
            continue;
        };
        let text = value_text(node);
        if !axis.values.contains(&text) {
            let values = || axis.values.iter().map(String::as_str);
            mistakes.push(
                Diagnostic::error(format!(
                    "`report.baseline`: axis `{}` has no value `{text}`",
                    axis.name
                ))
                .at(node.place, "not a value of the axis")
                .maybe_help(did_you_mean(&text, values()))
                .help(format!("its values are {}", list(values()))),
            );
        }
    }
}

fn treatment(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let compare = plan.written.root.get("compare").and_then(Node::as_table);
    let Some(node) = compare.and_then(|compare| compare.get("treatment")) else {
        return;
    };
    let names = || plan.axes.iter().map(|axis| axis.name.as_str());
    if let Some(name) = node.as_str()
        && !plan
            .axes
            .iter()
            .any(|axis| axis.name == name || axis.path == name)
    {
        mistakes.push(
            Diagnostic::error(format!(
                "`compare.treatment` names `{name}`, which is no axis"
            ))
            .at(node.place, "not an axis")
            .maybe_help(did_you_mean(name, names()))
            .help(format!("the axes are {}", list(names()))),
        );
    }
}

/// What to say when `exclude` takes every cell out.
pub(super) fn nothing_left(plan: &Plan) -> Diagnostic {
    let matrix = plan.written.root.get("matrix").and_then(Node::as_table);
    let exclude = matrix.and_then(|matrix| matrix.get("exclude"));
    let place = exclude.and_then(|node| Some(node.as_array()?.first()?.place));
    Diagnostic::error("`exclude` leaves no cell")
        .at(place.unwrap_or_default(), "this takes out all that is left")
        .help("every combination of axis values is excluded")
}

/// A variant and an axis of one matrix that set the same: which one counts is nothing to guess.
fn set_twice(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let names =
        |path: &[crate::manifest::Key]| path.iter().map(|key| key.name.clone()).collect::<Vec<_>>();
    for matrix in &plan.matrices {
        let chosen = matrix
            .axes
            .iter()
            .filter(|axis| axis.path.len() == 1)
            .flat_map(|axis| &axis.values);
        let variants = chosen.filter_map(|value| plan.written.variants.get_key_value(&value.text));
        for (name, one) in variants.flat_map(|(name, set)| set.iter().map(move |one| (name, one))) {
            let axis = matrix
                .axes
                .iter()
                .find(|axis| names(&axis.path) == names(&one.path));
            let (Some(axis), Some(key)) = (axis, one.path.first()) else {
                continue;
            };
            mistakes.push(
                Diagnostic::error(format!(
                    "variant `{name}` and an axis both set `{}`",
                    axis.long()
                ))
                .at(key.place, "set by the variant")
                .context(axis.place, "set by the axis")
                .help("leave one of them out"),
            );
        }
    }
}

/// A path into a named thing that is not there (`models.unte.base-channels`).
fn matrix_paths(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let axes = plan
        .matrices
        .iter()
        .flat_map(|matrix| &matrix.axes)
        .map(|axis| axis.path.as_slice());
    let set = plan.matrices.iter().flat_map(|matrix| &matrix.set);
    let others = set
        .chain(plan.written.variants.values().flatten())
        .map(|one| one.path.as_slice());
    for path in axes.chain(others) {
        let [section, rest @ ..] = path else { continue };
        let is_named = super::homes::NAMED.contains(&section.name.as_str());
        let Some(name) = rest.first().filter(|_| is_named) else {
            continue;
        };
        let table = plan
            .written
            .root
            .get(&section.name)
            .and_then(Node::as_table);
        let names: Vec<&str> = table
            .into_iter()
            .flat_map(crate::manifest::Table::names)
            .collect();
        if !names.contains(&name.name.as_str()) {
            mistakes.push(
                Diagnostic::error(format!("there is no `[{}.{}]`", section.name, name.name))
                    .at(name.place, "this path leads nowhere")
                    .maybe_help(did_you_mean(&name.name, names.iter().copied()))
                    .help(format!(
                        "`{}` has {}",
                        section.name,
                        list(names.iter().copied())
                    )),
            );
        }
    }
}
