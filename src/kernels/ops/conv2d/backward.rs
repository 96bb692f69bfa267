//! The gradient of a convolution's input on the CPU, as convolutions of the result's gradient. With stride s there is
//! one for each of the s² remainders ("phases") of a pixel's row and column modulo s.

use super::direct::{POSITIONS, convolve, convolve_chunk};
use super::windows::{Chunk, Windows};
use super::{Conv2dOptions, Conv2dSize};
use crate::ops::gemm::{Accumulate, Matrix, even_chunk_len, with_stacked_right};
use crate::ops::parallel::{MIN_PARALLEL_FLOP, for_each_chunk_if};

/// The taps of the kernel along one axis that meet the padded pixels whose index is `phase` modulo the stride: taps
/// `first + n · step` for n in `0..count`. Number n of these taps reads the pixel `phase + stride · v` for the result
/// `v − shift − n · dilation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Taps {
    first: usize,
    step: usize,
    count: usize,
    shift: usize,
    dilation: usize,
}

impl Taps {
    fn new(kernel: usize, phase: usize, options: Conv2dOptions) -> Self {
        let Conv2dOptions {
            stride, dilation, ..
        } = options;
        let common = (1..=stride)
            .rev()
            .find(|d| stride % d == 0 && dilation % d == 0)
            .unwrap_or(1);
        let step = stride / common;
        // Tap r reads the pixel r · dilation after that of tap 0; these distances modulo the stride repeat after `step`
        // taps.
        let first = (0..step)
            .find(|r| r * dilation % stride == phase)
            .unwrap_or(kernel);
        Self {
            first,
            step,
            count: kernel.saturating_sub(first).div_ceil(step),
            shift: first * dilation / stride,
            dilation: dilation / common,
        }
    }
}

/// The gradient of the input pixels whose padded row and column are `at` modulo the stride: a stride-1 convolution of
/// the result's gradient with the taps of that phase, rotated by 180° and with input and output channels exchanged.
struct Phase {
    at: (usize, usize),
    taps: (Taps, Taps),
    windows: Windows,
}

impl Phase {
    /// The phase of the pixels whose row and column are `at` modulo the stride; `None` if it has no taps or no pixels.
    fn new(size: &Conv2dSize, at: (usize, usize)) -> Option<Self> {
        let (stride, padding) = (size.options.stride, size.options.padding);
        let (down, across) = (
            Taps::new(size.kernel.0, at.0, size.options),
            Taps::new(size.kernel.1, at.1, size.options),
        );
        let kernel = (down.count, across.count);
        // With stride 1 the first `padding` results would be gradients of padding pixels: they are not computed.
        let skipped = if stride == 1 { padding } else { 0 };
        let results = |input: usize, at: usize| {
            (input + padding - skipped)
                .saturating_sub(at)
                .div_ceil(stride)
        };
        let output = (results(size.input.0, at.0), results(size.input.1, at.1));
        if kernel.0 * kernel.1 * output.0 * output.1 == 0 {
            return None;
        }
        let before = |taps: Taps| taps.shift + (taps.count - 1) * taps.dilation - skipped;
        let windows = Windows {
            batch: size.batch,
            input: (size.output.0, size.output.1, size.channels.1),
            output,
            kernel,
            stride: 1,
            dilation: down.dilation,
            padding: (before(down), before(across)),
            arithmetic: size.arithmetic,
        };
        Some(Self {
            at,
            taps: (down, across),
            windows,
        })
    }

    /// Number of rows of the matrix of this phase's weights, which is `(kh · kw · K, C)`.
    fn rows(&self, size: &Conv2dSize) -> usize {
        self.windows.kernel.0 * self.windows.kernel.1 * size.channels.1
    }
}

/// The weight matrices of the taps of one phase, `(K, C)` each, from the last tap to the first: the kernel rotated by
/// 180°, with input and output channels exchanged.
fn turned_taps<'w>(
    weight: &'w [f32],
    size: &Conv2dSize,
    (down, across): (Taps, Taps),
) -> impl Iterator<Item = Matrix<'w>> {
    let ((c, k), width) = (size.channels, size.kernel.1);
    let from_last = |taps: Taps| {
        (0..taps.count)
            .rev()
            .map(move |n| taps.first + n * taps.step)
    };
    from_last(down).flat_map(move |r| {
        from_last(across).map(move |s| {
            Matrix::new(&weight[(r * width + s) * c * k..][..c * k], c, k).transposed()
        })
    })
}

/// The weights for the gradient of the input, with stride 1: `kh · kw` matrices `(K, C)`, the kernel rotated by 180°
/// and with input and output channels exchanged.
pub(super) fn rotated_taps<'w>(weight: &'w [f32], size: &Conv2dSize) -> Vec<Matrix<'w>> {
    let taps = |kernel| Taps::new(kernel, 0, size.options);
    turned_taps(weight, size, (taps(size.kernel.0), taps(size.kernel.1))).collect()
}

/// The input's gradient with stride 1: overwrites `grad_x` or is added to it, as `accumulate` says.
pub(super) fn backward_stride_one(
    grad: &[f32],
    weight: &[f32],
    size: &Conv2dSize,
    (grad_x, accumulate): (&mut [f32], Accumulate),
) {
    let Some(phase) = Phase::new(size, (0, 0)) else {
        return;
    };
    let large = size.flop() >= MIN_PARALLEL_FLOP;
    with_stacked_right(
        size.arithmetic,
        &rotated_taps(weight, size),
        large,
        |turned| {
            convolve(
                &phase.windows,
                grad,
                turned,
                large,
                grad_x,
                |y, values| match accumulate {
                    Accumulate::Replace => y.copy_from_slice(values),
                    Accumulate::Add => add_row(y, values),
                },
            );
        },
    );
}

/// The input's gradient with a stride above 1: overwrites `grad_x` or is added to it, as `accumulate` says. All phases
/// of a few images are computed before the next images, so that these images stay in the cache.
pub(super) fn backward_strided(
    grad: &[f32],
    weight: &[f32],
    size: &Conv2dSize,
    (grad_x, accumulate): (&mut [f32], Accumulate),
) {
    let stride = size.options.stride;
    let all = (0..stride * stride).map(|i| (i / stride, i % stride));
    let phases: Vec<Phase> = all.filter_map(|at| Phase::new(size, at)).collect();
    // Every pixel belongs to exactly one phase. If phases without taps are missing, their pixels are not written below.
    let is_whole = phases.len() == stride * stride;
    let writes = accumulate == Accumulate::Replace && is_whole;
    let image = size.input.0 * size.input.1 * size.channels.0;
    let pixels = size.input.0.div_ceil(stride) * size.input.1.div_ceil(stride);
    let images = even_chunk_len(size.batch, (POSITIONS / pixels).max(1));
    let taps: Vec<_> = phases
        .iter()
        .flat_map(|phase| turned_taps(weight, size, phase.taps))
        .collect();
    let large = size.flop() >= MIN_PARALLEL_FLOP;
    with_stacked_right(size.arithmetic, &taps, large, |turned| {
        for_each_chunk_if(large, grad_x, images * image, |start, grad_x| {
            if accumulate == Accumulate::Replace && !is_whole {
                grad_x.fill(0.0);
            }
            let first = start / image;
            let some = first..first + grad_x.len() / image;
            let mut before = 0;
            for phase in &phases {
                let own = turned.row_range(before, phase.rows(size));
                before += phase.rows(size);
                let height = phase.windows.output.0;
                let rows = even_chunk_len(height, POSITIONS.div_ceil(phase.windows.output.1));
                for row in (0..height).step_by(rows) {
                    let rows = row..(row + rows).min(height);
                    let chunk = Chunk::new(&phase.windows, some.clone(), rows.clone());
                    convolve_chunk(&chunk, grad, own, |index, values| {
                        let (image, row) = (index / rows.len(), rows.start + index % rows.len());
                        scatter_row(grad_x, values, size, phase.at, (image, row), writes);
                    });
                }
            }
        });
    });
}

#[inline(always)]
fn add_row(target: &mut [f32], values: &[f32]) {
    for (target, value) in target.iter_mut().zip(values) {
        *target += value;
    }
}

/// Writes the results `values: (W', C)` of row `row` of a phase to every `stride`-th pixel of one row of `grad_x`, or
/// adds them if `writes` is false.
#[inline(always)]
fn scatter_row(
    grad_x: &mut [f32],
    values: &[f32],
    size: &Conv2dSize,
    at: (usize, usize),
    (image, row): (usize, usize),
    writes: bool,
) {
    let (stride, padding) = (size.options.stride, size.options.padding);
    let ((h, w), c) = (size.input, size.channels.0);
    // Gradients of padding pixels are discarded.
    let Some(y) = (at.0 + stride * row)
        .checked_sub(padding)
        .filter(|y| *y < h)
    else {
        return;
    };
    let skipped = padding.saturating_sub(at.1).div_ceil(stride);
    let x = at.1 + stride * skipped - padding;
    let targets = grad_x[(image * h + y) * w * c..][..w * c].chunks_exact_mut(c);
    let pairs = targets
        .skip(x)
        .step_by(stride)
        .zip(values.chunks_exact(c).skip(skipped));
    if writes {
        pairs.for_each(|(target, value)| target.copy_from_slice(value));
    } else {
        pairs.for_each(|(target, value)| add_row(target, value));
    }
}
