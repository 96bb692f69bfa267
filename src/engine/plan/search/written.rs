//! [`Written`]: a parameter of the space with its places in the manifest.

use std::sync::Arc;

use crate::diag::Place;
use crate::manifest::{Key, Node, Value as Toml};

use super::super::assign::Assignment;
use super::super::axis_info::{AxisInfo, AxisKind};
use super::super::key::value_text;
use super::super::matrix::{Axis, AxisValue};
use super::{Domain, Parameter, Value};

/// A parameter with the places where it is written.
#[derive(Debug, Clone)]
pub(in crate::plan) struct Written {
    /// The parameter for samplers; its condition is on another parameter.
    pub(in crate::plan) parameter: Parameter,
    pub(in crate::plan) path: Arc<[Key]>,
    /// Where its name is written.
    pub(in crate::plan) place: Place,
    /// Its choices, or the two ends of its range, where they are written.
    pub(in crate::plan) values: Vec<AxisValue>,
    /// It exists only in studies whose axes have these values.
    pub(in crate::plan) axes: Vec<OnAxis>,
}

/// A condition on an axis of the matrix.
#[derive(Debug, Clone)]
pub(in crate::plan) struct OnAxis {
    /// Index of the axis in the plan.
    pub(in crate::plan) axis: usize,
    /// Its values, as keys show them.
    pub(in crate::plan) values: Vec<Arc<str>>,
}

impl Written {
    /// A value of the parameter with its place, to be validated.
    pub(in crate::plan) fn value_of(path: &Arc<[Key]>, node: Node) -> AxisValue {
        AxisValue {
            text: value_text(&node).into(),
            assignment: Assignment {
                path: Arc::clone(path),
                node,
            },
        }
    }

    /// Whether it exists in the study whose axes have these values.
    pub(in crate::plan) fn is_in(&self, texts: &[Arc<str>]) -> bool {
        self.axes.iter().all(|condition| {
            let text = texts.get(condition.axis);
            text.is_some_and(|text| condition.values.contains(text))
        })
    }

    /// An axis with these values.
    pub(in crate::plan) fn axis(&self, values: Vec<AxisValue>) -> Axis {
        Axis {
            name: self.parameter.name.clone(),
            place: self.place,
            path: Arc::clone(&self.path),
            listed: values.len(),
            ranks: (0..values.len() as u32).collect(),
            values,
            kind: AxisKind::Category,
        }
    }

    /// The value of the parameter at a point, as an axis value.
    pub(in crate::plan) fn value(&self, value: Value) -> Option<AxisValue> {
        let written = match (&self.parameter.domain, value) {
            (Domain::Choice { .. }, Value::Choice { choice }) => {
                return self.values.get(choice).cloned();
            }
            (Domain::Choice { .. }, _) => return None,
            (Domain::Float { .. }, value) => Toml::Float(value.as_f64()),
            (Domain::Int { .. }, Value::Int(number)) => Toml::Integer(number),
            (Domain::Int { .. }, value) => Toml::Integer(value.as_f64() as i64),
        };
        let node = Node {
            value: written,
            place: self.place,
        };
        Some(Self::value_of(&self.path, node))
    }

    /// The parameter as an axis of results.
    pub(in crate::plan) fn info(&self) -> AxisInfo {
        let is_whole = |value: &AxisValue| {
            let value = &value.assignment.node.value;
            matches!(value, Toml::Integer(_))
        };
        let is_number = |value: &AxisValue| {
            let value = &value.assignment.node.value;
            matches!(value, Toml::Integer(_) | Toml::Float(_))
        };
        let kind = match &self.parameter.domain {
            Domain::Int { .. } => AxisKind::Integer,
            Domain::Float { .. } => AxisKind::Float,
            Domain::Choice { .. } if self.values.iter().all(is_whole) => AxisKind::Integer,
            Domain::Choice { .. } if self.values.iter().all(is_number) => AxisKind::Float,
            Domain::Choice { .. } => AxisKind::Category,
        };
        let texts = self.values.iter().map(|value| Arc::clone(&value.text));
        AxisInfo {
            name: self.parameter.name.clone(),
            path: self.parameter.path.clone(),
            kind,
            values: texts.collect(),
        }
    }
}
