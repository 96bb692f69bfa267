//! Depthwise convolution by Fieldtrial's own CUDA kernels, always in `f32`: a result needs only `kh kw`
//! multiplications, so that memory bandwidth, not arithmetic, is the limit. Each thread computes one value;
//! neighbouring threads compute neighbouring channels.

use dfdx::tensor::Cuda;

use super::windows::with_size_args;
use crate::device::cuda::{Launch, THREADS, scratch};
use crate::device::{Buffer, DeviceError};
use crate::ops::Conv2dSize;

/// CUDA's limit of blocks along the second axis of a grid.
const MOST_BLOCKS: usize = 65_535;

/// Largest number of pieces into which the rows of results are cut for the weight's gradient; a second launch adds the
/// pieces' sums.
const MOST_PIECES: usize = 256;

/// Channels per block in the kernel that computes the weight's gradient.
const CHANNELS: usize = 32;

/// `y = conv(x, weight) + bias`.
pub(super) fn forward(
    x: &Buffer<Cuda>,
    weight: &Buffer<Cuda>,
    bias: Option<&Buffer<Cuda>>,
    size: &Conv2dSize,
    y: &mut Buffer<Cuda>,
) -> Result<(), DeviceError> {
    let launch = Launch::new("conv2d_depthwise")
        .grid(rows_of(
            size.batch * size.output.0,
            size.output.1 * size.channels.1,
        ))
        .args((x, weight, bias, y));
    with_size_args(launch, size, size.channels.1).run()
}

/// The input's gradient: added to `grad_x` if `adds`, otherwise it overwrites it.
pub(super) fn backward_x(
    grad: &Buffer<Cuda>,
    weight: &Buffer<Cuda>,
    size: &Conv2dSize,
    (grad_x, adds): (&mut Buffer<Cuda>, bool),
) -> Result<(), DeviceError> {
    let launch = Launch::new("conv2d_depthwise_x")
        .grid(rows_of(
            size.batch * size.input.0,
            size.input.1 * size.channels.0,
        ))
        .args((grad, weight, grad_x));
    with_size_args(launch, size, size.channels.1)
        .arg(adds)
        .run()
}

/// The weight's gradient: added to `grad_weight` if `adds`, otherwise it overwrites it.
pub(super) fn backward_weight(
    x: &Buffer<Cuda>,
    grad: &Buffer<Cuda>,
    size: &Conv2dSize,
    (grad_weight, adds): (&mut Buffer<Cuda>, bool),
) -> Result<(), DeviceError> {
    let (rows, k) = (size.batch * size.output.0, size.channels.1);
    let taps = size.kernel.0 * size.kernel.1;
    let piece = rows.div_ceil(MOST_PIECES);
    let pieces = rows.div_ceil(piece.max(1));
    let mut partials = scratch::<f32>(pieces * taps * k)?;
    let launch = Launch::new("conv2d_depthwise_weight")
        .grid([pieces, k.div_ceil(CHANNELS), taps])
        .args((x, grad, &mut partials, rows, piece));
    with_size_args(launch, size, size.channels.1).run()?;
    Launch::new("conv2d_depthwise_sum")
        .over(taps * k)
        .args((&partials, grad_weight, taps * k, pieces, adds))
        .run()
}

/// Grid with one thread for each of `len` values of each of `rows` rows; beyond [`MOST_BLOCKS`] a thread takes several
/// values.
fn rows_of(rows: usize, len: usize) -> [usize; 3] {
    [rows, len.div_ceil(THREADS).min(MOST_BLOCKS), 1]
}
