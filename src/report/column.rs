//! [`Column`]: what a column of a table is, and where its numbers come from.

use serde::{Deserialize, Serialize};

use super::language::Words;
use super::number::Provenance;

/// A column of a [`Table`](super::table::Table).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Column {
    /// Heading.
    pub heading: String,
    /// Unit of the numbers; empty for text and plain numbers.
    pub unit: String,
    /// `measured (…)`, `derived (…)`, `assumed (…)`; empty for text.
    pub provenance: String,
    /// Whether the fields are numbers, which are set flush right.
    pub is_number: bool,
    /// Kind of the fields: `text`, `setting`, `number`, `count`, `share`, `residual`, `extrapolated` or `utilisation`.
    pub kind: ColumnKind,
}

/// Kind of the fields of a [`Column`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// Words.
    Text,
    /// A setting as the manifest writes it, or the number of a trial: a name, even where it is of digits.
    Setting,
    /// Numbers of any kind.
    Number,
    /// Whole numbers: how many there are, or a place in an order.
    Count,
    /// One of the exclusive shares of a whole: those of a row sum to 100 %.
    Share,
    /// The share that the other shares leave.
    Residual,
    /// Beyond what was measured, by a fit, with an error.
    Extrapolated,
    /// How much of a processor was in use, by a counter.
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

    /// A column of a setting, or of names of digits.
    pub fn setting(name: &str) -> Self {
        Self::text(name).of(ColumnKind::Setting)
    }

    /// A column of numbers.
    pub fn number(heading: &str, unit: &str, provenance: &Provenance) -> Self {
        Self {
            unit: unit.to_owned(),
            provenance: Words::default().provenance(provenance),
            is_number: true,
            kind: ColumnKind::Number,
            ..Self::text(heading)
        }
    }

    /// This column with fields of this kind.
    #[must_use]
    pub fn of(self, kind: ColumnKind) -> Self {
        Self { kind, ..self }
    }

    /// A column of whole numbers, counted or ordered.
    pub fn count(heading: &str, how: &Provenance) -> Self {
        Self::number(heading, "", how).of(ColumnKind::Count)
    }

    /// A column of what a fit says beyond the measured values. `formula` names the fit.
    pub fn extrapolated(name: &str, unit: &str, formula: String) -> Self {
        let heading = format!("{name}extrapolated, not measured");
        let how = Provenance::Derived(formula);
        Self::number(&heading, unit, &how).of(ColumnKind::Extrapolated)
    }

    /// Marks the last column as what the shares before it leave.
    pub(super) fn last_is_residual(columns: &mut [Self]) {
        if let Some(last) = columns.last_mut() {
            last.kind = ColumnKind::Residual;
        }
    }

    /// A column of one of the exclusive shares of a whole, in percent: those of a row, with one of kind
    /// [`ColumnKind::Residual`], sum to 100. `formula` says of what.
    pub fn share(heading: &str, formula: &str) -> Self {
        let how = Provenance::Derived(formula.to_owned());
        Self::number(heading, "%", &how).of(ColumnKind::Share)
    }
}
