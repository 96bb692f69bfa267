//! Bilinear upsampling ×2 with aligned corners.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::gemm::Accumulate;
use super::{Kernels, OpError, Pass, Var, Work};
use crate::device::{Backend, Buffer};

/// Kernels of [`upsample_bilinear`] on one device.
pub trait UpsampleKernel: Backend {
    /// `(B, H, W, C)` to `(B, 2H, 2W, C)`.
    fn upsample_bilinear(
        &self,
        x: &Buffer<Self>,
        dims: (usize, usize, usize, usize),
    ) -> Result<Buffer<Self>, OpError>;

    /// Adds the gradient of the input, of dimensions `dims`, to `dx`, or replaces it.
    fn upsample_bilinear_backward(
        &self,
        dims: (usize, usize, usize, usize),
        dy: &Buffer<Self>,
        dx: (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError>;
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
pub fn upsample_bilinear<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>, OpError> {
    let dims @ (b, h, w, c) = match x.shape().image() {
        Some(dims) if !x.shape().is_empty() => dims,
        _ => {
            return Err(OpError::shape(
                "upsample",
                format!("expected (B, H, W, C), got {}", x.shape()),
            ));
        }
    };
    let y = pass.device().upsample_bilinear(x.data(), dims)?;
    let values = 4 * x.shape().len();
    let input = x.clone();
    pass.finish(
        "upsample_bilinear",
        Work::new(9 * values, 8 * values),
        y,
        [b, 2 * h, 2 * w, c],
        &[x],
        move |grads, dy| {
            let device = grads.device().clone();
            device.upsample_bilinear_backward(dims, dy, grads.entry(&input)?)
        },
    )
}

#[cfg(test)]
mod tests;
