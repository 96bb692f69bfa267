//! Validates the space: both ends of every range and every choice must be valid values of their settings, as for axes.

use crate::diag::{Diagnostic, Place};
use crate::manifest::{Key, Node, Table, Value as Toml};

use super::super::Plan;
use super::super::assign;
use super::super::homes::Unit;
use super::super::matrix::{Axis, Matrix};
use super::super::reader::Reader;
use super::super::validate::{in_axis, is_always_excluded};
use super::{Domain, Written};

/// Most combinations of one unit that are all tried; beyond it, each value once.
const TRIED: usize = 4096;

/// Index of a value of a parameter that does not exist; no axis has that many values.
const ABSENT: u32 = u32::MAX;

/// A matrix with the parameters as axes.
struct Tried<'a> {
    plan: &'a Plan,
    matrix: Matrix,
    /// Number of axes before the parameters.
    first: usize,
}

/// Tries every unit of the trials with every combination of values that touch it.
pub(in crate::plan) fn cells(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    for matrix in &plan.matrices {
        let tried = Tried::new(plan, matrix);
        let reader = Reader {
            plan,
            matrix: &tried.matrix,
        };
        for unit in Unit::ALL {
            let axes = tried.with_parents(reader.axes_of(&[unit]));
            for choice in tried.choices(&axes) {
                let found = reader.mistakes(unit, &choice);
                mistakes.extend(found.into_iter().map(|one| tried.placed(one)));
            }
        }
    }
}

/// Tries `[search.final]` on the first combination of every matrix.
pub(in crate::plan) fn final_settings(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let search = plan.written.root.get("search").and_then(Node::as_table);
    let table = search.and_then(|search| search.get("final")?.as_table());
    let Some(table) = table else { return };
    // Mistakes in its paths were reported before.
    let settings = assign::read(table, &mut Vec::new());
    for matrix in &plan.matrices {
        let mut tried = Tried::new(plan, matrix);
        let mut choice = tried.settled(&[]);
        for one in &settings {
            tried.matrix.axes.push(Axis::of_one(one.clone()));
            choice.push(0);
        }
        let reader = Reader {
            plan,
            matrix: &tried.matrix,
        };
        let found = Unit::ALL
            .into_iter()
            .flat_map(|unit| reader.mistakes(unit, &choice));
        let is_here = |place: Place| {
            let holds = |(key, node): &(Key, Node)| key.place == place || is_inside(node, place);
            table.entries.iter().any(holds)
        };
        for mut mistake in found {
            if mistake.place().is_some_and(is_here) {
                mistake.title = format!("`search.final`: {}", mistake.title);
                mistakes.push(mistake);
            }
        }
    }
}

fn is_inside(node: &Node, place: Place) -> bool {
    let of_table = |table: &Table| {
        let mut entries = table.entries.iter();
        entries.any(|(key, node)| key.place == place || is_inside(node, place))
    };
    node.place.contains(place)
        || match &node.value {
            Toml::Table(table) => of_table(table),
            Toml::Array(nodes) => nodes.iter().any(|node| is_inside(node, place)),
            _ => false,
        }
}

impl<'a> Tried<'a> {
    fn new(plan: &'a Plan, matrix: &Matrix) -> Self {
        let mut tried = matrix.clone();
        let parameters = plan.searched.parameters.iter();
        tried
            .axes
            .extend(parameters.map(|one| one.axis(one.values.clone())));
        Self {
            plan,
            matrix: tried,
            first: matrix.axes.len(),
        }
    }

    /// The parameter of axis `axis`; `None` for an axis of the matrix.
    fn written(&self, axis: usize) -> Option<&'a Written> {
        let index = axis.checked_sub(self.first)?;
        self.plan.searched.parameters.get(index)
    }

    /// `axes`, and those that decide whether one of them exists.
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

    /// Index in this matrix of the plan's axis `axis`.
    fn column(&self, axis: usize) -> Option<usize> {
        let shift = usize::from(self.matrix.name.is_some());
        *self.matrix.columns.get(axis.checked_sub(shift)?)?
    }

    /// Whether the axis exists, given the choices of the axes before it; axes of the matrix always exist.
    fn exists(&self, axis: usize, choice: &[u32]) -> bool {
        let Some(written) = self.written(axis) else {
            return true;
        };
        let holds = |parent: usize, is_meant: &dyn Fn(u32) -> bool| {
            choice.get(parent).is_some_and(|value| is_meant(*value))
        };
        let on_parameter = written.parameter.when.as_ref().is_none_or(|condition| {
            holds(self.first + condition.parameter, &|value| {
                condition.choices.contains(&(value as usize))
            })
        });
        on_parameter
            && written.axes.iter().all(|condition| {
                let Some(column) = self.column(condition.axis) else {
                    // The axis is the matrix's name, or one that this matrix lacks.
                    let name = self.matrix.name.as_ref().filter(|_| condition.axis == 0);
                    return name.is_some_and(|name| condition.values.contains(name));
                };
                holds(column, &|value| {
                    let axis = self.matrix.axes.get(column);
                    let value = axis.and_then(|axis| axis.values.get(value as usize));
                    value.is_some_and(|value| condition.values.contains(&value.text))
                })
            })
    }

    /// A choice with the values `fixed` and otherwise the first ones; parameters only where they exist.
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

    /// Every combination of the values of `axes`; if there are too many, each value once.
    fn choices(&self, axes: &[usize]) -> Vec<Vec<u32>> {
        let mut choices = vec![vec![ABSENT; self.matrix.axes.len()]];
        for slot in choices
            .iter_mut()
            .flat_map(|one| one.iter_mut().take(self.first))
        {
            *slot = 0;
        }
        for axis in axes {
            let count = self.count(*axis);
            let extend = |choice: Vec<u32>| {
                let exists = self.exists(*axis, &choice);
                let values = if exists { 0..count } else { ABSENT..ABSENT };
                let none = (!exists).then_some(ABSENT);
                values
                    .chain(none)
                    .map(move |value| with(&choice, *axis, value))
            };
            choices = choices.into_iter().flat_map(extend).collect();
            if choices.len() > TRIED {
                return self.each_once(axes);
            }
        }
        let of_matrix: Vec<usize> = axes
            .iter()
            .copied()
            .filter(|axis| *axis < self.first)
            .collect();
        choices.retain(|choice| !is_always_excluded(&self.matrix, &of_matrix, choice));
        choices
    }

    fn each_once(&self, axes: &[usize]) -> Vec<Vec<u32>> {
        let mut choices = vec![self.settled(&[])];
        for axis in axes {
            for value in 0..self.count(*axis) {
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

    fn count(&self, axis: usize) -> u32 {
        let axis = self.matrix.axes.get(axis);
        axis.map_or(0, |axis| axis.values.len() as u32)
    }

    /// Adds the parameter, axis or variant that a mistake comes from.
    fn placed(&self, mut mistake: Diagnostic) -> Diagnostic {
        let Some(place) = mistake.place() else {
            return mistake;
        };
        for written in &self.plan.searched.parameters {
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
            let path = format!("`{}`", written.parameter.path);
            let rest = mistake
                .title
                .strip_prefix(&path)
                .map(|rest| rest.trim_start_matches([':', ' ']));
            let rest = rest.unwrap_or(&mistake.title);
            mistake.title = format!("parameter `{}`{which}: {rest}", written.parameter.name);
            return mistake;
        }
        in_axis(mistake, self.plan, &self.matrix)
    }
}

fn with(choice: &[u32], axis: usize, value: u32) -> Vec<u32> {
    let mut choice = choice.to_vec();
    if let Some(slot) = choice.get_mut(axis) {
        *slot = value;
    }
    choice
}
