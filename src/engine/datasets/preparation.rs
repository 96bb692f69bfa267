//! [`Preparation`]: values fitted to the training rows of a dataset, with which new data can be prepared in the same
//! way.

use serde::{Deserialize, Serialize};

use super::{DatePart, Scale};

/// Values that were fitted to the training rows, other than the scales of a [`Normalisation`](super::Normalisation).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Preparation {
    /// For a table: how each feature column is prepared, in the order of the features.
    Table {
        /// One entry per column of the file.
        columns: Vec<PreparedColumn>,
    },
    /// For a text: its vocabulary.
    Text {
        /// The tokens (bytes, or Unicode scalar values), indexed by the model's token id.
        vocabulary: Vec<u32>,
        /// Whether the model has one more id, for all tokens outside the vocabulary.
        has_unknown: bool,
    },
}

/// How a column of a file becomes one or several features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreparedColumn {
    /// The column's name in the header.
    pub name: String,
    /// How features are computed from the column.
    #[serde(flatten)]
    pub how: ColumnPreparation,
}

/// How features are computed from a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ColumnPreparation {
    /// `(value - mean) / std`, and with `has_flag` a second feature that is 1 if the value is missing.
    Number {
        /// Format of a date as for `strptime`; if set, its value is the number of days since 2000-01-01.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        date: Option<String>,
        /// Replacement of missing values: a median or mean of the training rows, or a constant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fill: Option<f32>,
        /// Whether a second feature is 1 if the value is missing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        has_flag: bool,
        /// Mean and standard deviation.
        #[serde(flatten)]
        scale: Scale,
    },
    /// One feature for every category (one-hot): 1 if the value is in it, else 0.
    Category {
        /// The categories, one feature each; a missing value is the empty text.
        kinds: Vec<String>,
        /// For each category whether training rows have it; if not, its feature is always 0.
        known: Vec<bool>,
        /// The part of a date (month, weekday …) that is encoded; `None` for a plain category. The date itself is
        /// another entry for the same column.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<DatePart>,
    },
}

impl PreparedColumn {
    /// Number of features of the column.
    pub fn width(&self) -> usize {
        match &self.how {
            ColumnPreparation::Number { has_flag, .. } => 1 + usize::from(*has_flag),
            ColumnPreparation::Category { kinds, .. } => kinds.len(),
        }
    }

    /// The part of a date that the entry encodes; `None` if the entry is no part of a date.
    pub fn part(&self) -> Option<DatePart> {
        match &self.how {
            ColumnPreparation::Category { part, .. } => *part,
            ColumnPreparation::Number { .. } => None,
        }
    }

    /// Names of the column's features.
    pub fn features(&self) -> Vec<String> {
        let name = match &self.how {
            ColumnPreparation::Category {
                part: Some(part), ..
            } => format!("{} {}", self.name, part.name()),
            _ => self.name.clone(),
        };
        let missing = format!("{name} is missing");
        match &self.how {
            ColumnPreparation::Number { has_flag, .. } => {
                let flag = has_flag.then_some(missing);
                std::iter::once(name).chain(flag).collect()
            }
            ColumnPreparation::Category { kinds, .. } => {
                let feature = |kind: &String| {
                    if kind.is_empty() {
                        missing.clone()
                    } else {
                        format!("{name}={kind}")
                    }
                };
                kinds.iter().map(feature).collect()
            }
        }
    }

    /// Scales of the column's features; one-hot features (0 and 1) are not scaled.
    pub fn scales(&self) -> Vec<Scale> {
        let mut scales = vec![Scale::IDENTITY; self.width()];
        if let ColumnPreparation::Number { scale, .. } = &self.how {
            scales[0] = *scale;
        }
        scales
    }
}
