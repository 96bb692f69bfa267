//! Upsampling of images: bilinear ×2 with aligned corners; nearest by any factor.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::gemm::Accumulate;
use super::{Flops, Kernels, Op, OpError, Pass, Result, Var};
use crate::device::{Backend, Buffer};

/// Kernels of upsampling on one device.
pub trait UpsampleKernel: Backend {
    /// `(B, H, W, C)` to `(B, 2H, 2W, C)`.
    fn upsample_bilinear(
        &self,
        x: &Buffer<Self>,
        dims: (usize, usize, usize, usize),
    ) -> Result<Buffer<Self>>;

    /// Adds the gradient of the input, of shape `dims`, to `dx`, or overwrites `dx` with it.
    fn upsample_bilinear_backward(
        &self,
        dims: (usize, usize, usize, usize),
        dy: &Buffer<Self>,
        dx: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;

    /// `(B, H, W, C)` to `(B, f H, f W, C)`, every pixel repeated.
    fn upsample_nearest(
        &self,
        x: &Buffer<Self>,
        dims: (usize, usize, usize, usize),
        factor: usize,
    ) -> Result<Buffer<Self>>;

    /// Adds the gradient of the input, of shape `dims`, to `dx`, or overwrites `dx` with it.
    fn upsample_nearest_backward(
        &self,
        dims: (usize, usize, usize, usize),
        factor: usize,
        dy: &Buffer<Self>,
        dx: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// Doubles height and width: output row y lies at `y (H-1)/(2H-1)` of the input, between its two nearest rows, and
/// columns likewise.
///
/// Work: 9 per output forward (three linear blends), 8 backward (four shares).
///
/// # Shapes
/// `(B, 2H, 2W, C)` from `x: (B, H, W, C)`.
/// # Errors
/// [`OpError::Shape`] when `x` is empty or does not have four dimensions.
/// # Source
/// PyTorch `F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)`.
pub fn upsample_bilinear<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
    let dims @ (b, h, w, c) = image(x)?;
    let y = pass.device().upsample_bilinear(x.data(), dims)?;
    let values = 4 * x.shape().len();
    let input = x.without_values(pass.device())?;
    let op = Op::new("upsample_bilinear", Flops::new(9 * values, 8 * values), [x]);
    pass.record_op(op, y, [b, 2 * h, 2 * w, c], move |grads, dy| {
        let device = grads.device().clone();
        device.upsample_bilinear_backward(dims, dy, grads.entry(&input)?)
    })
}

/// Repeats every pixel `factor` times in height and width.
///
/// Work: none forward, 1 per output backward.
///
/// # Shapes
/// `(B, factor · H, factor · W, C)` from `x: (B, H, W, C)`.
/// # Errors
/// [`OpError::Shape`] when `x` is empty or does not have four dimensions, or `factor` is 0.
/// # Source
/// PyTorch `F.interpolate(x, scale_factor=factor, mode="nearest")`.
pub fn upsample_nearest<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    factor: usize,
) -> Result<Var<D>> {
    let dims @ (b, h, w, c) = image(x)?;
    if factor == 0 {
        return Err(OpError::shape("upsample", "the factor is 0"));
    }
    let y = pass.device().upsample_nearest(x.data(), dims, factor)?;
    let input = x.without_values(pass.device())?;
    let op = Op::new(
        "upsample_nearest",
        Flops::new(0, factor * factor * x.shape().len()),
        [x],
    );
    pass.record_op(op, y, [b, factor * h, factor * w, c], move |grads, dy| {
        let device = grads.device().clone();
        device.upsample_nearest_backward(dims, factor, dy, grads.entry(&input)?)
    })
}

fn image<D: Kernels>(x: &Var<D>) -> Result<(usize, usize, usize, usize)> {
    let dims = x.shape().image().filter(|_| !x.shape().is_empty());
    dims.ok_or_else(|| {
        let message = format!("expected (B, H, W, C), got {}", x.shape());
        OpError::shape("upsample", message)
    })
}

#[cfg(test)]
mod tests;
