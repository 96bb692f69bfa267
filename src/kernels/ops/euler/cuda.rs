//! Euler–Maruyama on CUDA: one launch for all steps forward and one backward, one block per path; then the gradients of
//! the `(H, H)` weights by two products and of the others by one more launch.

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::{EulerInputs, EulerKernel, EulerSize};
use crate::device::cuda::{Launch, Product, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::{GradSlots, Result};

/// Largest number of units for which a block keeps the `(H, H)` weights in registers.
const NARROW: usize = 64;

impl EulerKernel for Cuda {
    fn euler_maruyama(
        &self,
        inputs: &EulerInputs<Self>,
        size: EulerSize,
    ) -> Result<(Buffer<Self>, Vec<Buffer<Self>>)> {
        let rows = size.batch * size.steps;
        let mut path = self.uninit_buffer(rows)?;
        let mut before = self.uninit_buffer(rows)?;
        let mut hidden = self.uninit_buffer(4 * rows * size.hidden)?;
        let launch = launch("euler_forward", "euler_forward_wide", size)
            .args((inputs.start.data(), inputs.noise.data()));
        let parameters = inputs.fields().into_iter().flatten();
        parameters
            .fold(launch, Launch::arg)
            .args((&mut path, &mut before, &mut hidden, size.steps, size.hidden))
            .run()?;
        Ok((path, vec![before, hidden]))
    }

    fn euler_maruyama_backward(
        &self,
        inputs: &EulerInputs<Self>,
        saved: &[Buffer<Self>],
        size: EulerSize,
        grad: &Buffer<Self>,
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()> {
        let rows = size.batch * size.steps;
        let mut slopes = scratch::<f32>(2 * rows * size.hidden)?;
        let mut parts = scratch::<f32>(2 * size.batch * (5 * size.hidden + 1))?;
        let launch = launch("euler_backward", "euler_backward_wide", size).arg(inputs.noise.data());
        // For each of the two fields (drift and diffusion): the weights of the first, the `(H, H)` and the last layer.
        let weights = inputs
            .fields
            .iter()
            .flat_map(|[w1, _, w2, _, w3, _]| [w1, w2, w3]);
        let launch = weights.fold(launch, |launch, var| launch.arg(var.data()));
        let launch = saved.iter().fold(launch, Launch::arg);
        let launch = launch.args((grad, &mut slopes, &mut parts));
        launch
            .arg(slots.grad_if_needed(&inputs.start)?)
            .arg(size.steps)
            .arg(size.hidden)
            .run()?;
        add_square_gradients(inputs, &saved[1], &slopes, size, slots)?;
        add_parts(inputs, &parts, size, slots)
    }
}

/// A launch of the kernel for this number of units, with one block per path.
fn launch(narrow: &'static str, wide: &'static str, size: EulerSize) -> Launch {
    let name = if size.hidden <= NARROW { narrow } else { wide };
    Launch::new(name).blocks(size.batch)
}

/// Adds `hiddenᵀ · slopes`, over all steps of all paths, to the gradients of the `(H, H)` weights.
fn add_square_gradients(
    inputs: &EulerInputs<Cuda>,
    hidden: &Buffer<Cuda>,
    slopes: &CudaSlice<f32>,
    size: EulerSize,
    slots: &mut GradSlots<'_, Cuda>,
) -> Result<()> {
    let rows = size.batch * size.steps;
    let layer = rows * size.hidden;
    let product = Product::new(size.hidden, size.hidden, rows)
        .transposed_a()
        .adding(true);
    for (index, [_, _, weight, ..]) in inputs.fields.iter().enumerate() {
        if weight.needs_grad() {
            let target = slots.of(weight)?;
            product.run_with_offsets(
                (hidden, 2 * index * layer),
                (slopes, index * layer),
                (target, 0),
            )?;
        }
    }
    Ok(())
}

/// Adds the gradients of all parameters except the `(H, H)` weights, by summing partial gradients, one per path.
fn add_parts(
    inputs: &EulerInputs<Cuda>,
    parts: &CudaSlice<f32>,
    size: EulerSize,
    slots: &mut GradSlots<'_, Cuda>,
) -> Result<()> {
    let mut launch = Launch::new("euler_gradients")
        .blocks(size.hidden.div_ceil(32))
        .arg(parts);
    for [w1, b1, _, b2, w3, b3] in &inputs.fields {
        for var in [w1, b1, b2, w3, b3] {
            launch = launch.arg(slots.grad_if_needed(var)?);
        }
    }
    launch.args((size.batch, size.hidden)).run()?;
    Ok(())
}
