//! Elementwise sums of two tensors on CUDA: one kernel launch forward, one backward.

use dfdx::tensor::Cuda;

use super::AddKernel;
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::{Activation, GradSlots, Result, Var};

impl AddKernel for Cuda {
    fn add(
        &self,
        a: &Buffer<Self>,
        b: &Buffer<Self>,
        activation: Activation,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>)> {
        let n = self.buffer_len(a);
        let mut y = self.uninit_buffer(n)?;
        let mut before = keep.then(|| self.uninit_buffer(n)).transpose()?;
        Launch::new("add_forward")
            .over_tiles(n)
            .args((a, b, before.as_mut(), &mut y, n, activation))
            .run()?;
        Ok((y, before))
    }

    fn add_backward(
        &self,
        before: Option<&Buffer<Self>>,
        grad_output: Buffer<Self>,
        activation: Activation,
        inputs: [&Var<Self>; 2],
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()> {
        let n = self.buffer_len(&grad_output);
        let mut launch = Launch::new("add_backward")
            .over_tiles(n)
            .args((before, &grad_output));
        for input in inputs {
            launch = launch.args(slots.kernel_grad_arg(Some(input))?);
        }
        Ok(launch.args((n, activation)).run()?)
    }

    fn accumulate(&self, values: &Buffer<Self>, grad: &mut Buffer<Self>) -> Result<()> {
        let n = self.buffer_len(values);
        Ok(Launch::new("add_accumulate")
            .over_tiles(n)
            .args((values, grad, n))
            .run()?)
    }
}
