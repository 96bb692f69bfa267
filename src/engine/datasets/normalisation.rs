//! [`Normalisation`]: how features and target were normalised.

use serde::Serialize;

/// How features and target were computed from the original values, for use of the weights elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Normalisation {
    /// Names of the feature columns, in order; empty if they have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Scale of each feature column, or one for all values; empty without normalisation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Scale>,
    /// Scale of a target of one column; `None` without normalisation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Scale>,
}

/// `normalised = (original − mean) / std`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scale {
    /// Subtracted from the original value.
    pub mean: f64,
    /// Divisor, above 0.
    pub std: f64,
}

impl Normalisation {
    pub(super) fn of_pixels(mean: f64, std: f64) -> Self {
        Self {
            features: vec![Scale { mean, std }],
            ..Self::default()
        }
    }

    /// Whether there is no normalisation and there are no column names.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
