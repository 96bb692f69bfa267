//! Updates of parameters and gradients by optimizers: not differentiable, in place, one pass over the memory.
//!
//! Arithmetic is in the order of PyTorch's single-tensor optimizers, so that results agree to rounding. Elementwise
//! loops do not depend on how they are split; [`UpdateKernel::sum_of_squares`] adds fixed chunks in order.
//!
//! A step over all parameters is one call ([`UpdateKernel::adam_steps`], …): on a GPU one launch with a table of tensor
//! addresses. There a [`UpdateKernel::Control`] decides on the device whether the step is executed and how gradients are
//! scaled; the CPU has none, since reading a loss or a norm costs nothing there.

#[cfg(feature = "cuda")]
mod control;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod norm;
mod one_pass;
mod state;
#[cfg(feature = "cuda")]
mod table;

pub(super) use norm::squares;
pub use state::{Rules, StepState};

use std::fmt::Debug;

use super::{Grads, Module, OpError, Parameter, Result, Shape};
use crate::device::{Backend, Buffer};

impl<D: UpdateKernel> Grads<D> {
    /// `Σ g²` of the gradient of a parameter, in f64 and a fixed order; with [`Grads::for_norms`] computed, if possible,
    /// while the gradient was written.
    pub fn sum_of_squares(&mut self, parameter: &Parameter<D>) -> Result<f64> {
        if let Some(squares) = self.squares.of(parameter.token()) {
            return Ok(squares);
        }
        let device = self.device().clone();
        device.sum_of_squares(self.of_parameter(parameter)?)
    }
}

/// One step of Adam or, with `weight_decay`, of `AdamW`, for all parameters alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamStep {
    /// Learning rate.
    pub lr: f64,
    /// Decay factor of the running mean of gradients (PyTorch's `betas[0]`).
    pub beta1: f64,
    /// Decay factor of the running mean of squared gradients (PyTorch's `betas[1]`).
    pub beta2: f64,
    /// Added to the root of the second mean.
    pub eps: f64,
    /// Decoupled: `p -= lr · weight_decay · p` before the step.
    pub weight_decay: f64,
    /// n = 1, 2, ….
    pub number: u64,
    /// Whether only parameters of two or more dimensions get weight decay, added to the gradient or applied to the
    /// weight.
    pub only_matrices: bool,
}

impl AdamStep {
    /// Step `number`, counted from 1; weight decay of all parameters.
    pub fn new(
        lr: f64,
        (beta1, beta2): (f64, f64),
        eps: f64,
        weight_decay: f64,
        number: u64,
    ) -> Self {
        Self {
            lr,
            beta1,
            beta2,
            eps,
            weight_decay,
            number,
            only_matrices: false,
        }
    }
}

/// One step of SGD with momentum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SgdStep {
    /// Learning rate.
    pub lr: f64,
    /// Decay factor of the momentum; 0 for plain SGD.
    pub momentum: f64,
    /// Nesterov momentum: `g + momentum · buffer` instead of the buffer.
    pub nesterov: bool,
    /// Factor of the parameter's value in the gradient: `g + weight_decay · p`.
    pub weight_decay: f64,
    /// Whether only parameters of two or more dimensions get weight decay.
    pub only_matrices: bool,
}

/// One step of `RMSprop`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RmspropStep {
    /// Learning rate.
    pub lr: f64,
    /// Decay factor of the running means of squared gradients and of gradients.
    pub alpha: f64,
    /// Small number added to the root, so that the divisor is not 0.
    pub eps: f64,
    /// Decay factor of the momentum of normalised gradients.
    pub momentum: f64,
    /// Factor of the parameter's value in the gradient: `g + weight_decay · p`.
    pub weight_decay: f64,
    /// Whether only parameters of two or more dimensions have weight decay.
    pub only_matrices: bool,
}

/// One step of Lion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LionStep {
    /// Learning rate: the distance that every value moves by.
    pub lr: f64,
    /// Weight of the mean in the direction of the step.
    pub beta1: f64,
    /// Decay factor of the running mean of gradients (PyTorch's `betas[1]`).
    pub beta2: f64,
    /// Decoupled: `p -= lr · weight_decay · p` before the step.
    pub weight_decay: f64,
    /// Whether only parameters of two or more dimensions have weight decay.
    pub only_matrices: bool,
}

/// Updates in place on one device. All buffers of one call have the same length.
///
/// The methods over all parameters borrow module, gradients and state for the whole call, so that a device may collect
/// their addresses and change them in one launch.
pub trait UpdateKernel: Backend {
    /// Decides about steps on the device; never created if [`Backend::IS_ASYNCHRONOUS`] is false.
    type Control: StepControl<Self>;

    /// `Σ x²` in f64.
    fn sum_of_squares(&self, x: &Buffer<Self>) -> Result<f64>;

    /// `x *= factor`.
    fn scale(&self, x: &mut Buffer<Self>, factor: f32) -> Result<()>;

    /// `x += factor · y`.
    fn add_scaled(&self, x: &mut Buffer<Self>, y: &Buffer<Self>, factor: f32) -> Result<()>;

    /// One step of Adam for all parameters; the state has mean and square, zeros before the first step.
    ///
    /// `p -= lr wd p; m += (1-β₁)(g-m); v = β₂v + (1-β₂)g²; p -= (lr/c₁) m / (√v/√c₂ + ε)`, where `decay p`, weight decay as
    /// an L2 term, is added to g.
    ///
    /// `factors` has one gradient factor per parameter in the walk; empty for 1.
    fn adam_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 2>,
        step: (AdamStep, f32),
        factors: &[f32],
        control: Option<&Self::Control>,
    ) -> Result<()>;

    /// One step of SGD for all parameters; the state has the momentum, zeros before the first step, and no buffers for plain
    /// SGD. `factors` as in [`UpdateKernel::adam_steps`].
    ///
    /// `g += wd p; b = μb + g; p -= lr b`, with Nesterov `p -= lr (g + μb)`.
    fn sgd_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 1>,
        step: SgdStep,
        factors: &[f32],
        control: Option<&Self::Control>,
    ) -> Result<()>;

    /// One step of `RMSprop` for all parameters; the state has mean square, mean and momentum, zeros before the first step. The
    /// mean has no values unless the step is centred, nor has the momentum in a step without it ([`StepState::begin_with`]).
    /// `factors` as in [`UpdateKernel::adam_steps`].
    ///
    /// `g += wd p; v = αv + (1-α)g²; m += (1-α)(g-m); b = μb + g / (√(v - m²) + ε); p -= lr b`, with m = 0 unless centred.
    fn rmsprop_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 3>,
        step: RmspropStep,
        factors: &[f32],
        control: Option<&Self::Control>,
    ) -> Result<()>;

    /// One step of Lion for all parameters; the state has the mean, zeros before the first step. `factors` as in
    /// [`UpdateKernel::adam_steps`].
    ///
    /// `p -= lr wd p; p -= lr sign(β₁m + (1-β₁)g); m = β₂m + (1-β₂)g`; the sign of 0 is 0, that of NaN is NaN.
    fn lion_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 1>,
        step: LionStep,
        factors: &[f32],
        control: Option<&Self::Control>,
    ) -> Result<()>;

    /// `x += weight · (y - x)` of all averages x towards their parameters y: exponential averages with decay `1 - weight`,
    /// PyTorch `lerp_`.
    fn lerp_all(
        &self,
        averages: &mut StepState<Self, 1>,
        module: &mut dyn Module<Self>,
        weight: f32,
        control: Option<&Self::Control>,
    ) -> Result<()>;

    /// A control with these rules; `None` if the host decides about steps.
    fn control(&self, _rules: Rules) -> Result<Option<Self::Control>> {
        Ok(None)
    }
}

/// Decides about steps on the device, without waiting for it.
pub trait StepControl<D: Backend>: Debug {
    /// The gradient of a loss that is `share` of a step's: `share`, times the loss scale where losses are scaled.
    fn loss_grad(&self, device: &D, share: f32) -> Result<Buffer<D>>;

    /// Adds `share` times a loss to the loss of the step.
    fn add_loss(&mut self, loss: &Buffer<D>, share: f64) -> Result<()>;

    /// Decides about the step with these gradients, from the losses added since the last one. If the step is skipped, the
    /// methods over all parameters change nothing; otherwise they apply gradient clipping and undo the loss scale.
    fn decide(
        &mut self,
        device: &D,
        module: &mut dyn Module<D>,
        grads: &mut Grads<D>,
    ) -> Result<()>;

    /// Number of steps skipped because scaled gradients were not finite, `None` if losses are not scaled; waits for the
    /// device.
    fn skipped_steps(&self) -> Result<Option<u64>>;

    /// The control's counts so far, for [`StepControl::set_state`]; waits for the device.
    fn state(&self) -> Result<Vec<f64>>;

    /// Restores what [`StepControl::state`] of a control with the same rules returned.
    fn set_state(&mut self, state: &[f64]) -> Result<()>;
}

fn factor(factors: &[f32], index: usize) -> f32 {
    factors.get(index).copied().unwrap_or(1.0)
}

/// Whether a parameter of this shape has weight decay.
fn decays(only_matrices: bool, shape: Shape) -> bool {
    !only_matrices || shape.rank() >= 2
}

/// Error: the state was not initialised, or belongs to another module.
fn stateless() -> OpError {
    OpError::shape("step", "a parameter without state")
}

/// The factors of one Adam step, rounded where PyTorch rounds them.
#[derive(Clone, Copy)]
struct Factors {
    keep: f32,
    towards: f32,
    beta2: f32,
    one_minus_beta2: f32,
    correction2: f32,
    eps: f32,
    size: f32,
}

impl Factors {
    fn new(step: AdamStep) -> Self {
        let bias_correction = |beta: f64| 1.0 - beta.powf(step.number as f64);
        Self {
            keep: (1.0 - step.lr * step.weight_decay) as f32,
            towards: (1.0 - step.beta1) as f32,
            beta2: step.beta2 as f32,
            one_minus_beta2: (1.0 - step.beta2) as f32,
            correction2: bias_correction(step.beta2).sqrt() as f32,
            eps: step.eps as f32,
            size: (-step.lr / bias_correction(step.beta1)) as f32,
        }
    }
}

/// The factors of one step of `RMSprop`, rounded where PyTorch rounds them.
#[derive(Clone, Copy)]
struct RmspropFactors {
    size: f32,
    alpha: f32,
    one_minus_alpha: f32,
    eps: f32,
    momentum: f32,
    decay: f32,
}

impl RmspropFactors {
    fn new(step: RmspropStep) -> Self {
        Self {
            size: -step.lr as f32,
            alpha: step.alpha as f32,
            one_minus_alpha: (1.0 - step.alpha) as f32,
            eps: step.eps as f32,
            momentum: step.momentum as f32,
            decay: step.weight_decay as f32,
        }
    }
}

/// The factors of one step of Lion.
#[derive(Clone, Copy)]
struct LionFactors {
    keep: f32,
    lr: f32,
    beta1: f32,
    one_minus_beta1: f32,
    beta2: f32,
    one_minus_beta2: f32,
}

impl LionFactors {
    fn new(step: LionStep) -> Self {
        Self {
            keep: (1.0 - step.lr * step.weight_decay) as f32,
            lr: step.lr as f32,
            beta1: step.beta1 as f32,
            one_minus_beta1: (1.0 - step.beta1) as f32,
            beta2: step.beta2 as f32,
            one_minus_beta2: (1.0 - step.beta2) as f32,
        }
    }
}

fn same_length(op: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        Ok(())
    } else {
        Err(OpError::shape(op, format!("{found} values for {expected}")))
    }
}

#[cfg(test)]
mod tests;
