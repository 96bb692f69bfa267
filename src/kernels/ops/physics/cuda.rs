//! Physics terms on CUDA: one block per row, sums in f64; nothing is copied to the host.

use dfdx::tensor::Cuda;

use super::{HIT_THRESHOLD, PhysicsKernel, SHARES, SMALL, SMALLEST_ALPHA_BAR};
use crate::device::cuda::{Launch, Partials, THREADS, uploaded};
use crate::device::{Backend, Buffer};
use crate::ops::Result;

/// Largest number of blocks along the y dimension of a CUDA grid.
const MOST_ROWS: usize = 65_535;

impl PhysicsKernel for Cuda {
    fn physics(
        &self,
        estimate: &Buffer<Self>,
        noised: &Buffer<Self>,
        clean: &Buffer<Self>,
        alpha_bars: &[f32],
        weight: f32,
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        let rows = alpha_bars.len();
        let scale = f64::from(weight) / rows as f64;
        let mut gradients = self.uninit_buffer(2 * rows)?;
        let mut partials = Partials::new(rows, 1)?;
        let [energy, multiplicity, locality] = SHARES;
        Launch::new("physics_forward")
            .blocks(partials.blocks())
            .args((estimate, noised, clean, &uploaded(alpha_bars)?))
            .args((partials.values(), &mut gradients, rows))
            .args((self.buffer_len(estimate) / rows, SMALLEST_ALPHA_BAR))
            .args((HIT_THRESHOLD, SMALL, energy, multiplicity, locality, scale))
            .run()?;
        Ok((partials.total(self, scale)?, gradients))
    }

    fn physics_backward(
        &self,
        gradients: &Buffer<Self>,
        dy: &Buffer<Self>,
        grad: &mut Buffer<Self>,
    ) -> Result<()> {
        let rows = self.buffer_len(gradients) / 2;
        let voxels = self.buffer_len(grad) / rows;
        Launch::new("physics_backward")
            .grid([voxels.div_ceil(4 * THREADS), rows.min(MOST_ROWS), 1])
            .args((gradients, dy, grad, rows, voxels))
            .run()?;
        Ok(())
    }
}
