//! SiLU on the CPU: one vectorised pass forward, one backward.

use dfdx::tensor::Cpu;

use super::SiluKernel;
use crate::device::{Backend, Buffer};
use crate::ops::OpError;
use crate::ops::activation::{Activate, Silu};
use crate::ops::parallel::{CHUNK, for_each_chunk};
use crate::ops::simd::simd;

impl SiluKernel for Cpu {
    fn silu(&self, x: &Buffer<Self>) -> Result<Buffer<Self>, OpError> {
        let mut y = self.spare_buffer(x.len())?;
        for_each_chunk(&mut y, CHUNK, |start, y| {
            let x = &x[start..start + y.len()];
            simd(
                #[inline(always)]
                || {
                    for (y, x) in y.iter_mut().zip(x) {
                        *y = Silu.value(*x);
                    }
                },
            );
        });
        Ok(y)
    }

    fn silu_backward(
        &self,
        x: &Buffer<Self>,
        grad_output: &Buffer<Self>,
        grad_x: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        for_each_chunk(grad_x, CHUNK, |start, grad_x| {
            let range = start..start + grad_x.len();
            let (x, grad_output) = (&x[range.clone()], &grad_output[range]);
            simd(
                #[inline(always)]
                || {
                    for ((gx, x), gy) in grad_x.iter_mut().zip(x).zip(grad_output) {
                        *gx += gy * Silu.slope(*x);
                    }
                },
            );
        });
        Ok(())
    }
}
