//! [`StudyList`]: the parameters and studies of a search, and the row of each trial.

use std::sync::Arc;

use crate::diag::Place;
use crate::manifest::{Key, Node};

use super::super::AxisInfo;
use super::super::assign::Assignment;
use super::super::axis_info::AxisKind;
use super::super::matrix::{Axis, AxisValue, Matrix};
use super::{Domain, Point, Space, SpaceParameter, Value};

/// Name of the axis that numbers trials.
const TRIAL: &str = "trial";

/// The parameters and studies of a plan's search; its settings are in `Plan::search`.
#[derive(Debug, Default)]
pub(in crate::plan) struct StudyList {
    pub(in crate::plan) parameters: Vec<SpaceParameter>,
    /// Number of the plan's axes that belong to the matrices; the axes of trials follow.
    pub(in crate::plan) axes: usize,
    pub(super) studies: Vec<Study>,
}

#[derive(Debug)]
pub(super) struct Study {
    /// A matrix with the study's cell as its only row: one value per axis.
    matrix: Matrix,
    /// For each parameter, whether it exists in the study.
    pub(super) exist: Vec<bool>,
}

impl StudyList {
    /// The `parameters` of a search, in a plan with `axes` axes of the matrices; the studies are not yet listed.
    pub(in crate::plan) fn new(parameters: Vec<SpaceParameter>, axes: usize) -> Self {
        Self {
            parameters,
            axes,
            studies: Vec::new(),
        }
    }

    /// The axes that trials add: their number, then the parameters.
    pub(in crate::plan) fn axes(&self, trials: usize) -> impl Iterator<Item = AxisInfo> {
        let last = trials.saturating_sub(1).to_string();
        let trial = AxisInfo {
            name: TRIAL.to_owned(),
            path: TRIAL.to_owned(),
            // An integer axis, so that reports can group consecutive trials.
            kind: AxisKind::Integer,
            values: vec!["0".into(), last.into()],
        };
        std::iter::once(trial).chain(self.parameters.iter().map(SpaceParameter::info))
    }

    /// Lists the studies: every cell of `matrices`.
    pub(super) fn list(&mut self, matrices: &[Matrix], weights: Option<&Assignment>) {
        let study = |matrix: &Matrix, choice: &[u32]| {
            let texts = matrix.texts(choice);
            let mut matrix = one_row(matrix, choice);
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

    /// A matrix with a single row: a trial of study `study` at `point`, or without a `label` the study itself.
    pub(super) fn row(&self, study: usize, label: Option<&str>, point: &Point) -> Matrix {
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
            // A study resolves its cells with parameter values, but the key of the study does not contain them.
            let column = axis.as_ref().filter(|_| label.is_some());
            matrix.columns.push(column.map(|_| matrix.axes.len()));
            matrix.axes.extend(axis);
        }
        matrix
    }

    /// The point with the first value of every parameter that exists.
    pub(super) fn first_point(space: &Space) -> Point {
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

/// A matrix with only the row of `matrix` that has the values `choice`: one value per axis.
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

/// The axis `trial`. Its path is in no section, so it changes no setting.
fn trial_axis(label: &str) -> Axis {
    let path = keys(&[TRIAL, "number"]);
    let node = Node::text(label, Place::default());
    let value = AxisValue {
        text: label.into(),
        ..AxisValue::new(&path, node)
    };
    Axis::new(Key::new(TRIAL, Place::default()), path, vec![value])
}

pub(super) fn keys(names: &[&str]) -> Arc<[Key]> {
    let key = |name: &&str| Key::new(*name, Place::default());
    names.iter().map(key).collect()
}
