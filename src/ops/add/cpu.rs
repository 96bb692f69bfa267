//! Sums on the CPU.

use dfdx::tensor::Cpu;

use super::AddKernel;
use crate::device::{Backend, Buffer};
use crate::ops::activation::{Activate, activated};
use crate::ops::parallel::{CHUNK, add_assign, for_each_chunk, for_each_chunk_pair};
use crate::ops::simd::simd;
use crate::ops::{Activation, OpError};

impl AddKernel for Cpu {
    fn add(
        &self,
        a: &Buffer<Self>,
        b: &Buffer<Self>,
        activation: Activation,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>), OpError> {
        let mut y = vec![0.0; a.len()];
        if !keep {
            for_each_chunk(&mut y, CHUNK, |start, y| {
                let range = start..start + y.len();
                let (a, b) = (&a[range.clone()], &b[range]);
                activated!(activation, |act| simd(
                    #[inline(always)]
                    || sum(a, b, y, act)
                ));
            });
            return Ok((self.upload(y)?, None));
        }
        let mut before = vec![0.0; a.len()];
        for_each_chunk_pair(&mut y, &mut before, CHUNK, |start, y, before| {
            let range = start..start + y.len();
            let (a, b) = (&a[range.clone()], &b[range]);
            activated!(activation, |act| simd(
                #[inline(always)]
                || sum_and_keep(a, b, y, before, act)
            ));
        });
        Ok((self.upload(y)?, Some(self.upload(before)?)))
    }

    fn accumulate(&self, values: &Buffer<Self>, grad: &mut Buffer<Self>) -> Result<(), OpError> {
        add_assign(grad, values);
        Ok(())
    }
}

#[inline(always)]
fn sum(a: &[f32], b: &[f32], y: &mut [f32], act: impl Activate) {
    for ((y, a), b) in y.iter_mut().zip(a).zip(b) {
        *y = act.value(a + b);
    }
}

#[inline(always)]
fn sum_and_keep(a: &[f32], b: &[f32], y: &mut [f32], before: &mut [f32], act: impl Activate) {
    for (((y, before), a), b) in y.iter_mut().zip(before).zip(a).zip(b) {
        *before = a + b;
        *y = act.value(*before);
    }
}
