//! Dropout on CUDA: the CPU's mask, computed from its key in forward and again in backward, never stored.

use cudarc::driver::{CudaSlice, DeviceSlice};
use dfdx::tensor::Cuda;

use super::philox::BLOCK;
use super::{DropoutKernel, Mask};
use crate::device::cuda::{Launch, arithmetic};
use crate::device::{Backend, Buffer};
use crate::ops::gemm::Accumulate;
use crate::ops::{GradSlots, Result, Var};

/// Random words per Philox counter.
const WORDS: usize = 4;

impl DropoutKernel for Cuda {
    fn dropout(&self, x: &Buffer<Self>, mask: Mask) -> Result<Buffer<Self>> {
        let mut y = self.uninit_buffer(self.buffer_len(x))?;
        write_dropped(Some(x), None, &mut y, mask)?;
        Ok(y)
    }

    fn dropout_backward(
        &self,
        mask: Mask,
        dy: Buffer<Self>,
        (input, slots): (&Var<Self>, &mut GradSlots<'_, Self>),
    ) -> Result<()> {
        match slots.entry(input)? {
            (grad, Accumulate::Replace) => write_dropped(Some(&dy), None, grad, mask),
            (grad, Accumulate::Add) => dropout_add(self, &dy, grad, mask),
        }
    }
}

/// Number of Philox counters for the random words of `n` values; each thread processes one.
pub(in crate::ops) fn counters(n: usize) -> usize {
    n.div_ceil(BLOCK) * (BLOCK / WORDS)
}

/// Adds the kept values of `x`, scaled, to `y`.
fn dropout_add(device: &Cuda, x: &Buffer<Cuda>, y: &mut Buffer<Cuda>, mask: Mask) -> Result<()> {
    let n = device.buffer_len(x);
    Launch::new("dropout_add")
        .over(counters(n))
        .args((x, y, mask.key, mask.threshold, mask.scale, counters(n), n))
        .run()?;
    Ok(())
}

/// Writes kept values, scaled, and zeros elsewhere to `dropped`. The input is `values`, or `half` if the values are
/// stored in 16 bits only; without either it is `dropped` itself (in place).
pub(in crate::ops) fn write_dropped(
    values: Option<&CudaSlice<f32>>,
    half: Option<&CudaSlice<u16>>,
    dropped: &mut CudaSlice<f32>,
    mask: Mask,
) -> Result<()> {
    let n = dropped.len();
    Launch::new("dropout_replace")
        .over(counters(n))
        .args((values, half, dropped, mask.key, mask.threshold, mask.scale))
        .args((counters(n), n, arithmetic()?))
        .run()?;
    Ok(())
}
