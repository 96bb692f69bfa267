//! [`AxisInfo`]: an axis for results and reports.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::key::axis_value;

/// An axis of the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AxisInfo {
    /// Name as written (`batch-size`); the CSV column is its snake case.
    pub name: String,
    /// Long dotted path (`train.batch-size`).
    pub path: String,
    /// Type of the axis's values, which decides how rows sort and plots draw.
    pub kind: AxisKind,
    /// Values in manifest order: in a plan as they are written in keys, in results without the quotes of keys.
    pub values: Vec<Arc<str>>,
}

impl AxisInfo {
    /// Whether `name` is this axis' name or long path.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.path == name
    }

    /// The axis for results: values without the quotes of keys.
    #[must_use]
    pub fn with_values(&self) -> Self {
        let values = self.values.iter().map(|text| axis_value(text).into());
        Self {
            values: values.collect(),
            ..self.clone()
        }
    }

    /// A value as text for readers: numbers, `true` and `false` after the axis's name, other values alone.
    pub fn words(&self, value: &str) -> String {
        if value.parse::<f64>().is_ok() || value == "true" || value == "false" {
            format!("{} {value}", self.name)
        } else {
            value.to_owned()
        }
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|value| &**value)
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.texts().any(|value| value == text)
    }
}

/// Type of an axis's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AxisKind {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Float,
    /// Values that are not all numbers; their rows are in manifest order.
    Category,
}
