//! Mean errors on the CPU: differences in f32 as in PyTorch, their errors summed in f64.

use dfdx::tensor::Cpu;

use super::{ErrorTerm, MeanErrorKernel};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::chunks::{squared_distance, sum_chunks, sum_of_differences};
use crate::ops::gemm::Accumulate;
use crate::ops::parallel::{CHUNK, for_each_chunk};
use crate::ops::simd::simd;

impl MeanErrorKernel for Cpu {
    fn mean_error(
        &self,
        term: ErrorTerm,
        x: &Buffer<Self>,
        target: &Buffer<Self>,
    ) -> Result<Buffer<Self>> {
        let sum = sum_chunks(x.len(), |range| {
            let (x, target) = (&x[range.clone()], &target[range]);
            match term {
                ErrorTerm::Squared => simd!(squared_distance(x, target)),
                ErrorTerm::Absolute => simd!(sum_of_differences(x, target, f64::abs)),
                ErrorTerm::Huber { delta } => simd!(huber(x, target, delta)),
            }
        });
        Ok(self.upload(vec![(sum / x.len() as f64) as f32])?)
    }

    fn mean_error_backward(
        &self,
        term: ErrorTerm,
        x: &Buffer<Self>,
        target: &Buffer<Self>,
        dy: &Buffer<Self>,
        (dx, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let factor = if term == ErrorTerm::Squared { 2.0 } else { 1.0 };
        let scale = factor * dy[0] / x.len() as f32;
        for_each_chunk(dx, CHUNK, |start, dx| {
            let range = start..start + dx.len();
            let slopes = Slopes {
                x: &x[range.clone()],
                target: &target[range],
                scale,
                accumulate,
            };
            match term {
                ErrorTerm::Squared => simd!(slopes.write(dx, |difference| difference)),
                ErrorTerm::Absolute => simd!(slopes.write(dx, sign)),
                ErrorTerm::Huber { delta } => {
                    simd!(slopes.write(dx, |difference| clamped(difference, delta)));
                }
            }
        });
        Ok(())
    }
}

/// Inputs from which the gradient of one chunk of values is computed.
struct Slopes<'a> {
    x: &'a [f32],
    target: &'a [f32],
    scale: f32,
    accumulate: Accumulate,
}

impl Slopes<'_> {
    /// Writes `scale` times the slope at every difference to `dx`, or adds it to `dx`.
    #[inline(always)]
    fn write(&self, dx: &mut [f32], slope: impl Fn(f32) -> f32) {
        let values = dx.iter_mut().zip(self.x).zip(self.target);
        match self.accumulate {
            Accumulate::Add => {
                for ((dx, x), target) in values {
                    *dx += self.scale * slope(x - target);
                }
            }
            Accumulate::Replace => {
                for ((dx, x), target) in values {
                    *dx = self.scale * slope(x - target);
                }
            }
        }
    }
}

#[inline(always)]
fn huber(x: &[f32], target: &[f32], delta: f32) -> f64 {
    let delta = f64::from(delta);
    sum_of_differences(x, target, |difference| {
        let size = difference.abs();
        if size > delta {
            delta * (size - 0.5 * delta)
        } else {
            0.5 * size * size
        }
    })
}

/// As PyTorch's `sign`: 0 at 0 and at NaN.
#[inline(always)]
fn sign(difference: f32) -> f32 {
    f32::from(difference > 0.0) - f32::from(difference < 0.0)
}

/// The difference, clamped to `-delta..=delta`. Unlike `f32::clamp` this never panics.
#[inline(always)]
fn clamped(difference: f32, delta: f32) -> f32 {
    if difference > delta {
        delta
    } else if difference < -delta {
        -delta
    } else {
        difference
    }
}
