//! Pooling of images: the largest value of every window, or the mean.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use serde::{Deserialize, Serialize};

use super::gemm::Accumulate;
use super::{Flops, Kernels, Op, OpError, Pass, Result, Shape, Var};
use crate::device::{Backend, Buffer};

/// Kind of pooling: the number that is computed from the values of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// The largest value; padding is never the largest, and NaN counts as the largest.
    Max,
    /// The mean over all positions of the window, where padding counts as zeros.
    Average,
}

/// Size, stride and padding of square pooling windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolOptions {
    /// Height and width of a window.
    pub kernel: usize,
    /// Number of pixels from one window to the next.
    pub stride: usize,
    /// Pixels of padding on every side, at most half of `kernel`.
    pub padding: usize,
}

/// Sizes of a pooling operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSize {
    /// Dimensions B, H, W, C of the input images.
    pub image: (usize, usize, usize, usize),
    /// Number of windows in height and width.
    pub windows: (usize, usize),
    /// Size and positions of the windows.
    pub options: PoolOptions,
}

impl PoolSize {
    /// The shape of the result.
    pub fn output(&self) -> Shape {
        let (batch, _, _, channels) = self.image;
        [batch, self.windows.0, self.windows.1, channels].into()
    }
}

/// Kernels of [`pool`] on one device.
pub trait PoolKernel: Backend {
    /// The result. With `keep`, max pooling also returns for backward the index of each maximum within its window
    /// (row-major).
    fn pool(
        &self,
        x: &Buffer<Self>,
        size: &PoolSize,
        pool: Pool,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>)>;

    /// Adds the gradient of the input to `dx`, or overwrites `dx` with it. `places` are the indices of the maxima in
    /// their windows.
    fn pool_backward(
        &self,
        dy: &Buffer<Self>,
        places: Option<&Buffer<Self>>,
        size: &PoolSize,
        dx: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// The maximum or mean of every window of `kernel × kernel` pixels.
///
/// There are `⌊(H + 2 padding − kernel) / stride⌋ + 1` windows in height, and so in width. Of equal maxima the first
/// one gets the gradient.
///
/// Work: `kernel²` per output forward; backward 1 per output of a maximum, `kernel²` of a mean.
///
/// # Shapes
/// `(B, H', W', C)` from `x: (B, H, W, C)`.
/// # Errors
/// [`OpError::Shape`] when `x` does not have four dimensions, the window is larger than the padded image, or the
/// padding more than half of the window.
/// # Source
/// PyTorch `max_pool2d`, `avg_pool2d` with `count_include_pad`.
pub fn pool<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    pool: Pool,
    options: PoolOptions,
) -> Result<Var<D>> {
    let name = match pool {
        Pool::Max => "max_pool2d",
        Pool::Average => "avg_pool2d",
    };
    let size = check(name, x, options)?;
    let keep = pool == Pool::Max && pass.is_recording() && x.needs_grad();
    let (y, places) = pass.device().pool(x.data(), &size, pool, keep)?;
    let (outputs, window) = (size.output().len(), options.kernel * options.kernel);
    let backward = match pool {
        Pool::Max => outputs,
        Pool::Average => window * outputs,
    };
    let input = x.without_values(pass.device())?;
    let op = Op::new(name, Flops::new(window * outputs, backward), [x]);
    pass.record_op(op, y, size.output(), move |slots, dy| {
        let device = slots.device().clone();
        device.pool_backward(dy, places.as_ref(), &size, slots.entry(&input)?)
    })
}

fn check<D: Kernels>(name: &'static str, x: &Var<D>, options: PoolOptions) -> Result<PoolSize> {
    let PoolOptions {
        kernel,
        stride,
        padding,
    } = options;
    let image = x.shape().image().filter(|_| !x.shape().is_empty());
    let Some(image @ (_, height, width, _)) = image else {
        let message = format!("expected (B, H, W, C), got {}", x.shape());
        return Err(OpError::shape(name, message));
    };
    let count = |size: usize| {
        let places = (size + 2 * padding).checked_sub(kernel)?;
        Some(places.checked_div(stride)? + 1)
    };
    // The number of a position in a window is kept as f32, which is exact up to 4096².
    let is_sound = (1..=4096).contains(&kernel) && 2 * padding <= kernel;
    if let (true, Some(rows), Some(columns)) = (is_sound, count(height), count(width)) {
        return Ok(PoolSize {
            image,
            windows: (rows, columns),
            options,
        });
    }
    let message = format!(
        "windows of {kernel}, {stride} apart, with a padding of {padding}, of {}",
        x.shape()
    );
    Err(OpError::shape(name, message))
}

#[cfg(test)]
mod tests;
