//! Reads `[matrix]`: its axes and `[matrix.zip]`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::base::text::count;
use crate::diag::{Diagnostic, Place, repeated};
use crate::manifest::{Key, Node, Table, toml_text};

use super::homes::long_path;
use super::matrix::{Axis, AxisValue, Dimension, Matrix};
use super::{assign, filters};

/// Keys of `[matrix]` that are not axes.
const WORDS: [&str; 5] = ["name", "set", "zip", "include", "exclude"];

const SET_FORM: &str = "write settings by path: `set = { \"train.epochs\" = 5 }`";
const ZIP_FORM: &str = "write `[matrix.zip]`, and under it a line for each axis, all with as many values: `batch-size = [8, 16]` and \
                        `\"train.optimizer.lr\" = [1e-3, 2e-3]`";

pub(super) fn read(
    node: &Node,
    mistakes: &mut Vec<Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) -> Matrix {
    let mut matrix = Matrix::default();
    let Some(table) = node.as_table() else {
        let help = "write `[matrix]` and under it one line per axis: `batch-size = [8, 16]`";
        mistakes.push(node.unexpected("a matrix is a table", "").help(help));
        return matrix;
    };
    if let Some(set) = expect_table(table, "set", SET_FORM, mistakes) {
        matrix.set = assign::read(set, mistakes);
    }
    read_axes(&mut matrix, table, mistakes);
    filters::read_includes(&mut matrix, table, mistakes);
    for axis in &mut matrix.axes {
        axis.sort();
    }
    matrix.sort_rows();
    filters::read_excludes(&mut matrix, table, mistakes, warnings);
    matrix.dedup_and_sort_includes();
    matrix
}

fn expect_table<'a>(
    matrix: &'a Table,
    name: &str,
    form: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<&'a Table> {
    let node = matrix.get(name)?;
    if node.as_table().is_none() {
        let expected = format!("`matrix.{name}` is a table");
        mistakes.push(node.unexpected(&expected, "expected a table").help(form));
    }
    node.as_table()
}

fn read_axes(matrix: &mut Matrix, table: &Table, mistakes: &mut Vec<Diagnostic>) {
    for (key, node) in &table.entries {
        match key.name.as_str() {
            "zip" => read_zip(matrix, table, mistakes),
            "name" if node.as_str().is_none() => {
                let mistake = node.unexpected(
                    "`name` of a matrix is a string",
                    "expected a name in quotes",
                );
                mistakes.push(mistake.help("the experiment's `name` cannot be an axis"));
            }
            word if WORDS.contains(&word) => {}
            _ => {
                for (key, node) in node.leaves(key.clone(), &|_| false) {
                    add_axis(matrix, key, node, mistakes);
                }
            }
        }
    }
}

fn add_axis(matrix: &mut Matrix, key: Key, node: &Node, mistakes: &mut Vec<Diagnostic>) {
    match axis(matrix, key, node) {
        Ok(axis) => {
            values_twice(&axis, mistakes);
            let (axis, _) = each_once(axis);
            let first = matrix.axes.len();
            let rows = (0..axis.listed as u32).map(|value| vec![value]).collect();
            matrix.dimensions.push(Dimension { first, rows });
            matrix.axes.push(axis);
        }
        Err(mistake) => mistakes.push(mistake),
    }
}

fn read_zip(matrix: &mut Matrix, table: &Table, mistakes: &mut Vec<Diagnostic>) {
    let Some(table) = expect_table(table, "zip", ZIP_FORM, mistakes) else {
        return;
    };
    let first = matrix.axes.len();
    // For each zipped axis, and each entry of its list, the index of the value among the axis's distinct values.
    let mut lists: Vec<Vec<u32>> = Vec::new();
    let mut places: Vec<Place> = Vec::new();
    for (key, node) in table.flat() {
        match axis(matrix, key, node) {
            Ok(axis) => {
                if lists.is_empty() {
                    let values = axis.values.iter();
                    places = values.map(|value| value.assignment.node.place).collect();
                }
                let (axis, list) = each_once(axis);
                lists.push(list);
                matrix.axes.push(axis);
            }
            Err(mistake) => mistakes.push(mistake),
        }
    }
    let axes = matrix.axes.get(first..).unwrap_or_default();
    let Some(start) = axes.first() else { return };
    for (axis, list) in axes.iter().zip(&lists) {
        if list.len() != places.len() {
            mistakes.push(
                Diagnostic::error("zipped axes must have the same number of values")
                    .at(axis.place, count(list.len(), "value"))
                    .context(start.place, count(places.len(), "value"))
                    .help("to combine every value with every other, move one axis out of `[matrix.zip]` into `[matrix]`"),
            );
        }
    }
    let row = |place: usize| -> Vec<u32> {
        let values = lists.iter().map(|list| list.get(place));
        values.map(|value| value.copied().unwrap_or(0)).collect()
    };
    let rows: Vec<Vec<u32>> = (0..places.len()).map(row).collect();
    for (_, place, first) in repeated(rows.iter().zip(places)) {
        mistakes.push(
            Diagnostic::error("the zipped axes have the same values twice")
                .at(place, "again, in all of them")
                .context(first, "first here"),
        );
    }
    matrix.dimensions.push(Dimension { first, rows });
}

/// The axis without duplicate values, and for each entry of its list the index of its value.
fn each_once(mut axis: Axis) -> (Axis, Vec<u32>) {
    let mut known: HashMap<Arc<str>, u32> = HashMap::new();
    let mut list = Vec::with_capacity(axis.values.len());
    axis.values.retain(|value| {
        let next = known.len() as u32;
        let index = *known.entry(Arc::clone(&value.text)).or_insert(next);
        list.push(index);
        index == next
    });
    axis.listed = axis.values.len();
    (axis, list)
}

/// Reads an axis with all values of its list; the error says what is wrong with it.
fn axis(matrix: &Matrix, key: Key, node: &Node) -> Result<Axis, Diagnostic> {
    let name = key.name.as_str();
    let path: Arc<[Key]> = long_path(name, key.place)?.into();
    let Some(nodes) = node.as_array() else {
        let expected = format!("axis `{name}` needs a list of values");
        let value = toml_text(&node.to_json());
        let help = format!("for a single value write `{name} = [{value}]`");
        return Err(node.unexpected(&expected, "expected a list").help(help));
    };
    if nodes.is_empty() {
        return Err(Diagnostic::error(format!("axis `{name}` has no values"))
            .at(node.place, "the list is empty")
            .help("an axis without values leaves no cell; give it one value or remove it"));
    }
    let long = Key::dotted(&path);
    if let Some(other) = matrix.axes.iter().find(|other| other.long() == long) {
        return Err(Diagnostic::error(format!("`{long}` is an axis twice"))
            .at(key.place, "the same setting again")
            .context(other.place, "first here"));
    }
    let values = nodes.iter().map(|node| AxisValue::new(&path, node.clone()));
    let values = values.collect();
    Ok(Axis::new(key, path, values))
}

/// Reports values that are repeated in the list of an axis.
fn values_twice(axis: &Axis, mistakes: &mut Vec<Diagnostic>) {
    let values = axis.values.iter();
    let values = values.map(|value| (&*value.text, value.assignment.node.place));
    for (text, place, first) in repeated(values) {
        let title = format!("axis `{}` has the value `{text}` twice", axis.name);
        let mistake = Diagnostic::error(title).at(place, "again");
        mistakes.push(mistake.context(first, "first here"));
    }
}
