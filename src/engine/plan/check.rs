//! Checks that types cannot express: whether model, data, loss, batch and device fit together.

use crate::datasets::{DatasetFacts, DatasetSpec};
use crate::device::{DeviceFacts, DeviceKind};
use crate::losses::LossSpec;
use crate::optim::ScheduleSpec;
use crate::tasks::Workload;

use super::cell::{Precision, TrainSpec, ValidationSpec, WatchedSplit};
use super::units::Resolved;

/// Whether a cell can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Feasibility {
    /// The cell can run.
    Runs,
    /// The cell cannot run on any machine, for this reason.
    Infeasible(String),
    /// The cell needs a device or a precision that this machine or build lacks; the reason.
    Skipped(String),
}

/// Why the settings of a cell with a built-in model do not fit together; `None` if they do.
pub(super) fn misfit(cell: &Resolved) -> Option<String> {
    let (train, facts) = (&cell.train, &*cell.data.facts);
    let (validation, loss) = (&*cell.validation.value, &*cell.loss.value);
    let wrong = cell.pairing.misfit.as_ref().map(ToString::to_string);
    wrong
        .or_else(|| wrong_schedule(train))
        .or_else(|| unseen_plateau(train, validation, facts))
        .or_else(|| wrong_sampling(validation, loss))
        .or_else(|| wrong_assessment(validation, loss, facts))
        .or_else(|| wrong_pair(cell))
        .or_else(|| wrong_batch(train, facts, cell.pairing.normalises_rows))
}

/// Why two settings of a cell exclude each other; `None` if none do.
fn wrong_pair(cell: &Resolved) -> Option<String> {
    let (validation, facts) = (&*cell.validation.value, &*cell.data.facts);
    let has_images = matches!(*cell.dataset.value, DatasetSpec::ImageFolder(_));
    if cell.loader.value.cache_file && !has_images {
        let kind = cell.dataset.value.kind();
        return Some(format!(
            "`loader.cache-file` keeps decoded images, `{kind}` has none"
        ));
    }
    if validation.cycle && validation.batches.is_none() {
        let endless = "`validation.cycle` goes on until `validation.batches`, which is not set";
        return Some(endless.to_owned());
    }
    if !cell.model.value.is_trained_by(cell.train.algorithm) {
        let kind = cell.model.value.kind();
        return Some(format!(
            "`equilibrium-propagation` trains the model `equilibrium`, not `{kind}`"
        ));
    }
    (validation.split == WatchedSplit::Test && facts.test_samples == 0)
        .then(|| "`validation.split = \"test\"`, and the dataset has no test split".to_owned())
}

/// Why the training split cannot be divided into batches of this size; `None` if it can. `normalises_rows` tells that
/// the model has a batch norm whose input has one value per channel and sample, so that a batch needs two samples.
fn wrong_batch(train: &TrainSpec, facts: &DatasetFacts, normalises_rows: bool) -> Option<String> {
    let (size, rows) = (train.batch_size, facts.train_samples);
    if size > rows {
        return Some(format!(
            "a batch of {size} is larger than the training split of {rows} samples"
        ));
    }
    let advice = "`batch-norm` needs two values per channel, and some layer has one in each sample";
    if normalises_rows && size == 1 {
        return Some(format!("{advice}; a batch of 1 is too small"));
    }
    let has_rest = rows % size.max(1) == 1 && !train.drop_last;
    (normalises_rows && has_rest).then(|| {
        format!("{advice}; the last batch of {rows} samples has 1, `train.drop-last = true` leaves it out")
    })
}

/// Why this schedule does not fit the learning rate and the epochs; `None` if it fits.
fn wrong_schedule(train: &TrainSpec) -> Option<String> {
    let wrong = train.schedule.check(train.optimizer.lr(), train.epochs);
    let first = wrong.into_iter().next()?;
    Some(format!("`train.schedule.{}` {}", first.key, first.message))
}

/// Why the learning rate cannot fall on a plateau: there is no validation before the last epoch; `None` if it can.
fn unseen_plateau(
    train: &TrainSpec,
    validation: &ValidationSpec,
    facts: &DatasetFacts,
) -> Option<String> {
    let watched = match validation.split {
        WatchedSplit::Validation => facts.validation_samples,
        WatchedSplit::Test => facts.test_samples,
    };
    let (every, epochs) = (validation.every, train.epochs);
    let is_plateau = matches!(train.schedule, ScheduleSpec::Plateau(_));
    (is_plateau && watched > 0 && epochs > 0 && every >= epochs).then(|| {
        format!(
            "the schedule `plateau` needs a validation before the last epoch: `validation.every` = {every}, `train.epochs` = {epochs}"
        )
    })
}

/// Why `validation.sampling` is impossible; `None` if it is possible or not set.
fn wrong_sampling(validation: &ValidationSpec, loss: &LossSpec) -> Option<String> {
    let spec = validation.sampling.as_ref()?;
    match loss {
        LossSpec::NoiseMse(loss) => spec.check(loss.timesteps),
        LossSpec::DetectorNoise(_) => Some(
            "`validation.sampling` draws images; `validation.verification` draws signals"
                .to_owned(),
        ),
        other => Some(format!(
            "`validation.sampling` draws from diffusion models, `{}` trains none",
            other.kind()
        )),
    }
}

/// Why `validation.verification` or `validation.selection` is impossible; `None` if they are possible or not set.
fn wrong_assessment(
    validation: &ValidationSpec,
    loss: &LossSpec,
    facts: &DatasetFacts,
) -> Option<String> {
    let (verification, selection) = (&validation.verification, &validation.selection);
    let LossSpec::DetectorNoise(noise) = loss else {
        let key = match (verification, selection) {
            (Some(_), _) => "verification",
            (None, Some(_)) => "selection",
            (None, None) => return None,
        };
        let kind = loss.kind();
        return Some(format!(
            "`validation.{key}` is for `detector-noise`, not for `{kind}`"
        ));
    };
    let voxels = facts.target.values_len();
    let wrong = verification
        .as_ref()
        .and_then(|spec| spec.check(noise.timesteps));
    let select = || selection.as_ref()?.check(noise.timesteps, voxels);
    wrong.or_else(select)
}

/// Why no device of this kind supports this precision or this convolution algorithm; `None` if one does.
pub(super) fn unsupported_precision(train: &TrainSpec) -> Option<String> {
    let on_cpus = matches!(train.precision, Precision::F32 | Precision::Bf16);
    if train.device == DeviceKind::Cpu {
        let name = train.precision.name();
        return (!on_cpus).then(|| {
            format!("`{name}` needs an NVIDIA GPU, the CPU computes in `f32` and `bf16`")
        });
    }
    (!train.convolution.is_auto()).then(|| {
        format!(
            "`{}` convolutions are for the CPU, on `{}` cuDNN chooses how to compute them (`auto`)",
            train.convolution.name(),
            train.device
        )
    })
}

/// Why this machine's device does not support this precision; `None` if it does.
pub(super) fn device_lacks_precision(train: &TrainSpec, device: &DeviceFacts) -> Option<String> {
    let name = device.name.as_deref().unwrap_or(&device.kind);
    let lack = train
        .precision
        .arithmetic()
        .unsupported_reason(device.capability?)?;
    Some(format!(
        "`{}` on `{}`, {name}: {lack}",
        train.precision.name(),
        train.device
    ))
}
