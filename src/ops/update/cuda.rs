//! Updates on CUDA: one pass over all operands.

use dfdx::tensor::Cuda;

use super::{AdamStep, Factors, SgdStep, UpdateKernel, same_length};
use crate::device::cuda::{Launch, downloaded, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::OpError;

/// Values that a block takes of a sum.
const CHUNK: usize = 1 << 12;

impl UpdateKernel for Cuda {
    fn sum_of_squares(&self, x: &Buffer<Self>) -> Result<f64, OpError> {
        let n = self.buffer_len(x);
        let blocks = n.div_ceil(CHUNK).max(1);
        let (mut sums, mut total) = (scratch::<f64>(blocks)?, scratch::<f64>(1)?);
        Launch::new("update_squares")
            .blocks(blocks)
            .read(x)
            .size(n)
            .size(CHUNK)
            .write(&mut sums)
            .run()?;
        Launch::new("update_total")
            .read(&sums)
            .size(blocks)
            .write(&mut total)
            .run()?;
        Ok(downloaded(&total)?.first().copied().unwrap_or_default())
    }

    fn scale(&self, x: &mut Buffer<Self>, factor: f32) -> Result<(), OpError> {
        let n = self.buffer_len(x);
        Launch::new("update_scale")
            .over(n)
            .write(x)
            .float(factor)
            .size(n)
            .run()?;
        Ok(())
    }

    fn add_scaled(
        &self,
        x: &mut Buffer<Self>,
        y: &Buffer<Self>,
        factor: f32,
    ) -> Result<(), OpError> {
        let n = self.buffer_len(x);
        same_length("add_scaled", n, self.buffer_len(y))?;
        Launch::new("update_add_scaled")
            .over(n)
            .write(x)
            .read(y)
            .float(factor)
            .size(n)
            .run()?;
        Ok(())
    }

    fn lerp(&self, x: &mut Buffer<Self>, y: &Buffer<Self>, weight: f32) -> Result<(), OpError> {
        let n = self.buffer_len(x);
        same_length("lerp", n, self.buffer_len(y))?;
        Launch::new("update_lerp")
            .over(n)
            .write(x)
            .read(y)
            .float(weight)
            .size(n)
            .run()?;
        Ok(())
    }

    fn adam_step(
        &self,
        parameter: &mut Buffer<Self>,
        gradient: &Buffer<Self>,
        mean: &mut Buffer<Self>,
        square: &mut Buffer<Self>,
        step: AdamStep,
    ) -> Result<(), OpError> {
        let n = self.buffer_len(parameter);
        for other in [gradient, &*mean, &*square] {
            same_length("adam_step", n, self.buffer_len(other))?;
        }
        let launch = Launch::new("update_adam")
            .over(n)
            .write(parameter)
            .read(gradient)
            .write(mean)
            .write(square);
        with_factors(launch, Factors::new(step)).size(n).run()?;
        Ok(())
    }

    fn sgd_step(
        &self,
        parameter: &mut Buffer<Self>,
        gradient: &Buffer<Self>,
        momentum: Option<&mut Buffer<Self>>,
        step: SgdStep,
    ) -> Result<(), OpError> {
        let n = self.buffer_len(parameter);
        same_length("sgd_step", n, self.buffer_len(gradient))?;
        if let Some(momentum) = &momentum {
            same_length("sgd_step", n, self.buffer_len(momentum))?;
        }
        let launch = Launch::new("update_sgd")
            .over(n)
            .write(parameter)
            .read(gradient)
            .write_if(momentum);
        with_settings(launch, step).size(n).run()?;
        Ok(())
    }
}

fn with_factors(launch: Launch, factors: Factors) -> Launch {
    launch
        .float(factors.keep)
        .float(factors.towards)
        .float(factors.beta2)
        .float(factors.one_minus_beta2)
        .float(factors.correction2)
        .float(factors.eps)
        .float(factors.size)
}

fn with_settings(launch: Launch, step: SgdStep) -> Launch {
    launch
        .float(step.lr as f32)
        .float(step.weight_decay as f32)
        .float(step.momentum as f32)
        .int(i32::from(step.nesterov))
}
