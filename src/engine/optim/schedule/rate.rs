//! [`Rate`]: the learning rate of a run, step by step.

use super::ScheduleSpec;
use super::plateau::Plateau;

/// The learning rate of a run: a schedule with its current state.
#[derive(Debug, Clone)]
pub struct Rate {
    schedule: ScheduleSpec,
    /// The optimizer's learning rate, to which the schedule applies.
    full: f64,
    epochs: usize,
    steps_per_epoch: usize,
    plateau: Option<Plateau>,
}

impl Rate {
    /// The learning rate over `epochs` epochs of `steps_per_epoch` optimizer steps each; `full` is the optimizer's
    /// learning rate.
    pub fn new(schedule: &ScheduleSpec, full: f64, epochs: usize, steps_per_epoch: usize) -> Self {
        let plateau = match schedule {
            ScheduleSpec::Plateau(spec) => Some(Plateau::new(spec, full)),
            _ => None,
        };
        Self {
            schedule: schedule.clone(),
            full,
            epochs,
            steps_per_epoch,
            plateau,
        }
    }

    /// The learning rate of optimizer step `step` in epoch `epoch`, both from 0.
    pub fn at(&self, epoch: usize, step: usize) -> f64 {
        if let ScheduleSpec::OneCycle(spec) = &self.schedule {
            let step = epoch * self.steps_per_epoch + step;
            return spec.lr(self.full, step, self.epochs * self.steps_per_epoch);
        }
        match &self.plateau {
            Some(plateau) if epoch >= self.schedule.warm_up_epochs() => plateau.lr(),
            _ => self.schedule.of_epoch(self.full, epoch, self.epochs),
        }
    }

    /// Takes the loss of an epoch, by which a plateau schedule decides: validation loss, or training loss without
    /// validation.
    pub fn end_epoch(&mut self, epoch: usize, loss: Option<f64>) {
        if let Some(plateau) = &mut self.plateau {
            plateau.record_loss(epoch, loss);
        }
    }
}
