//! [`evaluate`]: evaluates several trained models as an ensemble, by the mean of their predictions. Nothing is trained.

use std::time::Instant;

use super::accuracy::Accuracies;
use super::error::TrainError;
use super::evaluation::{Evaluate, Evaluation, Tested};
use super::log::Log;
use super::saving::BYTES;
use super::session::Outcome;
use super::setup;
use crate::base::Seed;
use crate::datasets::OpenDataset;
use crate::event::{Emit, Event, Member, MemoryParts, Metrics, Order, RunFacts, numeric_class_of};
use crate::layers::checkpoint::{self, Tensor};
use crate::loader::{Batch, LoaderTimes};
use crate::ops::{Kernels, OpError, count_parameters};
use crate::plan::CellSpec;
use crate::tasks::{Outputs, Score, Task};

struct Members<D: Kernels> {
    tasks: Vec<Box<dyn Task<D>>>,
    /// Kind of the first model, for error messages.
    kind: &'static str,
}

/// Evaluates the models in `order.members` on the cell's data, like a single model that outputs the mean of their
/// outputs.
///
/// Parameters and FLOPs are summed over the members. There is only one evaluation, whose values count as the best: its
/// loss is `best_loss`, its accuracy `best_SPLIT_accuracy`, so that an ensemble has the same objectives as its trials;
/// there is no best epoch.
///
/// # Errors
/// Weights that cannot be read or do not fit, members that do not fit together, models whose outputs have no mean.
pub(super) fn evaluate<D: Kernels>(
    device: &D,
    order: &Order<CellSpec>,
    start: Instant,
    emit: &mut Emit<'_>,
) -> Result<Outcome, TrainError> {
    let (cell, seed) = (&order.cell, Seed(order.seed));
    setup::set_arithmetic(device, cell.train.precision)?;
    let mut log = Log::new(start, 0);
    log.gpu = setup::gpu_meter(device);
    check(order)?;
    let data = cell
        .dataset
        .open(seed, cell.validation.fraction_or_zero())?;
    let evaluation = Evaluation::new(&data, cell)?;
    let mut members = Members::load(device, order, &data)?;
    let parameters = members.parameters();
    log.facts.parameters = parameters;
    log.facts.weight_checksum = members.checksum(device)?;
    log.device_memory = setup::device_memory(device);
    log.ready(MemoryParts {
        parameter_bytes: BYTES * parameters,
        ..MemoryParts::default()
    });
    emit(Event::Started {
        parameters,
        epochs: 0,
        steps_per_epoch: 0,
    });
    log.begin_training();
    let (fixed, (loss, validation), tested) = log.validation(|| {
        let fixed = evaluation.fixed(&mut members)?;
        let validated = evaluation.validate(&mut members)?;
        Ok::<_, TrainError>((fixed, validated, evaluation.test(&mut members)?))
    })?;
    note(&mut log.facts, &fixed, validation, tested);
    if evaluation.validates() && loss.is_none() {
        log.facts.diverged = Some("validation loss was no finite number".into());
    }
    if let Err(reason) = log.end_gpu_sampling() {
        let message = format!("nothing was measured of the GPU: {reason}");
        emit(Event::Warning { message });
    }
    let class = numeric_class_of(&device.facts()?, cell.train.precision);
    let memory = device.memory()?;
    let (mut facts, mut times) = log.finish(None, LoaderTimes::default(), class, memory);
    times.convolutions = device.convolutions();
    facts.best_loss = loss;
    Ok(Outcome { facts, times })
}

/// Records loss and FLOPs of the fixed batch, and the metrics of the splits.
fn note(facts: &mut RunFacts, fixed: &Score, validation: Metrics, tested: Tested) {
    let work = fixed.work().forward as f64;
    facts.flops_forward_per_sample = work / fixed.samples().max(1) as f64;
    facts.eval_loss_after = fixed.loss();
    let mut accuracies = Accuracies::default();
    accuracies.note(0, &validation);
    let best = accuracies.metrics().into_iter();
    facts
        .metrics
        .extend(best.filter(|(name, _)| name.starts_with("best_")));
    facts.metrics.extend(validation);
    tested.note(facts);
}

/// Checks that dataset, loss and validation split of all members equal those of the order's cell: then they can be
/// evaluated on the same samples, and none was trained on these.
fn check(order: &Order<CellSpec>) -> Result<(), TrainError> {
    let own = &order.cell;
    for member in order.members.iter().map(|member| &member.cell) {
        let other = if member.dataset != own.dataset {
            "dataset"
        } else if member.loss != own.loss {
            "loss"
        } else if member.validation.fraction_or_zero().to_bits()
            != own.validation.fraction_or_zero().to_bits()
        {
            "validation split"
        } else {
            continue;
        };
        return Err(TrainError::Unsupported(format!(
            "an ensemble is evaluated on one split by one loss: its member `{}` has another {other}",
            member.key
        )));
    }
    Ok(())
}

impl<D: Kernels> Members<D> {
    fn load(device: &D, order: &Order<CellSpec>, data: &OpenDataset) -> Result<Self, TrainError> {
        let load = |member: &Member| {
            let mut task = setup::task(device, &member.cell, data, Seed(order.seed))?;
            checkpoint::load(&member.weights, device, task.module())?;
            Ok(task)
        };
        Ok(Self {
            tasks: order
                .members
                .iter()
                .map(load)
                .collect::<Result<_, TrainError>>()?,
            kind: order
                .members
                .first()
                .map_or("", |first| first.cell.model.kind()),
        })
    }

    fn parameters(&mut self) -> u64 {
        let counts = self
            .tasks
            .iter_mut()
            .map(|task| count_parameters(task.module()));
        counts.sum::<usize>() as u64
    }

    /// Checksum of the weights of all members; each weight's name is prefixed by its member's number.
    fn checksum(&mut self, device: &D) -> Result<String, TrainError> {
        let mut all = Vec::new();
        for (number, task) in self.tasks.iter_mut().enumerate() {
            let weights = checkpoint::snapshot(device, task.module()).map_err(OpError::from)?;
            all.extend(weights.into_iter().map(|weight| Tensor {
                name: format!("{number}.{}", weight.name),
                ..weight
            }));
        }
        Ok(checkpoint::checksum(&all))
    }
}

impl<D: Kernels> Evaluate for Members<D> {
    fn evaluate(&mut self, batch: Batch, index: u64, score: &mut Score) -> Result<(), TrainError> {
        let outputs = self.tasks.iter_mut();
        let outputs = outputs.map(|task| task.outputs(batch.clone(), index, score));
        let outputs: Vec<Outputs> = outputs.collect::<Result<_, _>>()?;
        // Dataset and loss are equal for all members, so the first task can compute the score of the mean.
        match (Outputs::mean(&outputs), self.tasks.first_mut()) {
            (Some(mean), Some(task)) => Ok(task.evaluate_outputs(batch, index, mean, score)?),
            _ => Err(TrainError::Unsupported(format!(
                "models `{}` cannot form an ensemble: the samples that they draw cannot be averaged",
                self.kind
            ))),
        }
    }
}
