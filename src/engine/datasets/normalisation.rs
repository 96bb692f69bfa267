//! [`Normalisation`]: how features and target were normalised.

use serde::{Deserialize, Serialize};

use super::table::normalise_by;

/// How features and target were computed from the original values, for use of the weights elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
    /// Scale of each column of a target of several; empty without normalisation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Scale>,
}

/// `normalised = (original − mean) / std`, or of the logarithm of the original.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Subtracted from the original value.
    pub mean: f64,
    /// Divisor, above 0.
    pub std: f64,
    /// Whether mean and deviation are those of the original values' natural logarithms.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub log: bool,
}

impl Scale {
    /// Scale of values that are not normalised.
    pub const IDENTITY: Self = Self {
        mean: 0.0,
        std: 1.0,
        log: false,
    };

    /// `(original − mean) / std`, computed in f64.
    pub fn normalised(self, original: f32) -> f32 {
        let original = f64::from(original);
        let original = if self.log {
            libm::log(original)
        } else {
            original
        };
        ((original - self.mean) / self.std) as f32
    }

    /// `normalised · std + mean`, or `exp` of that, computed in f64.
    pub fn original(self, normalised: f32) -> f64 {
        let value = f64::from(normalised) * self.std + self.mean;
        if self.log { libm::exp(value) } else { value }
    }
}

impl Normalisation {
    /// Scale of each target column; empty without normalisation.
    pub fn of_targets(&self) -> Vec<Scale> {
        self.target.iter().chain(&self.targets).copied().collect()
    }

    pub(super) fn of_pixels(mean: f64, std: f64) -> Self {
        Self {
            features: vec![Scale {
                mean,
                std,
                log: false,
            }],
            ..Self::default()
        }
    }

    /// Normalises targets `(rows, columns)` by the training rows' mean and standard deviation of each column; a column that is
    /// constant there is only centred.
    pub(super) fn add_targets(&mut self, values: &mut [f32], columns: usize, train: &[u32]) {
        let scales = (0..columns).map(|column| normalise_by(values, columns, column, train));
        self.set_targets(&scales.collect::<Vec<Scale>>());
    }

    /// The scale of each target column.
    pub(super) fn set_targets(&mut self, scales: &[Scale]) {
        match scales {
            [only] => self.target = Some(*only),
            several => self.targets = several.to_vec(),
        }
    }

    /// Whether there is no normalisation and there are no column names.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
