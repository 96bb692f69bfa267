//! The one place where the planner asks the datasets for their facts.

use crate::datasets::{DatasetError, DatasetFacts, DatasetSpec, Features, GenerateSpec, Target};

/// Facts of a dataset, nothing generated.
pub(super) fn facts(
    dataset: &DatasetSpec,
    validation_fraction: f64,
) -> Result<DatasetFacts, DatasetError> {
    match dataset {
        DatasetSpec::Regression5d(spec) => {
            let (train, validation) = (spec.samples * 70 / 100, spec.samples * 15 / 100);
            Ok(DatasetFacts {
                samples: spec.samples,
                train_samples: train,
                validation_samples: validation,
                test_samples: spec.samples - train - validation,
                features: Features::Vector { len: 5 },
                target: Target::Values { len: 1 },
                fingerprint: Some(super::identity::digest(dataset)),
            })
        }
        DatasetSpec::Digits(_) => {
            let kept = (1437.0 * validation_fraction).round() as usize;
            Ok(DatasetFacts {
                samples: 1797,
                train_samples: 1437 - kept,
                validation_samples: kept,
                test_samples: 360,
                features: Features::Image {
                    height: 8,
                    width: 8,
                    channels: 1,
                },
                target: Target::Class { classes: 10 },
                fingerprint: Some(super::identity::digest(dataset)),
            })
        }
        DatasetSpec::ImageFolder(spec) => match &spec.generate {
            Some(GenerateSpec::SurfaceTextures {
                normal, abnormal, ..
            }) => {
                let samples = normal + abnormal;
                let kept = (samples as f64 * validation_fraction).round() as usize;
                Ok(DatasetFacts {
                    samples,
                    train_samples: samples - kept,
                    validation_samples: kept,
                    test_samples: 0,
                    features: Features::Image {
                        height: spec.size,
                        width: spec.size,
                        channels: 3,
                    },
                    target: Target::Class { classes: 2 },
                    fingerprint: None,
                })
            }
            None => Err(absent(&spec.path)),
        },
        DatasetSpec::Mnist(spec) => Err(absent(&spec.path)),
        DatasetSpec::Csv(spec) => Err(absent(&spec.path)),
    }
}

fn absent(path: &std::path::Path) -> DatasetError {
    DatasetError::Unreadable {
        path: path.display().to_string(),
        reason: "this build reads no facts of such data yet".to_owned(),
    }
}
