//! When CPU kernels use several threads, and how they split their work.
//!
//! Work is split by shape alone into chunks of a fixed length, so that results do not depend on the number of threads.
//! Handing work to rayon costs tens of microseconds (measured), hence the thresholds.

use rayon::prelude::*;

/// Values below which an elementwise loop stays on its thread.
pub const ELEMENTWISE_LEN: usize = 1 << 16;

/// Floating-point operations below which matrix products stay on their thread.
pub const PRODUCT_FLOP: usize = 2_000_000;

/// Values in one chunk of an elementwise loop: 64 KiB, so that a chunk of three operands stays in the L2 cache.
pub const CHUNK: usize = 1 << 14;

/// Calls `kernel(start, chunk)` for every chunk of `chunk` values of `output`, on several threads when `output` is
/// large; `start` is the chunk's first index.
pub fn for_each_chunk(output: &mut [f32], chunk: usize, kernel: impl Fn(usize, &mut [f32]) + Sync) {
    let large = output.len() >= ELEMENTWISE_LEN;
    for_each_chunk_if(large, output, chunk, kernel);
}

/// As [`for_each_chunk`] for two outputs of one length.
///
/// # Panics
/// When the two differ in length, which is a bug of the caller.
pub fn for_each_chunk_pair(
    first: &mut [f32],
    second: &mut [f32],
    chunk: usize,
    kernel: impl Fn(usize, &mut [f32], &mut [f32]) + Sync,
) {
    assert_eq!(first.len(), second.len(), "two outputs of one length");
    let chunk = chunk.max(1);
    let call = |(i, (a, b)): (usize, (&mut [f32], &mut [f32]))| kernel(i * chunk, a, b);
    if first.len() >= ELEMENTWISE_LEN {
        let pairs = first
            .par_chunks_mut(chunk)
            .zip(second.par_chunks_mut(chunk));
        pairs.enumerate().for_each(call);
    } else {
        let pairs = first.chunks_mut(chunk).zip(second.chunks_mut(chunk));
        pairs.enumerate().for_each(call);
    }
}

/// As [`for_each_chunk`], on several threads if `parallel`.
pub fn for_each_chunk_if(
    parallel: bool,
    output: &mut [f32],
    chunk: usize,
    kernel: impl Fn(usize, &mut [f32]) + Sync,
) {
    // `chunk` is 0 only for an empty output.
    let chunk = chunk.max(1);
    let call = |(i, values): (usize, &mut [f32])| kernel(i * chunk, values);
    if parallel {
        output.par_chunks_mut(chunk).enumerate().for_each(call);
    } else {
        output.chunks_mut(chunk).enumerate().for_each(call);
    }
}

/// Calls `kernel` with every index below `count`, on several threads if `parallel`.
pub fn for_each_index(parallel: bool, count: usize, kernel: impl Fn(usize) + Sync + Send) {
    if parallel {
        (0..count).into_par_iter().for_each(kernel);
    } else {
        (0..count).for_each(kernel);
    }
}

/// `target += values`, elementwise.
pub fn add_assign(target: &mut [f32], values: &[f32]) {
    for_each_chunk(target, CHUNK, |start, target| {
        let values = &values[start..start + target.len()];
        super::simd::simd!({
            for (t, v) in target.iter_mut().zip(values) {
                *t += v;
            }
        });
    });
}
