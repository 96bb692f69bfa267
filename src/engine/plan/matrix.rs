//! [`Matrix`]: axes, zipped axes, excluded and included cells, and its cells in row order. The modules `axes` and
//! `filters` parse them.

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
    /// `name` of the matrix, if there are several.
    pub(super) name: Option<Arc<str>>,
    /// Settings of all cells of this matrix (its key `set`).
    pub(super) set: Vec<Assignment>,
    pub(super) axes: Vec<Axis>,
    /// Factors of the cartesian product: each is a single axis, or all zipped axes together.
    pub(super) dimensions: Vec<Dimension>,
    /// Excluded cells: for each filter, axes with indices of values; a cell that matches all entries of a filter is
    /// excluded.
    pub(super) excludes: Vec<Vec<(usize, Vec<u32>)>>,
    /// Included cells: one value index per axis, in row order, without cells that the product already has.
    pub(super) includes: Vec<Vec<u32>>,
    /// For each axis of the plan (except `matrix` itself), its index in [`Self::axes`].
    pub(super) columns: Vec<Option<usize>>,
}

/// A named list of values.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// Name as written in the manifest.
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) path: Arc<[Key]>,
    /// The values of the list, then further values, which only cells of `include` have.
    pub(super) values: Vec<AxisValue>,
    /// Number of values in the list, without those of includes.
    pub(super) listed: usize,
    /// Position of each value in row order.
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

/// Consecutive axes that vary together, and their combinations in row order.
#[derive(Debug, Clone, Default)]
pub(super) struct Dimension {
    /// Index of the first axis.
    pub(super) first: usize,
    /// The combinations, each with one value index per axis.
    pub(super) rows: Vec<Vec<u32>>,
}

impl AxisValue {
    pub(super) fn new(path: &Arc<[Key]>, node: Node) -> Self {
        let path = Arc::clone(path);
        Self {
            text: value_text(&node).into(),
            assignment: Assignment { path, node },
        }
    }
}

impl Axis {
    /// An axis with these values, in this order.
    pub(super) fn new(name: Key, path: Arc<[Key]>, values: Vec<AxisValue>) -> Self {
        Self {
            name: name.name,
            place: name.place,
            path,
            listed: values.len(),
            ranks: (0..values.len() as u32).collect(),
            values,
            kind: AxisKind::Category,
        }
    }

    /// The axis' setting as a full dotted path, such as `train.batch-size`.
    pub(super) fn long(&self) -> String {
        Key::dotted(&self.path)
    }

    /// Whether the axis chooses among the variants.
    pub(super) fn is_variant(&self) -> bool {
        self.path.len() == 1
    }

    /// Index of the value with this text.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        let found = self.values.iter().position(|value| &*value.text == text);
        found.and_then(|index| u32::try_from(index).ok())
    }

    /// Determines the type of the axis and the row order: numbers by size, anything else as listed.
    pub(super) fn sort(&mut self) {
        self.kind = kind_of(&self.values);
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        if self.kind != AxisKind::Category {
            let size = |index: &usize| self.values[*index].assignment.node.as_f64();
            order.sort_by(|a, b| {
                size(a)
                    .unwrap_or(f64::NAN)
                    .total_cmp(&size(b).unwrap_or(f64::NAN))
            });
        }
        self.ranks = vec![0; order.len()];
        for (rank, index) in order.into_iter().enumerate() {
            self.ranks[index] = rank as u32;
        }
    }

    /// Index of the value `node`, which is added to the axis if it is new.
    pub(super) fn find_or_add(&mut self, node: &Node) -> u32 {
        let value = AxisValue::new(&self.path, node.clone());
        self.find(&value.text).unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() as u32 - 1
        })
    }
}

/// The narrowest type that all of these values have.
pub(super) fn kind_of(values: &[AxisValue]) -> AxisKind {
    let mut nodes = values.iter().map(|value| &value.assignment.node);
    if nodes
        .clone()
        .all(|node| matches!(node.value, Value::Integer(_)))
    {
        AxisKind::Integer
    } else if nodes.all(|node| node.as_f64().is_some()) {
        AxisKind::Float
    } else {
        AxisKind::Category
    }
}

/// Row order of two cells: by the ranks of their values, axis by axis.
pub(super) fn compare(axes: &[Axis], one: &[u32], other: &[u32]) -> Ordering {
    let rank =
        |axis: &Axis, value: &u32| axis.ranks.get(*value as usize).copied().unwrap_or(*value);
    let pairs = axes.iter().zip(one.iter().zip(other));
    let mut orders = pairs.map(|(axis, (one, other))| rank(axis, one).cmp(&rank(axis, other)));
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

impl Matrix {
    /// Number of values of axis `axis`.
    pub(super) fn count_of(&self, axis: usize) -> u32 {
        let axis = self.axes.get(axis);
        axis.map_or(0, |axis| axis.values.len() as u32)
    }

    /// Texts of a cell's values in the order of the plan's axes, after the matrix's name if it has one; empty for an
    /// axis that the matrix lacks.
    pub(super) fn texts(&self, choice: &[u32]) -> Vec<Arc<str>> {
        let text = |index: &usize| {
            let value = *choice.get(*index)? as usize;
            let value = self.axes.get(*index)?.values.get(value)?;
            Some(Arc::clone(&value.text))
        };
        let columns = self.columns.iter();
        let own = columns.map(|column| column.as_ref().and_then(text).unwrap_or_default());
        self.name.iter().cloned().chain(own).collect()
    }

    /// Whether a filter of `exclude` removes the cell.
    pub(super) fn is_excluded(&self, choice: &[u32]) -> bool {
        self.is_excluded_by(choice, |_| true)
    }

    /// Whether the cell is removed by a filter all of whose axes satisfy `is_meant`.
    pub(super) fn is_excluded_by(&self, choice: &[u32], is_meant: impl Fn(&usize) -> bool) -> bool {
        let fits = |(axis, values): &(usize, Vec<u32>)| {
            let value = choice.get(*axis).filter(|_| is_meant(axis));
            value.is_some_and(|value| values.contains(value))
        };
        self.excludes.iter().any(|filter| filter.iter().all(fits))
    }

    /// Sorts the rows of each dimension by their values, axis by axis: numbers ascending, others in manifest order.
    pub(super) fn sort_rows(&mut self) {
        for Dimension { first, rows } in &mut self.dimensions {
            let axes = self.axes.get(*first..).unwrap_or_default();
            rows.sort_by(|one, other| compare(axes, one, other));
        }
    }

    /// Removes cells of `include` that the product already contains, and sorts the others into row order.
    pub(super) fn dedup_and_sort_includes(&mut self) {
        let mut includes = std::mem::take(&mut self.includes);
        includes.retain(|choice| !self.is_product(choice) || self.is_excluded(choice));
        includes.sort_by(|one, other| compare(&self.axes, one, other));
        includes.dedup();
        self.includes = includes;
    }

    fn is_product(&self, choice: &[u32]) -> bool {
        self.dimensions.iter().all(|Dimension { first, rows }| {
            let part = choice.get(*first..);
            part.is_some_and(|part| rows.iter().any(|row| part.starts_with(row)))
        })
    }

    /// Number of combinations before cells are excluded and included.
    pub(super) fn product_size(&self) -> u64 {
        let dimensions = self.dimensions.iter();
        let sizes = dimensions.map(|dimension| dimension.rows.len() as u64);
        sizes.fold(1, u64::saturating_mul)
    }

    /// Every cell in row order, as one value index per axis: the product without excluded cells, merged with included
    /// cells.
    pub(super) fn choices(&self) -> impl Iterator<Item = Vec<u32>> {
        let product = (0..self.product_size()).map(|position| self.combination(position));
        let mut product = product
            .filter(|choice| !self.is_excluded(choice))
            .peekable();
        let mut includes = self.includes.iter().peekable();
        std::iter::from_fn(move || {
            let is_include_first = match (product.peek(), includes.peek()) {
                (Some(next), Some(included)) => compare(&self.axes, included, next).is_lt(),
                (next, _) => next.is_none(),
            };
            if is_include_first {
                includes.next().cloned()
            } else {
                product.next()
            }
        })
    }

    pub(super) fn count(&self) -> usize {
        if self.excludes.is_empty() {
            usize::try_from(self.product_size()).unwrap_or(usize::MAX) + self.includes.len()
        } else {
            self.choices().count()
        }
    }

    fn combination(&self, mut position: u64) -> Vec<u32> {
        let mut choice = vec![0; self.axes.len()];
        for Dimension { first, rows } in self.dimensions.iter().rev() {
            let length = rows.len().max(1) as u64;
            let row = rows.get((position % length) as usize);
            position /= length;
            for (offset, value) in row.into_iter().flatten().enumerate() {
                choice[first + offset] = *value;
            }
        }
        choice
    }
}
