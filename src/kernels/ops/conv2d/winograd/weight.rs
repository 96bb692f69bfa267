//! The gradient of the filter: the adjoint of the convolution, `dg = Gᵀ (Σ BᵀdB ⊙ A dy Aᵀ) G`.
#![expect(unsafe_code, reason = "tasks write channels of a filter, each its own")]

use std::marker::PhantomData;
use std::ops::Range;

use super::few;
use super::scheme::Scheme;
use super::shape::Shape;
use super::spread::TileLayout;
use super::target::SharedSliceMut;
use super::transform::{Gather, Layout, Planes};
use crate::ops::gemm::{Accumulate, Matrix, MatrixMut, product, sum_partials};
use crate::ops::parallel::for_each_index;
use crate::ops::scratch::with_scratch;
use crate::ops::simd::dispatch_simd;

/// Largest number of input channels of a task, so that the task's transformed gradient dU stays in the L2 cache.
const CHANNELS: usize = 64;
/// Approximate number of points of a block of tiles, which sets the depth of the products.
const POINTS: usize = 1920;
/// Number of tasks to reach: if the channels make fewer tasks, the tiles are cut into segments too.
const TASKS: usize = 4;
/// Smallest number of points per segment of the tiles; each segment needs memory for a partial gradient.
const SEGMENT_POINTS: usize = 2048;

/// The filter's gradient: overwrites `grad_weight` or is added to it, as `accumulate` says.
pub(super) fn add_gradient<W: Scheme<N, M>, const N: usize, const M: usize>(
    shape: &Shape,
    x: &[f32],
    grad: &[f32],
    (grad_weight, accumulate): (&mut [f32], Accumulate),
) {
    let (c, total) = (shape.channels.0, shape.tiles::<M>());
    if few::are_few(total, N * N * c * shape.channels.1) {
        return few::add_gradient::<W, N, M>(shape, x, grad, (grad_weight, accumulate));
    }
    let parts = c.div_ceil(CHANNELS);
    let channels = c
        .div_ceil(parts)
        .next_multiple_of(TileLayout::VECTOR)
        .min(c);
    let parts = c.div_ceil(channels);
    let segments = if shape.parallel {
        (total * N * N / SEGMENT_POINTS).clamp(1, TASKS.div_ceil(parts))
    } else {
        1
    };
    let tiles = total.div_ceil(segments);
    let segments = total.div_ceil(tiles);
    let task = |segment: usize, part: usize| Task {
        shape,
        tiles: segment * tiles..total.min((segment + 1) * tiles),
        channels: part * channels..c.min((part + 1) * channels),
    };
    if segments == 1 {
        let target = SharedSliceMut::new(grad_weight);
        for_each_index(shape.parallel, parts, |part| {
            let adds = accumulate.adds();
            task(0, part).add_gradient::<W, N, M>(x, grad, &target, 0, adds);
        });
        return;
    }
    let len = grad_weight.len();
    with_scratch(segments * len, |partials| {
        let target = SharedSliceMut::new(partials);
        for_each_index(shape.parallel, segments * parts, |index| {
            let (segment, part) = (index / parts, index % parts);
            let start = segment * len;
            task(segment, part).add_gradient::<W, N, M>(x, grad, &target, start, false);
        });
        sum_partials(grad_weight, accumulate, partials);
    });
}

/// A part of the filter's gradient: that of some input channels, summed over some tiles.
struct Task<'a> {
    shape: &'a Shape,
    tiles: Range<usize>,
    channels: Range<usize>,
}

impl Task<'_> {
    /// Writes the task's part of the gradient to `target`, from value `start` on, or adds it if `adds`.
    fn add_gradient<W: Scheme<N, M>, const N: usize, const M: usize>(
        &self,
        x: &[f32],
        grad: &[f32],
        target: &SharedSliceMut<'_>,
        start: usize,
        adds: bool,
    ) {
        let ((c, k), channels) = (self.shape.channels, self.channels.len());
        let blocks = self.tiles.len().div_ceil(POINTS / (N * N));
        let block = self.tiles.len().div_ceil(blocks);
        let (v_spread, d_spread) = (TileLayout::new(block, channels), TileLayout::new(block, k));
        let (v_len, d_len) = (v_spread.len(N * N), d_spread.len(N * N));
        let plane = TileLayout::plane_of(channels * k);
        with_scratch(v_len + d_len + N * N * plane, |memory| {
            let (v, memory) = memory.split_at_mut(v_len);
            let (d, du) = memory.split_at_mut(d_len);
            for first in self.tiles.clone().step_by(block) {
                let tiles = first..self.tiles.end.min(first + block);
                let rows = tiles.len();
                self.gather::<W, N, M>(x, grad, &tiles, (&mut *v, v_spread), (&mut *d, d_spread));
                let accumulate = if first == self.tiles.start {
                    Accumulate::Replace
                } else {
                    Accumulate::Add
                };
                for (point, du) in du.chunks_exact_mut(plane).enumerate() {
                    let v = &v[v_spread.plane(point)];
                    let v = Matrix::strided(v, rows, channels, v_spread.row);
                    let d = &d[d_spread.plane(point)];
                    let d = Matrix::strided(d, rows, k, d_spread.row);
                    let mut du = MatrixMut::new(&mut du[..channels * k], channels, k);
                    product(&mut du, accumulate, v.transposed(), d);
                }
            }
            dispatch_simd(Planes::<W::FilterAdjoint, N, 3> {
                from: du,
                from_layout: Layout::of_planes(0, plane),
                // SAFETY: each task writes separate input channels of every tap, in the gradient or partial result of
                // its segment.
                to: unsafe { target.part() },
                to_layout: Layout::of_planes(start + self.channels.start * k, c * k),
                rows: 1,
                len: channels * k,
                adds,
                transform: PhantomData,
            });
        });
    }

    /// Transforms the data to `v` and the result's gradient to `d`, for the tiles `tiles`.
    fn gather<W: Scheme<N, M>, const N: usize, const M: usize>(
        &self,
        x: &[f32],
        grad: &[f32],
        tiles: &Range<usize>,
        (v, v_spread): (&mut [f32], TileLayout),
        (d, d_spread): (&mut [f32], TileLayout),
    ) {
        dispatch_simd(Gather::<W::Data, N, N> {
            images: x,
            grid: &self.shape.input_grid::<M>(),
            tiles: tiles.clone(),
            channels: self.channels.clone(),
            points: v,
            spread: v_spread,
            transform: PhantomData,
        });
        dispatch_simd(Gather::<W::ResultAdjoint, M, N> {
            images: grad,
            grid: &self.shape.output_grid::<M>(),
            tiles: tiles.clone(),
            channels: 0..self.shape.channels.1,
            points: d,
            spread: d_spread,
            transform: PhantomData,
        });
    }
}
