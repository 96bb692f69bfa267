//! Elementwise sums of two tensors on the CPU.

use dfdx::tensor::Cpu;

use super::AddKernel;
use crate::device::{Backend, Buffer};
use crate::ops::activation::{Activate, activated};
use crate::ops::gemm::Accumulate;
use crate::ops::parallel::{CHUNK, add_assign, for_each_chunk, for_each_chunk_pair};
use crate::ops::simd::simd;
use crate::ops::{Activation, GradSlots, Result, Var};

impl AddKernel for Cpu {
    fn add(
        &self,
        a: &Buffer<Self>,
        b: &Buffer<Self>,
        activation: Activation,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>)> {
        let mut y = self.uninit_buffer(a.len())?;
        if !keep {
            for_each_chunk(&mut y, CHUNK, |start, y| {
                let range = start..start + y.len();
                let (a, b) = (&a[range.clone()], &b[range]);
                activated!(activation, |act| simd!(sum(a, b, y, act)));
            });
            return Ok((y, None));
        }
        let mut before = self.uninit_buffer(a.len())?;
        for_each_chunk_pair(&mut y, &mut before, CHUNK, |start, y, before| {
            let range = start..start + y.len();
            let (a, b) = (&a[range.clone()], &b[range]);
            activated!(activation, |act| simd!(sum_and_keep(a, b, y, before, act)));
        });
        Ok((y, Some(before)))
    }

    fn add_backward(
        &self,
        before: Option<&Buffer<Self>>,
        mut grad_output: Buffer<Self>,
        activation: Activation,
        [a, b]: [&Var<Self>; 2],
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()> {
        if let Some(before) = before {
            for_each_chunk(&mut grad_output, CHUNK, |start, grad| {
                let before = &before[start..start + grad.len()];
                activated!(activation, |act| simd!(slope(grad, before, act)));
            });
        }
        if !b.needs_grad() {
            return slots.put(a, grad_output);
        }
        if a.needs_grad() {
            accumulate_grad(&grad_output, a, slots)?;
        }
        slots.put(b, grad_output)
    }

    fn accumulate(&self, values: &Buffer<Self>, grad: &mut Buffer<Self>) -> Result<()> {
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

/// Multiplies by the activation's derivative: `grad = grad · act'(before)`.
#[inline(always)]
fn slope(grad: &mut [f32], before: &[f32], act: impl Activate) {
    for (grad, before) in grad.iter_mut().zip(before) {
        *grad *= act.slope(*before);
    }
}

/// Adds `grad` to the gradient of `var`, or copies it if there is none yet.
pub(in crate::ops) fn accumulate_grad(
    grad: &Buffer<Cpu>,
    var: &Var<Cpu>,
    slots: &mut GradSlots<'_, Cpu>,
) -> Result<()> {
    match slots.entry(var)? {
        (slot, Accumulate::Add) => add_assign(slot, grad),
        (slot, Accumulate::Replace) => for_each_chunk(slot, CHUNK, |start, slot| {
            slot.copy_from_slice(&grad[start..start + slot.len()]);
        }),
    }
    Ok(())
}
