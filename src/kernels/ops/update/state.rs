//! [`StepState`] and [`Rules`]: what a step over all parameters needs beside parameters and gradients.

use super::UpdateKernel;
use crate::device::Buffer;
use crate::ops::{Module, OpError, for_each_parameter};

/// What an optimizer or an average keeps beside the parameters: `N` buffers for each, in the order of the walk.
#[derive(Debug, Clone)]
pub struct StepState<D: UpdateKernel, const N: usize> {
    /// The buffers by parameter; empty where there is no state.
    pub buffers: Vec<[Buffer<D>; N]>,
    /// Where the last step found parameters, gradients and buffers.
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "the CPU finds them by walking")
    )]
    pub(super) tables: D::Tables,
}

impl<D: UpdateKernel, const N: usize> Default for StepState<D, N> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl<D: UpdateKernel, const N: usize> StepState<D, N> {
    /// A state of these buffers.
    pub fn new(buffers: Vec<[Buffer<D>; N]>) -> Self {
        Self {
            buffers,
            tables: D::Tables::default(),
        }
    }

    /// Zeros for every parameter, where there are no buffers yet.
    ///
    /// # Errors
    /// Whatever the device answers.
    pub fn begin(&mut self, device: &D, module: &mut dyn Module<D>) -> Result<(), OpError> {
        if !self.buffers.is_empty() {
            return Ok(());
        }
        for_each_parameter(module, |_, parameter| {
            let mut zeros = Vec::with_capacity(N);
            for _ in 0..N {
                zeros.push(device.zeros_buffer(parameter.len())?);
            }
            self.buffers.extend(<[Buffer<D>; N]>::try_from(zeros).ok());
            Ok(())
        })
    }
}

/// What decides whether a step changes the weights, and how far gradients count.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// A loss above it is a divergence, as is one that is no finite number: from then on nothing changes any more.
    pub max_loss: Option<f64>,
    /// Largest norm of the gradients of a part.
    pub max_norm: Option<f64>,
    /// The part of every parameter in the walk, from 0 on; a part's parameters follow each other. Empty for one part.
    pub parts: Vec<usize>,
    /// Whether losses are scaled, and steps with infinite gradients left out (PyTorch's `GradScaler`).
    pub scales_loss: bool,
}
