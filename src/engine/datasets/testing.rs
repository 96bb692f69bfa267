//! Helpers for tests of datasets.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{
    Dataset, DatasetError, DatasetFacts, DatasetSpec, Preparation, SampleMut, SamplesMut,
    TrainingDataInfo,
};
use crate::base::{Purpose, Seed};

/// Features, numeric targets and class indices of these rows.
pub(crate) fn read(dataset: &dyn Dataset, rows: &[u32]) -> (Vec<f32>, Vec<f32>, Vec<u32>) {
    let mut features = vec![9.0; rows.len() * dataset.features().len()];
    let mut values = vec![9.0; rows.len() * dataset.target().values_len()];
    let mut labels = vec![9; rows.len()];
    let samples = SamplesMut {
        features: &mut features,
        values: &mut values,
        labels: &mut labels,
    };
    dataset.read_rows(rows, samples).unwrap();
    (features, values, labels)
}

/// The features of a row, augmented with the random stream of `seed`.
pub(super) fn augmented(dataset: &dyn Dataset, row: u32, seed: u64) -> Vec<f32> {
    let mut features = vec![9.0; dataset.features().len()];
    let sample = SampleMut {
        features: &mut features,
        values: &mut vec![9.0; dataset.target().values_len()],
        label: &mut 9,
    };
    let mut rng = Seed(seed).stream(Purpose::Augmentation);
    dataset.read(row, Some(&mut rng), sample).unwrap();
    features
}

/// The numbers of training, validation and test rows that the planner reports.
pub(super) fn split_sizes(facts: &DatasetFacts) -> [usize; 3] {
    let DatasetFacts {
        train_samples: train,
        validation_samples: validation,
        test_samples: test,
        ..
    } = *facts;
    [train, validation, test]
}

/// Sets a file's modification time to `seconds` ago; for an old file, every change alters the modification time.
pub(super) fn age(path: &Path, seconds: u64) {
    let file = File::options().write(true).open(path).unwrap();
    let time = SystemTime::now() - Duration::from_secs(seconds);
    file.set_modified(time).unwrap();
}

/// Compresses bytes as `gzip` does.
pub(super) fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Reads the new data `path` as for a model trained on the dataset `kind`: features, numeric targets, classes and
/// sources of all rows, and the remarks.
pub(super) fn new_data(
    kind: &DatasetSpec,
    path: &Path,
    wants_target: bool,
) -> Result<(Rows, Vec<String>), DatasetError> {
    let dataset = kind.open(Seed(1), 0.0).unwrap().dataset;
    let (normalisation, preparation) = (dataset.normalisation(), dataset.preparation());
    // Serialised and parsed again, as in a checkpoint.
    let preparation: Option<Preparation> =
        serde_json::from_str(&serde_json::to_string(&preparation).unwrap()).unwrap();
    let known = TrainingDataInfo {
        features: dataset.features(),
        target: dataset.target(),
        class_names: dataset.class_names(),
        normalisation: &normalisation,
        preparation: preparation.as_ref(),
        wants_target,
    };
    let mut found = Rows::default();
    let remarks = kind.for_each_part::<DatasetError>(path, &known, &mut |part| {
        let all: Vec<u32> = (0..part.rows() as u32).collect();
        let (features, values, labels) = read(&*part, &all);
        found.features.extend(features);
        found.values.extend(values);
        found.labels.extend(labels);
        found
            .sources
            .extend(all.iter().map(|row| part.source(*row)));
        Ok(())
    })?;
    Ok((found, remarks))
}

/// Features, numeric targets, classes and sources of the rows of new data.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Rows {
    pub(super) features: Vec<f32>,
    pub(super) values: Vec<f32>,
    pub(super) labels: Vec<u32>,
    pub(super) sources: Vec<String>,
}
