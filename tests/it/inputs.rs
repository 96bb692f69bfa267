//! Planning inputs without files, so that planning is tested on text alone.

use fieldtrial::datasets::{DatasetError, DatasetFacts, DatasetSpec, Features, ImageSize, Target};
use fieldtrial::device::{DeviceFacts, DeviceKind};
use fieldtrial::plan::{DeviceFactsResult, PlanInputs};

/// Data as specified, except that `nowhere` and `nowhere.csv` are missing; a CPU only.
pub(crate) fn inputs() -> PlanInputs {
    inputs_of(|device| match device {
        DeviceKind::Cpu => Ok(DeviceFacts::default()),
        DeviceKind::Cuda(_) => Err("this build has no CUDA".to_owned()),
    })
}

/// The same with these results of device detection.
pub(crate) fn inputs_of(
    device: impl Fn(DeviceKind) -> DeviceFactsResult + Send + Sync + 'static,
) -> PlanInputs {
    PlanInputs::new(facts, device)
}

#[expect(clippy::too_many_lines, reason = "a list of all kinds")]
fn facts(dataset: &DatasetSpec, validation_fraction: f64) -> Result<DatasetFacts, DatasetError> {
    let image = |size| {
        Features::Image(ImageSize {
            height: size,
            width: size,
            channels: 3,
        })
    };
    let (samples, features, target, fingerprint) = match dataset {
        DatasetSpec::Regression5d(spec) => (
            spec.samples,
            Features::Vector { len: 5 },
            Target::Values { len: 1 },
            Some(format!("{spec:?}")),
        ),
        DatasetSpec::ImageFolder(spec) => (
            652,
            image(spec.size.height),
            Target::Class { classes: 2 },
            None,
        ),
        DatasetSpec::Digits(_) => (
            1797,
            image(8),
            Target::Class { classes: 10 },
            Some("digits".to_owned()),
        ),
        DatasetSpec::Text(spec) => (
            1000,
            Features::Tokens {
                length: spec.length,
                vocabulary: 65,
            },
            Target::Tokens {
                length: spec.length,
                vocabulary: 65,
            },
            Some("text".to_owned()),
        ),
        DatasetSpec::Paths(spec) => (
            spec.samples,
            Features::Path {
                points: spec.points,
            },
            Target::None,
            Some(format!("{spec:?}")),
        ),
        DatasetSpec::DetectorEvents(spec) => (
            spec.samples,
            Features::Vector { len: 22 },
            Target::Values { len: spec.voxels },
            Some(format!("{spec:?}")),
        ),
        DatasetSpec::Csv(spec)
            if spec
                .path
                .iter()
                .all(|path| path.file_stem().is_none_or(|name| name != "nowhere")) =>
        {
            (
                1000,
                Features::Vector { len: 4 },
                Target::Values { len: 1 },
                Some(format!("{spec:?}")),
            )
        }
        _ => {
            return Err(DatasetError::Unreadable {
                path: dataset
                    .path()
                    .map_or_else(String::new, |path| path.display().to_string()),
                reason: "there is no such file".to_owned(),
            });
        }
    };
    let validation_samples = (samples as f64 * validation_fraction) as usize;
    Ok(DatasetFacts {
        samples,
        train_samples: samples - validation_samples,
        validation_samples,
        test_samples: 0,
        features,
        target,
        fingerprint,
        mixes: false,
        remarks: Vec::new(),
    })
}
