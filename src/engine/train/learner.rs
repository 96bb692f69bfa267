//! [`Learner`]: the model in training with its optimizer, and one optimizer step.

use serde::{Deserialize, Serialize};

use super::error::TrainError;
use super::steps::Step;
use crate::base::units::human;
use crate::device::Buffer;
use crate::event::OpWork;
use crate::loader::Epoch;
use crate::measure::{Phase, Profiler, Stopwatch};
use crate::ops::{Flops, Grads, Kernels, Result, StepControl, Var, layer_names_by_address};
use crate::optim::{ClipBy, Ema, Optimizer, clip_factors};
use crate::tasks::{MicroStepResult, Task, TrainingPosition};

/// Everything that an optimizer step reads or changes.
pub(super) struct Learner<D: Kernels> {
    pub(super) device: D,
    pub(super) task: Box<dyn Task<D>>,
    pub(super) optimizer: Optimizer<D>,
    pub(super) ema: Option<Ema<D>>,
    /// Maximum gradient norm, and whether it is taken over the model or over each part; `None` for no clipping.
    pub(super) clip: Option<(f64, ClipBy)>,
    /// Loss above which training counts as diverged; `None` for no such limit.
    pub(super) max_loss: Option<f64>,
    /// Decides on the device about divergence, clipping and loss scaling; `None` if the host decides, as on the CPU.
    pub(super) control: Option<D::Control>,
    pub(super) steps: u64,
    /// FLOPs and memory of the first micro-step; `None` before it.
    pub(super) cost: Option<Cost>,
    /// Operations of the one step that `work.csv` describes; empty before that step.
    pub(super) work: Vec<OpWork>,
}

/// FLOPs and memory of one micro-step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cost {
    pub(super) samples: usize,
    /// FLOPs of the micro-step.
    pub(super) work: Flops,
    /// Bytes of activations that are kept for the backward pass.
    pub(super) activation_bytes: u64,
}

/// The loss of a step, still on the device: the mean losses of its micro-steps, each with its share of the step's
/// samples.
pub(super) struct StepLoss<D: Kernels>(Vec<(Var<D>, f64)>);

impl<D: Kernels> StepLoss<D> {
    /// The mean loss over the step's samples. Synchronises the device.
    pub(super) fn read(&self, device: &D) -> Result<f64, TrainError> {
        let mut mean = 0.0;
        for (loss, share) in &self.0 {
            mean += f64::from(loss.to_host(device)?[0]) * share;
        }
        Ok(mean)
    }

    /// The mean losses of several steps; synchronises the device only once.
    pub(super) fn read_all(losses: &[Self], device: &D) -> Result<Vec<f64>, TrainError> {
        let parts = losses.iter().flat_map(|loss| &loss.0);
        let buffers: Vec<&Buffer<D>> = parts.map(|(loss, _)| loss.data()).collect();
        let mut values = device.download_firsts(&buffers)?.into_iter();
        let mean = |loss: &Self| {
            let parts = loss.0.iter().zip(values.by_ref());
            parts.fold(0.0, |mean, ((_, share), value)| {
                mean + f64::from(value) * share
            })
        };
        Ok(losses.iter().map(mean).collect())
    }
}

impl<D: Kernels> Learner<D> {
    /// One optimizer step: gradients of all micro-steps, clipping, update of the weights and of their moving average.
    ///
    /// A loss that is not finite or above `max_loss` leaves the weights unchanged. With a `control`, all later steps
    /// leave them unchanged too, because the host reads the loss only later.
    pub(super) fn step(
        &mut self,
        step: Step,
        epoch: usize,
        lr: f64,
        batches: &mut Epoch<'_>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<StepLoss<D>, TrainError> {
        let norms = self.control.is_none() && self.clip.is_some();
        let mut sum = norms.then(|| Grads::recording_squares(&self.device));
        let mut losses = Vec::with_capacity(step.micro_steps.len());
        for index in step.micro_steps {
            let batch = batches.next().ok_or(TrainError::Short(index))??;
            watch.mark(Phase::DataWait);
            let (size, share) = (batch.size, batch.size as f64 / step.samples as f64);
            let place = TrainingPosition {
                epoch: epoch as u64,
                step: index as u64,
            };
            let loss_grad = self.loss_grad(share as f32)?;
            let micro = self
                .task
                .gradients(batch, place, loss_grad, sum.take(), watch)?;
            self.note_cost(size, &micro);
            if let Some(control) = &mut self.control {
                control.add_loss(micro.loss.data(), share)?;
            }
            losses.push((micro.loss, share));
            sum = Some(micro.grads);
        }
        let loss = StepLoss(losses);
        if let Some(grads) = sum
            && (self.control.is_some()
                || divergence(loss.read(&self.device)?, self.max_loss).is_none())
        {
            self.update(grads, lr, watch)?;
        } else {
            self.task.after_step(false, None)?;
        }
        watch.mark(Phase::Optimizer);
        Ok(loss)
    }

    /// A profiler that counts operations without waiting for the device.
    pub(super) fn op_counter(&mut self) -> Profiler {
        Profiler::new(layer_names_by_address(self.task.module()), None)
    }

    /// The gradient from which a micro-step backpropagates; `share` is the micro-step's share of the step's samples.
    fn loss_grad(&self, share: f32) -> Result<Buffer<D>> {
        match &self.control {
            Some(control) => control.loss_grad(&self.device, share),
            None => Ok(self.device.full_buffer(1, share)?),
        }
    }

    fn update(&mut self, mut grads: Grads<D>, lr: f64, watch: &Stopwatch<'_>) -> Result<()> {
        let module = self.task.module();
        let mut factors = Vec::new();
        match (&mut self.control, self.clip) {
            (Some(control), _) => control.decide(&self.device, module, &mut grads)?,
            (None, Some((max_norm, by))) => {
                factors = clip_factors(module, &mut grads, max_norm, by)?;
            }
            (None, None) => {}
        }
        if self.clip.is_some() {
            watch.operation("clip_grad_norm");
        }
        let control = self.control.as_ref();
        self.optimizer
            .clipped_step(module, &mut grads, lr, &factors, control)?;
        watch.operation(self.optimizer.name());
        self.task.after_step(true, control)?;
        if let Some(ema) = &mut self.ema {
            ema.update(&self.device, self.task.module(), control)?;
            watch.operation("ema");
        }
        self.steps += 1;
        Ok(())
    }

    /// Number of steps that were skipped because scaled gradients were not finite; `None` without loss scaling.
    pub(super) fn skipped_steps(&self) -> Result<Option<u64>> {
        let control = self.control.as_ref();
        control.map_or(Ok(None), StepControl::skipped_steps)
    }

    fn note_cost(&mut self, samples: usize, micro: &MicroStepResult<D>) {
        self.cost.get_or_insert(Cost {
            samples,
            work: micro.work,
            activation_bytes: micro.activation_bytes,
        });
    }
}

/// Why a loss counts as divergent, such as "became NaN"; `None` if it does not.
pub(super) fn divergence(loss: f64, max_loss: Option<f64>) -> Option<String> {
    match max_loss {
        _ if loss.is_nan() => Some("became NaN".into()),
        _ if loss.is_infinite() => Some("became infinite".into()),
        Some(max) if loss > max => Some(format!("rose to {}, above {max},", human(loss, 5))),
        _ => None,
    }
}
