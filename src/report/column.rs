//! [`Column`]: heading, unit, kind and provenance of a table's column.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::language::Words;

/// A column of a [`Table`](super::table::Table).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Column {
    /// Heading of the column.
    pub heading: String,
    /// Unit of the numbers; empty for text and plain numbers.
    pub unit: String,
    /// Where the numbers come from: `measured (…)`, `derived (…)`, `assumed (…)`; empty for text.
    pub provenance: String,
    /// Whether the fields are numbers, which are right-aligned.
    pub is_number: bool,
    /// Kind of the fields: `text`, `setting`, `number`, `count`, `share`, `residual`, `extrapolated` or `utilisation`.
    pub kind: ColumnKind,
}

/// Kind of the fields of a [`Column`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// Text that is neither a setting nor a number.
    Text,
    /// A setting as the manifest writes it, or the number of a trial: a name, even if it consists of digits.
    Setting,
    /// Numbers of any kind.
    Number,
    /// Integers: counts or ranks.
    Count,
    /// Percentages of a whole; those of a row, with the residual, sum to 100 %.
    Share,
    /// The percentage that remains after the columns of kind [`Self::Share`].
    Residual,
    /// Values beyond the measured range, extrapolated by a fit, with an error.
    Extrapolated,
    /// Utilisation of a processor, read from a hardware counter.
    Utilisation,
}

impl Column {
    /// A column of texts.
    pub fn text(heading: &str) -> Self {
        Self {
            heading: heading.to_owned(),
            unit: String::new(),
            provenance: String::new(),
            is_number: false,
            kind: ColumnKind::Text,
        }
    }

    /// A column of a setting, or of names that may consist of digits.
    pub fn setting(name: &str) -> Self {
        Self::text(name).with_kind(ColumnKind::Setting)
    }

    /// A column of numbers, with the text of where they come from. A column has one source, so that measured and
    /// assumed numbers are not mixed.
    pub fn number(heading: &str, unit: &str, provenance: &str) -> Self {
        Self {
            unit: unit.to_owned(),
            provenance: provenance.to_owned(),
            is_number: true,
            kind: ColumnKind::Number,
            ..Self::text(heading)
        }
    }

    /// A column of numbers measured by a clock or a counter; `how` says how they were aggregated.
    pub fn measured(heading: &str, unit: &str, how: impl Display) -> Self {
        Self::number(heading, unit, &Words::default().measured(how))
    }

    /// A column of numbers that are computed from others.
    pub fn derived(heading: &str, unit: &str, formula: impl Display) -> Self {
        Self::number(heading, unit, &Words::default().derived(formula))
    }

    /// Sets the kind of the column's fields.
    #[must_use]
    pub fn with_kind(self, kind: ColumnKind) -> Self {
        Self { kind, ..self }
    }

    /// A column of values that a fit extrapolates beyond the measured ones; `formula` describes the fit.
    pub fn extrapolated(name: &str, unit: &str, formula: String) -> Self {
        let heading = format!("{name}extrapolated, not measured");
        Self::derived(&heading, unit, formula).with_kind(ColumnKind::Extrapolated)
    }

    /// Marks the last column as the residual of the percentages before it.
    pub(super) fn mark_last_as_residual(columns: &mut [Self]) {
        if let Some(last) = columns.last_mut() {
            last.kind = ColumnKind::Residual;
        }
    }

    /// A column of percentages of a whole: those of a row, with the one of kind [`ColumnKind::Residual`], sum to 100.
    /// `formula` says what the whole is.
    pub fn share(heading: &str, formula: &str) -> Self {
        Self::derived(heading, "%", formula).with_kind(ColumnKind::Share)
    }
}
