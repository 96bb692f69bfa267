//! Builds the model of a checkpoint on a device.

use super::{Trained, TrainedError};
use crate::base::Seed;
use crate::datasets::{OpenDataset, Target};
use crate::device::DeviceKind;
use crate::layers::checkpoint;
use crate::losses::{CrossEntropySpec, LossSpec};
use crate::ops::Kernels;
use crate::plan::Precision;
use crate::tasks::{self, Task, TaskParts};
use crate::train::training_features;

/// The task of a trained model, with the weights of its checkpoint. `data` is the original dataset, which losses that
/// compare paths need. If the checkpoint has no numbers of rows by class, or no class names, classification uses the
/// default cross-entropy, without weights and label smoothing.
pub(super) fn task<D: Kernels>(
    device: &D,
    trained: &Trained,
    kind: DeviceKind,
    data: Option<&OpenDataset>,
) -> Result<Box<dyn Task<D>>, TrainedError> {
    let run = &trained.run;
    let cell = &run.cell;
    let precision = match (kind, cell.train.precision) {
        // CPUs support neither TF32 nor f16, so the model computes in f32 there.
        (DeviceKind::Cpu, Precision::Tf32 | Precision::Amp) => Precision::F32,
        (_, precision) => precision,
    };
    device.set_arithmetic(precision.arithmetic())?;
    let training = match data {
        Some(data) if cell.loss.compares_paths() => training_features(data)?,
        _ => Vec::new(),
    };
    let names = trained.class_names.iter().cloned();
    let rows_by_class: Vec<(String, usize)> = names.zip(run.class_rows.iter().copied()).collect();
    let plain = LossSpec::CrossEntropy(CrossEntropySpec::default());
    let is_plain = matches!(run.target, Target::Class { .. }) && rows_by_class.is_empty();
    let mut task = tasks::build(
        device,
        TaskParts {
            model: &cell.model,
            loss: if is_plain { &plain } else { &cell.loss },
            features: run.features,
            target: run.target,
            algorithm: cell.train.algorithm,
            beta: cell.train.beta,
            convolution: cell.train.convolution,
            training: &training,
            rows_by_class: &rows_by_class,
            seed: Seed(trained.seed),
        },
    )?;
    checkpoint::load(&trained.path, device, task.module())?;
    Ok(task)
}
