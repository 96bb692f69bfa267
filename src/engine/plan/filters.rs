//! Reads `[[matrix.exclude]]` and `[[matrix.include]]`.

use crate::diag::{Diagnostic, Place, did_you_mean, list};
use crate::manifest::{Key, Node, Table};

use super::axes::flatten;
use super::homes::long_path;
use super::key::value_text;
use super::matrix::{Axis, Matrix};

/// Most cells that one include may add: included cells are stored in a list, those of the product are not.
const MOST_INCLUDED: u64 = 1_000_000;

/// The entries of `[[matrix.include]]` or `[[matrix.exclude]]`, as tables.
fn filters<'a>(
    table: &'a Table,
    word: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<(&'a Table, Place)> {
    let Some(node) = table.get(word) else {
        return Vec::new();
    };
    let tables: Vec<(&Table, Place)> = node
        .as_array()
        .unwrap_or_default()
        .iter()
        .filter_map(|node| Some((node.as_table()?, node.place)))
        .collect();
    if node
        .as_array()
        .is_none_or(|nodes| nodes.len() != tables.len())
    {
        mistakes.push(
            Diagnostic::error(format!("`matrix.{word}` is a list of tables"))
                .at(node.place, "")
                .help(format!(
                    "write `[[matrix.{word}]]` with two brackets, once per group of cells"
                )),
        );
    }
    for (_, place) in tables.iter().filter(|(table, _)| table.entries.is_empty()) {
        mistakes.push(
            Diagnostic::error(format!("this `matrix.{word}` names no axis"))
                .at(*place, "it is empty"),
        );
    }
    tables
}

/// Index of the axis that `key` names, by its name or its long path.
fn axis_of(
    matrix: &Matrix,
    key: &Key,
    word: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<usize> {
    let long = long_path(&key.name, key.place).ok();
    let long = long.map(|path| {
        path.iter()
            .map(|key| key.name.clone())
            .collect::<Vec<_>>()
            .join(".")
    });
    let found = matrix
        .axes
        .iter()
        .position(|axis| axis.name == key.name || Some(axis.long()) == long);
    if found.is_none() {
        let names = || matrix.axes.iter().map(|axis| axis.name.as_str());
        let what = if matrix.axes.is_empty() {
            "there are no axes".to_owned()
        } else {
            format!("the axes are {}", list(names()))
        };
        mistakes.push(
            Diagnostic::error(format!(
                "`{word}` names `{}`, which is no axis of this matrix",
                key.name
            ))
            .at(key.place, "not an axis")
            .maybe_help(did_you_mean(&key.name, names()))
            .help(what),
        );
    }
    found
}

/// One value or a list of alternatives.
fn alternatives(node: &Node) -> &[Node] {
    node.as_array().unwrap_or(std::slice::from_ref(node))
}

pub(super) fn read_excludes(
    matrix: &mut Matrix,
    table: &Table,
    mistakes: &mut Vec<Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) {
    for (filter, _) in filters(table, "exclude", mistakes) {
        let mut wanted = Vec::new();
        for (key, node) in flat(filter) {
            let Some(number) = axis_of(matrix, &key, "exclude", mistakes) else {
                continue;
            };
            let Some(axis) = matrix.axes.get(number) else {
                continue;
            };
            let mut values = Vec::new();
            for node in alternatives(&node) {
                let text = value_text(node);
                match axis.find(&text) {
                    Some(value) => values.push(value),
                    None => warnings.push(unknown_value(axis, node, &text)),
                }
            }
            wanted.push((number, values));
        }
        if !wanted.is_empty() {
            matrix.excludes.push(wanted);
        }
    }
}

fn unknown_value(axis: &Axis, node: &Node, text: &str) -> Diagnostic {
    let texts = || axis.values.iter().map(|value| &*value.text);
    Diagnostic::warning(format!(
        "`exclude` leaves nothing out: axis `{}` has no value `{text}`",
        axis.name
    ))
    .at(node.place, "not a value of the axis")
    .maybe_help(did_you_mean(text, texts()))
    .help(format!("its values are {}", list(texts())))
}

fn flat(table: &Table) -> Vec<(Key, Node)> {
    let mut entries = Vec::new();
    for (key, node) in &table.entries {
        flatten(key, node, &mut |name, place, node| {
            let name = name.to_owned();
            entries.push((Key { name, place }, node.clone()));
        });
    }
    entries
}

/// Every include adds the product of the values that it names and all listed values of the other axes.
pub(super) fn read_includes(matrix: &mut Matrix, table: &Table, mistakes: &mut Vec<Diagnostic>) {
    for (filter, place) in filters(table, "include", mistakes) {
        let mut choices: Vec<Vec<u32>> = matrix
            .axes
            .iter()
            .map(|axis| (0..axis.listed as u32).collect())
            .collect();
        let mut is_whole = true;
        for (key, node) in flat(filter) {
            let Some(number) = axis_of(matrix, &key, "include", mistakes) else {
                is_whole = false;
                continue;
            };
            if let (Some(axis), Some(slot)) = (matrix.axes.get_mut(number), choices.get_mut(number))
            {
                *slot = alternatives(&node)
                    .iter()
                    .map(|node| axis.find_or_add(node))
                    .collect();
            }
        }
        if is_whole && !filter.entries.is_empty() {
            let size = choices.iter().map(|values| values.len() as u64);
            if size.fold(1, u64::saturating_mul) > MOST_INCLUDED {
                mistakes.push(
                    Diagnostic::error("`include` adds too many cells")
                        .at(place, format!("more than {MOST_INCLUDED}"))
                        .help("an axis that is not named runs over all of its values; name more of them"),
                );
                continue;
            }
            matrix.includes.extend(product(&choices));
        }
    }
}

fn product(choices: &[Vec<u32>]) -> Vec<Vec<u32>> {
    choices.iter().fold(vec![Vec::new()], |cells, values| {
        let extend = |cell: Vec<u32>| {
            values.iter().map(move |value| {
                let mut cell = cell.clone();
                cell.push(*value);
                cell
            })
        };
        cells.into_iter().flat_map(extend).collect()
    })
}
