//! [`Weights`]: a copy of a model's weights in device memory, to be put back.

use crate::device::{Backend, Buffer};
use crate::ops::{Kernels, Module, OpError};
use crate::optim::{Ema, for_each_parameter};

/// Weights and their average at one moment.
pub(super) struct Weights<D: Backend> {
    buffers: Vec<Buffer<D>>,
    ema: Option<Ema<D>>,
}

impl<D: Kernels> Weights<D> {
    /// Copies the weights of `module` and their average.
    pub(super) fn copy(module: &mut dyn Module<D>, ema: Option<&Ema<D>>) -> Result<Self, OpError> {
        let mut buffers = Vec::new();
        for_each_parameter(module, |_, parameter| {
            buffers.push(parameter.data().clone());
            Ok(())
        })?;
        let ema = ema.cloned();
        Ok(Self { buffers, ema })
    }

    /// Puts them back; returns the average.
    pub(super) fn restore(self, module: &mut dyn Module<D>) -> Result<Option<Ema<D>>, OpError> {
        let mut buffers = self.buffers.into_iter();
        for_each_parameter(module, |_, parameter| {
            if let Some(buffer) = buffers.next() {
                *parameter.data_mut()? = buffer;
            }
            Ok(())
        })?;
        Ok(self.ema)
    }
}
