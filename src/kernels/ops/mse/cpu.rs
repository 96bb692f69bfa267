//! Mean squared error on the CPU: differences in f32 as in PyTorch, their squares summed in f64.

use dfdx::tensor::Cpu;

use super::MseKernel;
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::chunks::{squared_distance, sum_chunks};
use crate::ops::gemm::Accumulate;
use crate::ops::parallel::{CHUNK, for_each_chunk};
use crate::ops::simd::simd;

impl MseKernel for Cpu {
    fn mse(&self, x: &Buffer<Self>, target: &Buffer<Self>) -> Result<Buffer<Self>> {
        let sum = sum_chunks(x.len(), |range| {
            simd!(squared_distance(&x[range.clone()], &target[range.clone()]))
        });
        Ok(self.upload(vec![(sum / x.len() as f64) as f32])?)
    }

    fn mse_backward(
        &self,
        x: &Buffer<Self>,
        target: &Buffer<Self>,
        dy: &Buffer<Self>,
        (dx, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let scale = 2.0 * dy[0] / x.len() as f32;
        for_each_chunk(dx, CHUNK, |start, dx| {
            let range = start..start + dx.len();
            simd!(match accumulate {
                Accumulate::Add => add_difference(dx, &x[range.clone()], &target[range], scale),
                Accumulate::Replace => difference(dx, &x[range.clone()], &target[range], scale),
            });
        });
        Ok(())
    }
}

#[inline(always)]
fn add_difference(dx: &mut [f32], x: &[f32], target: &[f32], scale: f32) {
    for ((dx, x), target) in dx.iter_mut().zip(x).zip(target) {
        *dx += scale * (x - target);
    }
}

#[inline(always)]
fn difference(dx: &mut [f32], x: &[f32], target: &[f32], scale: f32) {
    for ((dx, x), target) in dx.iter_mut().zip(x).zip(target) {
        *dx = scale * (x - target);
    }
}
