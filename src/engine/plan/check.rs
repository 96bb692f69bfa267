//! Checks that types cannot express: whether model, data, loss, batch and device fit together.

use crate::datasets::{DatasetFacts, DatasetSpec, Features, Target};
use crate::device::{DeviceFacts, DeviceKind};
use crate::loader::LoaderSpec;
use crate::losses::LossSpec;
use crate::models::ModelSpec;
use crate::tasks::Algorithm;

use super::cell::{Precision, TrainSpec, ValidationSpec, WatchedSplit};

/// Whether a cell can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Feasibility {
    /// It can run.
    Runs,
    /// It cannot run on any machine, and why.
    Infeasible(String),
    /// It needs a device or a precision that this machine or build lacks, and why.
    Skipped(String),
}

/// Why `loader.cache-file` has nothing to keep; `None` if it has.
pub(super) fn no_images(loader: &LoaderSpec, dataset: &DatasetSpec) -> Option<String> {
    let has_images = matches!(dataset, DatasetSpec::ImageFolder(_));
    (loader.cache_file && !has_images).then(|| {
        format!(
            "`loader.cache-file` keeps decoded images, `{}` has none",
            dataset.kind()
        )
    })
}

/// Why this model cannot learn this data with this loss; `None` if it can.
pub(super) fn misfit(model: &ModelSpec, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
    let own = model.check().into_iter().next();
    own.or_else(|| match model {
        ModelSpec::Mlp(_) => mlp(facts, loss),
        ModelSpec::DdpmUnet(spec) => unet(spec, facts, loss),
        ModelSpec::Equilibrium(_) => equilibrium(facts, loss),
        ModelSpec::CannedNet(_) | ModelSpec::NeuralSde(_) => paths(model, facts, loss),
        ModelSpec::DetectorAlt(_) | ModelSpec::DetectorNeu(_) => {
            denoiser(model.kind(), facts, loss)
        }
    })
}

fn denoiser(kind: &str, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
    let (Features::Vector { .. }, Target::Values { .. }) = (facts.features, facts.target) else {
        return Some(format!(
            "`{kind}` needs rows of numbers with numbers as targets; use `detector-events`"
        ));
    };
    match loss {
        LossSpec::DetectorNoise(spec) => spec.check().into_iter().next(),
        other => Some(format!(
            "`{kind}` estimates noise, `{}` does not fit; use `detector-noise`",
            other.kind()
        )),
    }
}

const ONE_CLASS: &str = "the dataset has a single class, so there is nothing to tell apart";

fn mlp(facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
    match (facts.target, loss) {
        (Target::Class { classes: ..2 }, _) => Some(ONE_CLASS.to_owned()),
        (Target::Values { .. }, LossSpec::Mse(_))
        | (Target::Class { .. }, LossSpec::CrossEntropy(_)) => None,
        (Target::Values { .. }, loss) => Some(format!(
            "the dataset's targets are numbers, `{}` does not fit them; use `mse`",
            loss.kind()
        )),
        (Target::Class { .. }, LossSpec::NoiseMse(_)) => {
            Some("`noise-mse` trains diffusion models; use `cross-entropy`".to_owned())
        }
        (Target::Class { .. }, loss) => Some(format!(
            "the dataset's targets are classes, `{}` does not fit them; use `cross-entropy`",
            loss.kind()
        )),
        (Target::None, _) => Some(
            "`mlp` learns targets, the dataset has none; use `canned-net` or `neural-sde`"
                .to_owned(),
        ),
    }
}

fn paths(model: &ModelSpec, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
    let Features::Path { points } = facts.features else {
        return Some(format!(
            "`{}` generates paths, the dataset has none; use `paths`",
            model.kind()
        ));
    };
    if !loss.compares_paths() {
        return Some(format!(
            "`{}` generates paths, `{}` does not compare them; use `t-statistic`",
            model.kind(),
            loss.kind()
        ));
    }
    loss.check_paths(points)
}

fn unet(
    spec: &crate::models::DdpmUnetSpec,
    facts: &DatasetFacts,
    loss: &LossSpec,
) -> Option<String> {
    let Features::Image { height, width, .. } = facts.features else {
        return Some("`ddpm-unet` needs images, the dataset has rows of numbers".to_owned());
    };
    if !matches!(facts.target, Target::Class { .. }) {
        return Some("`ddpm-unet` needs classes, the dataset's targets are numbers".to_owned());
    }
    if !matches!(loss, LossSpec::NoiseMse(_)) {
        return Some(format!(
            "`ddpm-unet` estimates noise, `{}` does not fit; use `noise-mse`",
            loss.kind()
        ));
    }
    spec.check_image(height, width)
}

fn equilibrium(facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
    match facts.target {
        Target::Class { classes: ..2 } => return Some(ONE_CLASS.to_owned()),
        Target::Class { .. } => {}
        _ => {
            return Some(
                "`equilibrium` needs classes, the dataset's targets are numbers".to_owned(),
            );
        }
    }
    let fits = matches!(loss, LossSpec::CrossEntropy(_));
    (!fits).then(|| {
        let kind = loss.kind();
        format!("`equilibrium` tells classes, `{kind}` does not fit; use `cross-entropy`")
    })
}

/// Why this algorithm cannot train this model; `None` if it can.
pub(super) fn wrong_algorithm(train: &TrainSpec, model: &ModelSpec) -> Option<String> {
    let is_equilibrium = matches!(model, ModelSpec::Equilibrium(_));
    (train.algorithm == Algorithm::EquilibriumPropagation && !is_equilibrium).then(|| {
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

/// Why this schedule does not go with the learning rate and the epochs; `None` if it does.
pub(super) fn wrong_schedule(train: &TrainSpec) -> Option<String> {
    let wrong = train.schedule.check(train.optimizer.lr(), train.epochs);
    let first = wrong.into_iter().next()?;
    Some(format!("`train.schedule.{}` {}", first.key, first.message))
}

/// Why such samples cannot be drawn; `None` if they can.
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

/// Why a detector cannot be verified or selected for with these settings; `None` if it can.
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
    (train.precision != Precision::F32 && train.device == DeviceKind::Cpu)
        .then(|| format!("`{name}` needs an NVIDIA GPU, the CPU computes in `f32`"))
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
