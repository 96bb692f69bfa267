//! What tests of datasets use.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{
    Dataset, DatasetError, DatasetFacts, DatasetSpec, Known, Preparation, SampleMut, SamplesMut,
};
use crate::base::{Purpose, Seed};

/// Features, numbers and classes of rows.
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

/// The features of a row, changed as in training by numbers of `seed`.
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

/// How many rows there are to train, validate and test on, as the plan knows it.
pub(super) fn known(facts: &DatasetFacts) -> [usize; 3] {
    let DatasetFacts {
        train_samples: train,
        validation_samples: validation,
        test_samples: test,
        ..
    } = *facts;
    [train, validation, test]
}

/// Lets a file be written `seconds` ago: long ago, its modification time shows every change.
pub(super) fn age(path: &Path, seconds: u64) {
    let file = File::options().write(true).open(path).unwrap();
    let time = SystemTime::now() - Duration::from_secs(seconds);
    file.set_modified(time).unwrap();
}

/// Bytes as `gzip` packs them.
pub(super) fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What `kind` reads of other data once a model was trained on its own: features, numbers, classes and sources of all rows, and
/// what is said of them.
pub(super) fn new_data(
    kind: &DatasetSpec,
    path: &Path,
    wants_target: bool,
) -> Result<(Rows, Vec<String>), DatasetError> {
    let dataset = kind.open(Seed(1), 0.0).unwrap().dataset;
    let (normalisation, preparation) = (dataset.normalisation(), dataset.preparation());
    // As a checkpoint keeps it.
    let preparation: Option<Preparation> =
        serde_json::from_str(&serde_json::to_string(&preparation).unwrap()).unwrap();
    let known = Known {
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

/// Rows of new data.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Rows {
    pub(super) features: Vec<f32>,
    pub(super) values: Vec<f32>,
    pub(super) labels: Vec<u32>,
    pub(super) sources: Vec<String>,
}
