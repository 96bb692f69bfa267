//! [`Matrix`]: axes, zipped axes, excluded and included cells, as values. `axes` and `filters` read them.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::diag::Place;
use crate::manifest::{Key, Node, Value};

use super::assign::Assignment;
use super::axis_info::AxisKind;
use super::key::value_text;

/// One matrix, read but not expanded.
#[derive(Debug, Clone, Default)]
pub(super) struct Matrix {
    /// `name`, for one of several.
    pub(super) name: Option<Arc<str>>,
    /// Assignments of `set`.
    pub(super) set: Vec<Assignment>,
    pub(super) axes: Vec<Axis>,
    /// Independent choices: one axis each, or all zipped ones.
    pub(super) dimensions: Vec<Dimension>,
    /// Cells left out: per filter, `(axis, values)`; a cell that fits all of them is out.
    pub(super) excludes: Vec<Vec<(usize, Vec<u32>)>>,
    /// Cells added: one value per axis, in row order, none of them in the product.
    pub(super) includes: Vec<Vec<u32>>,
    /// For each axis of the plan (but `matrix` itself), its index in [`Self::axes`].
    pub(super) columns: Vec<Option<usize>>,
}

/// A named list of values.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// As written.
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) path: Arc<[Key]>,
    /// The values of the list, then those that only includes name.
    pub(super) values: Vec<AxisValue>,
    /// Number of values in the list, without those of includes.
    pub(super) listed: usize,
    /// Position of each value among all, in row order.
    pub(super) ranks: Vec<u32>,
    pub(super) kind: AxisKind,
}

#[derive(Debug, Clone)]
pub(super) struct AxisValue {
    /// The value as an assignment to the axis's path.
    pub(super) assignment: Assignment,
    /// The value's text in keys.
    pub(super) text: Arc<str>,
}

/// Axes that vary together, and their combinations in row order.
#[derive(Debug, Clone, Default)]
pub(super) struct Dimension {
    /// Axis numbers, consecutive.
    pub(super) axes: Vec<usize>,
    /// One value per axis, row after row.
    values: Vec<u32>,
}

impl Dimension {
    /// One axis and its first `length` values.
    pub(super) fn of_axis(axis: usize, length: usize) -> Self {
        Self {
            axes: vec![axis],
            values: (0..length as u32).collect(),
        }
    }

    /// The given rows, one value per axis.
    pub(super) fn of_rows(axes: Vec<usize>, rows: &[Vec<u32>]) -> Self {
        Self {
            values: rows.concat(),
            axes,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() / self.axes.len().max(1)
    }

    /// The values of row `index`, one per axis.
    pub(super) fn row(&self, index: usize) -> &[u32] {
        let width = self.axes.len();
        let row = self.values.get(index * width..(index + 1) * width);
        row.unwrap_or_default()
    }

    fn first(&self) -> usize {
        self.axes.first().copied().unwrap_or(0)
    }

    /// Puts the rows into the order of the values' ranks.
    fn sort(&mut self, axes: &[Axis]) {
        let axes = axes.get(self.first()..).unwrap_or_default();
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by(|one, other| compare(axes, self.row(*one), self.row(*other)));
        self.values = order
            .iter()
            .flat_map(|row| self.row(*row))
            .copied()
            .collect();
    }
}

impl Axis {
    /// Long path with dots.
    pub(super) fn long(&self) -> String {
        let names: Vec<&str> = self.path.iter().map(|key| key.name.as_str()).collect();
        names.join(".")
    }

    /// Index of the value with this text.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        let found = self.values.iter().position(|value| &*value.text == text);
        found.and_then(|index| u32::try_from(index).ok())
    }
}

impl Axis {
    /// An axis with one value.
    pub(super) fn of_one(assignment: Assignment) -> Self {
        let place = assignment.path.first().map(|key| key.place);
        let mut axis = Self {
            name: String::new(),
            place: place.unwrap_or_default(),
            path: Arc::clone(&assignment.path),
            values: Vec::new(),
            listed: 1,
            ranks: vec![0],
            kind: AxisKind::Category,
        };
        let text = value_text(&assignment.node);
        axis.push(assignment.node, text);
        axis
    }

    pub(super) fn push(&mut self, node: Node, text: String) {
        let path = Arc::clone(&self.path);
        self.values.push(AxisValue {
            assignment: Assignment { path, node },
            text: text.into(),
        });
    }

    /// Decides the type and the row order: numbers by size, anything else as listed.
    pub(super) fn sort(&mut self) {
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

    /// Index of the value, which is added to the axis if it is new.
    pub(super) fn find_or_add(&mut self, node: &Node) -> u32 {
        let text = value_text(node);
        self.find(&text).unwrap_or_else(|| {
            self.push(node.clone(), text);
            self.values.len() as u32 - 1
        })
    }
}

/// Row order of two cells: by the ranks of their values, axis by axis.
pub(super) fn compare(axes: &[Axis], one: &[u32], other: &[u32]) -> Ordering {
    let rank =
        |axis: &Axis, value: &u32| axis.ranks.get(*value as usize).copied().unwrap_or(*value);
    let pairs = axes.iter().zip(one.iter().zip(other));
    pairs
        .map(|(axis, (one, other))| rank(axis, one).cmp(&rank(axis, other)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

impl Matrix {
    /// Whether a filter of `exclude` removes the cell.
    pub(super) fn is_excluded(&self, choice: &[u32]) -> bool {
        let fits = |(axis, values): &(usize, Vec<u32>)| {
            choice
                .get(*axis)
                .is_some_and(|value| values.contains(value))
        };
        self.excludes.iter().any(|filter| filter.iter().all(fits))
    }

    pub(super) fn sort_rows(&mut self) {
        for dimension in &mut self.dimensions {
            dimension.sort(&self.axes);
        }
    }

    /// Removes included cells that the product already contains, and sorts the others into row order.
    pub(super) fn settle_includes(&mut self) {
        let mut includes = std::mem::take(&mut self.includes);
        includes.retain(|choice| !self.is_product(choice) || self.is_excluded(choice));
        includes.sort_by(|one, other| compare(&self.axes, one, other));
        includes.dedup();
        self.includes = includes;
    }

    fn is_product(&self, choice: &[u32]) -> bool {
        self.dimensions.iter().all(|dimension| {
            let first = dimension.first();
            let part = choice.get(first..first + dimension.axes.len());
            part.is_some_and(|part| (0..dimension.len()).any(|row| dimension.row(row) == part))
        })
    }
}
