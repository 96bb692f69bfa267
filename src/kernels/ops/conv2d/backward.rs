//! The gradient of a convolution's input on the CPU: convolutions of the result's gradient, one per phase of the stride.

use super::direct::{POSITIONS, convolve, convolve_chunk};
use super::windows::{Chunk, Windows};
use super::{Conv2dOptions, Conv2dSize};
use crate::ops::gemm::{Accumulate, Matrix, even_chunk, with_stacked};
use crate::ops::parallel::{PRODUCT_FLOP, for_each_chunk_if};

/// The taps along one axis that reach padded pixels ≡ phase modulo the stride: `first + n · step` for n from 0 to `count`.
/// The pixel `phase + stride · v` meets tap n of the result `v − shift − n · dilation`.
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
        // Tap r lies r · dilation pixels after the first; the remainders repeat after `step` taps.
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

/// The gradient of the input at padded rows and columns ≡ `at` modulo the stride: a stride-1 convolution of the result's
/// gradient with the taps of that phase, turned by 180° and with their channels exchanged.
struct Phase {
    at: (usize, usize),
    taps: (Taps, Taps),
    windows: Windows,
}

impl Phase {
    /// The phase at `at`; `None` if it has no taps or pixels.
    fn new(size: &Conv2dSize, at: (usize, usize)) -> Option<Self> {
        let (stride, padding) = (size.options.stride, size.options.padding);
        let (down, across) = (
            Taps::new(size.kernel.0, at.0, size.options),
            Taps::new(size.kernel.1, at.1, size.options),
        );
        let kernel = (down.count, across.count);
        // With stride 1 the first `padding` results would be gradients of the padding: they are skipped.
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

    /// Number of rows of this phase's weights, `(kh · kw · K, C)`.
    fn rows(&self, size: &Conv2dSize) -> usize {
        self.windows.kernel.0 * self.windows.kernel.1 * size.channels.1
    }
}

/// The taps of one phase, turned by 180° and with their channels exchanged: each `(K, C)`, the last one first.
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

/// The weights of a convolution with stride 1 turned by 180° and with their channels exchanged, `(kh, kw, K, C)`.
pub(super) fn turned<'w>(weight: &'w [f32], size: &Conv2dSize) -> Vec<Matrix<'w>> {
    let taps = |kernel| Taps::new(kernel, 0, size.options);
    turned_taps(weight, size, (taps(size.kernel.0), taps(size.kernel.1))).collect()
}

/// Adds to `grad_x`, or replaces it, for a convolution with stride 1.
pub(super) fn backward_plain(
    grad: &[f32],
    weight: &[f32],
    size: &Conv2dSize,
    (grad_x, accumulate): (&mut [f32], Accumulate),
) {
    let Some(phase) = Phase::new(size, (0, 0)) else {
        return;
    };
    let large = size.flop() >= PRODUCT_FLOP;
    with_stacked(size.arithmetic, &turned(weight, size), large, |turned| {
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
    });
}

/// Adds to `grad_x`, or replaces it, for a convolution with a stride above 1: all phases of a few images, which stay in the
/// cache meanwhile.
pub(super) fn backward_strided(
    grad: &[f32],
    weight: &[f32],
    size: &Conv2dSize,
    (grad_x, accumulate): (&mut [f32], Accumulate),
) {
    let stride = size.options.stride;
    let all = (0..stride * stride).map(|i| (i / stride, i % stride));
    let phases: Vec<Phase> = all.filter_map(|at| Phase::new(size, at)).collect();
    // Every pixel belongs to one phase; if some phases are missing, some pixels are not written.
    let is_whole = phases.len() == stride * stride;
    let writes = accumulate == Accumulate::Replace && is_whole;
    let image = size.input.0 * size.input.1 * size.channels.0;
    let pixels = size.input.0.div_ceil(stride) * size.input.1.div_ceil(stride);
    let images = even_chunk(size.batch, (POSITIONS / pixels).max(1));
    let taps: Vec<_> = phases
        .iter()
        .flat_map(|phase| turned_taps(weight, size, phase.taps))
        .collect();
    let large = size.flop() >= PRODUCT_FLOP;
    with_stacked(size.arithmetic, &taps, large, |turned| {
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
                let rows = even_chunk(height, POSITIONS.div_ceil(phase.windows.output.1));
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

/// Writes or adds the results `values: (W', C)` of row `row` of a phase to every `stride`-th pixel of their row of `grad_x`.
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
    // Results of padded pixels are left out.
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
