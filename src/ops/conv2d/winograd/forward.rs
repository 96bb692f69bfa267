//! The convolution itself; that of the result's gradient with the turned filter is the input's gradient.
#![expect(unsafe_code, reason = "tasks write tiles of images, each its own")]

use std::marker::PhantomData;
use std::ops::Range;

use super::scheme::Scheme;
use super::target::Target;
use super::transform::{Gather, Planes, Scatter};
use super::{Shape, Spread};
use crate::ops::gemm::{Into, Matrix, MatrixMut, even_chunk, product};
use crate::ops::parallel::for_each_index;
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd_vectors;

/// Points of a block of tiles, about: V and M of a block stay in the L2 cache as long as U does too.
const POINTS: usize = 1920;
/// Points of a block of tiles where U does not: each block reads all of it, so blocks are large.
const POINTS_AT_LARGE: usize = 3072;
/// Values of U that the L2 cache holds beside a block.
const LARGE: usize = 1 << 18;
/// Values of each plane of a filter that are transformed at a time.
const CHUNK: usize = 2048;

/// What becomes of the results.
pub(super) enum Store<'a> {
    /// They replace what is there, with a bias, one value per channel, or none.
    Replace(Option<&'a [f32]>),
    /// They are added.
    Add,
}

/// Convolves `x` with `weight` into `y`.
pub(super) fn convolve<W: Scheme<N, M>, const N: usize, const M: usize>(
    shape: &Shape,
    x: &[f32],
    weight: &[f32],
    y: &mut [f32],
    store: &Store<'_>,
) {
    let (c, k) = shape.channels;
    let total = shape.tiles::<M>();
    let about = if N * N * c * k > LARGE {
        POINTS_AT_LARGE
    } else {
        POINTS
    };
    let block = even_chunk(total, about / (N * N));
    let y = Target::new(y);
    with_scratch(N * N * c * k, |u| {
        transform_filter::<W, N, M>(weight, c * k, shape.parallel, u);
        let u = &*u;
        for_each_index(shape.parallel, total.div_ceil(block), |index| {
            let tiles = index * block..total.min((index + 1) * block);
            convolve_tiles::<W, N, M>(shape, x, u, tiles, &y, store);
        });
    });
}

/// `U = G g Gᵀ` of every pair of channels, `len` of them.
fn transform_filter<W: Scheme<N, M>, const N: usize, const M: usize>(
    weight: &[f32],
    len: usize,
    parallel: bool,
    u: &mut [f32],
) {
    let u = Target::new(u);
    for_each_index(parallel, len.div_ceil(CHUNK), |index| {
        simd_vectors(Planes::<W::Filter, 3, N> {
            from: weight,
            from_stride: len,
            range: index * CHUNK..len.min((index + 1) * CHUNK),
            // SAFETY: a task writes its own range of values of every plane; planes are `len` values apart.
            to: unsafe { u.part() },
            to_start: 0,
            to_stride: len,
            adds: false,
            transform: PhantomData,
        });
    });
}

/// `Y = Aᵀ (Σ U ⊙ BᵀdB) A` of some tiles.
fn convolve_tiles<W: Scheme<N, M>, const N: usize, const M: usize>(
    shape: &Shape,
    x: &[f32],
    u: &[f32],
    tiles: Range<usize>,
    y: &Target<'_>,
    store: &Store<'_>,
) {
    let ((c, k), rows) = (shape.channels, tiles.len());
    let (v_spread, m_spread) = (Spread::new(rows, c), Spread::new(rows, k));
    let v_len = v_spread.len(N * N);
    with_scratch(v_len + m_spread.len(N * N), |memory| {
        let (v, m) = memory.split_at_mut(v_len);
        simd_vectors(Gather::<W::Data, N, N> {
            images: x,
            grid: &shape.input_grid::<M>(),
            tiles: tiles.clone(),
            channels: 0..c,
            points: v,
            spread: v_spread,
            transform: PhantomData,
        });
        for point in 0..N * N {
            let u = Matrix::new(&u[point * c * k..][..c * k], c, k);
            let m = &mut m[m_spread.plane(point)];
            product(
                &mut MatrixMut::strided(m, rows, k, m_spread.row),
                Into::Replace,
                Matrix::strided(&v[v_spread.plane(point)], rows, c, v_spread.row),
                u,
            );
        }
        let (adds, bias) = match store {
            Store::Replace(bias) => (false, bias.unwrap_or_default()),
            Store::Add => (true, [].as_slice()),
        };
        simd_vectors(Scatter::<W::Result, N, M> {
            points: m,
            spread: m_spread,
            grid: &shape.output_grid::<M>(),
            tiles,
            // SAFETY: a task writes the M × M pixels of its own tiles, which stand M pixels apart.
            images: unsafe { y.part() },
            bias,
            adds,
            transform: PhantomData,
        });
    });
}
