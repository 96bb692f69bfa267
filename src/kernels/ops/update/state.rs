//! [`StepState`]: the buffers of an optimizer; [`StepRules`]: when a step is skipped and how gradients are scaled.

use super::UpdateKernel;
use crate::device::Buffer;
use crate::ops::{Module, Result, for_each_trained};

/// State of an optimizer or an average: `N` buffers per parameter, in the model's order.
#[derive(Debug, Clone)]
pub struct StepState<D: UpdateKernel, const N: usize> {
    /// The buffers of each parameter; empty before [`StepState::init_zeros`], or if there is no state.
    pub buffers: Vec<[Buffer<D>; N]>,
}

impl<D: UpdateKernel, const N: usize> Default for StepState<D, N> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl<D: UpdateKernel, const N: usize> StepState<D, N> {
    /// A state with these buffers, one entry per parameter.
    pub fn new(buffers: Vec<[Buffer<D>; N]>) -> Self {
        Self { buffers }
    }

    /// Calls `visit` with every buffer, parameter by parameter.
    pub fn visit(&mut self, visit: &mut dyn FnMut(&mut Buffer<D>)) {
        self.buffers.iter_mut().flatten().for_each(visit);
    }

    /// Creates buffers of zeros for every parameter, if there are none yet.
    ///
    /// # Errors
    /// Any error of the device.
    pub fn init_zeros(&mut self, device: &D, module: &mut dyn Module<D>) -> Result<()> {
        self.init_zeros_of(device, module, [true; N])
    }

    /// As [`StepState::init_zeros`], but only buffers with `used[i]` are allocated; the others have no values.
    ///
    /// # Errors
    /// Any error of the device.
    pub fn init_zeros_of(
        &mut self,
        device: &D,
        module: &mut dyn Module<D>,
        used: [bool; N],
    ) -> Result<()> {
        if !self.buffers.is_empty() {
            return Ok(());
        }
        for_each_trained(module, |_, parameter| {
            let mut zeros = Vec::with_capacity(N);
            for used in used {
                let len = if used { parameter.len() } else { 0 };
                zeros.push(device.zeros_buffer(len)?);
            }
            self.buffers.extend(<[Buffer<D>; N]>::try_from(zeros).ok());
            Ok(())
        })
    }
}

/// Rules by which a device skips steps and scales gradients.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRules {
    /// Largest loss. A loss that is larger or not finite is a divergence: from then on no step changes the weights.
    /// `None` for no limit.
    pub max_loss: Option<f64>,
    /// Largest gradient norm of a part of the model (clipping threshold); `None` for no clipping.
    pub max_norm: Option<f64>,
    /// For each parameter, in the model's order, the index of its part of the model; parts are consecutive. Empty if
    /// there is only one part.
    pub parts: Vec<usize>,
    /// Whether losses are scaled, and steps with gradients that are not finite skipped (PyTorch's `GradScaler`).
    pub scales_loss: bool,
}
