//! The embedded digits.
//!
//! `data/digits.csv.gz` holds the test set of *Optical Recognition of Handwritten Digits* by E. Alpaydin and C. Kaynak
//! (UCI Machine Learning Repository, <https://doi.org/10.24432/C50P49>), licensed CC BY 4.0; the same 1,797 rows as
//! scikit-learn's `load_digits`: 64 pixels of 0 to 16 and the class. Unchanged but for the compression.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::split::validation_rows;
use super::table::Table;
use super::{
    DatasetError, DatasetFacts, Features, ImageSize, Normalisation, OpenDataset, Splits, Target,
    Targets,
};
use crate::base::Seed;

const BYTES: &[u8] = include_bytes!("data/digits.csv.gz");
const NAME: &str = "digits.csv.gz";
const SAMPLES: usize = 1797;
const TEST: usize = 360;
const CLASSES: usize = 10;
const FORM: Features = Features::Image(ImageSize {
    height: 8,
    width: 8,
    channels: 1,
});

/// The 1,797 embedded 8×8 digits, 10 classes, split 80/20 by class.
///
/// Pixels are divided by 16. The split is stratified and drawn from the run's seed: 1,437 rows to train on, of which
/// `validation.fraction` are taken to validate on, and 360 to test on. CC BY 4.0, E. Alpaydin and C. Kaynak, UCI.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DigitsSpec {}

impl DigitsSpec {
    #[expect(clippy::unused_self, reason = "every spec has the same verbs")]
    pub(super) fn facts(&self, validation_fraction: f64) -> Result<DatasetFacts, DatasetError> {
        let validation = validation_rows(SAMPLES - TEST, validation_fraction)?;
        let sizes = [SAMPLES - TEST - validation, validation, TEST];
        let fingerprint = Some(blake3::hash(BYTES).to_hex().to_string());
        let target = Target::Class { classes: CLASSES };
        Ok(DatasetFacts::new(sizes, FORM, target, fingerprint))
    }

    #[expect(clippy::unused_self, reason = "every spec has the same verbs")]
    pub(super) fn open(
        &self,
        seed: Seed,
        validation_fraction: f64,
    ) -> Result<OpenDataset, DatasetError> {
        let validation = validation_rows(SAMPLES - TEST, validation_fraction)?;
        let table = read()?;
        let splits =
            Splits::random_stratified(SAMPLES, &table.targets.labels, [validation, TEST], seed);
        Ok(OpenDataset::new(table, splits))
    }
}

fn read() -> Result<Table, DatasetError> {
    let mut text = String::new();
    GzDecoder::new(BYTES)
        .read_to_string(&mut text)
        .map_err(|error| DatasetError::unreadable(Path::new(NAME), &error))?;
    let mut features = Vec::with_capacity(SAMPLES * FORM.len());
    let mut labels = Vec::with_capacity(SAMPLES);
    for (line, text) in text.lines().enumerate() {
        let numbers: Result<Vec<u8>, _> = text.split(',').map(str::parse).collect();
        let row = numbers.ok().filter(|row| row.len() == FORM.len() + 1);
        let row = row.ok_or_else(|| {
            let place = format!("in line {}", line + 1);
            DatasetError::damaged(Path::new(NAME), place, "expected 65 numbers")
        })?;
        features.extend(
            row[..FORM.len()]
                .iter()
                .map(|&pixel| f32::from(pixel) / 16.0),
        );
        labels.push(u32::from(row[FORM.len()]));
    }
    Ok(Table {
        normalisation: Normalisation::of_pixels(0.0, 16.0),
        ..Table::new(FORM, features, Targets::of_numbered(labels, CLASSES))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::split_sizes;
    use super::*;

    // Number of images of each class: from sklearn.datasets import load_digits; numpy.bincount(load_digits().target)
    const COUNTS: [usize; 10] = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180];

    fn count(labels: &[u32], rows: &[u32]) -> [usize; 10] {
        let mut counts = [0; 10];
        for &row in rows {
            counts[labels[row as usize] as usize] += 1;
        }
        counts
    }

    #[test]
    fn the_embedded_rows_are_those_of_scikit_learn() {
        let table = read().unwrap();
        assert_eq!(table.targets.labels[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let first = [0.0, 0.0, 5.0, 13.0, 9.0, 1.0, 0.0, 0.0].map(|pixel: f32| pixel / 16.0);
        assert_eq!(table.numbers()[..8], first);
        let all: Vec<u32> = (0..SAMPLES as u32).collect();
        assert_eq!(count(&table.targets.labels, &all), COUNTS);
    }

    #[test]
    fn a_fifth_of_every_class_is_tested_on() {
        let open = DigitsSpec {}.open(Seed(1), 0.1).unwrap();
        let labels = open.dataset.labels();
        assert_eq!(open.splits.sizes(), [1437 - 143, 143, 360]);
        for (part, whole) in count(labels, &open.splits.test).iter().zip(COUNTS) {
            let share = whole as f64 * 360.0 / 1797.0;
            assert!((*part as f64 - share).abs() < 1.0, "{part} of {whole}");
        }
        assert_eq!(
            split_sizes(&DigitsSpec {}.facts(0.1).unwrap()),
            open.splits.sizes()
        );
    }

    #[test]
    fn the_split_follows_the_seed() {
        let test = |seed| DigitsSpec {}.open(Seed(seed), 0.0).unwrap().splits.test;
        assert_eq!(test(1), test(1));
        assert_ne!(test(1), test(2));
    }
}
