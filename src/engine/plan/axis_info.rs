//! [`AxisInfo`]: an axis for results and reports.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::key::axis_value;

/// An axis of the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AxisInfo {
    /// Name as written (`batch-size`); the CSV column is its snake case.
    pub name: String,
    /// Full dotted path (`train.batch-size`).
    pub path: String,
    /// Type of the axis's values, which decides the order of rows and the scale of plots.
    pub kind: AxisKind,
    /// Values in manifest order. In a plan, texts that are ambiguous in a cell's key are quoted; in results, none is.
    pub values: Vec<Arc<str>>,
}

impl AxisInfo {
    /// Whether `name` is this axis' name or full dotted path.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.path == name
    }

    /// A copy for results, whose values are without the quotes that they have in keys of cells.
    #[must_use]
    pub fn with_unquoted_values(&self) -> Self {
        let values = self.values.iter().map(|text| axis_value(text).into());
        Self {
            values: values.collect(),
            ..self.clone()
        }
    }

    /// A value of this axis as text for reports: `batch-size 8` for numbers, `true` and `false`, else the value alone.
    pub fn display_value(&self, value: &str) -> String {
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
    /// Numbers, not all of them integers.
    Float,
    /// Values that are not all numbers; their rows are in manifest order.
    Category,
}
