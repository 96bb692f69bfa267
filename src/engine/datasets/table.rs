//! [`Table`]: samples in memory.

use rand_chacha::ChaCha8Rng;

use super::{Dataset, DatasetError, Features, Normalisation, SampleMut, SamplesMut, Scale, Target};

/// Samples in memory, row-major: used for generators, digits and CSV files.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) form: Features,
    pub(crate) target: Target,
    /// `(rows, form.len())`
    pub(crate) features: Vec<f32>,
    /// `(rows, target.values_len())`
    pub(crate) values: Vec<f32>,
    /// `(rows)`; empty for regression.
    pub(crate) labels: Vec<u32>,
    pub(crate) class_names: Vec<String>,
    pub(crate) normalisation: Normalisation,
}

impl Table {
    /// Samples without classes, not normalised.
    pub(crate) fn new(
        form: Features,
        target: Target,
        features: Vec<f32>,
        values: Vec<f32>,
    ) -> Self {
        Self {
            form,
            target,
            features,
            values,
            labels: Vec::new(),
            class_names: Vec::new(),
            normalisation: Normalisation::default(),
        }
    }
}

impl Dataset for Table {
    fn rows(&self) -> usize {
        self.features.len() / self.form.len().max(1)
    }

    fn features(&self) -> Features {
        self.form
    }

    fn target(&self) -> Target {
        self.target
    }

    fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn class_names(&self) -> &[String] {
        &self.class_names
    }

    fn normalisation(&self) -> Normalisation {
        self.normalisation.clone()
    }

    fn read(
        &self,
        row: u32,
        _augmentation: Option<&mut ChaCha8Rng>,
        sample: SampleMut<'_>,
    ) -> Result<(), DatasetError> {
        self.read_rows(
            &[row],
            SamplesMut {
                features: sample.features,
                values: sample.values,
                labels: std::slice::from_mut(sample.label),
            },
        )
    }

    fn read_rows(&self, rows: &[u32], samples: SamplesMut<'_>) -> Result<(), DatasetError> {
        gather(&self.features, self.form.len(), rows, samples.features);
        gather(&self.values, self.target.values_len(), rows, samples.values);
        if self.labels.is_empty() {
            samples.labels.fill(0);
        } else {
            gather(&self.labels, 1, rows, samples.labels);
        }
        Ok(())
    }
}

/// Copies `rows` of a `(…, width)` array to `to`.
pub(crate) fn gather<T: Copy>(from: &[T], width: usize, rows: &[u32], to: &mut [T]) {
    if width == 0 {
        return;
    }
    if width == 1 {
        for (to, &row) in to.iter_mut().zip(rows) {
            *to = from[row as usize];
        }
        return;
    }
    for (to, &row) in to.chunks_exact_mut(width).zip(rows) {
        to.copy_from_slice(&from[row as usize * width..][..width]);
    }
}

/// Mean and population standard deviation of column `column` of a `(…, width)` array over `rows`, in f64.
pub(crate) fn statistics(values: &[f32], width: usize, column: usize, rows: &[u32]) -> (f64, f64) {
    let at = |row: u32| f64::from(values[row as usize * width + column]);
    let n = rows.len().max(1) as f64;
    let mean = rows.iter().map(|&row| at(row)).sum::<f64>() / n;
    let variance = rows
        .iter()
        .map(|&row| (at(row) - mean).powi(2))
        .sum::<f64>()
        / n;
    (mean, variance.sqrt())
}

/// Applies `(x - mean) / (std + 1e-8)` to column `column` of all rows; returns the scale.
pub(crate) fn normalise(
    values: &mut [f32],
    width: usize,
    column: usize,
    (mean, std): (f64, f64),
) -> Scale {
    let std = std + 1e-8;
    for value in values.iter_mut().skip(column).step_by(width) {
        *value = ((f64::from(*value) - mean) / std) as f32;
    }
    Scale { mean, std }
}
