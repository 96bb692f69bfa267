//! Transposition on CUDA: by tiles in shared memory, or by copies of contiguous runs of the innermost dimension.

use dfdx::tensor::Cuda;

use super::TransposeKernel;
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::gemm::Accumulate;

/// Number of values along one side of a tile, as in `kernels.cu`.
const SIDE: usize = 32;

impl TransposeKernel for Cuda {
    fn transpose(
        &self,
        x: &Buffer<Self>,
        [outer, rows, columns, inner]: [usize; 4],
        (y, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        if inner == 1 {
            let tiles = columns.div_ceil(SIDE) * rows.div_ceil(SIDE);
            return Ok(Launch::new("transpose_tiles")
                .grid([outer * tiles, 1, 1])
                .threads(256)
                .args((x, y, rows, columns, accumulate))
                .run()?);
        }
        let n = self.buffer_len(x);
        Ok(Launch::new("transpose_runs")
            .over_tiles(n)
            .args((x, y, n, rows, columns, inner, accumulate))
            .run()?)
    }
}
