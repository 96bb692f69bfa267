//! [`mean_positions`]: the mean over pixels or tokens.

use crate::ops::gemm::Accumulate;
use crate::ops::{Flops, Kernels, Op, OpError, Pass, Result, Var};

/// The mean over everything between batch and innermost dimension: over the pixels of an image, over tokens.
///
/// FLOPs: 1 per value forward and backward.
///
/// # Shapes
/// `(B, C)` from `x: (B, …, C)` with three or four dimensions.
/// # Errors
/// [`OpError::Shape`] when `x` is empty or has fewer dimensions.
/// # Source
/// PyTorch `x.mean(1)` of tokens; `AdaptiveAvgPool2d(1)` of an image.
pub fn mean_positions<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
    let shape = x.shape();
    if shape.rank() < 3 || shape.is_empty() {
        let message = format!("expected (B, T, F) or (B, H, W, C), got {shape}");
        return Err(OpError::shape("mean", message));
    }
    let (batch, channels) = (shape.dims()[0], shape.last());
    let positions = shape.len() / (batch * channels);
    let (dims, factor) = ([batch, positions, channels], 1.0 / positions as f32);
    let device = pass.device().clone();
    let mut y = device.uninit_buffer(batch * channels)?;
    device.sum_positions(x.data(), None, dims, factor, (&mut y, Accumulate::Replace))?;
    let token = x.clone();
    let op = Op::new("mean", Flops::new(shape.len(), shape.len()), [x]);
    pass.record_op(op, y, [batch, channels], move |slots, dy| {
        let device = slots.device().clone();
        device.spread(dy, dims, factor, slots.entry(&token)?)
    })
}
