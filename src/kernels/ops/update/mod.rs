//! Updates of parameters and gradients by optimizers: not differentiable, in place, one pass over the memory.
//!
//! The order of arithmetic is that of PyTorch's single-tensor optimizers, so that results agree up to rounding.
//! Elementwise loops give the same bits however they are split; [`UpdateKernel::sum_of_squares`] adds fixed chunks in
//! order.
//!
//! A step over all parameters is one call ([`UpdateKernel::adam_steps`], …): on a GPU one launch, which finds the
//! tensors by a table of addresses. On a GPU a [`UpdateKernel::Control`] decides on the device whether the step is
//! executed and how gradients are scaled; the CPU has none, since there the host reads a loss or a norm without
//! waiting.

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
pub use state::{StepRules, StepState};

use std::fmt::Debug;

use super::{Grads, Module, OpError, Parameter, Result, Shape};
use crate::device::{Backend, Buffer};

impl<D: UpdateKernel> Grads<D> {
    /// `Σ g²` of the gradient of a parameter, in f64 and a fixed order. For gradients made with
    /// [`Grads::recording_squares`] the sum may already have been computed while the gradient was written.
    pub fn sum_of_squares(&mut self, parameter: &Parameter<D>) -> Result<f64> {
        if let Some(squares) = self.squares.of(parameter.token()) {
            return Ok(squares);
        }
        let device = self.device().clone();
        device.sum_of_squares(self.of_parameter(parameter)?)
    }
}

/// Hyperparameters of one step of Adam or, with `weight_decay`, `AdamW`, equal for all parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamStep {
    /// Learning rate.
    pub lr: f64,
    /// Decay factor of the running mean of gradients (PyTorch's `betas[0]`).
    pub beta1: f64,
    /// Decay factor of the running mean of squared gradients (PyTorch's `betas[1]`).
    pub beta2: f64,
    /// Small number ε added to the root of the mean of squared gradients, against division by 0.
    pub eps: f64,
    /// Decoupled weight decay (`AdamW`): `p -= lr · weight_decay · p` before the step.
    pub weight_decay: f64,
    /// Number of this step, from 1, for the bias corrections.
    pub number: u64,
    /// Whether only parameters of two or more dimensions get weight decay, whether decoupled or added to the gradient.
    pub only_matrices: bool,
}

impl AdamStep {
    /// A step with this number, counted from 1; all parameters get weight decay.
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

/// Hyperparameters of one step of SGD with momentum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SgdStep {
    /// Learning rate.
    pub lr: f64,
    /// Decay factor of the momentum; 0 for plain SGD.
    pub momentum: f64,
    /// Nesterov momentum: the step is `g + momentum · buffer` instead of the momentum buffer.
    pub nesterov: bool,
    /// Weight decay as an L2 term: `weight_decay · p` is added to the gradient.
    pub weight_decay: f64,
    /// Whether only parameters of two or more dimensions get weight decay.
    pub only_matrices: bool,
}

/// Hyperparameters of one step of `RMSprop`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RmspropStep {
    /// Learning rate.
    pub lr: f64,
    /// Decay factor of the running means of squared gradients and of gradients.
    pub alpha: f64,
    /// Small number ε added to the root, against division by 0.
    pub eps: f64,
    /// Decay factor of the momentum, which sums normalised gradients.
    pub momentum: f64,
    /// Weight decay as an L2 term: `weight_decay · p` is added to the gradient.
    pub weight_decay: f64,
    /// Whether only parameters of two or more dimensions have weight decay.
    pub only_matrices: bool,
}

/// Hyperparameters of one step of Lion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LionStep {
    /// Learning rate: every value moves by this distance, up or down.
    pub lr: f64,
    /// Weight of the running mean, against the gradient's `1 - beta1`, in the direction of the step (PyTorch's
    /// `betas[0]`).
    pub beta1: f64,
    /// Decay factor of the running mean of gradients (PyTorch's `betas[1]`).
    pub beta2: f64,
    /// Decoupled weight decay: `p -= lr · weight_decay · p` before the step.
    pub weight_decay: f64,
    /// Whether only parameters of two or more dimensions have weight decay.
    pub only_matrices: bool,
}

/// Updates in place on one device. Parameter, gradient and state buffers that belong together must have equal lengths.
///
/// The methods over all parameters borrow module, gradients and state for the whole call, so that a device may collect
/// their addresses and change them in one launch.
pub trait UpdateKernel: Backend {
    /// Decides about steps on the device. Devices for which [`Backend::IS_ASYNCHRONOUS`] is false never create one.
    type Control: StepControl<Self>;

    /// `Σ x²` in f64.
    fn sum_of_squares(&self, x: &Buffer<Self>) -> Result<f64>;

    /// `x *= factor`.
    fn scale(&self, x: &mut Buffer<Self>, factor: f32) -> Result<()>;

    /// `x += factor · y`.
    fn add_scaled(&self, x: &mut Buffer<Self>, y: &Buffer<Self>, factor: f32) -> Result<()>;

    /// One step of Adam for all parameters. The state has mean m and mean square v of the gradients, zeros before the
    /// first step.
    ///
    /// `p -= lr wd p; m += (1-β₁)(g-m); v = β₂v + (1-β₂)g²; p -= (lr/c₁) m / (√v/√c₂ + ε)`, with the bias corrections
    /// c. `step` is the step and `decay`, the weight decay as an L2 term: `decay p` is added to g first.
    ///
    /// `factors` has one factor of the gradient per parameter, in the order of
    /// [`for_each_trained`](super::for_each_trained); empty if all are 1.
    fn adam_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 2>,
        step: (AdamStep, f32),
        factors: &[f32],
        control: Option<&Self::Control>,
    ) -> Result<()>;

    /// One step of SGD for all parameters. The state has the momentum b, zeros before the first step; no buffers for
    /// plain SGD. `factors` as in [`UpdateKernel::adam_steps`].
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

    /// One step of `RMSprop` for all parameters. The state has mean square v, mean m and momentum b, zeros before the
    /// first step. The buffer of the mean is empty unless the step is centred, that of the momentum if there is none
    /// ([`StepState::init_zeros_of`]). `factors` as in [`UpdateKernel::adam_steps`].
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

    /// One step of Lion for all parameters. The state has the running mean m of the gradients, zeros before the first
    /// step. `factors` as in [`UpdateKernel::adam_steps`].
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

    /// Moves all averages x towards their parameters y: `x += weight · (y - x)`, as PyTorch's `lerp_`. These are
    /// exponential moving averages with decay `1 - weight`.
    fn lerp_all(
        &self,
        averages: &mut StepState<Self, 1>,
        module: &mut dyn Module<Self>,
        weight: f32,
        control: Option<&Self::Control>,
    ) -> Result<()>;

    /// A control that follows `rules`; `None` on devices where the host decides about steps.
    fn control(&self, _rules: StepRules) -> Result<Option<Self::Control>> {
        Ok(None)
    }
}

/// Decides on the device whether steps are executed; the host does not wait for it unless a method says so.
pub trait StepControl<D: Backend>: Debug {
    /// The gradient at which backward starts for a loss that is `share` of a step's loss: `share`, times the loss scale
    /// if losses are scaled.
    fn loss_grad(&self, device: &D, share: f32) -> Result<Buffer<D>>;

    /// Adds `share` times `loss` to the loss of the current step.
    fn add_loss(&mut self, loss: &Buffer<D>, share: f64) -> Result<()>;

    /// Decides about the step with these gradients and the losses added since the last decision. If the step is
    /// skipped, the methods over all parameters change nothing; otherwise they clip gradients and undo the loss scale.
    fn decide(
        &mut self,
        device: &D,
        module: &mut dyn Module<D>,
        grads: &mut Grads<D>,
    ) -> Result<()>;

    /// Number of steps skipped because scaled gradients were not finite, `None` if losses are not scaled; waits for the
    /// device.
    fn skipped_steps(&self) -> Result<Option<u64>>;

    /// The control's loss scale and counters, for [`StepControl::set_state`]; waits for the device.
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

/// Error: a parameter has no optimizer state, because the state was not initialised or belongs to another module.
fn stateless() -> OpError {
    OpError::shape("step", "a parameter without state")
}

/// The factors of one step of Adam, rounded to `f32` where PyTorch rounds them.
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

/// The factors of one step of `RMSprop`, rounded to `f32` where PyTorch rounds them.
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

/// The factors of one step of Lion, rounded to `f32`.
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
