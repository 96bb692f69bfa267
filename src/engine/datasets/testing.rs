//! What tests of datasets use.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{Dataset, DatasetFacts, SampleMut, SamplesMut, Splits};
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

/// How many rows there are to train, validate and test on.
pub(super) fn sizes(splits: &Splits) -> [usize; 3] {
    [&splits.train, &splits.validation, &splits.test].map(Vec::len)
}

/// The same as the plan knows it.
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
