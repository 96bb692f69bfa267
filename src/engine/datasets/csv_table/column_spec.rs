//! [`ColumnSpec`]: how a column of a table is read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dates::DatePart;

/// How a column of a table is read and prepared; without an entry it is a number in every row.
///
/// What is computed from values (medians, means, which kinds there are) is computed from the training rows alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ColumnSpec {
    /// Whether its values are kinds: each kind becomes a column that is 1 where a row is of it and 0 elsewhere (one-hot). A kind
    /// that no training row has is 0 in all of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub category: bool,
    /// What stands for a missing value. Without it every row needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// The number that stands for a missing value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<f64>,
    /// Form of a date, as of `strptime` (`"%d.%m.%Y"`, `"%Y-%m-%d %H:%M"`): its value is the number of days since 2000-01-01, in UTC where
    /// it has an offset (`%z`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Parts of the date that are features beside the number, each a category: `["month", "weekday", "hour"]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<DatePart>,
    /// Of a target: whether models are trained on its natural logarithm. Predictions, `mae` and `rmse` are in its own units.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub log: bool,
}

/// What stands for a missing value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The median of the training rows.
    Median,
    /// The mean of the training rows.
    Mean,
    /// The median, and a column of its own that is 1 where the value is missing.
    Flag,
    /// Of a category: a kind of its own.
    Kind,
    /// Rows without it are left out, of all splits.
    LeaveOut,
}

/// Settings of columns, by name of the column.
pub(super) type Columns = BTreeMap<String, ColumnSpec>;
