//! [`Datatype`]: the type of a column's fields, for programs that read the tables.

use serde::Serialize;

/// Type of the fields of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Datatype {
    /// Any text.
    Text,
    /// An integer.
    #[serde(rename = "integer")]
    Whole,
    /// A floating-point number, as metrics are.
    #[default]
    Number,
    /// `true` or `false`.
    #[serde(rename = "boolean")]
    Truth,
    /// A date and time in UTC, `2026-11-21T19:05:33.250Z`.
    #[serde(rename = "time")]
    DateTime,
}

impl Datatype {
    /// Whether the type is a number.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Whole | Self::Number)
    }
}
