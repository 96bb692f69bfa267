//! Dropout on the CPU: the mask is computed from its key in the forward and again in the backward pass.

use dfdx::tensor::Cpu;

use super::philox::{BLOCK, block};
use super::{DropoutKernel, Mask};
use crate::device::{Backend, Buffer};
use crate::ops::parallel::{CHUNK, for_each_chunk};
use crate::ops::simd::simd;
use crate::ops::{GradSlots, Result, Var};

impl DropoutKernel for Cpu {
    fn dropout(&self, x: &Buffer<Self>, mask: Mask) -> Result<Buffer<Self>> {
        let mut y = self.uninit_buffer(x.len())?;
        for_each_chunk(&mut y, CHUNK, |start, y| {
            let x = &x[start..start + y.len()];
            simd!({
                y.copy_from_slice(x);
                drop_some(y, start, mask);
            });
        });
        Ok(y)
    }

    fn dropout_backward(
        &self,
        mask: Mask,
        mut dy: Buffer<Self>,
        (input, slots): (&Var<Self>, &mut GradSlots<'_, Self>),
    ) -> Result<()> {
        for_each_chunk(&mut dy, CHUNK, |start, dy| {
            simd!(drop_some(dy, start, mask));
        });
        slots.put(input, dy)
    }
}

/// Multiplies values by the mask; the first value has the index `start`.
#[inline(always)]
fn drop_some(values: &mut [f32], start: usize, mask: Mask) {
    // Chunks begin at multiples of the block length, so that a value's random word depends only on its index.
    debug_assert!(start.is_multiple_of(BLOCK));
    for (index, values) in values.chunks_mut(BLOCK).enumerate() {
        let words = block(mask.key, (start / BLOCK + index) as u64);
        for (value, word) in values.iter_mut().zip(words) {
            *value = if word >= mask.threshold {
                *value * mask.scale
            } else {
                0.0
            };
        }
    }
}

/// Writes the mask's factors (0 or `mask.scale`) of the values from index `start` on to `factors`.
#[inline(always)]
pub(in crate::ops) fn mask_factors(factors: &mut [f32], start: usize, mask: Mask) {
    let (mut at, len) = (start, factors.len());
    while at < start + len {
        let words = block(mask.key, (at / BLOCK) as u64);
        let (skipped, place) = (at % BLOCK, at - start);
        let some = (BLOCK - skipped).min(len - place);
        let pairs = factors[place..place + some]
            .iter_mut()
            .zip(&words[skipped..]);
        for (factor, word) in pairs {
            *factor = if *word >= mask.threshold {
                mask.scale
            } else {
                0.0
            };
        }
        at += some;
    }
}
