//! Winograd's convolution. It also computes the input's gradient: from the result's gradient and the filter rotated by
//! 180°.
#![expect(unsafe_code, reason = "tasks write tiles of images, each its own")]

use std::marker::PhantomData;
use std::ops::Range;

use super::few;
use super::scheme::Scheme;
use super::shape::Shape;
use super::spread::TileLayout;
use super::target::{SharedSliceMut, StoreMode};
use super::transform::{Gather, Layout, Planes, Scatter};
use crate::ops::gemm::{Accumulate, Matrix, MatrixMut, even_chunk_len, product};
use crate::ops::parallel::for_each_index;
use crate::ops::scratch::with_scratch;
use crate::ops::simd::dispatch_simd;

/// Approximate number of points of a block of tiles if U fits into the L2 cache: the block's transformed data V and
/// products M then fit too.
const POINTS: usize = 1920;
/// Approximate number of points of a block of tiles if U does not fit into the L2 cache. Each block reads all of U, so
/// that few large blocks are better.
const POINTS_AT_LARGE: usize = 3072;
/// Number of values of each point of a filter that one task transforms.
const CHUNK: usize = 2048;

/// Convolves `x` with `weight`; `store` says whether the results overwrite `y` or are added to it.
pub(super) fn convolve<W: Scheme<N, M>, const N: usize, const M: usize>(
    shape: &Shape,
    x: &[f32],
    weight: &[f32],
    y: &mut [f32],
    store: &StoreMode<'_>,
) {
    let (c, k) = shape.channels;
    let total = shape.tiles::<M>();
    if few::are_few(total, N * N * c * k) {
        return few::convolve::<W, N, M>(shape, x, weight, y, store);
    }
    let about = if N * N * c * k > few::LARGE {
        POINTS_AT_LARGE
    } else {
        POINTS
    };
    let block = even_chunk_len(total, about / (N * N));
    let y = SharedSliceMut::new(y);
    let plane = TileLayout::plane_of(c * k);
    with_scratch(N * N * plane, |u| {
        transform_filter::<W, N, M>(weight, c * k, shape.parallel, (u, plane));
        let u = &*u;
        for_each_index(shape.parallel, total.div_ceil(block), |index| {
            let tiles = index * block..total.min((index + 1) * block);
            convolve_tiles::<W, N, M>(shape, x, u, tiles, &y, store);
        });
    });
}

/// `U = G g Gᵀ` for `len` pairs of channels; the values of neighbouring points are `plane` apart in `u`.
fn transform_filter<W: Scheme<N, M>, const N: usize, const M: usize>(
    weight: &[f32],
    len: usize,
    parallel: bool,
    (u, plane): (&mut [f32], usize),
) {
    let u = SharedSliceMut::new(u);
    for_each_index(parallel, len.div_ceil(CHUNK), |index| {
        let start = index * CHUNK;
        dispatch_simd(Planes::<W::Filter, 3, N> {
            from: weight,
            from_layout: Layout::of_planes(start, len),
            // SAFETY: each task writes a separate range of the `len` values of every plane; planes are at least `len` apart.
            to: unsafe { u.part() },
            to_layout: Layout::of_planes(start, plane),
            rows: 1,
            len: CHUNK.min(len - start),
            adds: false,
            transform: PhantomData,
        });
    });
}

/// `Y = Aᵀ (Σ_c U ⊙ BᵀdB) A` of the tiles `tiles`.
fn convolve_tiles<W: Scheme<N, M>, const N: usize, const M: usize>(
    shape: &Shape,
    x: &[f32],
    u: &[f32],
    tiles: Range<usize>,
    y: &SharedSliceMut<'_>,
    store: &StoreMode<'_>,
) {
    let ((c, k), rows) = (shape.channels, tiles.len());
    let (v_spread, m_spread) = (TileLayout::new(rows, c), TileLayout::new(rows, k));
    let v_len = v_spread.len(N * N);
    with_scratch(v_len + m_spread.len(N * N), |memory| {
        let (v, m) = memory.split_at_mut(v_len);
        dispatch_simd(Gather::<W::Data, N, N> {
            images: x,
            grid: &shape.input_grid::<M>(),
            tiles: tiles.clone(),
            channels: 0..c,
            points: v,
            spread: v_spread,
            transform: PhantomData,
        });
        for (point, u) in u.chunks_exact(TileLayout::plane_of(c * k)).enumerate() {
            let u = Matrix::new(&u[..c * k], c, k);
            let m = &mut m[m_spread.plane(point)];
            product(
                &mut MatrixMut::strided(m, rows, k, m_spread.row),
                Accumulate::Replace,
                Matrix::strided(&v[v_spread.plane(point)], rows, c, v_spread.row),
                u,
            );
        }
        let (adds, bias) = store.adds_and_bias(0..k);
        dispatch_simd(Scatter::<W::Result, N, M> {
            points: m,
            spread: m_spread,
            grid: &shape.output_grid::<M>(),
            tiles,
            channels: 0..k,
            // SAFETY: each task writes the M × M pixels of separate tiles, which are M pixels apart.
            images: unsafe { y.part() },
            bias,
            adds,
            transform: PhantomData,
        });
    });
}
