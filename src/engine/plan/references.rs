//! Checks names by which sections refer to each other, and finds unused sections.

use std::collections::BTreeSet;

use crate::diag::{Diagnostic, did_you_mean, list};
use crate::manifest::{Key, Node, Table};

use super::Plan;
use super::homes::NAMED;
use super::key::value_text;
use super::matrix::{Axis, Matrix};
use super::validate::tries;

pub(super) fn check(plan: &Plan, mistakes: &mut Vec<Diagnostic>, warnings: &mut Vec<Diagnostic>) {
    for (section, what) in [
        ("models", "model"),
        ("datasets", "dataset"),
        ("losses", "loss"),
    ] {
        unused(plan, section, what, warnings);
    }
    unused_variants(plan, warnings);
    named_cells(plan, mistakes);
    followed(plan, &plan.written.root, warnings);
    super::targets::check(plan, mistakes);
    treatment(plan, mistakes);
    matrix_paths(plan, mistakes);
    set_twice(plan, mistakes);
    overridden(plan, mistakes);
}

fn unused(plan: &Plan, section: &str, what: &str, warnings: &mut Vec<Diagnostic>) {
    let table = plan.written.root.get(section).and_then(Node::as_table);
    let mut used: BTreeSet<String> = BTreeSet::new();
    for matrix in &plan.matrices {
        let axes = axes_choosing(plan, matrix, what);
        for choice in tries(matrix, &axes, Axis::all) {
            let assignments = plan.written.assignments(matrix, &choice);
            if let Some(Ok(chosen)) = plan.written.chosen(what, assignments) {
                used.insert(chosen.name);
            }
        }
    }
    let of_search = plan.searched.parameters.iter();
    let choosing = of_search.filter(|one| is_choice_of(&one.path, what));
    used.extend(choosing.flat_map(|one| &one.values).filter_map(|value| {
        let name = value.assignment.node.as_str();
        name.map(str::to_owned)
    }));
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
    let is_choice = |path: &[Key]| is_choice_of(path, what);
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

fn is_choice_of(path: &[Key], what: &str) -> bool {
    matches!(path, [train, key] if train.name == "train" && key.name == what)
}

fn unused_variants(plan: &Plan, warnings: &mut Vec<Diagnostic>) {
    let axes = plan
        .matrices
        .iter()
        .flat_map(|matrix| &matrix.axes)
        .filter(|axis| axis.path.len() == 1);
    let used: BTreeSet<&str> = axes
        .flat_map(|axis| &axis.values)
        .map(|value| &*value.text)
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

/// The cells that `[report]` names: the baseline, and those of each prediction.
fn named_cells(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let report = plan.written.root.get("report").and_then(Node::as_table);
    let Some(report) = report else { return };
    named_cell(plan, report, "report.baseline", mistakes);
    let predictions = report.get("predictions").and_then(Node::as_array);
    for prediction in predictions.into_iter().flatten().filter_map(Node::as_table) {
        for path in ["report.predictions.cell", "report.predictions.against"] {
            named_cell(plan, prediction, path, mistakes);
        }
    }
}

/// Checks the cell at the last key of `path`: one value per named axis.
pub(super) fn named_cell(plan: &Plan, table: &Table, path: &str, mistakes: &mut Vec<Diagnostic>) {
    let key = path.rsplit('.').next().unwrap_or(path);
    let table = table.get(key).and_then(Node::as_table);
    for (key, node) in table.into_iter().flat_map(|table| &table.entries) {
        let Some(axis) = plan.axes.iter().find(|axis| axis.is_called(&key.name)) else {
            let names = || plan.axes.iter().map(|axis| axis.name.as_str());
            mistakes.push(
                Diagnostic::error(format!("`{path}` names `{}`, which is no axis", key.name))
                    .at(key.place, "not an axis")
                    .maybe_help(did_you_mean(&key.name, names()))
                    .help(format!("the axes are {}", list(names()))),
            );
            continue;
        };
        let text = value_text(node);
        if !axis.values.iter().any(|value| **value == *text) {
            let values = || axis.values.iter().map(|value| &**value);
            mistakes.push(
                Diagnostic::error(format!(
                    "`{path}`: axis `{}` has no value `{text}`",
                    axis.name
                ))
                .at(node.place, "not a value of the axis")
                .maybe_help(did_you_mean(&text, values()))
                .help(format!("its values are {}", list(values()))),
            );
        }
    }
}

/// The results whose recommendations this manifest tests.
fn followed(plan: &Plan, root: &Table, warnings: &mut Vec<Diagnostic>) {
    let (Some(name), Some(node)) = (&plan.follows, root.get("follows")) else {
        return;
    };
    let folder = plan.results_folder.with_file_name(name);
    if !folder.join("plan.json").is_file() {
        warnings.push(
            Diagnostic::warning(format!("there are no results of `{name}`"))
                .at(node.place, format!("no `reports/{name}/plan.json`"))
                .help("the predictions are measured all the same; their origin cannot be read"),
        );
    }
}

fn treatment(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let compare = plan.written.root.get("compare").and_then(Node::as_table);
    let Some(node) = compare.and_then(|compare| compare.get("treatment")) else {
        return;
    };
    let names = || plan.axes.iter().map(|axis| axis.name.as_str());
    if let Some(name) = node.as_str()
        && !plan.axes.iter().any(|axis| axis.is_called(name))
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
    let axis = node
        .as_str()
        .and_then(|name| plan.axes.iter().find(|axis| axis.is_called(name)));
    let baseline = compare.and_then(|compare| compare.get("baseline"));
    if let Some((node, axis)) = baseline.zip(axis)
        && let Some(value) = node.as_str()
        && !axis.values.iter().any(|known| **known == *value)
    {
        let values = || axis.values.iter().map(|known| &**known);
        mistakes.push(
            Diagnostic::error(format!(
                "`compare.baseline` is `{value}`, which is no value of `{}`",
                axis.name
            ))
            .at(node.place, "not a value of the treatment")
            .maybe_help(did_you_mean(value, values()))
            .help(format!("`{}` has {}", axis.name, list(values()))),
        );
    }
}

pub(super) fn too_large(root: &Table, size: u64) -> Diagnostic {
    let entry = root.entry("matrix").or(root.entry("matrices"));
    let place = entry.map(|(key, _)| key.place).unwrap_or_default();
    Diagnostic::error("the matrix has too many cells")
        .at(place, format!("{size} combinations"))
        .help(format!("a plan has at most {}", super::LARGEST_PLAN))
}

pub(super) fn nothing_left(root: &Table) -> Diagnostic {
    let matrix = root.get("matrix").and_then(Node::as_table);
    let exclude = matrix.and_then(|matrix| matrix.get("exclude"));
    let place = exclude.and_then(|node| Some(node.as_array()?.first()?.place));
    Diagnostic::error("`exclude` leaves no cell")
        .at(place.unwrap_or_default(), "this takes out all that is left")
        .help("every combination of axis values is excluded")
}

/// A variant and an axis of one matrix that set the same value: which one counts is ambiguous.
fn set_twice(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let names = |path: &[Key]| path.iter().map(|key| key.name.clone()).collect::<Vec<_>>();
    for matrix in &plan.matrices {
        let chosen = matrix
            .axes
            .iter()
            .filter(|axis| axis.path.len() == 1)
            .flat_map(|axis| &axis.values);
        let variants = chosen.filter_map(|value| plan.written.variants.get_key_value(&*value.text));
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

/// A `--set` of a value that every cell gets from an axis, from `set` or from the search: it would have no effect.
fn overridden(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let names = |path: &[Key]| path.iter().map(|key| key.name.clone()).collect::<Vec<_>>();
    let Some((first, others)) = plan.matrices.split_first() else {
        return;
    };
    let axes = first.axes.iter().map(|axis| (&axis.path[..], Some(axis)));
    let set = first.set.iter().map(|one| (&one.path[..], None));
    let searched = plan.searched.parameters.iter();
    let in_all = |path: &[Key]| {
        others.iter().all(|matrix| {
            let axes = matrix.axes.iter().map(|axis| &axis.path[..]);
            let mut set = axes.chain(matrix.set.iter().map(|one| &one.path[..]));
            set.any(|other| names(other) == names(path))
        })
    };
    let in_matrix = axes.chain(set).filter(|(path, _)| in_all(path));
    let in_matrix = in_matrix.map(|(path, axis)| {
        let help = match axis {
            Some(axis) if axis.name.contains('.') => axis_help(&format!("\"{}\"", axis.name)),
            Some(axis) => axis_help(&axis.name),
            None => "change it where the matrix sets it".to_owned(),
        };
        (path, "`[matrix]`", help)
    });
    let in_search = searched.map(|one| {
        let help = "change its range in `[search.space]`".to_owned();
        (&one.path[..], "`[search]`", help)
    });
    for (path, setter, help) in in_matrix.chain(in_search) {
        let written = written_at(&plan.written.root, path);
        let Some(node) = written.filter(|node| node.place.is_override()) else {
            continue;
        };
        let long = names(path).join(".");
        mistakes.push(
            Diagnostic::error(format!("{setter} sets `{long}` in every cell"))
                .at(node.place, "this would change nothing")
                .help(help),
        );
    }
}

fn axis_help(name: &str) -> String {
    format!(
        "change the axis, `--set 'matrix.{name}=[...]'`, or choose among its values with `--only`"
    )
}

/// Removes entries that a `--set` created because the file has none of that name (`--set models.mpl.hidden=8`).
pub(super) fn overrides_of_nothing(sections: &mut Table, mistakes: &mut Vec<Diagnostic>) {
    for section in NAMED {
        let Some(table) = sections.get_mut(section).and_then(Node::as_table_mut) else {
            continue;
        };
        let is_of_nothing = |(key, node): &mut (Key, Node)| {
            let lacks_kind = |table: &Table| table.get("kind").is_none();
            key.place.is_override() && node.as_table().is_some_and(lacks_kind)
        };
        let taken: Vec<_> = table.entries.extract_if(.., is_of_nothing).collect();
        for (key, _) in taken {
            mistakes.push(
                Diagnostic::error(format!("there is no `[{section}.{}]`", key.name))
                    .at(key.place, "")
                    .maybe_help(did_you_mean(&key.name, table.names()))
                    .help(format!("`{section}` has {}", list(table.names()))),
            );
        }
    }
}

fn written_at<'a>(root: &'a Table, path: &[Key]) -> Option<&'a Node> {
    let (first, rest) = path.split_first()?;
    let section = root.get(&first.name)?;
    rest.iter()
        .try_fold(section, |node, key| node.as_table()?.get(&key.name))
}

/// A path into a named section that does not exist (`models.unte.base-channels`).
fn matrix_paths(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let axes = plan
        .matrices
        .iter()
        .flat_map(|matrix| &matrix.axes)
        .map(|axis| &axis.path[..]);
    let set = plan.matrices.iter().flat_map(|matrix| &matrix.set);
    let others = set
        .chain(plan.written.variants.values().flatten())
        .map(|one| &one.path[..]);
    let searched = plan.searched.parameters.iter().map(|one| &one.path[..]);
    for path in axes.chain(others).chain(searched) {
        let [section, rest @ ..] = path else { continue };
        let is_named = NAMED.contains(&section.name.as_str());
        let Some(name) = rest.first().filter(|_| is_named) else {
            continue;
        };
        let table = plan
            .written
            .root
            .get(&section.name)
            .and_then(Node::as_table);
        let names: Vec<&str> = table.into_iter().flat_map(Table::names).collect();
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
