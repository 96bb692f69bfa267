//! Checks combinations of axis values, to find the mistakes of cells before cells are created.
//!
//! In a search, every choice and both ends of every range are checked in the same way as the values of an axis.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diag::{Diagnostic, Place};
use crate::manifest::{Key, Node, Value};
use crate::models::ModelSpec;

use super::Plan;
use super::assign;
use super::declared;
use super::homes::Unit;
use super::matrix::{Axis, AxisValue, Matrix};
use super::reader::Reader;
use super::search::{Condition, Domain, SpaceParameter};
use super::units::Units;
use super::validate::{with_axis_name, with_title_prefix};

/// Largest number of combinations of one unit that are all tried; with more, each value is tried once.
const TRIED: usize = 4096;

/// Number of mistakes after which no further combination is tried: combinations often repeat the same mistakes, and
/// only a hundred are printed.
const MANY: usize = 10_000;

/// Stands for the value index of a parameter that does not exist in a combination; no axis has that many values.
const ABSENT: u32 = u32::MAX;

/// A matrix that has the parameters of a search as further axes.
struct Tried<'a> {
    parameters: &'a [SpaceParameter],
    matrix: Matrix,
    /// Number of axes before the parameters.
    first: usize,
}

/// Checks every unit of the cells with every combination of the values that affect it.
pub(super) fn cells(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    for matrix in &plan.matrices {
        let tried = Tried::new(&plan.searched.parameters, matrix);
        let reader = Reader::new(plan, &tried.matrix);
        for unit in Unit::ALL {
            let axes = tried.with_parents(reader.axes_of(&[unit]));
            let found = |which: fn(&Axis) -> Vec<u32>| {
                let mut all = Vec::new();
                for choice in tried.choices(&axes, which) {
                    all.extend(reader.at(&choice).mistakes(unit));
                    if all.len() >= MANY {
                        break;
                    }
                }
                all
            };
            let mut all = found(Axis::representative_values);
            if !all.is_empty() {
                all = found(Axis::all);
            }
            mistakes.extend(all.into_iter().map(|one| tried.placed(one, plan)));
        }
    }
    if mistakes.is_empty() && plan.search.is_none() {
        shapes(plan, mistakes);
    }
}

/// Combinations that suffice to find every mistake of a unit that depends on `axes`: all combinations or, if there are
/// too many, each value that `which` selects once, with the first value of the other axes.
pub(super) fn value_combinations(
    matrix: &Matrix,
    axes: &[usize],
    which: impl Fn(&Axis) -> Vec<u32>,
) -> Vec<Vec<u32>> {
    Tried::new(&[], matrix).choices(axes, which)
}

/// Checks the settings of `[search.final]` in the first combination of every matrix.
pub(super) fn final_settings(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let search = plan.written.root.table("search");
    let Some(node) = search.and_then(|search| search.get("final")) else {
        return;
    };
    let Some(table) = node.as_table() else { return };
    // Mistakes in the paths were reported before.
    let settings = assign::read(table, &mut Vec::new());
    for matrix in &plan.matrices {
        let mut tried = Tried::new(&plan.searched.parameters, matrix);
        let mut choice = tried.settled(&[]);
        for one in &settings {
            let value = AxisValue::new(&one.path, one.node.clone());
            let name = Key::new("", one.place());
            tried
                .matrix
                .axes
                .push(Axis::new(name, Arc::clone(&one.path), vec![value]));
            choice.push(0);
        }
        let reader = Reader::new(plan, &tried.matrix).at(&choice);
        for mut mistake in Unit::ALL.into_iter().flat_map(|unit| reader.mistakes(unit)) {
            if mistake.place().is_some_and(|place| holds(node, place)) {
                mistake.title = format!("`search.final`: {}", mistake.title);
                mistakes.push(mistake);
            }
        }
    }
}

/// Whether the node, or a value inside it, is at the position `place`.
fn holds(node: &Node, place: Place) -> bool {
    let nodes = node.as_array().unwrap_or_default();
    let mut entries = node.as_table().into_iter().flat_map(|table| &table.entries);
    node.place.contains(place)
        || nodes.iter().any(|node| holds(node, place))
        || entries.any(|(key, node)| key.place == place || holds(node, place))
}

impl<'a> Tried<'a> {
    fn new(parameters: &'a [SpaceParameter], matrix: &Matrix) -> Self {
        let first = matrix.axes.len();
        let mut matrix = matrix.clone();
        let axes = parameters.iter().map(|one| one.axis(one.values.clone()));
        matrix.axes.extend(axes);
        Self {
            parameters,
            matrix,
            first,
        }
    }

    /// The parameter that axis `axis` stands for; `None` for an axis of the matrix.
    fn written(&self, axis: usize) -> Option<&'a SpaceParameter> {
        self.parameters.get(axis.checked_sub(self.first)?)
    }

    /// Adds to `axes` the axes and parameters on which the existence of its parameters depends (conditions `when`).
    fn with_parents(&self, mut axes: Vec<usize>) -> Vec<usize> {
        let mut next = 0;
        while let Some(axis) = axes.get(next).copied() {
            next += 1;
            let Some(written) = self.written(axis) else {
                continue;
            };
            let when = written.parameter.when.iter();
            let parents = when.map(|condition| self.first + condition.parameter);
            let on_axes = written.axes.iter();
            let own = on_axes.filter_map(|condition| self.column(condition.axis));
            for parent in parents.chain(own).collect::<Vec<_>>() {
                if !axes.contains(&parent) {
                    axes.push(parent);
                }
            }
        }
        axes.sort_unstable();
        axes
    }

    /// Index in this matrix of the plan's axis `axis`; `None` if the matrix lacks the axis.
    fn column(&self, axis: usize) -> Option<usize> {
        let shift = usize::from(self.matrix.name.is_some());
        *self.matrix.columns.get(axis.checked_sub(shift)?)?
    }

    /// Whether the axis exists, given the choices of the axes before it; axes of the matrix always exist.
    fn exists(&self, axis: usize, choice: &[u32]) -> bool {
        let Some(written) = self.written(axis) else {
            return true;
        };
        let of_parameter = |condition: &Condition| {
            let value = choice.get(self.first + condition.parameter);
            value.is_some_and(|value| condition.choices.contains(&(*value as usize)))
        };
        written.parameter.when.iter().all(of_parameter) && written.is_in(&self.matrix.texts(choice))
    }

    /// The choice with the values `fixed` (axis and value) and the first value of all other axes; parameters only if
    /// they exist.
    fn settled(&self, fixed: &[(usize, u32)]) -> Vec<u32> {
        let mut choice = Vec::with_capacity(self.matrix.axes.len());
        for axis in 0..self.matrix.axes.len() {
            let wanted = fixed.iter().find(|(other, _)| *other == axis);
            let value = wanted.map_or(0, |(_, value)| *value);
            let exists = self.exists(axis, &choice);
            choice.push(if exists { value } else { ABSENT });
        }
        choice
    }

    /// Every combination of the values of `axes`; if there are too many, each value that `which` selects, once.
    fn choices(&self, axes: &[usize], which: impl Fn(&Axis) -> Vec<u32>) -> Vec<Vec<u32>> {
        let mut none = vec![ABSENT; self.matrix.axes.len()];
        none[..self.first].fill(0);
        let mut choices = vec![none];
        for axis in axes {
            let count = self.matrix.count_of(*axis);
            let extend = |choice: Vec<u32>| {
                let exists = self.exists(*axis, &choice);
                let values = if exists { 0..count } else { 0..0 };
                let values = values.chain((!exists).then_some(ABSENT));
                values.map(move |value| with(&choice, *axis, value))
            };
            choices = choices.into_iter().flat_map(extend).collect();
            if choices.len() > TRIED {
                return self.each_once(axes, which);
            }
        }
        let of_matrix = axes.iter().copied().filter(|axis| *axis < self.first);
        let of_matrix: Vec<usize> = of_matrix.collect();
        choices.retain(|choice| !is_always_excluded(&self.matrix, &of_matrix, choice));
        choices
    }

    fn each_once(&self, axes: &[usize], which: impl Fn(&Axis) -> Vec<u32>) -> Vec<Vec<u32>> {
        let mut choices = vec![self.settled(&[])];
        for axis in axes {
            for value in which(&self.matrix.axes[*axis]) {
                let mut fixed = vec![(*axis, value)];
                self.add_requirements(*axis, &mut fixed);
                choices.push(self.settled(&fixed));
            }
        }
        choices
    }

    /// Adds to `fixed` the values on which the existence of axis `axis` depends.
    fn add_requirements(&self, axis: usize, fixed: &mut Vec<(usize, u32)>) {
        let Some(written) = self.written(axis) else {
            return;
        };
        for condition in &written.axes {
            let axis = self.column(condition.axis);
            let value = axis.and_then(|axis| {
                let texts = condition.values.first()?;
                self.matrix.axes.get(axis)?.find(texts)
            });
            fixed.extend(axis.zip(value));
        }
        if let Some(condition) = &written.parameter.when
            && let Some(choice) = condition.choices.first()
        {
            let parent = self.first + condition.parameter;
            fixed.push((parent, *choice as u32));
            self.add_requirements(parent, fixed);
        }
    }

    /// Adds to a mistake the name of the parameter, axis or variant that it comes from.
    fn placed(&self, mistake: Diagnostic, plan: &Plan) -> Diagnostic {
        let Some(place) = mistake.place() else {
            return mistake;
        };
        for written in self.parameters {
            let mut values = written.values.iter();
            let index = values.position(|value| value.assignment.node.place.contains(place));
            if index.is_none() && written.place != place {
                continue;
            }
            let which = match (&written.parameter.domain, index) {
                (Domain::Choice { values, .. }, Some(index)) => {
                    format!(", choice {} of {}", index + 1, values.len())
                }
                _ => String::new(),
            };
            let prefix = format!("parameter `{}`{which}", written.parameter.name);
            return with_title_prefix(mistake, &prefix, &written.parameter.path);
        }
        with_axis_name(mistake, plan, &self.matrix)
    }
}

impl Axis {
    pub(super) fn all(&self) -> Vec<u32> {
        (0..self.values.len() as u32).collect()
    }

    /// Indices of values that suffice to find all mistakes. Valid numbers always form an interval, so only the smallest
    /// and the largest integer and float are needed.
    pub(super) fn representative_values(&self) -> Vec<u32> {
        let node = |index: &u32| &self.values[*index as usize].assignment.node;
        let is_whole = |index: &u32| matches!(node(index).value, Value::Integer(_));
        let is_float = |index: &u32| matches!(node(index).value, Value::Float(_));
        let (whole, rest): (Vec<u32>, Vec<u32>) = self.all().into_iter().partition(is_whole);
        let (floats, mut telling): (Vec<u32>, Vec<u32>) = rest.into_iter().partition(is_float);
        let size = |index: &u32| node(index).as_f64().unwrap_or(0.0);
        for numbers in [whole, floats] {
            let by_size = |one: &&u32, other: &&u32| size(one).total_cmp(&size(other));
            telling.extend(numbers.iter().min_by(by_size));
            telling.extend(numbers.iter().max_by(by_size));
        }
        telling
    }
}

/// `choice` with the value of one axis replaced.
fn with(choice: &[u32], axis: usize, value: u32) -> Vec<u32> {
    let mut choice = choice.to_vec();
    choice[axis] = value;
    choice
}

/// Whether no cell has these values of `axes`: a filter that names only these axes removes them, and no include adds
/// them.
fn is_always_excluded(matrix: &Matrix, axes: &[usize], choice: &[u32]) -> bool {
    let is_like = |include: &Vec<u32>| {
        axes.iter()
            .all(|axis| include.get(*axis) == choice.get(*axis))
    };
    matrix.is_excluded_by(choice, |axis| axes.contains(axis))
        && !matrix.includes.iter().any(is_like)
}

/// Finds declared models whose shapes do not fit for any of their cells, and reports why for the first one.
///
/// A model that fits for some values of an axis is not reported: its other cells are infeasible, each with its own
/// reason.
fn shapes(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    for matrix in &plan.matrices {
        let reader = Reader::new(plan, matrix);
        let axes = reader.axes_of(&[Unit::Model, Unit::Dataset]);
        let mut units = Units::new(reader);
        // For each model its first mistakes, or `None` if a cell fits.
        let mut found: BTreeMap<String, Option<Vec<Diagnostic>>> = BTreeMap::new();
        for choice in value_combinations(matrix, &axes, Axis::representative_values) {
            let cell = units.resolve(&choice);
            let ModelSpec::Layers(spec) = &*cell.model.value else {
                continue;
            };
            if cell.data.unknown.is_some() || cell.problem.is_some() {
                continue;
            }
            let (name, facts) = (cell.model.name.to_string(), &cell.data.facts);
            if let Err(wrong) = spec.expand(facts.features, facts.target) {
                let node = reader.at(&choice).named_section("models", &name);
                let own = || Some(declared::diagnostics(&name, &node, &wrong));
                found.entry(name.clone()).or_insert_with(own);
            } else {
                found.insert(name, None);
            }
        }
        let placed = found.into_values().flatten().flatten();
        mistakes.extend(placed.map(|mistake| with_axis_name(mistake, plan, matrix)));
    }
}
