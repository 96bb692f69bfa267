//! Winograd convolutions with few tiles and many channels, as in the deepest layers of a U-Net, where the transformed
//! filter U is many times as large as all data.
//!
//! Writing U to memory and reading it again would take longer than multiplying by it. So channels are cut into blocks,
//! and each block of U is computed just before use, small enough for the L2 cache; the data are transformed once for
//! all blocks. The gradient of the filter, which before its back-transform is as large as U, is computed block by block
//! too.
#![expect(
    unsafe_code,
    reason = "tasks write channels of images and filters, each its own"
)]

use std::marker::PhantomData;
use std::ops::Range;

use super::scheme::{Scheme, Transform};
use super::shape::Shape;
use super::spread::TileLayout;
use super::target::{SharedSliceMut, StoreMode};
use super::transform::{Gather, Grid, Layout, Planes, Scatter};
use crate::ops::gemm::{Accumulate, Matrix, MatrixMut, product};
use crate::ops::parallel::{for_each_chunk_if, for_each_index};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::dispatch_simd;

/// Largest number of values of the transformed filter U that fit into the L2 cache together with the data.
pub(super) const LARGE: usize = 1 << 18;
/// Largest number of tiles for which one block of transformed data fits into the L2 cache together with a block of U.
const FEW: usize = 64;
/// Channels per block, in and out: a block of U is N² matrices of 64 × 64.
const BLOCK: usize = 64;

/// Whether this module computes a convolution: it has few tiles, and U has too many values (`filter_points`) for the
/// cache.
pub(in crate::ops::conv2d) fn are_few(tiles: usize, filter_points: usize) -> bool {
    tiles <= FEW && filter_points > LARGE
}

/// Convolves `x` with `weight`; `store` says whether the results overwrite `y` or are added to it.
pub(super) fn convolve<W: Scheme<N, M>, const N: usize, const M: usize>(
    shape: &Shape,
    x: &[f32],
    weight: &[f32],
    y: &mut [f32],
    store: &StoreMode<'_>,
) {
    let (rows, k) = (shape.tiles::<M>(), shape.channels.1);
    let data = Blocks::new(shape.input_grid::<M>(), rows, N * N);
    let y = SharedSliceMut::new(y);
    data.with_points::<W::Data, N, N>(shape.parallel, x, |v| {
        for_each_index(shape.parallel, k.div_ceil(BLOCK), |block| {
            let columns = channels(block, k);
            let spread = TileLayout::new(rows, columns.len());
            with_scratch(spread.len(N * N), |m| {
                multiply::<W::Filter, N>(weight, shape.channels, (&data, v), &columns, (m, spread));
                let (adds, bias) = store.adds_and_bias(columns.clone());
                dispatch_simd(Scatter::<W::Result, N, M> {
                    points: m,
                    spread,
                    grid: &shape.output_grid::<M>(),
                    tiles: 0..rows,
                    channels: columns,
                    // SAFETY: each task writes separate channels of every pixel.
                    images: unsafe { y.part() },
                    bias,
                    adds,
                    transform: PhantomData,
                });
            });
        });
    });
}

/// `M = Σ_c V U` at every point, for the output channels `columns`; U is computed block by block from `weight`.
fn multiply<T: Transform<3, N>, const N: usize>(
    weight: &[f32],
    (c, k): (usize, usize),
    (data, v): (&Blocks, &[f32]),
    columns: &Range<usize>,
    (m, spread): (&mut [f32], TileLayout),
) {
    let count = columns.len();
    let plane = TileLayout::plane_of(BLOCK * count);
    with_scratch(N * N * plane, |u| {
        for (block, v) in data.blocks(v).enumerate() {
            let inputs = channels(block, c);
            let to = SharedSliceMut::new(u);
            dispatch_simd(Planes::<T, 3, N> {
                from: weight,
                from_layout: Layout {
                    start: inputs.start * k + columns.start,
                    row: k,
                    plane: c * k,
                },
                // SAFETY: `part` is called only once on this target, so that no two parts overlap.
                to: unsafe { to.part() },
                to_layout: Layout {
                    start: 0,
                    row: count,
                    plane,
                },
                rows: inputs.len(),
                len: count,
                adds: false,
                transform: PhantomData,
            });
            let accumulate = if block == 0 {
                Accumulate::Replace
            } else {
                Accumulate::Add
            };
            for (point, u) in u.chunks_exact(plane).enumerate() {
                let m = &mut m[spread.plane(point)];
                let v = data.matrix(v, point, inputs.len());
                let u = Matrix::new(u, inputs.len(), count);
                product(
                    &mut MatrixMut::strided(m, data.rows, count, spread.row),
                    accumulate,
                    v,
                    u,
                );
            }
        }
    });
}

/// The filter's gradient: overwrites `grad_weight` or is added to it, as `accumulate` says.
pub(super) fn add_gradient<W: Scheme<N, M>, const N: usize, const M: usize>(
    shape: &Shape,
    x: &[f32],
    grad: &[f32],
    (grad_weight, accumulate): (&mut [f32], Accumulate),
) {
    let (rows, (c, k)) = (shape.tiles::<M>(), shape.channels);
    let data = Blocks::new(shape.input_grid::<M>(), rows, N * N);
    let results = Blocks::new(shape.output_grid::<M>(), rows, N * N);
    let target = SharedSliceMut::new(grad_weight);
    let across = k.div_ceil(BLOCK);
    data.with_points::<W::Data, N, N>(shape.parallel, x, |v| {
        results.with_points::<W::ResultAdjoint, M, N>(shape.parallel, grad, |d| {
            for_each_index(shape.parallel, c.div_ceil(BLOCK) * across, |index| {
                let (from, to) = (index / across, index % across);
                let (inputs, columns) = (channels(from, c), channels(to, k));
                let len = inputs.len() * columns.len();
                let plane = TileLayout::plane_of(len);
                let (v, d) = (data.block(v, from), results.block(d, to));
                with_scratch(N * N * plane, |du| {
                    for (point, du) in du.chunks_exact_mut(plane).enumerate() {
                        let v = data.matrix(v, point, inputs.len()).transposed();
                        let d = results.matrix(d, point, columns.len());
                        let mut du = MatrixMut::new(&mut du[..len], inputs.len(), columns.len());
                        product(&mut du, Accumulate::Replace, v, d);
                    }
                    dispatch_simd(Planes::<W::FilterAdjoint, N, 3> {
                        from: du,
                        from_layout: Layout {
                            start: 0,
                            row: columns.len(),
                            plane,
                        },
                        // SAFETY: each task writes separate pairs of channels of every tap.
                        to: unsafe { target.part() },
                        to_layout: Layout {
                            start: inputs.start * k + columns.start,
                            row: k,
                            plane: c * k,
                        },
                        rows: inputs.len(),
                        len: columns.len(),
                        adds: accumulate.adds(),
                        transform: PhantomData,
                    });
                });
            });
        });
    });
}

/// The channels of block number `block`, if there are `all` channels.
fn channels(block: usize, all: usize) -> Range<usize> {
    block * BLOCK..all.min((block + 1) * BLOCK)
}

/// Layout of the transformed points of all tiles, in blocks of [`BLOCK`] channels.
struct Blocks {
    grid: Grid,
    /// Number of tiles.
    rows: usize,
    /// Number of points of a tile.
    points: usize,
    /// Layout within a block.
    spread: TileLayout,
}

impl Blocks {
    fn new(grid: Grid, rows: usize, points: usize) -> Self {
        Self {
            grid,
            rows,
            points,
            spread: TileLayout::new(rows, BLOCK.min(grid.channels)),
        }
    }

    fn block_len(&self) -> usize {
        self.spread.len(self.points)
    }

    /// Transforms the images by `T` and calls `work` with the points of all blocks.
    fn with_points<T: Transform<I, O>, const I: usize, const O: usize>(
        &self,
        parallel: bool,
        images: &[f32],
        work: impl FnOnce(&[f32]),
    ) {
        let (all, len) = (self.grid.channels, self.block_len());
        with_scratch(all.div_ceil(BLOCK) * len, |points| {
            for_each_chunk_if(parallel, points, len, |start, points| {
                dispatch_simd(Gather::<T, I, O> {
                    images,
                    grid: &self.grid,
                    tiles: 0..self.rows,
                    channels: channels(start / len, all),
                    points,
                    spread: self.spread,
                    transform: PhantomData,
                });
            });
            work(points);
        });
    }

    fn blocks<'a>(&self, points: &'a [f32]) -> impl Iterator<Item = &'a [f32]> {
        points.chunks_exact(self.block_len())
    }

    fn block<'a>(&self, points: &'a [f32], index: usize) -> &'a [f32] {
        &points[index * self.block_len()..][..self.block_len()]
    }

    /// The values of one point of a block as a matrix, tiles × `count` channels.
    fn matrix<'a>(&self, block: &'a [f32], point: usize, count: usize) -> Matrix<'a> {
        let plane = &block[self.spread.plane(point)];
        Matrix::strided(plane, self.rows, count, self.spread.row)
    }
}
