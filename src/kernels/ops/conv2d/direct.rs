//! The direct convolution on the CPU: one matrix product per filter row (with a dilation per tap) and chunk of result rows, on the
//! layout of [`super::windows`]. No im2col: the windows overlap in memory.

use super::windows::{Chunk, Windows};
use crate::ops::gemm::{Accumulate, Matrix, MatrixMut, even_chunk, product_in, sum_partials};
use crate::ops::parallel::{PRODUCT_FLOP, for_each_chunk_if};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;

/// Approximate positions of a chunk of results: its windows and results stay in the L2 cache.
pub(super) const POSITIONS: usize = 320;

/// Approximate rows of a block of the weight gradient.
const BLOCK: usize = 192;

/// Convolves x and calls `store` with every row of results, `(W', K)`, and its slice of `y`.
pub(super) fn convolve(
    windows: &Windows,
    x: &[f32],
    weight: &[f32],
    k: usize,
    y: &mut [f32],
    store: impl Fn(&mut [f32], &[f32]) + Sync,
) {
    let (height, width) = windows.output;
    let large = 2 * y.len() * (weight.len() / k) >= PRODUCT_FLOP;
    // A chunk is several whole images, or a part of one.
    let images = even_chunk(windows.batch, (POSITIONS / (height * width)).max(1));
    let rows = if images > 1 {
        height
    } else {
        even_chunk(height, POSITIONS.div_ceil(width))
    };
    for_each_chunk_if(large, y, images * height * width * k, |start, y| {
        let first = start / (height * width * k);
        let last = first + y.len() / (height * width * k);
        let chunk = if images > 1 {
            y.len()
        } else {
            rows * width * k
        };
        for_each_chunk_if(large, y, chunk, |start, y| {
            let rows = if images > 1 {
                0..height
            } else {
                start / (width * k)..(start + y.len()) / (width * k)
            };
            let chunk = Chunk::new(windows, first..last, rows);
            convolve_chunk(&chunk, x, weight, k, |row, values| {
                store(&mut y[row * width * k..][..width * k], values);
            });
        });
    });
}

/// Convolves the input of a chunk and calls `store` with the position and the values of every row of results.
pub(super) fn convolve_chunk(
    chunk: &Chunk<'_>,
    x: &[f32],
    weight: &[f32],
    k: usize,
    mut store: impl FnMut(usize, &[f32]),
) {
    let (m, layout_len) = (chunk.positions(), chunk.layout_len());
    with_scratch(layout_len + m * k, |memory| {
        let (layout, results) = memory.split_at_mut(layout_len);
        chunk.lay_out(x, layout, false);
        let part = weight.len() / chunk.products();
        for (index, weight) in weight.chunks_exact(part).enumerate() {
            let accumulate = if index == 0 {
                Accumulate::Replace
            } else {
                Accumulate::Add
            };
            let weight = Matrix::new(weight, part / k, k);
            product_in(
                chunk.arithmetic(),
                &mut MatrixMut::new(results, m, k),
                accumulate,
                chunk.factor(layout, index),
                weight,
            );
        }
        let row = chunk.width() * k;
        simd!({
            for (index, at) in chunk.row_starts().enumerate() {
                store(index, &results[at * k..][..row]);
            }
        });
    });
}

/// The weight gradient as a sum of partial results, each over `images` images.
pub(super) fn by_segments(
    windows: &Windows,
    x: &[f32],
    grad: &[f32],
    images: usize,
    k: usize,
    (grad_weight, accumulate): (&mut [f32], Accumulate),
) {
    let (len, batch) = (grad_weight.len(), windows.batch);
    let segments = batch.div_ceil(images);
    with_scratch(segments * len, |partials| {
        for_each_chunk_if(segments > 1, partials, len, |start, partial| {
            let first = start / len * images;
            let chunk = Chunk::new(
                windows,
                first..(first + images).min(batch),
                0..windows.output.0,
            );
            with_factors(&chunk, x, grad, k, false, |layout, grad| {
                for (index, partial) in partial.chunks_exact_mut(len / chunk.products()).enumerate()
                {
                    let rows = partial.len() / k;
                    let a = chunk.factor(layout, index).transposed();
                    product_in(
                        chunk.arithmetic(),
                        &mut MatrixMut::new(partial, rows, k),
                        Accumulate::Replace,
                        a,
                        grad,
                    );
                }
            });
        });
        sum_partials(grad_weight, accumulate, partials);
    });
}

/// The weight gradient in blocks of its rows, each over the whole batch.
pub(super) fn by_rows(
    windows: &Windows,
    x: &[f32],
    grad: &[f32],
    k: usize,
    (grad_weight, accumulate): (&mut [f32], Accumulate),
) {
    let chunk = Chunk::all(windows);
    with_factors(&chunk, x, grad, k, true, |layout, grad| {
        let factor = grad_weight.len() / chunk.products();
        let block = even_chunk(factor / k, BLOCK);
        for_each_chunk_if(true, grad_weight, factor, |start, part| {
            let a = chunk.factor(layout, start / factor).transposed();
            for_each_chunk_if(true, part, block * k, |start, part| {
                let rows = part.len() / k;
                product_in(
                    chunk.arithmetic(),
                    &mut MatrixMut::new(part, rows, k),
                    accumulate,
                    a.row_range(start / k, rows),
                    grad,
                );
            });
        });
    });
}

/// Calls `work` with the layout of a chunk's input and its gradient, one row per position.
fn with_factors<R>(
    chunk: &Chunk<'_>,
    x: &[f32],
    grad: &[f32],
    k: usize,
    parallel: bool,
    work: impl FnOnce(&[f32], Matrix<'_>) -> R,
) -> R {
    let (m, layout_len) = (chunk.positions(), chunk.layout_len());
    with_scratch(layout_len + m * k, |memory| {
        let (layout, gradient) = memory.split_at_mut(layout_len);
        chunk.lay_out(x, layout, parallel);
        chunk.lay_out_gradient(grad, k, gradient, parallel);
        work(layout, Matrix::new(gradient, m, k))
    })
}
