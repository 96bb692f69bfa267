//! Optimizers, learning-rate schedules, gradient clipping, moving averages of weights: one file each, with their
//! `Spec`s.
//!
//! Owns [`OptimizerSpec`], which builds an [`Optimizer`], and [`ScheduleSpec`], from which [`Rate`] computes the
//! learning rate. The kernels are in [`crate::ops`], the training loop is in [`crate::train`].

mod adam;
mod check;
mod clip;
mod control;
mod decay;
mod ema;
mod lion;
mod rmsprop;
mod schedule;
mod sgd;
#[cfg(test)]
mod testing;

pub use adam::AdamSpec;
pub use check::RangeError;
pub use clip::{ClipBy, clip, clip_factors};
pub use control::{StepLimits, step_control};
pub use decay::Decay;
pub use ema::{Ema, EmaSpec};
pub use lion::LionSpec;
pub use rmsprop::RmspropSpec;
pub use schedule::{
    Anneal, ConstantSpec, CosineSpec, LinearSpec, OneCycleSpec, PlateauSpec, Rate, ScheduleSpec,
    StepSpec, ThresholdMode, WarmUpSpec,
};
pub use sgd::SgdSpec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::Buffer;
use crate::ops::{Grads, Kernels, Module, Result, StepState};

/// An optimizer as a manifest describes it (`train.optimizer`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OptimizerSpec {
    /// Adam, as PyTorch's; weight decay is an L2 term of the gradient.
    Adam(AdamSpec),
    /// Adam with decoupled weight decay, as PyTorch's `AdamW`.
    #[serde(rename = "adamw")]
    AdamW(AdamSpec),
    /// Stochastic gradient descent with momentum, as PyTorch's `SGD`.
    Sgd(SgdSpec),
    /// Gradients divided by the root of the mean of their squares, as PyTorch's `RMSprop`; weight decay is an L2 term of the
    /// gradient.
    Rmsprop(RmspropSpec),
    /// Steps along the sign of a mean of gradients, as Chen et al. (2023); weight decay is decoupled.
    Lion(LionSpec),
}

impl Default for OptimizerSpec {
    fn default() -> Self {
        Self::Adam(AdamSpec::default())
    }
}

impl OptimizerSpec {
    /// The learning rate before the schedule is applied.
    pub fn lr(&self) -> f64 {
        match self {
            Self::Adam(spec) | Self::AdamW(spec) => spec.lr,
            Self::Sgd(spec) => spec.lr,
            Self::Rmsprop(spec) => spec.lr,
            Self::Lion(spec) => spec.lr,
        }
    }

    /// Errors for settings that are not valid together; empty if there are none.
    pub fn check(&self) -> Vec<RangeError> {
        match self {
            Self::Sgd(spec) => spec.check(),
            _ => Vec::new(),
        }
    }

    /// A new optimizer without state.
    pub fn build<D: Kernels>(&self) -> Optimizer<D> {
        match self {
            Self::Adam(spec) => Optimizer::adam(spec, false),
            Self::AdamW(spec) => Optimizer::adam(spec, true),
            Self::Sgd(spec) => Optimizer::Sgd(spec.clone(), StepState::default()),
            Self::Rmsprop(spec) => Optimizer::Rmsprop(spec.clone(), StepState::default()),
            Self::Lion(spec) => Optimizer::Lion(spec.clone(), StepState::default()),
        }
    }
}

/// Updates parameters from their gradients, and keeps the optimizer state between steps.
///
/// The state belongs to parameters by their order in [`Module::visit`], which never changes for a model.
#[derive(Debug)]
pub enum Optimizer<D: Kernels> {
    /// Adam or `AdamW`.
    Adam {
        /// Settings of Adam or `AdamW`.
        spec: AdamSpec,
        /// Whether weight decay is decoupled (`AdamW`).
        is_decoupled: bool,
        /// Number of steps so far.
        steps: u64,
        /// Moving averages of the gradients and of their squares.
        state: StepState<D, 2>,
    },
    /// SGD with its momentum buffers.
    Sgd(SgdSpec, StepState<D, 1>),
    /// `RMSprop` with three buffers: mean of squared gradients; mean of gradients (if `centered`); momentum (if not 0).
    Rmsprop(RmspropSpec, StepState<D, 3>),
    /// Lion with the moving average of the gradients.
    Lion(LionSpec, StepState<D, 1>),
}

impl<D: Kernels> Optimizer<D> {
    fn adam(spec: &AdamSpec, is_decoupled: bool) -> Self {
        Self::Adam {
            spec: spec.clone(),
            is_decoupled,
            steps: 0,
            state: StepState::default(),
        }
    }

    /// One step for all trained parameters of `module` with learning rate `lr`. `control` ([`step_control()`]) may
    /// skip the step or scale its gradients.
    ///
    /// # Errors
    /// [`crate::ops::OpError::Shared`] while a recorded pass still holds a parameter.
    pub fn step(
        &mut self,
        module: &mut dyn Module<D>,
        grads: &mut Grads<D>,
        lr: f64,
        control: Option<&D::Control>,
    ) -> Result<()> {
        self.clipped_step(module, grads, lr, &[], control)
    }

    /// Like [`Optimizer::step`]; multiplies the gradient of each parameter by its entry of `clip_factors`
    /// ([`clip_factors()`]), or by 1 if there are no entries. A control uses its own factors instead.
    ///
    /// # Errors
    /// As [`Optimizer::step`].
    pub fn clipped_step(
        &mut self,
        module: &mut dyn Module<D>,
        grads: &mut Grads<D>,
        lr: f64,
        clip_factors: &[f32],
        control: Option<&D::Control>,
    ) -> Result<()> {
        let device = grads.device().clone();
        self.begin(&device, module)?;
        match self {
            Self::Adam {
                spec,
                is_decoupled,
                steps,
                state,
            } => {
                *steps += 1;
                let step = spec.step(lr, *is_decoupled, *steps);
                device.adam_steps(module, grads, state, step, clip_factors, control)
            }
            Self::Sgd(spec, state) => {
                device.sgd_steps(module, grads, state, spec.step(lr), clip_factors, control)
            }
            Self::Rmsprop(spec, state) => {
                device.rmsprop_steps(module, grads, state, spec.step(lr), clip_factors, control)
            }
            Self::Lion(spec, state) => {
                device.lion_steps(module, grads, state, spec.step(lr), clip_factors, control)
            }
        }
    }

    fn begin(&mut self, device: &D, module: &mut dyn Module<D>) -> Result<()> {
        match self {
            Self::Adam { state, .. } => state.init_zeros(device, module),
            Self::Sgd(spec, _) if !spec.has_momentum() => Ok(()),
            Self::Sgd(_, state) | Self::Lion(_, state) => state.init_zeros(device, module),
            Self::Rmsprop(spec, state) => state.init_zeros_of(device, module, spec.used()),
        }
    }

    /// Resumes after `steps` steps: creates the state, which the caller then fills through [`Optimizer::visit_state`].
    ///
    /// # Errors
    /// Any error of the device.
    pub fn resume_at_step(
        &mut self,
        steps: u64,
        device: &D,
        module: &mut dyn Module<D>,
    ) -> Result<()> {
        if let Self::Adam { steps: own, .. } = self {
            *own = steps;
        }
        self.begin(device, module)
    }

    /// Calls `visit` with every buffer of the state, always in the same order. Before the first step there are no
    /// buffers.
    pub fn visit_state(&mut self, visit: &mut dyn FnMut(&mut Buffer<D>)) {
        match self {
            Self::Adam { state, .. } => state.visit(visit),
            Self::Sgd(_, state) | Self::Lion(_, state) => state.visit(visit),
            Self::Rmsprop(_, state) => state.visit(visit),
        }
    }

    /// The optimizer's name in a manifest (`kind`).
    pub fn name(&self) -> &'static str {
        match self {
            Self::Adam {
                is_decoupled: true, ..
            } => "adamw",
            Self::Adam { .. } => "adam",
            Self::Sgd(..) => "sgd",
            Self::Rmsprop(..) => "rmsprop",
            Self::Lion(..) => "lion",
        }
    }

    /// Bytes of the state for `parameters` trained values.
    pub fn state_bytes(&self, parameters: u64) -> u64 {
        let buffers = match self {
            Self::Adam { .. } => 2,
            Self::Sgd(spec, _) => u64::from(spec.has_momentum()),
            Self::Rmsprop(spec, _) => spec.used().into_iter().map(u64::from).sum(),
            Self::Lion(..) => 1,
        };
        buffers * parameters * size_of::<f32>() as u64
    }
}
