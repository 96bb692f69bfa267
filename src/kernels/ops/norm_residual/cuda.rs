//! The end of a residual block on CUDA: a group norm, then one pass over the values for dropout, residual and SiLU.

use std::rc::Rc;

use dfdx::tensor::Cuda;

use super::{NormResidual, NormResidualKernel};
use crate::device::cuda::{Launch, arithmetic, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::dropout::Mask;
use crate::ops::dropout::cuda::counters;
use crate::ops::pooled_buffer::keeps_half;
use crate::ops::{GradSlots, GroupNormInputs, GroupNormKernel, OpError, PooledBuffer, Result, Var};

impl NormResidualKernel for Cuda {
    fn norm_residual(
        &self,
        input: &GroupNormInputs<'_, Self>,
        residual: &Buffer<Self>,
        mask: Option<Mask>,
        keep: bool,
    ) -> Result<NormResidual<Self>> {
        let (h, statistics) = self.group_norm(input, keep)?;
        let n = self.buffer_len(residual);
        let is_half = keep && keeps_half(input.size.channels)?;
        let mut half = is_half.then(|| scratch::<u16>(n)).transpose()?;
        let mut before = (keep && !is_half)
            .then(|| self.uninit_buffer(n))
            .transpose()?;
        let mut y = self.uninit_buffer(n)?;
        let launch = Launch::new("norm_residual_forward").over(counters(n));
        let launch = launch.args((&h, residual, before.as_mut(), half.as_mut(), &mut y));
        masked(launch, mask, n).arg(arithmetic()?).run()?;
        let kept = match half {
            Some(half) => Some(PooledBuffer::of_half(self, Rc::new(half))?),
            None => before.map(PooledBuffer::new),
        };
        Ok((y, statistics, kept))
    }

    fn norm_residual_backward(
        &self,
        input: &GroupNormInputs<'_, Self>,
        (statistics, before): (&Buffer<Self>, Option<&PooledBuffer<Self>>),
        grad_output: Buffer<Self>,
        mask: Option<Mask>,
        ([x, residual], slots): ([&Var<Self>; 2], &mut GradSlots<'_, Self>),
    ) -> Result<Buffer<Self>> {
        let before = before.ok_or(OpError::NotRecorded)?;
        let (n, half) = (self.buffer_len(&grad_output), before.only_half()?);
        let mut grad_h = self.uninit_buffer(n)?;
        let (grad_residual, accumulate) = slots.kernel_grad_arg(Some(residual))?;
        let launch = Launch::new("norm_residual_backward").over(counters(n));
        let launch = launch.args((&**before, half.as_deref(), &grad_output, &mut grad_h));
        let launch = launch.args((grad_residual, accumulate));
        masked(launch, mask, n).arg(arithmetic()?).run()?;
        drop(grad_output);
        self.group_norm_backward(input, statistics, grad_h, (x, slots))
    }
}

fn masked(launch: Launch, mask: Option<Mask>, n: usize) -> Launch {
    let (key, threshold, scale) =
        mask.map_or((0, 0, 1.0), |mask| (mask.key, mask.threshold, mask.scale));
    launch.args((key, threshold, scale, counters(n), n))
}
