//! Studies and their trials as cells, one after the other: a search makes thousands, so each is a matrix of one row.

use std::sync::Arc;

use crate::diag::{Diagnostic, Place};
use crate::manifest::{Key, Node};

use super::super::assign::Assignment;
use super::super::axis_info::AxisKind;
use super::super::matrix::{Axis, AxisValue, Matrix};
use super::super::planned::{PlannedCell, Resolver};
use super::super::{AxisInfo, Plan};
use super::check::too_many_studies;
use super::{Domain, MOST_STUDIES, Point, Space, Value, Written};

/// Name of the axis that numbers trials.
const TRIAL: &str = "trial";

/// File of a trial's weights.
const WEIGHTS: &str = "trial";

/// What a plan stores of its search besides the specification.
#[derive(Debug, Default)]
pub(in crate::plan) struct Searched {
    pub(in crate::plan) parameters: Vec<Written>,
    /// Number of the plan's axes that belong to the matrices.
    pub(in crate::plan) axes: usize,
    studies: Vec<Study>,
}

#[derive(Debug)]
struct Study {
    /// Its row, with one value per axis.
    matrix: Matrix,
    /// Whether each parameter exists in it.
    exist: Vec<bool>,
}

impl Searched {
    /// The parameters of a search over these axes.
    pub(in crate::plan) fn new(parameters: Vec<Written>, axes: usize) -> Self {
        Self {
            parameters,
            axes,
            studies: Vec::new(),
        }
    }

    /// The axes of trials: their number, then the parameters.
    pub(in crate::plan) fn axes(&self, trials: usize) -> impl Iterator<Item = AxisInfo> {
        let last = trials.saturating_sub(1).to_string();
        let trial = AxisInfo {
            name: TRIAL.to_owned(),
            path: TRIAL.to_owned(),
            // So that reports group consecutive trials where they cannot show each one.
            kind: AxisKind::Integer,
            values: vec!["0".into(), last.into()],
        };
        std::iter::once(trial).chain(self.parameters.iter().map(Written::info))
    }

    /// Lists the studies: every cell of `matrices`.
    fn list(&mut self, matrices: &[Matrix], weights: Option<&Assignment>) {
        let study = |matrix: &Matrix, choice: &[u32]| {
            let mut matrix = one_row(matrix, choice);
            let texts = texts(&matrix);
            matrix.set.splice(0..0, weights.cloned());
            let exist = self.parameters.iter().map(|one| one.is_in(&texts));
            let exist = exist.collect();
            Study { matrix, exist }
        };
        let studies = matrices
            .iter()
            .flat_map(|matrix| matrix.choices().map(move |choice| study(matrix, &choice)));
        self.studies = studies.collect();
    }

    /// The matrix of one row for a trial of study `study`.
    fn row(&self, study: usize, label: Option<&str>, point: &Point) -> Matrix {
        let Some(study) = self.studies.get(study) else {
            return Matrix::default();
        };
        let mut matrix = study.matrix.clone();
        let parameters = self.parameters.iter().enumerate().map(|(index, written)| {
            let value = point.get(index).filter(|_| study.exist[index]);
            let value = value.and_then(|value| written.value(value))?;
            Some(written.axis(vec![value]))
        });
        for axis in std::iter::once(label.map(trial_axis)).chain(parameters) {
            // A study is resolved with parameter values, but does not show them.
            let column = axis.as_ref().filter(|_| label.is_some());
            matrix.columns.push(column.map(|_| matrix.axes.len()));
            matrix.axes.extend(axis);
        }
        matrix
    }

    /// The first value of every parameter.
    fn first_point(space: &Space) -> Point {
        let mut point = Point::default();
        for (index, parameter) in space.parameters.iter().enumerate() {
            let first = match &parameter.domain {
                Domain::Choice { .. } => Value::Choice { choice: 0 },
                Domain::Int { low, .. } => Value::Int(*low),
                Domain::Float { low, .. } => Value::Float(*low),
            };
            let value = space.is_active(index, &point).then_some(first);
            point.values.push(value);
        }
        point
    }
}

impl Plan {
    pub(in crate::plan) fn study(&self, study: usize) -> PlannedCell {
        let point = Searched::first_point(&self.space_of(study));
        let matrix = self.searched.row(study, None, &point);
        Resolver::new(self, &matrix).cell(&vec![0; matrix.axes.len()])
    }

    /// The space of a study. Parameters keep their index; those that belong to other studies exist at no point.
    pub fn space_of(&self, study: usize) -> Space {
        let study = self.searched.studies.get(study);
        let exist = study.map_or(&[][..], |study| study.exist.as_slice());
        let search = self.search.as_ref();
        let space = search.map(|search| {
            let exists = |index: usize| exist.get(index).is_some_and(|exists| *exists);
            search.space.only(exists)
        });
        space.unwrap_or_default()
    }

    /// Number of trials of a study: those of the search, or the points of its space where these are fewer.
    pub fn trials_of(&self, study: usize) -> usize {
        let trials = self.search.as_ref().map_or(0, |search| search.trials);
        let size = self.space_of(study).size();
        size.map_or(trials, |size| {
            usize::try_from(size).map_or(trials, |size| trials.min(size))
        })
    }

    /// Number of trials of the study that has most.
    pub fn most_trials(&self) -> usize {
        let trials = (0..self.count).map(|study| self.trials_of(study));
        trials.max().unwrap_or(0)
    }

    /// Conditions of parameter `index`: names of a parameter or of axes, each with the values it must have.
    pub fn conditions(&self, index: usize) -> Vec<(String, Vec<String>)> {
        let Some(written) = self.searched.parameters.get(index) else {
            return Vec::new();
        };
        let on_parameter = written.parameter.when.iter().filter_map(|condition| {
            let other = &self.searched.parameters.get(condition.parameter)?.parameter;
            let Domain::Choice { texts, .. } = &other.domain else {
                return None;
            };
            let values = condition.choices.iter();
            let values = values.filter_map(|choice| texts.get(*choice).cloned());
            Some((other.name.clone(), values.collect()))
        });
        let on_axes = written.axes.iter().filter_map(|condition| {
            let axis = self.axes.get(condition.axis)?;
            let values = condition.values.iter().map(ToString::to_string);
            Some((axis.name.clone(), values.collect()))
        });
        on_parameter.chain(on_axes).collect()
    }

    /// A trial of a study as a cell, at `point` of [`Self::space_of`] the study, as a sampler proposes it. `label` is
    /// the value of its axis `trial` (`7`, `7-full`, `ensemble`); it is not hashed, so that the same point is the same
    /// cell.
    pub fn trial(&self, study: usize, label: &str, point: &Point) -> PlannedCell {
        let matrix = self.searched.row(study, Some(label), point);
        Resolver::new(self, &matrix).cell(&vec![0; matrix.axes.len()])
    }

    /// Lists the studies of a search.
    ///
    /// # Errors
    /// More studies than a search may have.
    pub(in crate::plan) fn list_studies(&mut self) -> Result<(), Diagnostic> {
        let node = self.written.root.get("search");
        let Some(node) = node.filter(|_| self.search.is_some()) else {
            return Ok(());
        };
        if self.count > MOST_STUDIES {
            return Err(too_many_studies(node, self.count));
        }
        let weights = self.weights_of_trials();
        self.searched.list(&self.matrices, weights.as_ref());
        self.count_grid();
        Ok(())
    }

    /// A grid without `trials` tries all of its points.
    fn count_grid(&mut self) {
        let sizes = (0..self.count).filter_map(|study| self.space_of(study).size());
        let most = usize::try_from(sizes.max().unwrap_or(0)).unwrap_or(usize::MAX);
        if let Some(search) = self.search.as_mut().filter(|search| search.trials == 0) {
            search.trials = most;
        }
    }

    /// The setting by which every trial saves its weights, where the ensemble needs them.
    fn weights_of_trials(&self) -> Option<Assignment> {
        let is_saved = self.written.root.below("train.save-to").is_some();
        let search = self.search.as_ref().filter(|search| search.ensemble > 0);
        search.filter(|_| !is_saved).map(|_| Assignment {
            path: keys(&["train", "save-to"]),
            node: Node::text(WEIGHTS, Place::default()),
        })
    }
}

/// The row of `matrix` that takes the values `choice`: one value per axis.
fn one_row(matrix: &Matrix, choice: &[u32]) -> Matrix {
    let axes = matrix.axes.iter().zip(choice).map(|(axis, value)| {
        let value = axis.values[*value as usize].clone();
        let name = Key::new(&axis.name, axis.place);
        Axis::new(name, Arc::clone(&axis.path), vec![value])
    });
    Matrix {
        name: matrix.name.clone(),
        set: matrix.set.clone(),
        axes: axes.collect(),
        columns: matrix.columns.clone(),
        ..Matrix::default()
    }
}

/// Texts of a row's axes, in the order of the plan's axes.
fn texts(row: &Matrix) -> Vec<Arc<str>> {
    let own = row.columns.iter().map(|column| {
        let axis = column.and_then(|column| row.axes.get(column));
        let value = axis.and_then(|axis| axis.values.first());
        value.map_or_else(|| "".into(), |value| Arc::clone(&value.text))
    });
    row.name.iter().cloned().chain(own).collect()
}

/// The axis `trial`. Its path leads to no section, so it sets nothing.
fn trial_axis(label: &str) -> Axis {
    let path = keys(&[TRIAL, "number"]);
    let node = Node::text(label, Place::default());
    let value = AxisValue {
        text: label.into(),
        ..AxisValue::new(&path, node)
    };
    Axis::new(Key::new(TRIAL, Place::default()), path, vec![value])
}

fn keys(names: &[&str]) -> Arc<[Key]> {
    let key = |name: &&str| Key::new(*name, Place::default());
    names.iter().map(key).collect()
}
