//! [`Statistics`]: running means and variances of batch norms.

use crate::device::Buffer;
use crate::ops::{BatchMoments, Kernels, Module, Parameter, Path, Result, StepState, Var};

/// Running statistics of all batch norms of a model, and the moments of batches whose optimizer step has not been taken
/// yet.
pub(super) struct Statistics<D: Kernels> {
    norms: Vec<Norm>,
    groups: Vec<Group<D>>,
    /// Moments of batches without an optimizer step yet, each with the index of its norm, in the order of micro-steps.
    waiting: Vec<(usize, BatchMoments<D>)>,
}

/// How running statistics are updated from the moments (mean, variance) of the batches since the last update.
#[derive(Debug)]
pub enum StatisticsUpdate<'a, D: Kernels> {
    /// The optimizer step was not taken: discard the moments.
    Forget,
    /// The optimizer step was taken: update with each norm's momentum. With a control, the device skips the update if
    /// it skipped the step.
    Step(Option<&'a D::Control>),
    /// Update with this weight, instead of the momentum, for every batch.
    Mean(f32),
}

struct Norm {
    layer: String,
    group: usize,
    /// Index of the norm's running mean in its group; the variance follows.
    at: usize,
}

/// Batch norms with equal momentum, which a single kernel launch updates.
struct Group<D: Kernels> {
    momentum: f32,
    /// The running mean, then the variance, of every norm.
    running: StepState<D, 1>,
}

/// Moments of one micro-step, in the order of a group's running statistics.
struct Moments<D: Kernels>(Vec<Parameter<D>>);

impl<D: Kernels> Module<D> for Moments<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        for moment in &mut self.0 {
            visit(path.as_str(), moment);
        }
    }
}

impl<D: Kernels> Default for Statistics<D> {
    fn default() -> Self {
        Self {
            norms: Vec::new(),
            groups: Vec::new(),
            waiting: Vec::new(),
        }
    }
}

impl<D: Kernels> Statistics<D> {
    /// Adds a norm, with an initial mean of 0 and variance of 1. Returns its index.
    pub(super) fn add(
        &mut self,
        device: &D,
        layer: &str,
        channels: usize,
        momentum: f64,
    ) -> Result<usize> {
        let momentum = momentum as f32;
        let is_own = |group: &Group<D>| group.momentum.to_bits() == momentum.to_bits();
        let group = self.groups.iter().position(is_own).unwrap_or_else(|| {
            self.groups.push(Group {
                momentum,
                running: StepState::default(),
            });
            self.groups.len() - 1
        });
        let buffers = &mut self.groups[group].running.buffers;
        self.norms.push(Norm {
            layer: layer.to_owned(),
            group,
            at: buffers.len(),
        });
        for value in [0.0, 1.0] {
            buffers.push([device.full_buffer(channels, value)?]);
        }
        Ok(self.norms.len() - 1)
    }

    /// Keeps the moments of a batch until the next update.
    pub(super) fn keep(&mut self, norm: usize, moments: BatchMoments<D>) {
        self.waiting.push((norm, moments));
    }

    /// Running mean and variance of a norm.
    pub(super) fn running(&self, norm: usize, device: &D) -> Result<[Var<D>; 2]> {
        let norm = &self.norms[norm];
        let buffers = &self.groups[norm.group].running.buffers;
        let var = |at: usize| {
            let [buffer] = &buffers[at];
            let shape = [device.buffer_len(buffer)].into();
            Var::from_buffer(device, buffer.clone(), shape, false)
        };
        Ok([var(norm.at)?, var(norm.at + 1)?])
    }

    /// `running += weight (batch - running)` for the moments of every batch since the last update.
    pub(super) fn update(&mut self, device: &D, update: &StatisticsUpdate<'_, D>) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting).into_iter();
        let (weight, control) = match update {
            StatisticsUpdate::Forget => return Ok(()),
            StatisticsUpdate::Step(control) => (None, *control),
            StatisticsUpdate::Mean(weight) => (Some(*weight), None),
        };
        loop {
            // The moments of one micro-step: one entry for each batch norm, all of the same batch.
            let mut step: Vec<_> = waiting.by_ref().take(self.norms.len()).collect();
            if step.is_empty() {
                return Ok(());
            }
            step.sort_by_key(|(norm, _)| *norm);
            for (index, group) in self.groups.iter_mut().enumerate() {
                let mut moments = Vec::new();
                for (norm, batch) in &step {
                    if self.norms[*norm].group == index {
                        for moment in [&batch.mean, &batch.variance] {
                            moments.push(Parameter::from_buffer(device, moment.clone())?);
                        }
                    }
                }
                let weight = weight.unwrap_or(group.momentum);
                device.lerp_all(&mut group.running, &mut Moments(moments), weight, control)?;
            }
        }
    }

    pub(super) fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Buffer<D>)) {
        for norm in &self.norms {
            let path = path.join(&norm.layer);
            let buffers = &mut self.groups[norm.group].running.buffers[norm.at..norm.at + 2];
            for (name, [buffer]) in ["running_mean", "running_var"].into_iter().zip(buffers) {
                visit(path.join(name).as_str(), buffer);
            }
        }
    }
}
