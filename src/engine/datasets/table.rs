//! [`Table`]: samples in memory.

use rand_chacha::ChaCha8Rng;

use super::{
    Dataset, DatasetError, Features, Normalisation, Preparation, SampleMut, Scale, Target,
};

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
    /// Rows of the file that it was read from; empty where they are all rows.
    pub(crate) source_rows: Vec<u32>,
    /// Names of files, each with its first row here; rows before the first are of the only file that has no name.
    pub(crate) source_files: Vec<(u32, String)>,
    /// Values that were fitted to the training rows.
    pub(crate) preparation: Option<Preparation>,
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
            source_rows: Vec::new(),
            source_files: Vec::new(),
            preparation: None,
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

    fn preparation(&self) -> Option<Preparation> {
        self.preparation.clone()
    }

    fn source(&self, row: u32) -> String {
        let mut files = self.source_files.iter().rev();
        let file = files.find(|(first, _)| *first <= row);
        let row = self.source_rows.get(row as usize).unwrap_or(&row);
        match file {
            Some((_, name)) => format!("{name}:{row}"),
            None => row.to_string(),
        }
    }

    fn read(
        &self,
        row: u32,
        _augmentation: Option<&mut ChaCha8Rng>,
        sample: SampleMut<'_>,
    ) -> Result<(), DatasetError> {
        let row = row as usize;
        let (features, values) = (sample.features.len(), sample.values.len());
        let own = &self.features[row * features..][..features];
        sample.features.copy_from_slice(own);
        let own = &self.values[row * values..][..values];
        sample.values.copy_from_slice(own);
        *sample.label = self.labels.get(row).copied().unwrap_or(0);
        Ok(())
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

/// Normalises column `column` of a `(…, width)` array by mean and standard deviation of `rows`; one that is constant there is
/// only centred. Returns the scale.
pub(crate) fn normalise_by(values: &mut [f32], width: usize, column: usize, rows: &[u32]) -> Scale {
    let (mean, std) = statistics(values, width, column, rows);
    let std = if std == 0.0 { 1.0 } else { std };
    normalise(values, width, column, (mean, std))
}

/// Applies `(x - mean) / (std + 1e-8)` to column `column` of all rows; returns the scale.
pub(crate) fn normalise(
    values: &mut [f32],
    width: usize,
    column: usize,
    (mean, std): (f64, f64),
) -> Scale {
    let std = std + 1e-8;
    let scale = Scale {
        mean,
        std,
        log: false,
    };
    for value in values.iter_mut().skip(column).step_by(width) {
        *value = scale.normalised(*value);
    }
    scale
}
