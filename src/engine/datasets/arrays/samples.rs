//! Turns arrays into samples.

use super::super::image_folder::{PixelTable, channels_last};
use super::super::table::Table;
use super::super::{
    DatasetError, Features, ImageSize, Normalisation, OpenDataset, Scale, Splits, Target,
};
use super::ArraysSpec;
use super::array::Array;
use super::file::Place;
use super::form::Form;

/// Features and targets as they were read.
pub(super) struct Samples {
    pub(super) form: Form,
    pub(super) features: Array,
    pub(super) target: Target,
    /// Classes; empty of numbers.
    pub(super) labels: Vec<u32>,
    /// `(rows, target.values_len())`
    pub(super) values: Vec<f32>,
}

impl Samples {
    /// The dataset, normalised by its training rows.
    pub(super) fn prepared(
        mut self,
        spec: &ArraysSpec,
        x: &Place,
        splits: Splits,
    ) -> Result<OpenDataset, DatasetError> {
        let mut normalisation = Normalisation::default();
        if spec.normalise {
            let values = self.target.values_len();
            normalisation.add_targets(&mut self.values, values, &splits.train);
        }
        let classes = match self.target {
            Target::Class { classes } => classes,
            _ => 0,
        };
        let class_names = (0..classes).map(|class| class.to_string()).collect();
        match self.form.features {
            Features::Image(size) if self.form.is_pixels => {
                normalisation.features = PixelTable::scale().features;
                let table = self.pixels(size, class_names, normalisation);
                let table = PixelTable {
                    augment: spec.augment.clone(),
                    ..table
                };
                Ok(OpenDataset::new(table, splits))
            }
            features => {
                let mut table = self.table(x, class_names)?;
                if let (Features::Vector { len }, true) = (features, spec.normalise) {
                    normalisation.features = scales(&table.features, len, &splits.train);
                    normalise(&mut table.features, &normalisation.features);
                }
                table.normalisation = normalisation;
                Ok(OpenDataset::new(table, splits))
            }
        }
    }

    /// Images of 8 bits.
    pub(super) fn pixels(
        self,
        size: ImageSize,
        class_names: Vec<String>,
        normalisation: Normalisation,
    ) -> PixelTable {
        let bytes = self.features.bytes;
        PixelTable {
            size,
            pixels: if self.form.is_planar {
                channels_last(&bytes, size.channels, size.height * size.width)
            } else {
                bytes
            },
            target: self.target,
            values: self.values,
            labels: self.labels,
            class_names,
            normalisation,
            augment: None,
        }
    }

    /// Rows, or images of numbers, as they are.
    pub(super) fn table(self, x: &Place, class_names: Vec<String>) -> Result<Table, DatasetError> {
        let mut features = self.features.floats().map_err(|why| x.wrong(why))?;
        if let (Features::Image(size), true) = (self.form.features, self.form.is_planar) {
            features = channels_last(&features, size.channels, size.height * size.width);
        }
        Ok(Table {
            labels: self.labels,
            class_names,
            ..Table::new(self.form.features, self.target, features, self.values)
        })
    }
}

/// Applies the scale of each column to all rows.
pub(super) fn normalise(features: &mut [f32], scales: &[Scale]) {
    for row in features.chunks_mut(scales.len().max(1)) {
        for (value, scale) in row.iter_mut().zip(scales) {
            *value = scale.normalised(*value);
        }
    }
}

/// Mean and population standard deviation (plus 1e-8) of every column of a `(…, width)` array over `rows`, in f64; the scale of a
/// constant column is 1. As of the columns of a table, but row by row: arrays may have thousands of columns.
fn scales(features: &[f32], width: usize, rows: &[u32]) -> Vec<Scale> {
    let n = rows.len().max(1) as f64;
    let values = |row: &u32| &features[*row as usize * width..][..width];
    let mut means = vec![0.0; width];
    for row in rows {
        for (mean, value) in means.iter_mut().zip(values(row)) {
            *mean += f64::from(*value);
        }
    }
    for mean in &mut means {
        *mean /= n;
    }
    let mut squares = vec![0.0; width];
    for row in rows {
        for ((square, mean), value) in squares.iter_mut().zip(&means).zip(values(row)) {
            *square += (f64::from(*value) - mean).powi(2);
        }
    }
    let scale = |(mean, square): (f64, f64)| {
        let std = (square / n).sqrt();
        let std = if std == 0.0 { 1.0 } else { std };
        Scale {
            mean,
            std: std + 1e-8,
            log: false,
        }
    };
    means.into_iter().zip(squares).map(scale).collect()
}
