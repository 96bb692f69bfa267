//! Weighted sums and distances on the CPU: one vectorised pass.

use dfdx::tensor::Cpu;

use super::BlendKernel;
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::chunks::{squared_distance, sum_chunks};
use crate::ops::parallel::{CHUNK, for_each_chunk};
use crate::ops::simd::simd;

impl BlendKernel for Cpu {
    fn blend(&self, x: &Buffer<Self>, a: f32, z: &Buffer<Self>, b: f32) -> Result<Buffer<Self>> {
        let mut y = vec![0.0; x.len()];
        for_each_chunk(&mut y, CHUNK, |start, y| {
            let range = start..start + y.len();
            let (x, z) = (&x[range.clone()], &z[range]);
            simd!({
                for ((y, x), z) in y.iter_mut().zip(x).zip(z) {
                    *y = a * x + b * z;
                }
            });
        });
        Ok(self.upload(y)?)
    }

    fn distance(&self, x: &Buffer<Self>, z: &Buffer<Self>) -> Result<f64> {
        let squares = sum_chunks(x.len(), |range| {
            simd!(squared_distance(&x[range.clone()], &z[range.clone()]))
        });
        Ok(squares.sqrt())
    }
}
