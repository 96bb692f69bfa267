//! Losses that compare generated and real paths by signature kernels, on the CPU.

use dfdx::tensor::Cpu;

use super::{SignatureKernelLoss, SignatureKernelLossKernel};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::path_batch::add_value_slopes;

impl SignatureKernelLossKernel for Cpu {
    fn kernel_loss(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        loss: &SignatureKernelLoss,
    ) -> Result<Buffer<Self>> {
        let value = loss.value(&loss.seen(output, steps));
        Ok(self.upload(vec![value as f32])?)
    }

    fn kernel_loss_backward(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        loss: &SignatureKernelLoss,
        dy: &Buffer<Self>,
        doutput: &mut Buffer<Self>,
    ) -> Result<()> {
        let generated = loss.seen(output, steps);
        let slopes = loss.slopes(&generated);
        add_value_slopes(doutput, steps, &slopes, generated.points(), dy[0]);
        Ok(())
    }
}
