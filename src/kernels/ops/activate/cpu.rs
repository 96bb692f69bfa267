//! Activations on the CPU: one vectorised pass forward, one backward.

use dfdx::tensor::Cpu;

use super::ActivateKernel;
use crate::device::{Backend, Buffer};
use crate::ops::activation::{Activate, activated};
use crate::ops::parallel::{CHUNK, for_each_chunk};
use crate::ops::simd::simd;
use crate::ops::{Activation, Result};

impl ActivateKernel for Cpu {
    fn activate(&self, x: &Buffer<Self>, activation: Activation) -> Result<Buffer<Self>> {
        let mut y = self.uninit_buffer(x.len())?;
        for_each_chunk(&mut y, CHUNK, |start, y| {
            let x = &x[start..start + y.len()];
            activated!(activation, |act| simd!({
                for (y, x) in y.iter_mut().zip(x) {
                    *y = act.value(*x);
                }
            }));
        });
        Ok(y)
    }

    fn activate_backward(
        &self,
        kept: &Buffer<Self>,
        grad: &mut Buffer<Self>,
        activation: Activation,
    ) -> Result<()> {
        for_each_chunk(grad, CHUNK, |start, grad| {
            let kept = &kept[start..start + grad.len()];
            activated!(activation, |act| simd!({
                for (grad, kept) in grad.iter_mut().zip(kept) {
                    // Adding 0 turns −0 into 0, as adding to a gradient of zeros would.
                    *grad = *grad * act.slope_from_kept(*kept) + 0.0;
                }
            }));
        });
        Ok(())
    }
}
