//! Two-dimensional convolution with bias, for kernels of any size, any stride and dilation, and channels in groups.
//!
//! `y[b, i, j, k] = bias[k] + Σ_{r,s,c} x[b, i·stride + r·dilation − padding, j·stride + s·dilation − padding, g·C/groups + c]
//! · w[r, s, c, k]`, with zeros outside of x, c from 0 to C/groups, and g = ⌊k / (K/groups)⌋ the group of k: every group of
//! K/groups results reads its own C/groups channels. With `groups = C` the convolution is depthwise: each channel makes
//! K/C results of its own.
//!
//! # Shapes
//! `x: (B, H, W, C)`, `weight: (kh, kw, C/groups, K)` ([`super::Layout::Convolution`]), `bias: (K)`, result
//! `(B, H', W', K)` with `H' = ⌊(H + 2 padding − dilation (kh − 1) − 1) / stride⌋ + 1`.
//! # Algorithms
//! CPU: direct, on the memory layout of `windows`, or `winograd` for 3×3 kernels with stride 1 and dilation 1;
//! [`ConvAlgorithm`] selects the algorithm. Groups of channels are copied to separate memory and convolved one by one
//! (`groups`); depthwise convolutions have kernels of their own (`depthwise`).
//! CUDA: cuDNN, or im2col where cuDNN does not support the size; depthwise by own kernels, always in `f32`.
//! # Work
//! FLOPs forward: `2 B H' W' K C/groups kh kw` (padding counts as data; each algorithm counts as the direct one), plus
//! `B H' W' K` for a bias; backward the same again for each of x and weight that needs a gradient, and for the bias.
//! # Source
//! PyTorch `torch.nn.functional.conv2d`, channels last.

mod algorithm;
mod backward;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod depthwise;
mod direct;
mod groups;
mod windows;
mod winograd;

pub use algorithm::{ConvAlgorithm, take_used_algorithms};

use super::gemm::Accumulate;
use super::{
    Activation, Flops, Kernels, Op, OpError, Pass, PooledBuffer, Result, Shape, Var, linear,
};
use crate::device::{Arithmetic, Backend, Buffer, cpu_arithmetic};

/// Hyperparameters of a convolution, as in PyTorch's `conv2d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conv2dOptions {
    /// Stride in pixels, in both directions.
    pub stride: usize,
    /// Zeros around the input, on every side.
    pub padding: usize,
    /// Distance in pixels between the taps of the kernel, in both directions.
    pub dilation: usize,
    /// Number of groups into which the channels in and out are divided; each group of output channels reads one group
    /// of input channels.
    pub groups: usize,
}

impl Default for Conv2dOptions {
    /// Stride 1, no padding, dilation 1, one group.
    fn default() -> Self {
        Self {
            stride: 1,
            padding: 0,
            dilation: 1,
            groups: 1,
        }
    }
}

impl Conv2dOptions {
    /// Number of pixels that a dilated kernel of `taps` taps covers along one axis.
    fn extent(&self, taps: usize) -> usize {
        self.dilation * (taps - 1) + 1
    }
}

/// The sizes of a convolution, its options, and how the CPU computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conv2dSize {
    /// Number of images.
    pub batch: usize,
    /// Height and width of the input.
    pub input: (usize, usize),
    /// Height and width of the result.
    pub output: (usize, usize),
    /// Height and width of the kernel.
    pub kernel: (usize, usize),
    /// Numbers of input and output channels.
    pub channels: (usize, usize),
    /// Stride, padding, dilation and groups.
    pub options: Conv2dOptions,
    /// Algorithm on the CPU; CUDA ignores it.
    pub algorithm: ConvAlgorithm,
    /// Arithmetic of the products on the CPU; CUDA ignores it.
    pub arithmetic: Arithmetic,
}

impl Conv2dSize {
    /// Shape of the result.
    pub fn output_shape(&self) -> Shape {
        [self.batch, self.output.0, self.output.1, self.channels.1].into()
    }

    /// Floating-point operations of the products of one pass (forward, or one gradient).
    pub fn flop(&self) -> usize {
        2 * self.output_shape().len() * self.group_channels().0 * self.kernel.0 * self.kernel.1
    }

    /// Channels in and out of one group.
    fn group_channels(&self) -> (usize, usize) {
        let groups = self.options.groups;
        (self.channels.0 / groups, self.channels.1 / groups)
    }

    /// The sizes of the convolution of a single group.
    fn of_group(&self) -> Self {
        Self {
            channels: self.group_channels(),
            options: Conv2dOptions {
                groups: 1,
                ..self.options
            },
            ..*self
        }
    }

    /// Whether the convolution is depthwise: several groups, each with a single input channel.
    fn is_depthwise(&self) -> bool {
        self.options.groups > 1 && self.options.groups == self.channels.0
    }
}

/// Kernels of [`conv2d`] on one device.
pub trait Conv2dKernel: Backend {
    /// The result, `conv(x, weight) + bias`, of shape [`Conv2dSize::output_shape`].
    fn conv2d(
        &self,
        x: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: &Conv2dSize,
    ) -> Result<Buffer<Self>>;

    /// The gradient of `x` from that of the result; the [`Accumulate`] says whether it overwrites `grad_x` or is added
    /// to it.
    fn conv2d_backward_x(
        &self,
        grad_output: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        size: &Conv2dSize,
        grad_x: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;

    /// The gradient of `weight` from that of the result; the [`Accumulate`] says whether it overwrites `grad_weight` or
    /// is added to it.
    fn conv2d_backward_weight(
        &self,
        x: &PooledBuffer<Self>,
        grad_output: &PooledBuffer<Self>,
        size: &Conv2dSize,
        grad_weight: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// The convolution of `x` with `weight`, by the algorithm chosen for its shape; see the module.
///
/// # Errors
/// [`OpError::Shape`] when channels do not agree or cannot be cut into the groups, the padding is not smaller than the
/// dilated kernel, or that kernel is larger than the padded input.
pub fn conv2d<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    weight: &Var<D>,
    bias: Option<&Var<D>>,
    options: Conv2dOptions,
) -> Result<Var<D>> {
    conv2d_with_algorithm(ConvAlgorithm::Auto, pass, x, weight, bias, options)
}

/// As [`conv2d`], with a given algorithm on the CPU.
///
/// # Errors
/// As [`conv2d`].
pub fn conv2d_with_algorithm<D: Kernels>(
    algorithm: ConvAlgorithm,
    pass: &mut Pass<D>,
    x: &Var<D>,
    weight: &Var<D>,
    bias: Option<&Var<D>>,
    options: Conv2dOptions,
) -> Result<Var<D>> {
    let size = Conv2dSize {
        algorithm,
        ..check(x, weight, bias, options)?
    };
    if size.kernel == (1, 1) && options.stride == 1 && options.groups == 1 {
        let weight = weight.reshape([size.channels.0, size.channels.1])?;
        return linear(pass, x, &weight, bias, Activation::Identity);
    }
    let data = pass
        .device()
        .conv2d(x.held(), weight.held(), bias.map(Var::data), &size)?;
    let inputs: Vec<&Var<D>> = [x, weight].into_iter().chain(bias).collect();
    let saved_x = if size.is_depthwise() {
        x.clone()
    } else {
        pass.keep(x, weight)?
    };
    let (saved_weight, saved_bias) = (weight.clone(), bias.cloned());
    let products = usize::from(x.needs_grad()) + usize::from(weight.needs_grad());
    let biased = if bias.is_some() {
        size.output_shape().len()
    } else {
        0
    };
    let work = Flops::new(size.flop() + biased, products * size.flop() + biased);
    let op = Op::new("conv2d", work, &inputs);
    pass.record_op_owned(op, data, size.output_shape(), move |slots, grad_output| {
        let grad_output = &PooledBuffer::<D>::new(grad_output);
        let device = slots.device().clone();
        if let Some(bias) = saved_bias.as_ref().filter(|bias| bias.needs_grad()) {
            device.bias_backward(grad_output, slots.entry(bias)?)?;
        }
        if saved_weight.needs_grad() {
            let slot = slots.entry(&saved_weight)?;
            device.conv2d_backward_weight(saved_x.held(), grad_output, &size, slot)?;
        }
        if saved_x.needs_grad() {
            device.conv2d_backward_x(
                grad_output,
                saved_weight.held(),
                &size,
                slots.entry(&saved_x)?,
            )?;
        }
        Ok(())
    })
}

fn check<D: Backend>(
    x: &Var<D>,
    weight: &Var<D>,
    bias: Option<&Var<D>>,
    options: Conv2dOptions,
) -> Result<Conv2dSize> {
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
    let groups = options.groups;
    if groups == 0 || c % groups != 0 || k % groups != 0 {
        return error(format!(
            "{c} channels in and {k} out cannot be cut into {groups} groups"
        ));
    }
    if c / groups != weight_c {
        let parts = if groups == 1 {
            String::new()
        } else {
            format!(" in {groups} groups")
        };
        return error(format!(
            "images {} meet a weight {}{parts}",
            x.shape(),
            weight.shape()
        ));
    }
    if let Some(bias) = bias.filter(|bias| bias.shape().len() != k) {
        return error(format!("a bias {} for {k} channels", bias.shape()));
    }
    let output = match results(x.shape(), (h, w), (kh, kw), options) {
        Ok(output) => output,
        Err(message) => return error(message),
    };
    Ok(Conv2dSize {
        batch,
        input: (h, w),
        output,
        kernel: (kh, kw),
        channels: (c, k),
        options,
        algorithm: ConvAlgorithm::Auto,
        arithmetic: cpu_arithmetic(),
    })
}

/// Height and width of the result for input `x`; an error says why kernel, stride or padding do not fit.
fn results(
    x: Shape,
    (h, w): (usize, usize),
    (kh, kw): (usize, usize),
    options: Conv2dOptions,
) -> Result<(usize, usize), String> {
    let Conv2dOptions {
        stride,
        padding,
        dilation,
        ..
    } = options;
    let spread = if dilation == 1 {
        String::new()
    } else {
        format!(" with dilation {dilation}")
    };
    let kernel = format!("a kernel of {kh} × {kw}{spread}");
    let is_empty = stride == 0 || dilation == 0 || kh == 0 || kw == 0;
    if is_empty || padding >= options.extent(kh) || padding >= options.extent(kw) {
        return Err(format!(
            "stride {stride} and padding {padding} do not suit {kernel}"
        ));
    }
    let (height, width) = (options.extent(kh), options.extent(kw));
    if h + 2 * padding < height || w + 2 * padding < width {
        return Err(format!("{kernel} is larger than images {x}"));
    }
    Ok((
        (h + 2 * padding - height) / stride + 1,
        (w + 2 * padding - width) / stride + 1,
    ))
}

#[cfg(all(test, not(feature = "cuda")))]
mod accuracy;
#[cfg(test)]
mod spread;
#[cfg(test)]
mod tests;
