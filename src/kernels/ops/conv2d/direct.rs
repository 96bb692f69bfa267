//! The direct convolution on the CPU: for each chunk of result rows one matrix product per filter row (with a dilation,
//! one per tap), on the memory layout of [`super::windows`]. Unlike im2col it copies no windows: they overlap in
//! memory.

use super::windows::{Chunk, Factor, Windows};
use crate::ops::gemm::{
    Accumulate, AmxProducts, Matrix, MatrixMut, RightMatrix, even_chunk_len, matmul_in_arithmetic,
    sum_partials, with_right_matrix,
};
use crate::ops::parallel::for_each_chunk_if;
use crate::ops::scratch::{with_half_scratch, with_scratch};
use crate::ops::simd::simd;

/// Approximate number of result pixels of a chunk, so that its input and results stay in the L2 cache.
pub(super) const POSITIONS: usize = 320;

/// Approximate number of rows of the weight gradient that one task of [`by_rows`] computes.
const BLOCK: usize = 192;

/// Convolves x, on several threads if `large`. Calls `store` with the slice of `y` that belongs to a row of results,
/// and with that row's values, `(W', K)`.
pub(super) fn convolve(
    windows: &Windows,
    x: &[f32],
    weight: RightMatrix<'_>,
    large: bool,
    y: &mut [f32],
    store: impl Fn(&mut [f32], &[f32]) + Sync,
) {
    let (height, width) = windows.output;
    let k = weight.size().1;
    // A chunk is several whole images, or a part of one.
    let images = even_chunk_len(windows.batch, (POSITIONS / (height * width)).max(1));
    let rows = if images > 1 {
        height
    } else {
        even_chunk_len(height, POSITIONS.div_ceil(width))
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
            convolve_chunk(&chunk, x, weight, |row, values| {
                store(&mut y[row * width * k..][..width * k], values);
            });
        });
    });
}

/// Convolves the input of a chunk; calls `store` with the index of every row of results in the chunk and the row's
/// values.
pub(super) fn convolve_chunk(
    chunk: &Chunk<'_>,
    x: &[f32],
    weight: RightMatrix<'_>,
    mut store: impl FnMut(usize, &[f32]),
) {
    let (m, k) = (chunk.positions(), weight.size().1);
    with_scratch(m * k, |results| {
        multiply(chunk, x, weight, &mut MatrixMut::new(results, m, k));
        let row = chunk.width() * k;
        simd!({
            for (index, at) in chunk.row_starts().enumerate() {
                store(index, &results[at * k..][..row]);
            }
        });
    });
}

/// Sums the products of a chunk, one for each filter row or, with a dilation, each tap, in `results`.
fn multiply(chunk: &Chunk<'_>, x: &[f32], weight: RightMatrix<'_>, results: &mut MatrixMut<'_>) {
    let Factor { columns, step, .. } = chunk.factor_at(0);
    if let Some(tiles) = weight.tiles(columns, step) {
        let positions = chunk.positions().next_multiple_of(AmxProducts::ROWS);
        let len = chunk.layout_len() + (positions - chunk.positions()) * step;
        let starts = (0..chunk.products()).map(|index| chunk.factor_at(index).start);
        let starts: Vec<_> = starts.collect();
        with_half_scratch(len, |layout| {
            chunk.lay_out_rounded(x, &mut layout[..chunk.layout_len()], |to, from| {
                tiles.round(to, from);
            });
            tiles.product(results, (layout, step), &starts, weight);
        });
        return;
    }
    let part = weight.size().0 / chunk.products();
    with_scratch(chunk.layout_len(), |layout| {
        chunk.lay_out(x, layout, false);
        for index in 0..chunk.products() {
            let accumulate = match index {
                0 => Accumulate::Replace,
                _ => Accumulate::Add,
            };
            let weight = weight.row_range(index * part, part);
            let a = chunk.factor(layout, index);
            matmul_in_arithmetic(chunk.arithmetic(), results, accumulate, a, weight);
        }
    });
}

/// The weight's gradient as a sum of partial gradients, each over `images` images; all of them are in memory at once.
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
                let part = len / chunk.products();
                for (index, partial) in partial.chunks_exact_mut(part).enumerate() {
                    let rows = partial.len() / k;
                    let a = chunk.factor(layout, index).transposed();
                    matmul_in_arithmetic(
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

/// The weight's gradient in blocks of its rows; each block is summed over the whole batch by one task.
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
        let block = even_chunk_len(factor / k, BLOCK);
        for_each_chunk_if(true, grad_weight, factor, |start, part| {
            let a = chunk.factor(layout, start / factor).transposed();
            for_each_chunk_if(true, part, block * k, |start, part| {
                let rows = part.len() / k;
                matmul_in_arithmetic(
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

/// Calls `work` with a chunk's input and its results' gradient, both laid out as in [`super::windows`]; one row per
/// position.
fn with_factors<R>(
    chunk: &Chunk<'_>,
    x: &[f32],
    grad: &[f32],
    k: usize,
    parallel: bool,
    work: impl FnOnce(&[f32], RightMatrix<'_>) -> R,
) -> R {
    let (m, layout_len) = (chunk.positions(), chunk.layout_len());
    with_scratch(layout_len + m * k, |memory| {
        let (layout, gradient) = memory.split_at_mut(layout_len);
        chunk.lay_out(x, layout, parallel);
        chunk.lay_out_gradient(grad, k, gradient, parallel);
        let gradient = Matrix::new(gradient, m, k);
        with_right_matrix(chunk.arithmetic(), gradient, true, |gradient| {
            work(layout, gradient)
        })
    })
}
