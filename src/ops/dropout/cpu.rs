//! Dropout on the CPU: the mask is made anew from its key in both directions.
#![expect(
    clippy::inline_always,
    reason = "compiled anew for each vector level inside `simd`"
)]

use dfdx::tensor::Cpu;

use super::philox::{BLOCK, block};
use super::{DropoutKernel, Mask};
use crate::device::{Backend, Buffer};
use crate::ops::OpError;
use crate::ops::parallel::{CHUNK, for_each_chunk};
use crate::ops::simd::simd;

impl DropoutKernel for Cpu {
    fn dropout(&self, x: &Buffer<Self>, mask: Mask) -> Result<Buffer<Self>, OpError> {
        let mut y = self.zeros_buffer(x.len())?;
        self.dropout_backward(mask, x, &mut y)?;
        Ok(y)
    }

    fn dropout_backward(
        &self,
        mask: Mask,
        dy: &Buffer<Self>,
        dx: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        // Chunks begin at multiples of the block, so that a value's word depends on its index alone.
        for_each_chunk(dx, CHUNK, |start, dx| {
            let dy = &dy[start..start + dx.len()];
            simd(
                #[inline(always)]
                || add_kept(dx, dy, start / BLOCK, mask),
            );
        });
        Ok(())
    }
}

#[inline(always)]
fn add_kept(out: &mut [f32], values: &[f32], first_block: usize, mask: Mask) {
    for (index, (out, values)) in out.chunks_mut(BLOCK).zip(values.chunks(BLOCK)).enumerate() {
        let words = block(mask.key, (first_block + index) as u64);
        for ((out, value), word) in out.iter_mut().zip(values).zip(words) {
            *out += if word >= mask.threshold {
                value * mask.scale
            } else {
                0.0
            };
        }
    }
}
