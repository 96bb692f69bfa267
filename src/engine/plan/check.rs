//! Checks that types cannot express: whether model, data, loss, batch and device fit together.

use crate::base::text::one_line;
use crate::datasets::{DatasetFacts, DatasetSpec};
use crate::device::{DeviceFacts, DeviceKind};
use crate::loader::LoaderSpec;
use crate::losses::LossSpec;
use crate::models::ModelSpec;
use crate::optim::ScheduleSpec;
use crate::tasks::Workload;

use super::cell::{Precision, TrainSpec, ValidationSpec, WatchedSplit};

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

impl Feasibility {
    /// Returns the same with its reason in one line, since the reason can quote data files.
    pub(super) fn in_one_line(self) -> Self {
        match self {
            Self::Runs => Self::Runs,
            Self::Infeasible(reason) => Self::Infeasible(one_line(&reason)),
            Self::Skipped(reason) => Self::Skipped(one_line(&reason)),
        }
    }
}

/// Why `loader.cache-file` is useless; `None` if it is not.
pub(super) fn no_images(loader: &LoaderSpec, dataset: &DatasetSpec) -> Option<String> {
    let has_images = matches!(dataset, DatasetSpec::ImageFolder(_));
    (loader.cache_file && !has_images).then(|| {
        format!(
            "`loader.cache-file` keeps decoded images, `{}` has none",
            dataset.kind()
        )
    })
}

/// Why this algorithm cannot train this model; `None` if it can.
pub(super) fn wrong_algorithm(train: &TrainSpec, model: &ModelSpec) -> Option<String> {
    (!model.is_trained_by(train.algorithm)).then(|| {
        let kind = model.kind();
        format!("`equilibrium-propagation` trains the model `equilibrium`, not `{kind}`")
    })
}

/// Why `validation.split` cannot be evaluated during training; `None` if it can.
pub(super) fn no_split(validation: &ValidationSpec, facts: &DatasetFacts) -> Option<String> {
    (validation.split == WatchedSplit::Test && facts.test_samples == 0)
        .then(|| "`validation.split = \"test\"`, and the dataset has no test split".to_owned())
}

/// Why batches of this size cannot be drawn; `None` if they can.
pub(super) fn oversized(train: &TrainSpec, facts: &DatasetFacts) -> Option<String> {
    (train.batch_size > facts.train_samples).then(|| {
        format!(
            "a batch of {} is larger than the training split of {} samples",
            train.batch_size, facts.train_samples
        )
    })
}

/// Why a batch norm whose input has one value per channel and sample cannot train with these batches; `None` if it can.
pub(super) fn single_values(train: &TrainSpec, facts: &DatasetFacts) -> Option<String> {
    let (size, rows) = (train.batch_size, facts.train_samples);
    let advice = "`batch-norm` needs two values per channel, and some layer has one in each sample";
    if size == 1 {
        return Some(format!("{advice}; a batch of 1 is too small"));
    }
    let has_rest = rows % size.max(1) == 1 && !train.drop_last;
    has_rest.then(|| {
        format!("{advice}; the last batch of {rows} samples has 1, `train.drop-last = true` leaves it out")
    })
}

/// Why this schedule does not fit the learning rate and the epochs; `None` if it fits.
pub(super) fn wrong_schedule(train: &TrainSpec) -> Option<String> {
    let wrong = train.schedule.check(train.optimizer.lr(), train.epochs);
    let first = wrong.into_iter().next()?;
    Some(format!("`train.schedule.{}` {}", first.key, first.message))
}

/// Why the learning rate cannot fall on a plateau: there is no validation before the last epoch; `None` if it can.
pub(super) fn unseen_plateau(
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

/// Why `validation.sampling` is impossible; `None` if they can.
pub(super) fn wrong_sampling(validation: &ValidationSpec, loss: &LossSpec) -> Option<String> {
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

/// Why `validation.verification` or `validation.selection` is impossible; `None` if it can.
pub(super) fn wrong_assessment(
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

/// Why `validation.cycle` would never end; `None` if it ends.
pub(super) fn endless(validation: &ValidationSpec) -> Option<String> {
    (validation.cycle && validation.batches.is_none()).then(|| {
        "`validation.cycle` goes on until `validation.batches`, which is not set".to_owned()
    })
}

/// Why no device of this kind supports this precision; `None` if one does.
pub(super) fn wrong_arithmetic(train: &TrainSpec) -> Option<String> {
    let name = train.precision.name();
    let on_cpus = matches!(train.precision, Precision::F32 | Precision::Bf16);
    (train.device == DeviceKind::Cpu && !on_cpus)
        .then(|| format!("`{name}` needs an NVIDIA GPU, the CPU computes in `f32` and `bf16`"))
}

/// Why no device of this kind has this convolution algorithm; `None` if one does.
pub(super) fn wrong_convolution(train: &TrainSpec) -> Option<String> {
    let name = train.convolution.name();
    (!train.convolution.is_auto() && train.device != DeviceKind::Cpu).then(|| {
        format!(
            "`{name}` convolutions are for the CPU, on `{}` cuDNN chooses how to compute them (`auto`)",
            train.device
        )
    })
}

/// Why this machine's device does not support this precision; `None` if it does.
pub(super) fn lacking_arithmetic(train: &TrainSpec, device: &DeviceFacts) -> Option<String> {
    let name = device.name.as_deref().unwrap_or(&device.kind);
    let lack = train.precision.arithmetic().lack(device.capability?)?;
    Some(format!(
        "`{}` on `{}`, {name}: {lack}",
        train.precision.name(),
        train.device
    ))
}
