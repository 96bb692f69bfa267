//! [`SpaceParameter`]: a parameter of the space with its positions in the manifest.

use std::sync::Arc;

use crate::diag::Place;
use crate::manifest::{Key, Node, Value as Toml};

use super::super::axis_info::{AxisInfo, AxisKind};
use super::super::matrix::{Axis, AxisValue, kind_of};
use super::{Domain, Parameter, Value};

/// A parameter with its positions in the manifest.
#[derive(Debug, Clone)]
pub(in crate::plan) struct SpaceParameter {
    /// The parameter as samplers see it; its condition, if any, is on another parameter.
    pub(in crate::plan) parameter: Parameter,
    pub(in crate::plan) path: Arc<[Key]>,
    /// Position of the parameter's name in the manifest.
    pub(in crate::plan) place: Place,
    /// Choices of the parameter, or both ends of its range, with their positions.
    pub(in crate::plan) values: Vec<AxisValue>,
    /// Conditions on axes: the parameter exists only in studies that meet all of them.
    pub(in crate::plan) axes: Vec<OnAxis>,
}

/// A condition on an axis of the matrix.
#[derive(Debug, Clone)]
pub(in crate::plan) struct OnAxis {
    /// Index of the axis in the plan.
    pub(in crate::plan) axis: usize,
    /// Values of the axis, as written in keys.
    pub(in crate::plan) values: Vec<Arc<str>>,
}

impl SpaceParameter {
    /// Whether the parameter exists in the study whose axes have these values.
    pub(in crate::plan) fn is_in(&self, texts: &[Arc<str>]) -> bool {
        self.axes.iter().all(|condition| {
            let text = texts.get(condition.axis);
            text.is_some_and(|text| condition.values.contains(text))
        })
    }

    /// The parameter as an axis with these values.
    pub(in crate::plan) fn axis(&self, values: Vec<AxisValue>) -> Axis {
        let name = Key::new(&self.parameter.name, self.place);
        Axis::new(name, Arc::clone(&self.path), values)
    }

    /// The parameter's value at a point as an axis value; `None` if the parameter is a choice and `value` is none of
    /// its choices.
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
        Some(AxisValue::new(&self.path, Node::new(written, self.place)))
    }

    /// The parameter as an axis of results.
    pub(in crate::plan) fn info(&self) -> AxisInfo {
        let texts = self.values.iter().map(|value| Arc::clone(&value.text));
        AxisInfo {
            name: self.parameter.name.clone(),
            path: self.parameter.path.clone(),
            kind: match &self.parameter.domain {
                Domain::Int { .. } => AxisKind::Integer,
                Domain::Float { .. } => AxisKind::Float,
                Domain::Choice { .. } => kind_of(&self.values),
            },
            values: texts.collect(),
        }
    }
}
