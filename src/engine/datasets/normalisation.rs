//! [`Normalisation`]: how features and target were normalised.

use serde::{Deserialize, Serialize};

/// How features and target were computed from the original values, so that the weights can be used elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Normalisation {
    /// Names of the feature columns, in order; empty if the features have no names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Scale of each feature column, or a single scale for all features; empty without normalisation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Scale>,
    /// Scale of a target that is a single column; `None` without normalisation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Scale>,
    /// Scales of a target of several columns; empty without normalisation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Scale>,
}

/// `normalised = (original − mean) / std`; if [`Self::log`] is set, with the natural logarithm of `original`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Mean, which is subtracted from the original value.
    pub mean: f64,
    /// Divisor, above 0; usually the standard deviation.
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

    /// The original value, computed in f64: `normalised · std + mean`, or `exp` of that if [`Self::log`] is set.
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

    /// The normalisation of pixels whose features are `pixel / std - mean / std`.
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

    /// Normalises targets in original units, `(rows, targets)`, in place.
    pub(super) fn normalise_targets(&self, values: &mut [f32]) {
        apply(&self.of_targets(), values);
    }

    /// Stores the scale of each target column: a single one in [`Self::target`], several in [`Self::targets`].
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

/// The scale of each column of a `(…, width)` array: mean and population standard deviation (plus 1e-8) over `rows`, in
/// f64; for a deviation of 0, `of_constant` is used as the divisor. Computed row by row, since arrays may have
/// thousands of columns.
pub(super) fn scales(values: &[f32], width: usize, rows: &[u32], of_constant: f64) -> Vec<Scale> {
    let n = rows.len().max(1) as f64;
    let own = |row: &u32| &values[*row as usize * width..][..width];
    let mut means = vec![0.0; width];
    for row in rows {
        for (mean, value) in means.iter_mut().zip(own(row)) {
            *mean += f64::from(*value);
        }
    }
    for mean in &mut means {
        *mean /= n;
    }
    let mut squares = vec![0.0; width];
    for row in rows {
        for ((square, mean), value) in squares.iter_mut().zip(&means).zip(own(row)) {
            *square += (f64::from(*value) - mean).powi(2);
        }
    }
    let scale = |(mean, square): (f64, f64)| {
        let std = (square / n).sqrt();
        let std = if std == 0.0 { of_constant } else { std };
        Scale {
            mean,
            std: std + 1e-8,
            log: false,
        }
    };
    means.into_iter().zip(squares).map(scale).collect()
}

/// Normalises all rows of an array by the scale of each column, in place.
pub(super) fn apply(scales: &[Scale], values: &mut [f32]) {
    for row in values.chunks_mut(scales.len().max(1)) {
        for (value, scale) in row.iter_mut().zip(scales) {
            *value = scale.normalised(*value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_of_the_given_rows_alone_and_a_constant_column_is_centred() {
        let mut values = [1.0, 7.0, 3.0, 7.0, 100.0, 8.0];
        let scale = |mean, std| Scale {
            mean,
            std,
            log: false,
        };
        let found = scales(&values, 2, &[0, 1], 1.0);
        assert_eq!(found, [scale(2.0, 1.0 + 1e-8), scale(7.0, 1.0 + 1e-8)]);
        assert_eq!(scales(&values, 2, &[0, 1], 0.0)[1], scale(7.0, 1e-8));
        apply(&found, &mut values);
        assert_eq!(values[..4], [-1.0, 0.0, 1.0, 0.0]);
        assert_eq!(values[4..], [98.0, 1.0]);
    }
}
