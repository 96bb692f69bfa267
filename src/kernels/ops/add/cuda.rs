//! Sums on CUDA: one pass forward, one backward.

use dfdx::tensor::Cuda;

use super::AddKernel;
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::{Activation, GradSlots, OpError, Var};

impl AddKernel for Cuda {
    fn add(
        &self,
        a: &Buffer<Self>,
        b: &Buffer<Self>,
        activation: Activation,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>), OpError> {
        let n = self.buffer_len(a);
        let mut y = self.zeros_buffer(n)?;
        let mut before = keep.then(|| self.zeros_buffer(n)).transpose()?;
        Launch::new("add_forward")
            .over_tiles(n)
            .read(a)
            .read(b)
            .write_if(before.as_mut())
            .write(&mut y)
            .size(n)
            .int(activation.code())
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
    ) -> Result<(), OpError> {
        let n = self.buffer_len(&grad_output);
        let mut launch = Launch::new("add_backward")
            .over_tiles(n)
            .read_if(before)
            .read(&grad_output);
        for input in inputs {
            launch = launch.write_if(slots.of_needed(input)?);
        }
        Ok(launch.size(n).int(activation.code()).run()?)
    }

    fn accumulate(&self, values: &Buffer<Self>, grad: &mut Buffer<Self>) -> Result<(), OpError> {
        let n = self.buffer_len(values);
        Ok(Launch::new("add_accumulate")
            .over_tiles(n)
            .read(values)
            .write(grad)
            .size(n)
            .run()?)
    }
}
