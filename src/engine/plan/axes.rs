//! Reads `[matrix]`: its axes and `[matrix.zip]`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diag::{Diagnostic, Place};
use crate::manifest::{Key, Node, Table, Value};

use super::axis_info::AxisKind;
use super::homes::long_path;
use super::key::value_text;
use super::matrix::{Axis, Dimension, Matrix};
use super::{assign, filters};

/// Keys of a matrix that are not axes.
const WORDS: [&str; 5] = ["name", "set", "zip", "include", "exclude"];

const SET_FORM: &str = "write settings by path: `set = { \"train.epochs\" = 5 }`";
const ZIP_FORM: &str = "write `[matrix.zip]`, and under it a line for each axis, all with as many values: `batch-size = [8, 16]` and \
                        `\"train.optimizer.lr\" = [1e-3, 2e-3]`";

pub(super) fn read(
    node: &Node,
    mistakes: &mut Vec<Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) -> Matrix {
    let Some(table) = node.as_table() else {
        mistakes.push(
            Diagnostic::error(format!("a matrix is a table, found {}", node.kind()))
                .at(node.place, "")
                .help("write `[matrix]` and under it one line per axis: `batch-size = [8, 16]`"),
        );
        return Matrix::default();
    };
    let mut matrix = Matrix {
        set: table
            .get("set")
            .and_then(|set| expect_table(set, "matrix.set", SET_FORM, mistakes))
            .map(|set| assign::read(set, mistakes))
            .unwrap_or_default(),
        ..Matrix::default()
    };
    read_axes(&mut matrix, table, mistakes);
    filters::read_includes(&mut matrix, table, mistakes);
    for axis in &mut matrix.axes {
        axis.sort();
    }
    matrix.sort_rows();
    filters::read_excludes(&mut matrix, table, mistakes, warnings);
    matrix.settle_includes();
    matrix
}

fn expect_table<'a>(
    node: &'a Node,
    what: &str,
    form: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<&'a Table> {
    let table = node.as_table();
    if table.is_none() {
        mistakes.push(
            Diagnostic::error(format!("`{what}` is a table, found {}", node.kind()))
                .at(node.place, "expected a table")
                .help(form),
        );
    }
    table
}

fn read_axes(matrix: &mut Matrix, table: &Table, mistakes: &mut Vec<Diagnostic>) {
    for (key, node) in &table.entries {
        match key.name.as_str() {
            "zip" => read_zip(matrix, node, mistakes),
            "name" if node.as_str().is_none() => mistakes.push(
                Diagnostic::error(format!(
                    "`name` of a matrix is a string, found {}",
                    node.kind()
                ))
                .at(node.place, "expected a name in quotes")
                .help("the experiment's `name` cannot be an axis"),
            ),
            word if WORDS.contains(&word) => {}
            _ => flatten(key, node, &mut |name, place, node| {
                let before = matrix.axes.len();
                add_axis(matrix, name, place, node, mistakes);
                if let Some(axis) = matrix.axes.get(before) {
                    let dimension = Dimension::of_axis(before, axis.listed);
                    matrix.dimensions.push(dimension);
                }
            }),
        }
    }
}

/// An axis written without quotes (`train.optimizer.lr = [...]`) is a table in a table; its path is the same.
pub(super) fn flatten(key: &Key, node: &Node, visit: &mut impl FnMut(&str, Place, &Node)) {
    match &node.value {
        Value::Table(table) if !table.entries.is_empty() => {
            for (below, child) in &table.entries {
                let joined = Key {
                    name: format!("{}.{}", key.name, below.name),
                    place: if key.place.start <= below.place.start {
                        key.place.to(below.place)
                    } else {
                        below.place
                    },
                };
                flatten(&joined, child, visit);
            }
        }
        _ => visit(&key.name, key.place, node),
    }
}

/// An axis of `[matrix.zip]`: for each entry of its list, the index of the value.
struct Zipped {
    values: Vec<u32>,
    places: Vec<Place>,
}

fn read_zip(matrix: &mut Matrix, node: &Node, mistakes: &mut Vec<Diagnostic>) {
    let Some(table) = expect_table(node, "matrix.zip", ZIP_FORM, mistakes) else {
        return;
    };
    let first = matrix.axes.len();
    let mut zipped: Vec<Zipped> = Vec::new();
    for (key, node) in &table.entries {
        flatten(key, node, &mut |name, place, node| {
            if let Some(axis) = new_axis(matrix, name, place, node, mistakes) {
                zipped.push(zip_axis(matrix, axis));
            }
        });
    }
    let Some(length) = zipped.first().map(|axis| axis.values.len()) else {
        return;
    };
    let axes = matrix.axes.get(first..).unwrap_or_default();
    for (axis, list) in axes.iter().zip(&zipped) {
        if list.values.len() == length {
            continue;
        }
        let count = |count| format!("{count} value{}", if count == 1 { "" } else { "s" });
        mistakes.push(
            Diagnostic::error("zipped axes must have the same number of values")
                .at(axis.place, count(list.values.len()))
                .context(axes.first().map_or(axis.place, |first| first.place), count(length))
                .help("to combine every value with every other, move one axis out of `[matrix.zip]` into `[matrix]`"),
        );
    }
    let row = |place: usize| -> Vec<u32> {
        let values = zipped.iter().map(|axis| axis.values.get(place));
        values.map(|value| value.copied().unwrap_or(0)).collect()
    };
    let rows: Vec<Vec<u32>> = (0..length).map(row).collect();
    rows_twice(&rows, &zipped, mistakes);
    let axes = (first..matrix.axes.len()).collect();
    matrix.dimensions.push(Dimension::of_rows(axes, &rows));
}

/// Adds the axis with each value once; in a zip, a value may be at several positions.
fn zip_axis(matrix: &mut Matrix, mut axis: Axis) -> Zipped {
    let values = std::mem::take(&mut axis.values);
    let places = values.iter().map(|value| value.assignment.node.place);
    let places: Vec<Place> = places.collect();
    let mut known: BTreeMap<Arc<str>, u32> = BTreeMap::new();
    let mut numbers = Vec::with_capacity(values.len());
    for value in values {
        let next = axis.values.len() as u32;
        let number = *known.entry(Arc::clone(&value.text)).or_insert(next);
        if number == next {
            axis.values.push(value);
        }
        numbers.push(number);
    }
    axis.listed = axis.values.len();
    matrix.axes.push(axis);
    Zipped {
        values: numbers,
        places,
    }
}

/// Reports positions at which all zipped axes repeat the values of an earlier position.
fn rows_twice(rows: &[Vec<u32>], zipped: &[Zipped], mistakes: &mut Vec<Diagnostic>) {
    let mut seen: BTreeMap<&[u32], usize> = BTreeMap::new();
    let place = |row: usize| zipped.first().and_then(|axis| axis.places.get(row));
    for (index, row) in rows.iter().enumerate() {
        let before = *seen.entry(row).or_insert(index);
        if let (true, Some(again), Some(first)) = (before != index, place(index), place(before)) {
            mistakes.push(
                Diagnostic::error("the zipped axes have the same values twice")
                    .at(*again, "again, in all of them")
                    .context(*first, "first here"),
            );
        }
    }
}

fn add_axis(
    matrix: &mut Matrix,
    name: &str,
    place: Place,
    node: &Node,
    mistakes: &mut Vec<Diagnostic>,
) {
    if let Some(mut axis) = new_axis(matrix, name, place, node, mistakes) {
        values_twice(&mut axis, mistakes);
        axis.listed = axis.values.len();
        matrix.axes.push(axis);
    }
}

/// The axis with all values of its list, if it has no mistake.
fn new_axis(
    matrix: &Matrix,
    name: &str,
    place: Place,
    node: &Node,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<Axis> {
    let path = long_path(name, place)
        .map_err(|mistake| mistakes.push(mistake))
        .ok()?;
    let Some(nodes) = node.as_array() else {
        mistakes.push(
            Diagnostic::error(format!(
                "axis `{name}` needs a list of values, found {}",
                node.kind()
            ))
            .at(node.place, "expected a list")
            .help(format!(
                "for a single value write `{name} = [{}]`",
                value_text(node)
            )),
        );
        return None;
    };
    if nodes.is_empty() {
        mistakes.push(
            Diagnostic::error(format!("axis `{name}` has no values"))
                .at(node.place, "the list is empty")
                .help("an axis without values leaves no cell; give it one value or remove it"),
        );
        return None;
    }
    let mut axis = Axis {
        name: name.to_owned(),
        place,
        path: path.into(),
        values: Vec::with_capacity(nodes.len()),
        listed: 0,
        ranks: Vec::new(),
        kind: AxisKind::Category,
    };
    if let Some(other) = matrix.axes.iter().find(|other| other.long() == axis.long()) {
        mistakes.push(
            Diagnostic::error(format!("`{}` is an axis twice", axis.long()))
                .at(place, "the same setting again")
                .context(other.place, "first here"),
        );
        return None;
    }
    for node in nodes {
        axis.push(node.clone(), value_text(node));
    }
    Some(axis)
}

/// Removes repeated values of the list and reports them.
fn values_twice(axis: &mut Axis, mistakes: &mut Vec<Diagnostic>) {
    let text = |index: &u32| axis.values.get(*index as usize).map(|value| &value.text);
    let mut order: Vec<u32> = (0..axis.values.len() as u32).collect();
    order.sort_by(|one, other| text(one).cmp(&text(other)));
    let pairs = order.windows(2).filter_map(|pair| match pair {
        [before, again] if text(before) == text(again) => Some((*again, *before)),
        _ => None,
    });
    // Sorted by position in the list. Equal texts are adjacent in `order`, the earlier first.
    let twice: BTreeMap<u32, u32> = pairs.collect();
    for (again, before) in &twice {
        let value = |index: &u32| axis.values.get(*index as usize);
        let (Some(again), Some(before)) = (value(again), value(before)) else {
            continue;
        };
        mistakes.push(
            Diagnostic::error(format!(
                "axis `{}` has the value `{}` twice",
                axis.name, again.text
            ))
            .at(again.assignment.node.place, "again")
            .context(before.assignment.node.place, "first here"),
        );
    }
    let mut index = 0;
    axis.values.retain(|_| {
        index += 1;
        !twice.contains_key(&(index - 1))
    });
}
