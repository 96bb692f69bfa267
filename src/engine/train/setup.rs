//! The setup of a run, from an order to a session: data, model, optimizer and loaders.

use std::sync::Arc;
use std::time::Instant;

use super::accuracy::Accuracies;
use super::assessment::CostlyEvaluation;
use super::ensemble::Ensemble;
use super::error::TrainError;
use super::evaluation::Evaluation;
use super::learner::Learner;
use super::log::Log;
use super::resuming::StateSaving;
use super::saving::{BYTES, Saving};
use super::session::Session;
use super::state::Identity;
use super::steps::Steps;
use super::stopping::Stopping;
use super::threads;
use crate::base::Seed;
use crate::build_info::{code_hash, code_target};
use crate::datasets::{DatasetError, OpenDataset, SamplesMut};
use crate::event::{MemoryParts, Order, numeric_class_of};
use crate::layers::{checkpoint, names};
use crate::loader::{Loader, LoaderOptions};
use crate::measure::DeviceMemory;
use crate::measure::gpu::GpuMeter;
use crate::ops::{Kernels, Path, count_parameters};
use crate::optim::{Ema, Rate, StepLimits, step_control};
use crate::plan::{CellSpec, Precision};
use crate::tasks::{self, Task, TaskParts};

/// Opens the data and builds model, optimizer and loaders.
pub(super) fn set_up<'a, D: Kernels>(
    device: &D,
    order: &'a Order<CellSpec>,
    start: Instant,
) -> Result<Session<'a, D>, TrainError> {
    let (cell, seed) = (&order.cell, Seed(order.seed));
    set_arithmetic(device, cell.train.precision)?;
    let mut log = Log::new(start, cell.measure.warmup_steps);
    log.gpu = gpu_meter(device);
    let data = cell
        .dataset
        .open(seed, cell.validation.fraction_or_zero())?;
    let mut learner = learner(device, cell, &data, seed)?;
    let steps = Steps::new(data.splits.train.len(), &cell.train)?;
    let train = &cell.train;
    let full = train.optimizer.lr();
    let rate = Rate::new(&train.schedule, full, train.epochs, steps.count());
    let loader = training_loader(&data, cell, &steps, seed)?;
    let evaluation = Evaluation::new(&data, cell)?;
    let parts = memory_parts(&mut learner);
    log.facts.parameters = parts.parameter_bytes / BYTES;
    log.device_memory = device_memory(device);
    log.ready(parts);
    let dataset = &data.dataset;
    let identity = identity(device, order)?;
    let saving = Saving::of(order, &data, log.facts.parameters);
    Ok(Session {
        cell,
        threads: threads::compute_threads(cell, dataset.features(), dataset.target()),
        learner,
        loader,
        steps,
        rate,
        evaluation,
        costly: order.assess_into.clone().map(|folder| CostlyEvaluation {
            data,
            seed,
            wanted: Arc::clone(&cell.validation),
            folder,
        }),
        saving,
        resuming: StateSaving::new(order.resume.as_ref(), identity),
        profiles: cell.measure.is_profiled_run(order.seed, order.block),
        awaits_verdicts: order.verdicts,
        stopping: Stopping::new(cell.train.early_stopping.clone()),
        accuracies: Accuracies::default(),
        best: None,
        ensemble: Ensemble::new(cell.validation.ensemble),
        validated: None,
        log,
    })
}

/// The properties of this run that must equal those in a training state to resume from it.
fn identity<D: Kernels>(device: &D, order: &Order<CellSpec>) -> Result<Identity, TrainError> {
    let resume = order.resume.as_ref();
    Ok(Identity {
        lineage: resume.map_or_else(String::new, |resume| resume.lineage.clone()),
        code_hash: code_hash(code_target(order.cell.train.device)),
        numeric_class: numeric_class_of(&device.facts()?, order.cell.train.precision),
        seed: order.seed,
    })
}

/// Sets the arithmetic of products (f32, TF32 …) on the device, for training and evaluation.
pub(super) fn set_arithmetic<D: Kernels>(
    device: &D,
    precision: Precision,
) -> Result<(), TrainError> {
    let chosen = device.set_arithmetic(precision.arithmetic());
    let name = precision.name();
    chosen.map_err(|error| TrainError::Unsupported(format!("precision `{name}`: {error}")))
}

/// A reader of the device memory that the run holds.
pub(super) fn device_memory<D: Kernels>(device: &D) -> DeviceMemory {
    let device = device.clone();
    // The error is ignored here, because the next operation fails with it again and reports it.
    let take = move || device.take_peak_bytes().ok().flatten();
    DeviceMemory::read_by(Box::new(take))
}

/// A meter of the GPU's counters, absent on the CPU. Also absent if the NVML library is missing, which is not reported
/// here: it is a property of the machine, reported once.
pub(super) fn gpu_meter<D: Kernels>(device: &D) -> GpuMeter {
    match device.counters() {
        Some(Ok(address)) => GpuMeter::nvml(address.library, address.bus_id),
        Some(Err(_)) | None => GpuMeter::absent(),
    }
}

/// Builds model and loss of the cell; the model has initial weights.
pub(super) fn task<D: Kernels>(
    device: &D,
    cell: &CellSpec,
    data: &OpenDataset,
    seed: Seed,
) -> Result<Box<dyn Task<D>>, TrainError> {
    let training = if cell.loss.compares_paths() {
        training_features(data)?
    } else {
        Vec::new()
    };
    let parts = TaskParts {
        model: &cell.model,
        loss: &cell.loss,
        features: data.dataset.features(),
        target: data.dataset.target(),
        algorithm: cell.train.algorithm,
        beta: cell.train.beta,
        convolution: cell.train.convolution,
        training: &training,
        rows_by_class: &rows_by_class(data),
        seed,
    };
    Ok(tasks::build(device, parts)?)
}

fn learner<D: Kernels>(
    device: &D,
    cell: &CellSpec,
    data: &OpenDataset,
    seed: Seed,
) -> Result<Learner<D>, TrainError> {
    let mut task = task(device, cell, data, seed)?;
    if let Some(path) = &cell.train.init_from {
        checkpoint::load_except(path, device, task.module(), &cell.train.fresh)?;
    }
    if !cell.train.freeze.is_empty() {
        names::freeze(task.module(), &cell.train.freeze)?;
    }
    let ema = match &cell.train.ema {
        Some(spec) => Some(Ema::start(spec, task.module())?),
        None => None,
    };
    let clip = cell.train.clip;
    let clip = clip.map(|max_norm| (max_norm, cell.train.clip_by));
    let limits = StepLimits {
        max_loss: cell.limits.max_loss,
        clip,
        scales_loss: cell.train.precision == Precision::Amp,
    };
    let control = step_control(device, task.module(), limits)?;
    Ok(Learner {
        device: device.clone(),
        task,
        optimizer: cell.train.optimizer.build(),
        ema,
        clip,
        max_loss: limits.max_loss,
        control,
        steps: 0,
        cost: None,
        work: Vec::new(),
    })
}

/// Features of all rows of the training split, `(rows, features)`.
pub(crate) fn training_features(data: &OpenDataset) -> Result<Vec<f32>, DatasetError> {
    let rows = &data.splits.train;
    let mut features = vec![0.0; rows.len() * data.dataset.features().len()];
    let mut values = vec![0.0; rows.len() * data.dataset.target().values_len()];
    let mut labels = vec![0; rows.len()];
    let samples = SamplesMut {
        features: &mut features,
        values: &mut values,
        labels: &mut labels,
    };
    data.dataset.read_rows(rows, samples)?;
    Ok(features)
}

/// Name of each class and its number of rows in the training split; empty if the target is not a class.
fn rows_by_class(data: &OpenDataset) -> Vec<(String, usize)> {
    let names = data.dataset.class_names();
    let name = |class: usize| names.get(class).cloned().unwrap_or(class.to_string());
    let counts = data.training_rows_by_class().into_iter().enumerate();
    counts.map(|(class, rows)| (name(class), rows)).collect()
}

fn training_loader(
    data: &OpenDataset,
    cell: &CellSpec,
    steps: &Steps,
    seed: Seed,
) -> Result<Loader, TrainError> {
    let train = &cell.train;
    let options = LoaderOptions {
        max_batches: Some(steps.batches()),
        ..cell
            .loader
            .training(train.batch_size, train.drop_last, seed)
    };
    let rows = data.splits.train.clone();
    Ok(Loader::new(Arc::clone(&data.dataset), rows, options)?)
}

fn memory_parts<D: Kernels>(learner: &mut Learner<D>) -> MemoryParts {
    let module = learner.task.module();
    let parameters = count_parameters(module) as u64;
    let mut trained = 0;
    module.visit(&Path::root(), &mut |_, parameter| {
        if !parameter.is_frozen() {
            trained += parameter.len() as u64;
        }
    });
    let average = if learner.ema.is_some() { trained } else { 0 };
    MemoryParts {
        parameter_bytes: BYTES * parameters,
        gradient_bytes: BYTES * trained,
        optimizer_bytes: learner.optimizer.state_bytes(trained) + BYTES * average,
        activation_bytes: 0,
    }
}
