//! [`Normalisation`]: how the numbers of files became those that a model sees.

use serde::Serialize;

/// How features and target were made from the numbers of files, for those who use the weights elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Normalisation {
    /// Names of the feature columns, in their order; empty where they have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Of each feature column, or one for all values; empty where they are as they were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Scale>,
    /// Of a target of one column; `None` where it is as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Scale>,
}

/// `normalised = (original − mean) / std`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scale {
    /// What is subtracted.
    pub mean: f64,
    /// What is divided by, above 0.
    pub std: f64,
}

impl Normalisation {
    /// Of pixels: one scale for all.
    pub(super) fn of_pixels(mean: f64, std: f64) -> Self {
        Self {
            features: vec![Scale { mean, std }],
            ..Self::default()
        }
    }

    /// Whether everything is as it was, and nothing has a name.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
