//! Reads `[[matrix.exclude]]` and `[[matrix.include]]`.

use crate::diag::{Diagnostic, Place};
use crate::manifest::{Key, Node, Table};

use super::homes::dotted_path;
use super::key::value_text;
use super::matrix::{Axis, Matrix};

/// Largest number of cells that one include may add: they are stored in a list, unlike the cells of the product.
const MOST_INCLUDED: u64 = 1_000_000;

/// The tables of `[[matrix.include]]` or `[[matrix.exclude]]` with their places; other entries are reported.
fn filters<'a>(
    table: &'a Table,
    word: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<(&'a Table, Place)> {
    let Some(node) = table.get(word) else {
        return Vec::new();
    };
    let nodes = table.list(word);
    let table = |node: &'a Node| Some((node.as_table()?, node.place));
    let tables: Vec<(&Table, Place)> = nodes.iter().filter_map(table).collect();
    if node.as_array().is_none() || nodes.len() != tables.len() {
        let help = format!("write `[[matrix.{word}]]` with two brackets, once per group of cells");
        let mistake = Diagnostic::error(format!("`matrix.{word}` is a list of tables"));
        mistakes.push(mistake.at(node.place, "").help(help));
    }
    for (_, place) in tables.iter().filter(|(table, _)| table.entries.is_empty()) {
        let mistake = Diagnostic::error(format!("this `matrix.{word}` names no axis"));
        mistakes.push(mistake.at(*place, "it is empty"));
    }
    tables
}

/// The values that a filter gives for axes, with their dotted paths. The value of an axis whose values are tables is a
/// whole table.
fn flat<'a>(matrix: &Matrix, filter: &'a Table) -> Vec<(Key, &'a Node)> {
    let is_axis = |key: &Key| position(matrix, key).is_some();
    let entries = filter.entries.iter();
    let leaves = entries.flat_map(|(key, node)| node.leaves(key.clone(), &is_axis));
    leaves.collect()
}

/// Index of the axis that `key` names, by its name or its full dotted path; `None` if there is no such axis.
fn position(matrix: &Matrix, key: &Key) -> Option<usize> {
    let long = dotted_path(&key.name, key.place);
    let mut axes = matrix.axes.iter();
    axes.position(|axis| axis.name == key.name || axis.long() == long)
}

/// As [`position`], or the mistake that there is no such axis.
fn axis_of(matrix: &Matrix, key: &Key, word: &str) -> Result<usize, Diagnostic> {
    position(matrix, key).ok_or_else(|| {
        let name = &key.name;
        let title = format!("`{word}` names `{name}`, which is no axis of this matrix");
        let mistake = Diagnostic::error(title).at(key.place, "not an axis");
        if matrix.axes.is_empty() {
            return mistake.help("there are no axes");
        }
        let names = matrix.axes.iter().map(|axis| axis.name.as_str());
        mistake.suggest_from(name, "the axes are", names)
    })
}

pub(super) fn read_excludes(
    matrix: &mut Matrix,
    table: &Table,
    mistakes: &mut Vec<Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) {
    for (filter, _) in filters(table, "exclude", mistakes) {
        let mut wanted = Vec::new();
        for (key, node) in flat(matrix, filter) {
            match axis_of(matrix, &key, "exclude") {
                Ok(number) => {
                    let found = values(&matrix.axes[number], node, warnings);
                    wanted.push((number, found));
                }
                Err(mistake) => mistakes.push(mistake),
            }
        }
        if !wanted.is_empty() {
            matrix.excludes.push(wanted);
        }
    }
}

/// Indices of the axis's values that a filter lists, as one value or a list; warns of values that the axis lacks.
fn values(axis: &Axis, node: &Node, warnings: &mut Vec<Diagnostic>) -> Vec<u32> {
    let mut values = Vec::new();
    for node in node.alternatives() {
        let text = value_text(node);
        let found = axis.find(&text);
        values.extend(found);
        if found.is_none() {
            let texts = axis.values.iter().map(|value| &*value.text);
            warnings.push(
                Diagnostic::warning(format!(
                    "`exclude` leaves nothing out: axis `{}` has no value `{text}`",
                    axis.name
                ))
                .at(node.place, "not a value of the axis")
                .suggest_from(&text, "its values are", texts),
            );
        }
    }
    values
}

/// Reads `[[matrix.include]]`: every entry adds the product of the values in it and all listed values of the other
/// axes.
pub(super) fn read_includes(matrix: &mut Matrix, table: &Table, mistakes: &mut Vec<Diagnostic>) {
    for (filter, place) in filters(table, "include", mistakes) {
        let listed = |axis: &Axis| (0..axis.listed as u32).collect();
        let mut choices: Vec<Vec<u32>> = matrix.axes.iter().map(listed).collect();
        let mut is_whole = !filter.entries.is_empty();
        for (key, node) in flat(matrix, filter) {
            match axis_of(matrix, &key, "include") {
                Ok(number) => {
                    let axis = &mut matrix.axes[number];
                    let nodes = node.alternatives().iter();
                    choices[number] = nodes.map(|node| axis.find_or_add(node)).collect();
                }
                Err(mistake) => {
                    mistakes.push(mistake);
                    is_whole = false;
                }
            }
        }
        let size = choices.iter().map(|values| values.len() as u64);
        if is_whole && size.fold(1, u64::saturating_mul) > MOST_INCLUDED {
            mistakes.push(
                Diagnostic::error("`include` adds too many cells")
                    .at(place, format!("more than {MOST_INCLUDED}"))
                    .help(
                        "an axis that is not named runs over all of its values; name more of them",
                    ),
            );
        } else if is_whole {
            matrix.includes.extend(product(&choices));
        }
    }
}

/// All combinations with one value of each axis; the last axis varies fastest.
pub(super) fn product(choices: &[Vec<u32>]) -> Vec<Vec<u32>> {
    choices.iter().fold(vec![Vec::new()], |cells, values| {
        let extend = |cell: Vec<u32>| {
            let longer = |value: &u32| [&cell[..], &[*value]].concat();
            values.iter().map(longer).collect::<Vec<_>>()
        };
        cells.into_iter().flat_map(extend).collect()
    })
}
