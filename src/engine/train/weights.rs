//! [`Weights`]: a copy of a model's trained weights in device memory, to be restored later.

use crate::device::Buffer;
use crate::ops::{Kernels, Module, Path, Result, for_each_trained};
use crate::optim::Ema;

/// The trained weights, the running statistics and the moving average at one moment; frozen weights are not copied.
pub(super) struct Weights<D: Kernels> {
    buffers: Vec<Buffer<D>>,
    ema: Option<Ema<D>>,
}

impl<D: Kernels> Weights<D> {
    /// Copies the trained weights and buffers of `module`, and the moving average of the weights if there is one.
    pub(super) fn copy(module: &mut dyn Module<D>, ema: Option<&Ema<D>>) -> Result<Self> {
        let mut buffers = Vec::new();
        for_each_trained(module, |_, parameter| {
            buffers.push(parameter.data().clone());
            Ok(())
        })?;
        module.visit_buffers(&Path::root(), &mut |_, buffer| buffers.push(buffer.clone()));
        let ema = ema.cloned();
        Ok(Self { buffers, ema })
    }

    /// The mean of several copies; the result has no moving average. `None` for no copies.
    pub(super) fn mean(device: &D, all: Vec<Self>) -> Result<Option<Self>> {
        let share = 1.0 / all.len().max(1) as f32;
        let mut all = all.into_iter();
        let Some(mut mean) = all.next() else {
            return Ok(None);
        };
        mean.ema = None;
        for buffer in &mut mean.buffers {
            device.scale(buffer, share)?;
        }
        for other in all {
            for (mean, own) in mean.buffers.iter_mut().zip(&other.buffers) {
                device.add_scaled(mean, own, share)?;
            }
        }
        Ok(Some(mean))
    }

    /// Calls `visit` with every buffer; those of the moving average come last.
    pub(super) fn visit(&mut self, visit: &mut dyn FnMut(&mut Buffer<D>)) {
        self.buffers.iter_mut().for_each(&mut *visit);
        if let Some(ema) = &mut self.ema {
            ema.visit_state(visit);
        }
    }

    /// Puts the weights back into `module`; returns the copy of their moving average.
    pub(super) fn restore(self, module: &mut dyn Module<D>) -> Result<Option<Ema<D>>> {
        let mut buffers = self.buffers.into_iter();
        for_each_trained(module, |_, parameter| {
            if let Some(buffer) = buffers.next() {
                *parameter.data_mut()? = buffer;
            }
            Ok(())
        })?;
        module.visit_buffers(&Path::root(), &mut |_, buffer| {
            if let Some(kept) = buffers.next() {
                *buffer = kept;
            }
        });
        Ok(self.ema)
    }
}
