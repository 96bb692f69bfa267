//! [`Phase`]: the parts of a training step, and their times.

/// A part of a training step. Time outside of all phases is the residual, `other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Waiting for the next batch.
    DataWait,
    /// Copy of the batch to the device.
    Transfer,
    /// Forward pass.
    Forward,
    /// Computation of the loss.
    Loss,
    /// Backward pass.
    Backward,
    /// Clipping, optimizer, weight average.
    Optimizer,
}

impl Phase {
    /// Number of phases, without the residual.
    pub const COUNT: usize = 6;
}

/// Seconds of one step and of its phases.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepTimes {
    /// Seconds of the whole step.
    pub total_s: f64,
    /// Seconds by [`Phase`], in order; their sum is at most `total_s`.
    pub phases_s: [f64; Phase::COUNT],
}

impl StepTimes {
    /// Seconds of `phase`.
    pub fn phase_s(&self, phase: Phase) -> f64 {
        self.phases_s[phase as usize]
    }

    /// The residual: the step's time minus its phases.
    pub fn other_s(&self) -> f64 {
        self.total_s - self.phases_s.iter().sum::<f64>()
    }
}
