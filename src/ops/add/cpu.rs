//! Sums on the CPU.

use dfdx::tensor::Cpu;

use super::AddKernel;
use crate::device::{Backend, Buffer};
use crate::ops::activation::{Activate, activated};
use crate::ops::parallel::{CHUNK, add_assign, for_each_chunk};
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
        let before = if keep {
            Some(self.upload(sum(a, b, Activation::Identity))?)
        } else {
            None
        };
        Ok((self.upload(sum(a, b, activation))?, before))
    }

    fn accumulate(&self, values: &Buffer<Self>, grad: &mut Buffer<Self>) -> Result<(), OpError> {
        add_assign(grad, values);
        Ok(())
    }
}

fn sum(a: &[f32], b: &[f32], activation: Activation) -> Vec<f32> {
    let mut y = vec![0.0; a.len()];
    for_each_chunk(&mut y, CHUNK, |start, y| {
        let range = start..start + y.len();
        let (a, b) = (&a[range.clone()], &b[range]);
        activated!(activation, |act| simd(|| {
            for ((y, a), b) in y.iter_mut().zip(a).zip(b) {
                *y = act.value(a + b);
            }
        }));
    });
    y
}
