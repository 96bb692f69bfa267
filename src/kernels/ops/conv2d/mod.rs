//! Two-dimensional convolution with bias, for odd kernels of any size and any stride.
//!
//! `y[b, i, j, k] = bias[k] + Σ_{r,s,c} x[b, i·stride + r − padding, j·stride + s − padding, c] · w[r, s, c, k]`, with
//! zeros outside of x.
//!
//! # Shapes
//! `x: (B, H, W, C)`, `weight: (kh, kw, C, K)` ([`super::Layout::Convolution`]), `bias: (K)`, result `(B, H', W', K)`
//! with `H' = ⌊(H + 2 padding − kh) / stride⌋ + 1`.
//! # Algorithms
//! CPU: direct, on the layout of `windows`, or `winograd` for 3×3 kernels with stride 1; [`Convolution`] selects one.
//! CUDA: cuDNN.
//! # Work
//! `2 B H' W' K C kh kw` forward (padding counts as data, and every algorithm as the direct one), plus `B H' W' K` for a
//! bias; backward the same again for each of x and weight that needs a gradient, and for the bias.
//! # Source
//! PyTorch `torch.nn.functional.conv2d`, channels last.

mod algorithm;
mod backward;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod windows;
mod winograd;

pub use algorithm::{Convolution, take_convolutions};

use super::gemm::Accumulate;
use super::{Activation, Kernels, OpError, Pass, Shape, Var, Work, linear};
use crate::device::{Backend, Buffer};

/// How a convolution moves over its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conv2dOptions {
    /// Stride in pixels, in both directions.
    pub stride: usize,
    /// Zeros around the input, on every side.
    pub padding: usize,
}

/// All sizes of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conv2dSize {
    /// Images.
    pub batch: usize,
    /// Height and width in.
    pub input: (usize, usize),
    /// Height and width out.
    pub output: (usize, usize),
    /// Height and width of the kernel.
    pub kernel: (usize, usize),
    /// Channels in and out.
    pub channels: (usize, usize),
    /// Stride and padding.
    pub options: Conv2dOptions,
    /// The CPU's algorithm.
    pub algorithm: Convolution,
}

impl Conv2dSize {
    /// Shape of the result.
    pub fn output_shape(&self) -> Shape {
        [self.batch, self.output.0, self.output.1, self.channels.1].into()
    }

    /// Floating-point operations of the products of one pass (forward, or one gradient).
    pub fn flop(&self) -> usize {
        2 * self.output_shape().len() * self.channels.0 * self.kernel.0 * self.kernel.1
    }
}

/// Convolution on one device.
pub trait Conv2dKernel: Backend {
    /// The convolution.
    fn conv2d(
        &self,
        x: &Buffer<Self>,
        weight: &Buffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: &Conv2dSize,
    ) -> Result<Buffer<Self>, OpError>;

    /// Adds the gradient of the input to `grad_x`, or replaces it.
    fn conv2d_backward_x(
        &self,
        grad_output: &Buffer<Self>,
        weight: &Buffer<Self>,
        size: &Conv2dSize,
        grad_x: (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError>;

    /// Adds the gradient of the weight to `grad_weight`, or replaces it.
    fn conv2d_backward_weight(
        &self,
        x: &Buffer<Self>,
        grad_output: &Buffer<Self>,
        size: &Conv2dSize,
        grad_weight: (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError>;
}

/// The convolution of `x` with `weight`, by the algorithm chosen for its shape; see the module.
///
/// # Errors
/// [`OpError::Shape`] when channels do not agree, or the kernel is larger than the padded input.
pub fn conv2d<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    weight: &Var<D>,
    bias: Option<&Var<D>>,
    options: Conv2dOptions,
) -> Result<Var<D>, OpError> {
    conv2d_by(Convolution::Auto, pass, x, weight, bias, options)
}

/// As [`conv2d`], with a given algorithm.
///
/// # Errors
/// As [`conv2d`].
pub fn conv2d_by<D: Kernels>(
    algorithm: Convolution,
    pass: &mut Pass<D>,
    x: &Var<D>,
    weight: &Var<D>,
    bias: Option<&Var<D>>,
    options: Conv2dOptions,
) -> Result<Var<D>, OpError> {
    let size = Conv2dSize {
        algorithm,
        ..check(x, weight, bias, options)?
    };
    if size.kernel == (1, 1)
        && options
            == (Conv2dOptions {
                stride: 1,
                padding: 0,
            })
    {
        let weight = weight.reshape([size.channels.0, size.channels.1])?;
        return linear(pass, x, &weight, bias, Activation::Identity);
    }
    let data = pass
        .device()
        .conv2d(x.data(), weight.data(), bias.map(Var::data), &size)?;
    let inputs: Vec<&Var<D>> = [x, weight].into_iter().chain(bias).collect();
    let (saved_x, saved_weight, saved_bias) = (x.clone(), weight.clone(), bias.cloned());
    let products = usize::from(x.needs_grad()) + usize::from(weight.needs_grad());
    let biased = if bias.is_some() {
        size.output_shape().len()
    } else {
        0
    };
    let work = Work::new(size.flop() + biased, products * size.flop() + biased);
    pass.finish(
        "conv2d",
        work,
        data,
        size.output_shape(),
        &inputs,
        move |slots, grad_output| {
            let device = slots.device().clone();
            if let Some(bias) = saved_bias.as_ref().filter(|bias| bias.needs_grad()) {
                device.bias_backward(grad_output, slots.of(bias)?)?;
            }
            if saved_weight.needs_grad() {
                let slot = slots.entry(&saved_weight)?;
                device.conv2d_backward_weight(saved_x.data(), grad_output, &size, slot)?;
            }
            if saved_x.needs_grad() {
                device.conv2d_backward_x(
                    grad_output,
                    saved_weight.data(),
                    &size,
                    slots.entry(&saved_x)?,
                )?;
            }
            Ok(())
        },
    )
}

fn check<D: Backend>(
    x: &Var<D>,
    weight: &Var<D>,
    bias: Option<&Var<D>>,
    options: Conv2dOptions,
) -> Result<Conv2dSize, OpError> {
    let error = |message: String| Err(OpError::shape("conv2d", message));
    let (Some((batch, h, w, c)), Some((kh, kw, weight_c, k))) =
        (x.shape().image(), weight.shape().image())
    else {
        return error(format!(
            "images and weights have four dimensions, not {} and {}",
            x.shape(),
            weight.shape()
        ));
    };
    if c != weight_c {
        return error(format!(
            "images {} meet a weight {}",
            x.shape(),
            weight.shape()
        ));
    }
    if let Some(bias) = bias.filter(|bias| bias.shape().len() != k) {
        return error(format!("a bias {} for {k} channels", bias.shape()));
    }
    let Conv2dOptions { stride, padding } = options;
    if stride == 0 || kh == 0 || kw == 0 || padding >= kh || padding >= kw {
        return error(format!(
            "stride {stride} and padding {padding} do not suit a kernel of {kh} × {kw}"
        ));
    }
    if h + 2 * padding < kh || w + 2 * padding < kw {
        return error(format!(
            "a kernel of {kh} × {kw} is larger than images {}",
            x.shape()
        ));
    }
    let output = (
        (h + 2 * padding - kh) / stride + 1,
        (w + 2 * padding - kw) / stride + 1,
    );
    Ok(Conv2dSize {
        batch,
        input: (h, w),
        output,
        kernel: (kh, kw),
        channels: (c, k),
        options,
        algorithm: Convolution::Auto,
    })
}

#[cfg(all(test, not(feature = "cuda")))]
mod accuracy;
#[cfg(test)]
mod tests;
