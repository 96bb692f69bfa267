//! `[matrix]`: axes, zipped axes, excluded and included cells, as values.

use std::collections::HashMap;

use crate::diag::{Diagnostic, Place, did_you_mean, list};
use crate::manifest::{Key, Node, Table, Value};

use super::assign::{self, Assignment};
use super::axis_info::AxisKind;
use super::homes::long_path;
use super::key::value_text;

/// Keys of a matrix that are not axes.
const WORDS: [&str; 5] = ["name", "set", "zip", "include", "exclude"];

/// One matrix, read but not expanded.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    /// `name`, for one of several.
    pub(super) name: Option<String>,
    /// What `set` says.
    pub(super) set: Vec<Assignment>,
    /// The axes, in manifest order.
    pub(super) axes: Vec<Axis>,
    /// Independent choices: one axis each, or all zipped ones.
    pub(super) dimensions: Vec<Dimension>,
    /// Cells left out: per filter, `(axis, values)`; a cell that fits all of them is out.
    pub(super) excludes: Vec<Vec<(usize, Vec<u32>)>>,
    /// Cells added: one value per axis, in row order, none of them in the product.
    pub(super) includes: Vec<Vec<u32>>,
    /// For each axis of the plan (but `matrix` itself), its number here.
    pub(super) columns: Vec<Option<usize>>,
}

/// A named list of values.
#[derive(Debug)]
pub(super) struct Axis {
    /// As written.
    pub(super) name: String,
    /// Where it is written.
    pub(super) place: Place,
    /// Long path.
    pub(super) path: Vec<Key>,
    /// Its values: the list's, then those that only includes name.
    pub(super) values: Vec<AxisValue>,
    /// Number of values in the list.
    pub(super) listed: usize,
    /// Position of each value among all, in row order.
    pub(super) ranks: Vec<u32>,
    /// Type of the values.
    pub(super) kind: AxisKind,
}

/// A value of an axis.
#[derive(Debug)]
pub(super) struct AxisValue {
    /// As an assignment to the axis's path.
    pub(super) assignment: Assignment,
    /// As keys show it.
    pub(super) text: String,
}

/// Axes that go together, and their combinations in row order.
#[derive(Debug, Default)]
pub(super) struct Dimension {
    /// Axis numbers, consecutive.
    pub(super) axes: Vec<usize>,
    /// One value per axis.
    pub(super) rows: Vec<Vec<u32>>,
}

impl Axis {
    /// Long path with dots.
    pub(super) fn long(&self) -> String {
        let names: Vec<&str> = self.path.iter().map(|key| key.name.as_str()).collect();
        names.join(".")
    }

    fn find(&self, text: &str) -> Option<u32> {
        let found = self.values.iter().position(|value| value.text == text);
        found.and_then(|index| u32::try_from(index).ok())
    }
}

/// Reads one matrix.
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
            .and_then(|set| expect_table(set, "set", mistakes))
            .map(|set| assign::read(set, mistakes))
            .unwrap_or_default(),
        ..Matrix::default()
    };
    read_axes(&mut matrix, table, mistakes);
    read_includes(&mut matrix, table, mistakes);
    for axis in &mut matrix.axes {
        axis.sort();
    }
    sort_rows(&mut matrix);
    read_excludes(&mut matrix, table, mistakes, warnings);
    matrix.settle_includes();
    matrix
}

fn expect_table<'a>(
    node: &'a Node,
    what: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<&'a Table> {
    let table = node.as_table();
    if table.is_none() {
        mistakes.push(
            Diagnostic::error(format!("`{what}` is a table, found {}", node.kind()))
                .at(node.place, "expected a table"),
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
                    let rows = (0..axis.listed as u32).map(|value| vec![value]).collect();
                    matrix.dimensions.push(Dimension {
                        axes: vec![before],
                        rows,
                    });
                }
            }),
        }
    }
}

/// An axis written without quotes (`train.optimizer.lr = [...]`) is a table in a table; its path is the same.
fn flatten(key: &Key, node: &Node, visit: &mut impl FnMut(&str, Place, &Node)) {
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

fn read_zip(matrix: &mut Matrix, node: &Node, mistakes: &mut Vec<Diagnostic>) {
    let Some(table) = expect_table(node, "matrix.zip", mistakes) else {
        return;
    };
    let first = matrix.axes.len();
    for (key, node) in &table.entries {
        flatten(key, node, &mut |name, place, node| {
            add_axis(matrix, name, place, node, mistakes)
        });
    }
    let axes: Vec<usize> = (first..matrix.axes.len()).collect();
    let zipped = matrix.axes.get(first..).unwrap_or_default();
    let Some(length) = zipped.first().map(|axis| axis.listed) else {
        return;
    };
    for axis in zipped.iter().filter(|axis| axis.listed != length) {
        let count = |count| format!("{count} value{}", if count == 1 { "" } else { "s" });
        mistakes.push(
            Diagnostic::error("zipped axes must have the same number of values")
                .at(axis.place, count(axis.listed))
                .context(zipped.first().map_or(axis.place, |first| first.place), count(length))
                .help("to combine every value with every other, move one axis out of `[matrix.zip]` into `[matrix]`"),
        );
    }
    let rows = (0..length as u32)
        .map(|value| vec![value; axes.len()])
        .collect();
    matrix.dimensions.push(Dimension { axes, rows });
}

fn add_axis(
    matrix: &mut Matrix,
    name: &str,
    place: Place,
    node: &Node,
    mistakes: &mut Vec<Diagnostic>,
) {
    let path = match long_path(name, place) {
        Ok(path) => path,
        Err(mistake) => return mistakes.push(mistake),
    };
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
        return;
    };
    if nodes.is_empty() {
        mistakes.push(
            Diagnostic::error(format!("axis `{name}` has no values"))
                .at(node.place, "the list is empty")
                .help("an axis without values leaves no cell; give it one value or remove it"),
        );
        return;
    }
    let mut axis = Axis {
        name: name.to_owned(),
        place,
        path,
        values: Vec::new(),
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
        return;
    }
    let mut seen: HashMap<String, Place> = HashMap::new();
    for node in nodes {
        let text = value_text(node);
        if let Some(first) = seen.insert(text.clone(), node.place) {
            mistakes.push(
                Diagnostic::error(format!("axis `{name}` has the value `{text}` twice"))
                    .at(node.place, "again")
                    .context(first, "first here"),
            );
            continue;
        }
        axis.push(node.clone(), text);
    }
    axis.listed = axis.values.len();
    matrix.axes.push(axis);
}

impl Axis {
    fn push(&mut self, node: Node, text: String) {
        let path = self.path.clone();
        self.values.push(AxisValue {
            assignment: Assignment { path, node },
            text,
        });
    }

    /// Decides the type and the row order: numbers by size, anything else as listed.
    fn sort(&mut self) {
        let number = |value: &AxisValue| match value.assignment.node.value {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        };
        let is_integer =
            |value: &AxisValue| matches!(value.assignment.node.value, Value::Integer(_));
        self.kind = if self.values.iter().all(is_integer) {
            AxisKind::Integer
        } else if self.values.iter().all(|value| number(value).is_some()) {
            AxisKind::Float
        } else {
            AxisKind::Category
        };
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        if self.kind != AxisKind::Category {
            let size = |index: &usize| self.values.get(*index).and_then(number).unwrap_or(f64::NAN);
            order.sort_by(|a, b| size(a).total_cmp(&size(b)));
        }
        self.ranks = vec![0; order.len()];
        for (rank, index) in order.into_iter().enumerate() {
            if let Some(slot) = self.ranks.get_mut(index) {
                *slot = rank as u32;
            }
        }
    }
}

/// Row order of a cell: the ranks of its values, axis by axis.
pub(super) fn ranks(axes: &[Axis], choice: &[u32]) -> Vec<u32> {
    let rank =
        |(axis, value): (&Axis, &u32)| axis.ranks.get(*value as usize).copied().unwrap_or(*value);
    axes.iter().zip(choice).map(rank).collect()
}

fn sort_rows(matrix: &mut Matrix) {
    for dimension in &mut matrix.dimensions {
        let first = dimension.axes.first().copied().unwrap_or(0);
        let axes = matrix.axes.get(first..).unwrap_or_default();
        dimension.rows.sort_by_key(|row| ranks(axes, row));
    }
}

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

/// Number of the axis that `key` names, by its name or its long path.
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

fn read_excludes(
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
    let texts = || axis.values.iter().map(|value| value.text.as_str());
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

/// Every include adds the product of the values that it names and all listed values of the axes that it does not.
fn read_includes(matrix: &mut Matrix, table: &Table, mistakes: &mut Vec<Diagnostic>) {
    for (filter, _) in filters(table, "include", mistakes) {
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
            matrix.includes.extend(product(&choices));
        }
    }
}

impl Axis {
    fn find_or_add(&mut self, node: &Node) -> u32 {
        let text = value_text(node);
        self.find(&text).unwrap_or_else(|| {
            self.push(node.clone(), text);
            self.values.len() as u32 - 1
        })
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

impl Matrix {
    /// Whether a filter of `exclude` takes the cell out.
    pub(super) fn is_excluded(&self, choice: &[u32]) -> bool {
        let fits = |(axis, values): &(usize, Vec<u32>)| {
            choice
                .get(*axis)
                .is_some_and(|value| values.contains(value))
        };
        self.excludes.iter().any(|filter| filter.iter().all(fits))
    }

    /// Leaves out included cells that the product has already, and puts the others into row order.
    fn settle_includes(&mut self) {
        let mut includes = std::mem::take(&mut self.includes);
        includes.retain(|choice| !self.is_product(choice) || self.is_excluded(choice));
        includes.sort_by_cached_key(|choice| ranks(&self.axes, choice));
        includes.dedup();
        self.includes = includes;
    }

    fn is_product(&self, choice: &[u32]) -> bool {
        self.dimensions.iter().all(|dimension| {
            let first = dimension.axes.first().copied().unwrap_or(0);
            let part = choice.get(first..first + dimension.axes.len());
            part.is_some_and(|part| dimension.rows.iter().any(|row| row.as_slice() == part))
        })
    }
}
